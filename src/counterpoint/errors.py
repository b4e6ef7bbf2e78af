"""Everything that can go wrong, in one tree; all of it can be imported from `counterpoint`.

    CounterpointError
    ├── InvalidInput (ValueError)        an argument cannot mean anything
    ├── UnknownFeatureError (KeyError)   a feature was named that the table does not have
    ├── PredictorError (RuntimeError)    the caller's model failed or answered nonsense
    ├── EngineError (RuntimeError)       the threads or processes of a batch job failed
    ├── TooBusyError (RuntimeError)      the explorer runs as many searches as it may
    ├── CannotWrite (OSError)            the disk is full, or a folder may not be written to
    ├── NoSuchFile (FileNotFoundError)   a file or folder is not there
    └── MissingDependency (ImportError)  an optional package is needed that is not installed

    UserWarning
    ├── AcceleratorWarning               an accelerator was asked for, the model itself is used
    ├── DataWarning                      a column of the data could be meant otherwise
    └── ModelWarning                     the model does not answer as a model should

Every message names the argument, the value and the next step. Exceptions take their message as
only argument, so that they survive pickling to a worker and back.

`Signal` is the base of exceptions that are raised and caught inside one folder of the package;
no caller ever sees one, so they are defined where they are used.
"""

from __future__ import annotations

import difflib
from collections.abc import Hashable, Iterable, Sequence

__all__ = [
    "AcceleratorWarning",
    "CannotWrite",
    "CounterpointError",
    "DataWarning",
    "EngineError",
    "InvalidInput",
    "MissingDependency",
    "ModelWarning",
    "NoSuchFile",
    "PredictorError",
    "TooBusyError",
    "UnknownFeatureError",
]


class CounterpointError(Exception):
    """Base of all errors counterpoint raises on purpose."""


class InvalidInput(CounterpointError, ValueError):  # noqa: N818 - reads as what it is
    """An argument's value cannot be used."""


class MissingDependency(CounterpointError, ImportError):  # noqa: N818 - reads as what it is
    """A package is needed that is not installed."""


class AcceleratorWarning(UserWarning):
    """The accelerator asked for is not used, or was not believed; the model itself is asked."""


class DataWarning(UserWarning):
    """The data are used, but a column of them may not be what it looks like."""


class ModelWarning(UserWarning):
    """The model is used, but it does not answer as a model should."""


class PredictorError(CounterpointError, RuntimeError):
    """The caller's model raised, or returned something that is not a score per row."""


class EngineError(CounterpointError, RuntimeError):
    """The threads or processes of a batch job cannot go on; what is done is kept."""


class TooBusyError(CounterpointError, RuntimeError):
    """More searches are asked for than the explorer runs at a time."""


class CannotWrite(CounterpointError, OSError):  # noqa: N818 - reads as what it is
    """A file cannot be written: the disk is full, or its folder may not be written to."""


class NoSuchFile(CounterpointError, FileNotFoundError):  # noqa: N818 - reads as what it is
    """A file to load, or the folder to save into, is not there."""


class UnknownFeatureError(CounterpointError, KeyError):
    """A feature the caller named is not a column of the data."""

    @classmethod
    def of(
        cls, name: Hashable, columns: Iterable[Hashable], *, argument: str
    ) -> UnknownFeatureError:
        """Build the error for `name`, with the closest existing column as a hint."""
        known = list(columns)
        hint = did_you_mean(name, known) or f"the columns are {listed(known)}."
        return cls(f"{argument} names {name!r}, which is not a column of the data; {hint}")

    def __str__(self) -> str:  # KeyError would print the repr of its message
        return str(self.args[0])


class Signal(Exception):  # noqa: N818 - not an error of the caller's
    """Base of exceptions that are raised and caught inside one folder of the package."""


def printable(text: str) -> str:
    r"""Return a text that can be printed and saved: a lone half of a pair is written as its code.

    Examples
    --------
    >>> print(printable("x" + chr(0xD800)))
    x\ud800
    """
    return text.encode("utf-8", "backslashreplace").decode("utf-8")


def told_by(error: BaseException) -> str:
    """Return what an error of somebody else's says, even if that fails.

    Examples
    --------
    >>> told_by(ValueError("no such row"))
    'no such row'
    """
    try:
        return printable(str(error))
    except Exception:  # its own text cannot be made
        return "(its text cannot be shown)"


def did_you_mean(name: object, known: Iterable[object]) -> str:
    """Return "did you mean 'age'?" for the known name closest to `name`, or an empty string.

    Examples
    --------
    >>> did_you_mean("agee", ["age", "sex"])
    "did you mean 'age'?"
    >>> did_you_mean("income", ["age", "sex"])
    ''
    """
    by_text = {str(option): option for option in known}
    close = difflib.get_close_matches(str(name), list(by_text), n=1)
    return f"did you mean {by_text[close[0]]!r}?" if close else ""


def named_columns(names: Iterable[object]) -> str:
    """Return columns as a list with its noun.

    Examples
    --------
    >>> named_columns(["age"]), named_columns(["age", "sex"])
    ("column 'age'", "columns 'age' and 'sex'")
    """
    several = list(names)
    return f"column{'' if len(several) == 1 else 's'} {listed(several)}"


def listed(values: Iterable[object], most: int = 8, word: str = "and") -> str:
    """Return `values` as a short readable list, cut after `most` of them.

    Examples
    --------
    >>> listed(["bad", "good"])
    "'bad' and 'good'"
    >>> listed(range(5), most=2)
    '0, 1 and 3 more'
    """
    texts = [repr(value) for value in values]
    if len(texts) > most:
        texts = [*texts[:most], f"{len(texts) - most} more"]
    return joined(texts, word)


def joined(texts: Sequence[str], word: str = "and") -> str:
    """Return texts as a list in a sentence.

    Examples
    --------
    >>> joined(["a", "b", "c"]), joined(["a"]), joined([])
    ('a, b and c', 'a', '')
    """
    if len(texts) < 2:
        return "".join(texts)
    return f"{', '.join(texts[:-1])} {word} {texts[-1]}"
