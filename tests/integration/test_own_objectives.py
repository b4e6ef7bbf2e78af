"""Objectives of the caller's from end to end: searched, shown, measured, saved, the same bits."""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path
from typing import Any, get_args

import moocore
import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import LogisticRegression
from tests.frameworks import framework
from tests.strategies import generator

import counterpoint as cp
from counterpoint.cli.main import main
from counterpoint.neighbours.gower import Scale
from counterpoint.result.file.saving import signed
from counterpoint.search.settings import Method

METHODS: tuple[Method, ...] = get_args(Method)


def table() -> pd.DataFrame:
    rng, n = generator(0), 200
    return pd.DataFrame(
        {
            "age": rng.integers(18, 80, n),
            "pay": rng.gamma(3.0, 9.0, n).round(1),
            "debt": rng.normal(4.0, 2.0, n).round(1),
            "job": rng.choice(["clerk", "nurse", "smith"], n),
        }
    )


DATA = table()
NUMBERS = ["age", "pay", "debt"]
MODEL = LogisticRegression().fit(DATA[NUMBERS].to_numpy(), DATA["pay"] > 3 * DATA["debt"] + 12)


def score(rows: pd.DataFrame) -> Any:
    return MODEL.predict_proba(rows[NUMBERS].to_numpy())[:, 1]


def price(rows: pd.DataFrame, row: pd.DataFrame) -> Any:
    """Return what a change costs: pay is dear to raise, and debt gives money back."""
    return 3.0 * (rows["pay"] - row["pay"].iloc[0]) - (rows["debt"] - row["debt"].iloc[0])


def effort(rows: pd.DataFrame, row: pd.DataFrame) -> Any:
    apart = rows[NUMBERS].to_numpy() - row[NUMBERS].to_numpy()
    return np.abs(apart) @ np.array([0.1, 1.0, 2.0])


def rarity(rows: pd.DataFrame, _: pd.DataFrame) -> Any:
    return (rows["pay"] / 100.0).clip(upper=1.0)


PRICE = cp.Objective("price", price)
EVERYTHING: dict[str, Any] = {
    "objectives": [PRICE, cp.Objective("youth", lambda rows, _: rows["age"], worst=100)],
    "distance": cp.Distance("effort", effort),
    "plausibility": cp.Objective("rarity", rarity),
}


def explained(method: Method = "explore", i: int = 0, **aims: Any) -> cp.Counterfactuals:
    """Return the counterfactuals of a row; what was asked before is not searched again."""
    lists = {name: tuple(aim) if isinstance(aim, list) else aim for name, aim in aims.items()}
    return explained_once(method, i, tuple(lists.items()))


@cache
def explained_once(method: Method, i: int, aims: tuple[tuple[str, Any], ...]) -> cp.Counterfactuals:
    search = cp.Search(method=method, evaluations=300, population=16)
    explainer = cp.Explainer(score, DATA, **dict(aims))
    return explainer.explain(DATA.iloc[[i]], (0.6, 1.0), search, seed=3)


@pytest.mark.parametrize("method", METHODS)
def test_objectives_are_what_the_functions_say_of_the_rows_returned(method: Method) -> None:
    found = explained(method, **EVERYTHING)

    frame, row = found.to_frame(near_misses=True), DATA.iloc[[0]]
    names = ["valid", "prediction", "gap", "effort", "changes", "rarity", "price", "youth"]
    assert frame.columns.to_list() == [*DATA.columns, *names]
    assert found.objectives.shape == (len(found.genomes), 6)
    own = frame[DATA.columns]
    np.testing.assert_array_equal(frame["price"], price(own, row))
    np.testing.assert_array_equal(frame["youth"], own["age"])
    np.testing.assert_allclose(frame["effort"], effort(own, row), rtol=1e-14)
    np.testing.assert_array_equal(frame["rarity"], rarity(own, row))
    assert frame["changes"].dtype == np.int64
    assert len(found.valid())


