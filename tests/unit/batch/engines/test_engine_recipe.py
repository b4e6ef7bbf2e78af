"""A process gets its Explainer once, from files, a factory or a given one."""

from __future__ import annotations

import pickle
import threading
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import LogisticRegression

import counterpoint as cp
from counterpoint.batch.engines.engine import Files, Recipe, unpacked

DATA = pd.DataFrame({"age": [20, 30, 40, 50], "debt": [9.5, 5.0, 3.0, 1.0]})
BUILT: list[int] = []


def score(rows: pd.DataFrame) -> Any:
    """Return a share of the age."""
    return rows["age"] / 100


def make() -> cp.Explainer:
    """Build an Explainer, and note it."""
    BUILT.append(1)
    return cp.Explainer(score, DATA)


def test_it_is_built_once_whoever_asks() -> None:
    BUILT.clear()
    recipe = Recipe.of(make)
    copies = [pickle.loads(pickle.dumps(recipe)) for _ in range(3)]  # noqa: S301
    threads = [threading.Thread(target=lambda each=each: each.explainer()) for each in copies * 2]

    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert len(BUILT) == 1
    assert copies[0] is copies[1]
    assert copies[0].digest == recipe.digest


def test_a_given_explainer_is_used_as_it_is() -> None:
    explainer = cp.Explainer(score, DATA)

    recipe = Recipe.of(explainer)

    assert recipe.explainer() is explainer
    assert Recipe.of(recipe) is recipe
    np.testing.assert_array_equal(
        unpacked(recipe.payload).explainer().observed.genomes, explainer.observed.genomes
    )


def test_files_travel_by_their_contents(tmp_path: Path) -> None:
    skops = pytest.importorskip("skops.io")
    model = LogisticRegression().fit(DATA, ["bad", "bad", "good", "good"])
    skops.dump(model, tmp_path / "model.skops")
    DATA.assign(note="?").to_csv(tmp_path / "data.csv", index=False)
    contents = [(tmp_path / name).read_bytes() for name in ("model.skops", "data.csv")]
    recipe = Recipe(Files("model.skops", contents[0], "data.csv", contents[1], drop=("note",)))
    packed = pickle.dumps(recipe)
    for file in tmp_path.iterdir():
        file.unlink()

    explainer = pickle.loads(packed).explainer()  # noqa: S301

    assert explainer.classes == ("bad", "good")
    assert list(explainer.schema.names) == ["age", "debt"]


def test_a_damaged_table_is_refused() -> None:
    with pytest.raises(
        cp.InvalidInput,
        match=r"data 'data.parquet' cannot be read as parquet \(.*\); it may be damaged or cut off",
    ):
        Files("model.skops", b"", "data.parquet", b"broken").table()


def test_what_makes_no_explainer_is_refused() -> None:
    with pytest.raises(cp.InvalidInput, match=r"an Explainer is needed, or a function .* got int"):
        Recipe.of(3)  # type: ignore[arg-type]
    with pytest.raises(cp.InvalidInput, match="the factory must return an Explainer, got list"):
        Recipe.of(list).explainer()  # type: ignore[arg-type]


def test_a_factory_that_cannot_be_sent_says_what_to_do() -> None:
    lock = threading.Lock()

    def factory() -> cp.Explainer:
        with lock:
            return make()

    with pytest.raises(
        cp.InvalidInput, match=r"the factory cannot be sent .* define it in a modul"
    ):
        _ = Recipe.of(factory).digest
