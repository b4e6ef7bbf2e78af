"""Labels: what people call features, levels, classes, units and the outcome, in each language.

Texts, letters, figures, pages and the command line ask here what something is called and how a
value of it is written. Frames, files and rules keep the names of the data.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal, NamedTuple, Self

import numpy as np

from counterpoint.arrays import MISSING
from counterpoint.checks import check_choice
from counterpoint.errors import InvalidInput, did_you_mean, listed
from counterpoint.table.features import Feature, write_pair, write_value
from counterpoint.table.values import Signs, write_level

Lang = Literal["en", "de"]
LANGS: tuple[Lang, ...] = ("en", "de")
ANY = ""  # texts that are meant for every language
LONGEST = 120
PARTS = ("features", "levels", "classes", "units", "outcome")
ARTICLES = {
    "en": re.compile(r"(the|an?|your)\s+(?=\S)", re.IGNORECASE),
    "de": re.compile(r"(der|die|das)\s+(?=\S)", re.IGNORECASE),
}
ADJECTIVE = re.compile(r"\b[a-zäöüß]+e\b(?= )")  # of a German noun, after its article
SIGNS: dict[str, Signs] = {  # how sentences of a language write values
    "en": Signs(
        quotes=("\N{LEFT DOUBLE QUOTATION MARK}", "\N{RIGHT DOUBLE QUOTATION MARK}"),
        truth=("no", "yes"),
        months=(
            *("January", "February", "March", "April", "May", "June", "July"),
            *("August", "September", "October", "November", "December"),
        ),
        date="{day} {month} {year}",
    ),
    "de": Signs(
        thousands=".",
        decimal=",",
        percent="\N{NO-BREAK SPACE}%",
        quotes=("\N{DOUBLE LOW-9 QUOTATION MARK}", "\N{LEFT DOUBLE QUOTATION MARK}"),
        truth=("nein", "ja"),
        missing="unbekannt",
        months=(
            *("Januar", "Februar", "März", "April", "Mai", "Juni", "Juli"),
            *("August", "September", "Oktober", "November", "Dezember"),
        ),
        date="{day}. {month} {year}",
    ),
}
CELLS = {lang: replace(signs, quotes=("", "")) for lang, signs in SIGNS.items()}  # without quotes


class Words(NamedTuple):
    """What things are called in one language; units by their singular and their plural."""

    features: Mapping[Any, str]
    levels: Mapping[Any, Mapping[Any, str]]
    classes: Mapping[Any, str]
    units: Mapping[Any, tuple[str, str]]
    outcome: str


class Noun(NamedTuple):
    """A name with the article that stood before it, if any: "die" and "Laufzeit"."""

    article: str
    word: str


@dataclass(frozen=True, init=False, repr=False)
class Labels:
    """What people call what the data call otherwise; in one language, in several or in all.

    Parameters
    ----------
    features : dict of feature name to str, optional
        Such as ``{"duration": "term"}``. In German with the article, ``"die Laufzeit"``, which
        sentences need and tables leave out.
    levels : dict of feature name to dict of level to str, optional
        Such as ``{"job": {2: "skilled"}}``.
    classes : dict of class to str, optional
        Such as ``{"good": "approved"}``. What can follow "the application was" is best.
    units : dict of feature name to str or (singular, plural), optional
        In place of the `units` of an `Explainer`: ``{"duration": ("Monat", "Monate")}``.
    outcome : str, optional
        What is decided on, such as "the application".
    lang : {"en", "de"}, optional
        The language of these texts; None means that they are for all of them. ``english | german``
        holds both.

    Raises
    ------
    InvalidInput
        If a text is empty, too long or cannot be printed, or there is no such language.

    Examples
    --------
    >>> english = Labels(features={"duration": "term"}, lang="en")
    >>> both = english | Labels(features={"duration": "die Laufzeit"}, lang="de")
    >>> both.feature("duration"), both.feature("duration", "de"), both.feature("credit_amount")
    ('term', 'Laufzeit', 'credit amount')
    """

    words: Mapping[str, Words] = field(hash=False)

    def __init__(
        self,
        features: Mapping[Any, str] | None = None,
        levels: Mapping[Any, Mapping[Any, str]] | None = None,
        classes: Mapping[Any, str] | None = None,
        units: Mapping[Any, str | Sequence[str]] | None = None,
        outcome: str = "",
        lang: Lang | None = None,
    ) -> None:
        if lang is not None:
            check_choice("Labels.lang", lang, LANGS)
        by_level = _mapping("Labels.levels", levels, '{"job": {2: "skilled"}}')
        words = Words(
            _texts("Labels.features", features, '{"duration": "term"}'),
            {
                name: _texts(f"Labels.levels[{name!r}]", texts, '{2: "skilled"}')
                for name, texts in by_level.items()
            },
            _texts("Labels.classes", classes, '{"good": "approved"}'),
            {
                name: _check_unit(f"Labels.units[{name!r}]", unit)
                for name, unit in _mapping("Labels.units", units, '{"age": "years"}').items()
            },
            _check_text("Labels.outcome", outcome) if outcome != "" else "",
        )
        object.__setattr__(self, "words", {lang or ANY: words} if any(words) else {})

    @classmethod
    def read(cls, document: object) -> Labels:
        """Return the labels in the values of a JSON or TOML file.

        Parameters
        ----------
        document : dict
            The parameters by name, for all languages; or such dicts under "en" and "de".

        Examples
        --------
        >>> labels = Labels.read({"outcome": "the loan", "de": {"outcome": "der Kredit"}})
        >>> labels.outcome("en"), labels.outcome("de")
        ('the loan', 'der Kredit')
        """
        found = _mapping("labels", document, '{"features": {"duration": "term"}}')
        known = (*PARTS, *LANGS)
        if strange := [key for key in found if key not in known]:
            hint = did_you_mean(strange[0], known)
            raise InvalidInput(
                f"labels has the key {strange[0]!r}; it may have {listed(known, most=9)}"
                + (f"; {hint}" if hint else ".")
            )
        labels = cls(**{part: found[part] for part in PARTS if part in found})
        for lang in LANGS:
            own = _mapping(f"labels[{lang!r}]", found.get(lang), '{"outcome": "the loan"}')
            if strange := [key for key in own if key not in PARTS]:
                raise InvalidInput(
                    f"labels[{lang!r}] has the key {strange[0]!r}; it may have {listed(PARTS)}."
                )
            labels |= cls(**own, lang=lang)
        return labels

    def __or__(self, other: Labels) -> Labels:
        """Return the labels of both; where both have one, the other's."""
        if not isinstance(other, Labels):
            return NotImplemented
        words = dict(self.words)
        for lang, theirs in other.words.items():
            ours = words.get(lang, Words({}, {}, {}, {}, ""))
            levels = {
                name: {**ours.levels.get(name, {}), **theirs.levels.get(name, {})}
                for name in {**ours.levels, **theirs.levels}
            }
            words[lang] = Words(
                {**ours.features, **theirs.features},
                levels,
                {**ours.classes, **theirs.classes},
                {**ours.units, **theirs.units},
                theirs.outcome or ours.outcome,
            )
        return made(words)

    def __bool__(self) -> bool:
        return bool(self.words)

    def __repr__(self) -> str:
        parts = []
        for lang, words in self.words.items():
            given = [f"{part}={value!r}" for part, value in words._asdict().items() if value]
            parts.append(", ".join([*given, f"lang={lang!r}"] if lang else given))
        return " | ".join(f"Labels({part})" for part in parts) or "Labels()"

    def _first(self, lang: str, look: Callable[[Words], Any]) -> Any:
        """Return what the words of a language have, or else those for all; None if neither has."""
        for code in (lang, ANY):
            if code in self.words and (text := look(self.words[code])):
                return text
        return None

    def noun(self, name: Hashable, lang: str = "en") -> Noun:
        """Return what a feature is called, with the article of its label; by its name if none."""
        label = self._first(lang, lambda words: looked_up(words.features, name))
        return noun_of(spoken(name) if label is None else label, "" if label is None else lang)

    def feature(self, name: Hashable, lang: str = "en") -> str:
        """Return what a feature is called, without article."""
        article, word = self.noun(name, lang)
        end = {"der": "r", "das": "s"}.get(article, "")  # "der hohe Betrag" is "hoher Betrag"
        return ADJECTIVE.sub(rf"\g<0>{end}", word) if end else word

    def title(self, feature: Feature, lang: str = "en") -> str:
        """Return what a feature is called, with its unit: a heading of a table."""
        unit = self.unit(feature, lang)
        name = self.feature(feature.name, lang)
        return f"{name} ({unit})" if unit else name

    def unit(self, feature: Feature, lang: str = "en", value: float | None = None) -> str:
        """Return what a feature's numbers are counted in: the singular for a value of 1."""
        pair = self._first(lang, lambda words: looked_up(words.units, feature.name))
        one, many = (feature.unit, feature.unit) if pair is None else pair
        if value != 1.0:
            return str(many)
        is_plural = one == many and lang == "en" and re.fullmatch(r"[a-z ]{3,}[^s]s", many)
        return str(many[:-1] if is_plural else one)

    def has_feature(self, name: Hashable, lang: str) -> bool:
        """Whether a feature has a label of its own in a language."""
        return self._first(lang, lambda words: looked_up(words.features, name)) is not None

    def level(self, name: Hashable, level: Any, lang: str = "en") -> str:
        """Return what a level of a feature is called, without quotes."""
        label = self._first(
            lang, lambda words: looked_up(looked_up(words.levels, name) or {}, level)
        )
        return write_level(level, CELLS[lang]) if label is None else str(label)

    def class_(self, label: Any, lang: str = "en") -> str:
        """Return what a class is called, without quotes."""
        found = self.class_label(label, lang)
        return write_level(label, CELLS[lang]) if found is None else found

    def class_label(self, label: Any, lang: str) -> str | None:
        """Return the label of a class, or None if it has none."""
        found: str | None = self._first(lang, lambda words: looked_up(words.classes, label))
        return found

    def outcome(self, lang: str = "en") -> str:
        """Return what is decided on; empty if nobody said."""
        return self._first(lang, lambda words: words.outcome) or ""

    def value(
        self, feature: Feature, gene: float, lang: str = "en", *, quoted: bool = False
    ) -> str:
        """Return a value of a feature as text, without its unit; levels by their labels."""
        signs = (SIGNS if quoted else CELLS)[lang]
        if not feature.levels or gene == MISSING or np.isnan(gene):
            return write_value(feature, gene, signs)
        level = feature.levels[int(gene)]
        text = self.level(feature.name, level, lang)
        is_own = text != write_level(level, CELLS[lang])
        return signs.quoted(text) if is_own else write_level(level, signs)

    def pair(
        self, feature: Feature, new: float, old: float, lang: str = "en", *, quoted: bool = False
    ) -> tuple[str, str]:
        """Return two values, with as many digits as it takes to tell them apart."""
        if feature.levels or MISSING in (new, old):
            texts = [self.value(feature, gene, lang, quoted=quoted) for gene in (new, old)]
            return texts[0], texts[1]
        return write_pair(feature, new, old, CELLS[lang])

    def checked(self, features: Iterable[Feature]) -> Self:
        """Return the labels if they are of these features and levels.

        Raises
        ------
        InvalidInput
            If one is of something else; the message names what is close.
        """
        by_text = {str(feature.name): feature for feature in features}
        names = [feature.name for feature in by_text.values()]
        for words in self.words.values():
            for part in ("features", "levels", "units"):
                for name in getattr(words, part):
                    _check_known(f"labels: {part}", name, names, "a feature")
            for name, texts in words.levels.items():
                known = by_text[str(name)].levels
                for level in texts:
                    _check_known(f"labels: levels[{name!r}]", level, known, "a level")
            for name in words.units:
                if by_text[str(name)].levels or by_text[str(name)].kind == "date":
                    raise InvalidInput(
                        f"labels: units names {name!r}, which is {by_text[str(name)].kind} and has "
                        "no unit; only numbers have one."
                    )
        return self

    def check_classes(self, classes: Sequence[Any] | None) -> None:
        """Refuse labels of what is no class of the model."""
        for words in self.words.values():
            for label in words.classes:
                if not classes:
                    raise InvalidInput(
                        f"labels: classes names {label!r}, but the model has no classes; "
                        "outcome says what is predicted."
                    )
                _check_known("labels: classes", label, classes, "a class")