@pytest.mark.parametrize("method", METHODS)
def test_the_result_is_a_pareto_set_of_all_objectives(method: Method) -> None:
    found = explained(method, objectives=[PRICE])

    assert moocore.is_nondominated(found.objectives, keep_weakly=True).all()
    assert not moocore.is_nondominated(found.objectives[:, :4], keep_weakly=True).all()


def test_a_cheaper_counterfactual_is_found_than_without_the_objective() -> None:
    plain, priced = explained().valid(), explained(objectives=[PRICE]).valid()

    row = DATA.iloc[[0]]
    cheapest = price(plain.to_frame(near_misses=True)[DATA.columns], row).min()
    assert priced.objectives[:, 4].min() < cheapest


@pytest.mark.parametrize("method", METHODS)
def test_without_objectives_of_ones_own_nothing_changes(method: Method) -> None:
    plain, empty = explained(method), explained(method, objectives=[])

    np.testing.assert_array_equal(plain.genomes, empty.genomes)
    np.testing.assert_array_equal(plain.objectives, empty.objectives)
    assert str(plain) == str(empty)
    assert "Minimised" not in str(plain)


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("n", [1, 3])
def test_an_objective_that_never_differs_changes_nothing(method: Method, n: int) -> None:
    """Five objectives take another path than four, and must lead to the same place."""
    same = [cp.Objective(f"same{i}", lambda rows, _: np.full(len(rows), 2.5)) for i in range(n)]

    found = explained(method, objectives=same)

    plain = explained(method)
    np.testing.assert_array_equal(found.genomes, plain.genomes)
    np.testing.assert_array_equal(found.objectives[:, :4], plain.objectives)
    about = 1e-9 if n == 1 else 0.01  # of seven objectives it is approximated
    assert found.hypervolume() == pytest.approx(plain.hypervolume(), rel=about)  # 2.5 ends at 3.5
    assert found.evaluations == plain.evaluations


@pytest.mark.parametrize("method", ["explore", "random"])
def test_an_objective_that_repeats_another_changes_nothing(method: Method) -> None:
    def changed(rows: pd.DataFrame, row: pd.DataFrame) -> Any:
        return (rows.to_numpy() != row.to_numpy()).sum(axis=1)

    found = explained(method, objectives=[cp.Objective("again", changed, worst=4.0)])

    plain = explained(method)
    np.testing.assert_array_equal(found.genomes, plain.genomes)
    np.testing.assert_array_equal(found.objectives[:, 4], found.objectives[:, 2])


@pytest.mark.parametrize("method", ["explore", "random"])
def test_an_order_kept_is_a_set_kept(method: Method) -> None:
    """What dominates what does not change if an objective is stretched, nor does the set."""
    search = cp.Search(method=method, evaluations=300, patience=None)
    aims = [
        cp.Objective("price", lambda rows, row: price(rows, row), worst=1e6),
        cp.Objective("price", lambda rows, row: np.cbrt(price(rows, row)) - 7.0, worst=1e6),
    ]

    one, other = (
        cp.Explainer(score, DATA, objectives=[each]).explain(DATA[:1], (0.6, 1.0), search)
        for each in aims
    )

    np.testing.assert_array_equal(one.genomes, other.genomes)


@pytest.mark.parametrize("method", METHODS)
def test_gowers_distance_as_a_function_finds_the_same_bits(method: Method) -> None:
    """A stand-in that says what the built-in one does must not disturb the search."""
    span = (DATA[NUMBERS].max() - DATA[NUMBERS].min()).to_numpy(dtype=np.float64)

    def gower(rows: pd.DataFrame, row: pd.DataFrame) -> Any:
        apart = np.abs(rows[NUMBERS].to_numpy() - row[NUMBERS].to_numpy()) / span
        return (apart.sum(axis=1) + (rows["job"] != row["job"].iloc[0])) / 4.0

    own = explained(method, distance=cp.Distance("distance", gower, worst=1.0))

    plain = explained(method)
    np.testing.assert_allclose(
        own.objectives[:, 1], gower(own.to_frame(near_misses=True), DATA.iloc[[0]])
    )
    assert abs(own.hypervolume() - plain.hypervolume()) < 0.02 * plain.hypervolume()


