"""Names are plain words: one glossary, no metaphors, and each class name for one thing only."""

from __future__ import annotations

import ast
import re
from collections import Counter

from scripts.structure import definitions, duplicate_classes
from tests.architecture.known_offenders import DUPLICATE_CLASSES, METAPHORS, WORDS_NOT_USED
from tests.architecture.package import ROOT, judge, modules

# Words one had to learn, and what the field says instead.
INSTEAD = {
    "ambition": "target",
    "beyond": "far rows",
    "bench": "scratch",
    "brood": "offspring",
    "crowd": "nearest-neighbour index",
    "fence": "domain",
    "formbook": "file format",
    "ground": "domain",
    "grounds": "domains",
    "habits": "settings",
    "lockstep": "schedule",
    "mending": "repair",
    "nameless": "fast path",
    "needed": "required",
    "nursery": "offspring",
    "outlook": "what the search has learnt",
    "pace": "chunk size",
    "remarkbook": "file format",
    "remedy": "repair",
    "room": "scratch",
    "rulebook": "file format",
    "surroundings": "nearest-neighbour index",
    "tally": "counts",
}


def glossary() -> list[str]:
    """Return the words that docs/design.md defines, in its order."""
    text = (ROOT / "docs" / "design.md").read_text().partition("## Glossary")[2]
    rows = re.findall(r"^\| ([^|]+?) \| .+ \|$", text.partition("\n## ")[0], flags=re.MULTILINE)
    return [word for word in rows if word != "word"]


def words_of(name: str) -> set[str]:
    """Return the words a name is made of, in small letters."""
    return {word.lower() for word in re.findall(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])", name)}


def names() -> list[str]:
    """Return every module, class and function with its place."""
    return [
        *modules(),
        *(
            f"{module.name} {name}"
            for module in modules().values()
            for name, _, _ in definitions(module.tree)
        ),
    ]


def test_the_glossary_defines_each_word_once() -> None:
    counts = Counter(glossary())

    assert len(counts) >= 40
    assert not [word for word, count in counts.items() if count > 1]


def test_words_of_the_glossary_are_used_in_the_code() -> None:
    code = "\n".join(spelt(module.tree) for module in modules().values())

    judge(
        {word for word in glossary() if not re.search(rf"\b{word}", code, re.IGNORECASE)},
        WORDS_NOT_USED,
        "What the glossary of docs/design.md defines is what the code says",
    )


def spelt(tree: ast.Module) -> str:
    """Return the code of a module, with its docstrings and with spaces between words of names."""
    return re.sub(r"_|(?<=[a-z])(?=[A-Z])", " ", ast.unparse(tree))


def test_no_word_of_the_glossary_is_a_metaphor_of_old() -> None:
    assert not set(INSTEAD) & set(glossary())


def test_names_are_no_metaphors() -> None:
    found = {name for name in names() if words_of(re.split(r"[ .]", name)[-1]) & set(INSTEAD)}

    judge(found, METAPHORS, f"Plain words are {INSTEAD}")


def test_a_class_name_stands_for_one_thing() -> None:
    judge(duplicate_classes(modules()), DUPLICATE_CLASSES, "Class names are unique in the package")