def made(words: Mapping[str, Words]) -> Labels:
    """Return labels of words that were checked before."""
    labels = object.__new__(Labels)
    object.__setattr__(labels, "words", dict(words))
    return labels


def spoken(name: Hashable) -> str:
    """Return a feature's name as one says it.

    Examples
    --------
    >>> spoken("credit_amount"), spoken("radio/TV"), spoken(3)
    ('credit amount', 'radio/TV', '3')
    """
    text = str(name)
    return text.replace("_", " ").strip() or text


def noun_of(text: str, lang: str) -> Noun:
    """Return a text as an article and the rest.

    Examples
    --------
    >>> noun_of("die Laufzeit", "de"), noun_of("term", "en")
    (Noun(article='die', word='Laufzeit'), Noun(article='', word='term'))
    """
    article = ARTICLES[lang].match(text) if lang in ARTICLES else None
    return Noun(article[1].lower(), text[article.end() :]) if article else Noun("", text)


def looked_up(texts: Mapping[Any, Any], key: Any) -> Any:
    """Return what is said of a key, or of its text: files know texts only."""
    try:
        return texts[key] if key in texts else texts.get(str(key))
    except TypeError:  # of what cannot be hashed
        return None


def _check_known(argument: str, key: Any, known: Sequence[Any], kind: str) -> None:
    """Refuse a key that is neither one of the known ones nor the text of one."""
    if any(key == each or key == str(each) for each in known):
        return
    hint = did_you_mean(key, known) or f"there are {listed(known)}."
    raise InvalidInput(f"{argument} names {key!r}, which is not {kind}; {hint}")