@pytest.mark.parametrize("method", METHODS)
def test_gowers_distance_by_ranges_is_the_default_bit_for_bit(method: Method) -> None:
    named, plain = explained(method, distance=cp.Gower(scale="range")), explained(method)

    assert named == plain
    assert str(named) == str(plain)


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("scale", ["percentile", "mad"])
def test_another_scale_is_what_the_distance_of_every_result_says(
    method: Method, scale: Scale
) -> None:
    found = explained(method, distance=cp.Gower(scale))

    apart = np.abs(found.to_frame(near_misses=True)[NUMBERS] - DATA[NUMBERS].iloc[0])
    middle = DATA[NUMBERS].median()
    widths = {
        "percentile": DATA[NUMBERS].quantile(0.95) - DATA[NUMBERS].quantile(0.05),
        "mad": 4.8773 * (DATA[NUMBERS] - middle).abs().median(),
    }[scale]
    total = (apart / widths).clip(upper=1.0).sum(axis=1)
    total += found.to_frame(near_misses=True)["job"] != DATA["job"].iloc[0]
    np.testing.assert_allclose(found.objectives[:, 1], total / 4.0, atol=1e-12)
    assert "Minimised: gap, distance (Gower's, in " in str(found)


def test_the_hypervolume_ends_at_the_worst() -> None:
    found = explained(**EVERYTHING)

    row, reference = DATA.iloc[[0]], found.reference
    both = pd.concat([row, DATA])  # fewer than 256: all are looked at
    values = price(both, row)
    assert reference[4] == pytest.approx(values.max() + 0.1 * (values.max() - values.min()))
    assert reference[5] == 100.0
    assert reference[[0, 2]].tolist() == [found.target.gap_of(found.row_prediction), 4.0]
    inside = found.objectives[(found.objectives < reference).all(axis=1)]
    expected = moocore.hypervolume(inside, ref=reference)
    assert found.hypervolume() == pytest.approx(expected, rel=3e-3)
    assert found.history["hypervolume"].iloc[-1] == pytest.approx(expected, rel=3e-3)
    assert (found.history["hypervolume"].diff().dropna() >= -1e-9).all()


def test_everything_shows_the_names() -> None:
    found = explained(**EVERYTHING)

    text = str(found)
    line = "Minimised: gap, effort (the distance), changes, rarity (the implausibility), price, you"
    assert line in text
    header = next(line for line in text.splitlines() if line.startswith("  "))
    assert header.split()[-6:] == ["prediction", "effort", "changes", "rarity", "price", "youth"]
    assert found.objective_names == ("gap", "effort", "changes", "rarity", "price", "youth")
    assert len(found.select(3).genomes) == 3
    assert found.diversity() > 0.0
    assert found.coverage_of(found) == 0.0
    assert len(found.minimality()) == len(found.genomes)


def test_only_results_with_the_same_objectives_cover_each_other() -> None:
    expected = r"coverage_of compares results with the same objectives; one has .* and 'price', the"

    with pytest.raises(cp.InvalidInput, match=expected):
        explained(objectives=[PRICE]).coverage_of(explained())


@pytest.mark.parametrize("n", [2, 8])
def test_many_objectives_have_a_hypervolume_in_time(n: int) -> None:
    def wave(i: int) -> cp.Objective:
        return cp.Objective(f"own{i}", lambda rows, _: np.cos(rows["pay"] * (i + 1) + rows["age"]))

    own = [wave(i) for i in range(n)]
    found = explained(objectives=own)

    history = found.history["hypervolume"]

    assert len(found.genomes) > 50
    assert history.iloc[-1] == pytest.approx(found.hypervolume(), rel=0.02)
    assert (history.diff().dropna() >= 0.0).all()
    assert found.select(3).hypervolume() < found.hypervolume()


