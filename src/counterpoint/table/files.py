"""Tables in files, read by their ending; a damaged one is refused by its name."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import pandas as pd

from counterpoint.checks import require_package
from counterpoint.errors import InvalidInput

if TYPE_CHECKING:
    from collections.abc import Iterator


READERS = {".csv": "read_csv", ".parquet": "read_parquet", ".feather": "read_feather"}


def read_content(source: Any, ending: str, said: str) -> pd.DataFrame:
    """Return the table in a file.

    Parameters
    ----------
    source : path or open file
        What is read.
    ending : str
        What kind of file it is: a key of `READERS`.
    said : str
        What it is called in errors: the argument and the file's name.

    Raises
    ------
    InvalidInput
        If it cannot be read.
    MissingDependency
        If the package that reads such files is not installed.
    """
    if ending != ".csv":
        require_package("pyarrow", f"a {ending} file", '"counterpoint[parquet]"')
    with refused_if_damaged(said, ending):
        table: pd.DataFrame = getattr(pd, READERS[ending])(source)
    return table


@contextmanager
def refused_if_damaged(said: str, ending: str) -> Iterator[None]:
    """Name the file whose content cannot be read."""
    try:
        yield
    except (MemoryError, InvalidInput, ImportError):
        raise
    except Exception as error:  # of a damaged file, of whatever kind
        told = str(error).strip().partition("\n")[0]
        raise InvalidInput(
            f"{said} cannot be read as {ending[1:]} ({type(error).__name__}: {told}); it may be "
            "damaged or cut off."
        ) from error