def _mapping(argument: str, value: object, example: str) -> Mapping[Any, Any]:
    """Return a dict, an empty one for None."""
    if value is None:
        return {}
    if not isinstance(value, Mapping):
        raise InvalidInput(f"{argument} must be a dict, got {value!r}; for example {example}.")
    return value


def _texts(argument: str, value: object, example: str) -> dict[Any, str]:
    return {
        key: _check_text(f"{argument}[{key!r}]" if argument[-1] != "]" else argument, text)
        for key, text in _mapping(argument, value, example).items()
    }


def _check_text(argument: str, text: object) -> str:
    """Return a short text that can be printed."""
    if not isinstance(text, str) or not 0 < len(text.strip()) <= LONGEST or not text.isprintable():
        raise InvalidInput(
            f"{argument} must be a text of 1 to {LONGEST} printable characters, got {text!r}."
        )
    return text.strip()


def _check_unit(argument: str, unit: object) -> tuple[str, str]:
    """Return a unit as singular and plural, which are the same if one text is given."""
    pair = (unit, unit) if isinstance(unit, str) else unit
    if not isinstance(pair, tuple | list) or len(pair) != 2:
        raise InvalidInput(
            f"{argument} must be a text, or the singular and the plural, got {unit!r}; for "
            "example ('month', 'months')."
        )
    return _check_text(argument, pair[0]), _check_text(argument, pair[1])


NONE = Labels()


def labels_of(features: tuple[Feature, ...], labels: Labels | None) -> Labels:
    """Return the labels if they are of these features."""
    if labels is None:
        return NONE
    if not isinstance(labels, Labels):
        raise InvalidInput(
            f"labels must be Labels, got {labels!r}; for example "
            "labels=cp.Labels(features={'duration': 'term'})."
        )
    return labels.checked(features)