def test_functions_are_asked_by_one_thread_unless_told_otherwise(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    asked: list[bool] = []

    def check(workers: Any, *, is_shared: bool) -> int:
        asked.append(is_shared)
        return int(workers or 1)

    monkeypatch.setattr("counterpoint.explainer.building.check_workers", check)
    model = LogisticRegression().fit(DATA[NUMBERS], DATA["pay"] > 3 * DATA["debt"] + 12)
    for own in ([], [cp.Objective("youth", lambda rows, _: rows["age"])]):
        explainer = cp.Explainer(model, DATA[NUMBERS], objectives=own)
        explainer.explain_many(DATA[NUMBERS][:2], (True, (0.6, 1.0)), cp.Search(evaluations=50))

    assert asked == [True, False]


@pytest.mark.parametrize("method", ["explore", "random"])
def test_a_search_goes_on_where_it_ended(method: Method) -> None:
    search = cp.Search(method=method, evaluations=100, population=16, patience=None)
    explainer = cp.Explainer(score, DATA, **EVERYTHING)
    row = DATA.iloc[[0]]

    longer = explainer.explain(row, (0.6, 1.0), search).continue_search(96)

    whole = explainer.explain(row, (0.6, 1.0), search.with_(evaluations=196))
    np.testing.assert_array_equal(longer.objectives, whole.objectives)


def test_a_function_gets_the_caller_s_own_kind_of_table() -> None:
    polars = framework("polars")
    data = polars.from_pandas(DATA)

    def cost(rows: Any, row: Any) -> Any:
        assert isinstance(rows, polars.DataFrame)
        return (rows["pay"] - row["pay"][0]).abs()

    explainer = cp.Explainer(
        lambda rows: rows["pay"] / 100, data, objectives=[cp.Objective("c", cost)]
    )
    found = explainer.explain(data[:1], (0.5, 1.0), cp.Search(evaluations=100))

    frame = found.to_frame(near_misses=True)
    assert isinstance(frame, polars.DataFrame)
    np.testing.assert_array_equal(frame["c"], (frame["pay"] - data["pay"][0]).abs())


def test_an_objective_may_not_be_called_like_a_group_or_its_columns() -> None:
    data = DATA.assign(red=[1, 0] * 100, blue=[0, 1] * 100)
    for name in ("colour", "red"):
        with pytest.raises(cp.InvalidInput, match=f"the name '{name}' of an objective is taken"):
            cp.Explainer(
                score,
                data,
                groups={"colour": ["red", "blue"]},
                objectives=[cp.Objective(name, price)],
            )


def test_a_function_that_fails_during_the_search_says_where() -> None:
    def fails(rows: pd.DataFrame, row: pd.DataFrame) -> Any:
        unseen = ~rows["pay"].isin(DATA["pay"])
        return rows["pay"].where(~unseen, np.nan) + 0 * len(row)

    with pytest.raises(cp.InvalidInput, match=r"objective 'f' returned .* NaN .* first for \{'age"):
        explained(objectives=[cp.Objective("f", fails)])


def test_the_nearest_observed_rows_get_all_objectives_too() -> None:
    found = cp.Explainer(score, DATA, **EVERYTHING).explain(
        DATA.iloc[[0]], (0.6, 1.0), cp.WhatIf(n=3)
    )

    assert found.objectives.shape == (3, 6)
    np.testing.assert_array_equal(
        found.to_frame(near_misses=True)["youth"], found.to_frame(near_misses=True)["age"]
    )


def test_a_row_that_is_already_there_shows_the_names() -> None:
    there = int(np.argmax(score(DATA)))

    found = explained(i=there, **EVERYTHING)

    assert found.status == "already_met"
    assert found.to_frame(near_misses=True).columns.to_list()[-1] == "youth"


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "found.json"


def test_a_saved_result_keeps_names_and_numbers(path: Path) -> None:
    found = explained(**EVERYTHING)
    found.save(path)

    loaded = cp.load(path)

    pd.testing.assert_frame_equal(
        loaded.to_frame(near_misses=True), found.to_frame(near_misses=True)
    )
    assert str(loaded) == str(found)
    assert loaded.hypervolume() == found.hypervolume()
    pd.testing.assert_frame_equal(loaded.history, found.history)
    np.testing.assert_array_equal(loaded.select(3).objectives, found.select(3).objectives)
    loaded.save(path)
    assert cp.load(path).objective_names == found.objective_names
    aims = json.loads(path.read_text())["aims"]
    assert aims["objectives"][1] == {
        "name": "youth",
        "kind": "objective",
        "worst": 100.0,
        "end": 100.0,
    }
    assert aims["distance"]["kind"] == "distance"


def test_the_command_line_shows_a_saved_result_by_its_names(
    path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    explained(**EVERYTHING).save(path)

    status = main(["show", str(path)])

    out = capsys.readouterr().out
    assert status == 0
    assert "Minimised: gap, effort (the distance), changes, rarity (the impl" in out
    header = next(line for line in out.splitlines() if "youth" in line and "prediction" in line)
    assert header.split()[-6:] == ["prediction", "effort", "changes", "rarity", "price", "youth"]
    assert main(["show", str(path), "--json"]) == 0
    first = json.loads(capsys.readouterr().out)[0]["counterfactuals"][0]
    assert {"effort", "rarity", "price", "youth"} <= set(first)


def test_a_loaded_function_says_that_it_is_not_there(path: Path) -> None:
    explained(**EVERYTHING).save(path)

    loaded = cp.load(path)

    (objective, *_) = loaded.facts.aims.objectives
    with pytest.raises(
        cp.InvalidInput, match="'price' is a function, of which a result keeps the na"
    ):
        objective.function(DATA, DATA[:1])


NO_AIMS: dict[str, Any] = {"distance": None, "plausibility": None, "score": None, "objectives": []}


def put(*keys: Any) -> Any:
    *path, last, value = keys

    def change(document: Any) -> None:
        for key in path:
            document = document[key]
        document[last] = value

    return change


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (put("aims", "objectives", []), "must have 4 entries, got 6"),
        (put("aims", "distance", "kind", "objective"), "$.aims.distance.kind must be one of 'dist"),
        (put("aims", "objectives", 0, None), "$.aims.objectives[0] must be an object, got None."),
        (
            put("aims", "objectives", 0, "name", "youth"),
            "the name 'youth' of an objective is taken",
        ),
        (put("aims", "objectives", 0, "name", "age"), "the name 'age' of an objective is taken"),
        (put("aims", "objectives", 0, "end", None), "objectives[0].end must be a finite number"),
        (put("aims", "score", "a forest"), "$.aims.score must be null, where a function tells pla"),
        (
            put("aims", "gower", "scale", "iqr"),
            "$.aims.gower.scale must be one of 'mad', 'percen",
        ),
        (put("aims", "gower", "widths", [1.0]), "$.aims.gower.widths must have 0 entries, got 1."),
        (
            put("aims", "gower", {"scale": "mad", "widths": [1.0, 1.0, 1.0, -1.0]}),
            "$.aims.gower.widths must be a list of numbers of at least 0",
        ),
        (put("aims", "objectives", [{}] * 9), "$.aims.objectives must have at most 8 entries."),
        (put("objectives", 0, 1, -1.0), "$.objectives[0][1] must be at least 0, got -1.0."),
        (put("trace", "objectives", 0, 1, -1.0), "must be at least 0, got -1.0."),
        (
            put("limits", "costs", [{"feature": "age", "cost": 2.0}]),
            "costs weigh Gower's distance, which distance='effort' replaces",
        ),
        (
            put("aims", {**NO_AIMS, "gower": {"scale": "range", "widths": []}}),
            "$.aims must be null where there are only the built-in objectives",
        ),
    ],
)
def test_files_that_contradict_themselves_are_refused(
    path: Path, change: Any, message: str
) -> None:
    explained(**EVERYTHING).save(path)
    document = json.loads(path.read_text())
    change(document)
    path.write_text(json.dumps(signed(document)))

    with pytest.raises(cp.InvalidInput) as raised:
        cp.load(path)

    assert message in str(raised.value)
