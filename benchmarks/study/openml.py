"""OpenML: a task's dataset by scikit-learn's `fetch_openml`, as the study's frames.

A task names a dataset and its target. Its description is one small JSON document; dataset, types
and ARFF file are fetched, cached and parsed by scikit-learn. With a filled cache nothing is asked
of the network, which is how the tests run the whole of it on files of their own.
"""

from __future__ import annotations

import gzip
import json
import re
from io import StringIO
from itertools import takewhile
from pathlib import Path
from typing import Any
from urllib.parse import urlparse
from urllib.request import urlopen

import pandas as pd
from scipy.io.arff import loadarff
from sklearn.datasets import fetch_openml, get_data_home

TASK = "https://www.openml.org/api/v1/json/task/{}"


def fetch(task: int, home: Path | None = None) -> tuple[pd.DataFrame, pd.Series[Any]]:
    """Return features and classes of a task; class 1 is the first the data declare, others are 0.

    Raises
    ------
    ValueError
        If values are missing: the study has no dataset with any.
    """
    home = Path(get_data_home(None if home is None else str(home)))
    dataset, target = source(description(task, home))
    bunch = fetch_openml(
        data_id=dataset,
        target_column=target,
        as_frame=True,
        parser="liac-arff",
        data_home=str(home),
    )
    frame = in_declared_order(bunch.frame, declared_levels(cached(home, bunch.details["url"])))
    if frame.isna().any(axis=None):
        holes = list(frame.columns[frame.isna().any()])
        raise ValueError(f"task {task}: values are missing in {holes}; the study has no such data.")
    return as_table(frame, target)


def cached(home: Path, url: str) -> Path:
    """Return where scikit-learn keeps the ARFF file of an address."""
    return home / "openml" / "openml.org" / (urlparse(url).path.lstrip("/") + ".gz")


def declared_levels(file: Path) -> dict[str, list[str]]:
    """Return the levels of each nominal attribute in the order an ARFF file declares them."""
    with gzip.open(file, "rt", encoding="utf-8") as lines:
        header = list(takewhile(lambda line: not line.strip().lower().startswith("@data"), lines))
    meta = loadarff(StringIO("".join([*header, "@data\n"])))[1]
    kinds = {name: meta[name] for name in meta.names()}
    return {name: list(levels or ()) for name, (kind, levels) in kinds.items() if kind == "nominal"}


def in_declared_order(frame: pd.DataFrame, levels: dict[str, list[str]]) -> pd.DataFrame:
    """Return a frame whose categories are declared ones: scikit-learn sorts them.

    The first declared class is class 1 of the published runs, so the order matters.
    """
    # astype would not do: to pandas, unordered categories are equal in any order.
    columns = {n: frame[n].cat.set_categories(levels[n]) for n in frame.columns if n in levels}
    return frame.assign(**columns)


def description(task: int, home: Path) -> dict[str, Any]:
    """Return OpenML's description of a task, from the cache if it is there."""
    file = home / "openml" / "tasks" / f"{task}.json"
    if not file.exists():
        with urlopen(TASK.format(task), timeout=60) as answer:  # noqa: S310 - a constant https URL
            text = answer.read().decode()
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)
    described: dict[str, Any] = json.loads(file.read_text())["task"]
    return described


def source(described: dict[str, Any]) -> tuple[int, str]:
    """Return the number of a task's dataset, and the name of its target."""
    for entry in described["input"]:
        if entry["name"] == "source_data":
            of = entry["data_set"]
            return int(of["data_set_id"]), str(of["target_feature"])
    raise ValueError(f"task {described.get('task_id')}: its description names no source_data.")


def as_table(frame: pd.DataFrame, target: str) -> tuple[pd.DataFrame, pd.Series[Any]]:
    """Return features as floats and categories under the study's names, and classes 1 and 0."""
    declared = frame[target].astype("category").cat
    classes = (declared.codes == 0).astype(int)
    features = frame.drop(columns=target)
    kinds: dict[Any, Any] = {}
    for column, dtype in features.dtypes.items():
        is_level = isinstance(dtype, pd.CategoricalDtype)
        kinds[column] = dtype if is_level else float
    return features.astype(kinds).rename(columns=plain_name), classes


def plain_name(name: str) -> str:
    """Return a column's name as the published files write it: dots for what is no letter."""
    return re.sub(r"[^A-Za-z0-9_.]", ".", name)
