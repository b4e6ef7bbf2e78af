"""Every chart is drawn at least once, for results of every sort; every refusal says what to do."""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from tests.figures import FIELDS, drawn, explained, fields_of, mixed_table, worth
from tests.strategies import generator

import counterpoint as cp
from counterpoint.errors import InvalidInput, MissingDependency, UnknownFeatureError
from counterpoint.result.figures.charts.theme import DARK, LIGHT
from counterpoint.result.figures.frames.candidates import MOST_ARROWS
from counterpoint.result.figures.frames.common import INVALID, MOST_LEVELS, VALID, Axis, wrapped

Draw = Callable[[cp.Counterfactuals], Any]

EVERY: dict[str, Draw] = {
    "parallel": lambda found: found.plot.parallel(),
    "parallel of some": lambda found: found.plot.parallel(["same", "job"], width=300),
    "surface of numbers": lambda found: found.plot.surface("amount", "rooms", resolution=8),
    "surface with dates": lambda found: found.plot.surface("since", "amount", resolution=8),
    "mixed surface": lambda found: found.plot.surface("amount", "job", resolution=8),
    "surface of levels": lambda found: found.plot.surface("job", "owns"),
    "surface of a constant": lambda found: found.plot.surface("same", "size"),
    "objectives": lambda found: found.plot.objectives(),
    "frequency": lambda found: found.plot.frequency(),
    "history": lambda found: found.plot.history(),
    "ice": lambda found: found.plot.ice(),
    "ice of levels": lambda found: found.plot.ice("size"),
    "ice of dates": lambda found: found.plot.ice("since"),
    "strips": lambda found: found.plot.strips(),
}
NO_MODEL = {
    name: draw for name, draw in EVERY.items() if "surface" not in name and "ice" not in name
}


@pytest.fixture(scope="module")
def found() -> cp.Counterfactuals:
    return explained()


@pytest.fixture(scope="module")
def loaded(found: cp.Counterfactuals, tmp_path_factory: Any) -> cp.Counterfactuals:
    file = tmp_path_factory.mktemp("figures") / "found.json"
    found.save(file)
    return cp.load(file)


@pytest.mark.parametrize("name", EVERY)
def test_each_figure_is_drawn(found: cp.Counterfactuals, name: str) -> None:
    chart = EVERY[name](found)

    assert fields_of(chart.to_dict()) <= FIELDS | {f"objective_{m}" for m in range(4)}
    svg = drawn(chart)
    assert "NaN" not in svg
    assert LIGHT.row in svg or name in ("frequency", "history")


@pytest.mark.parametrize("name", EVERY)
def test_each_figure_is_drawn_for_one_counterfactual(found: cp.Counterfactuals, name: str) -> None:
    assert drawn(EVERY[name](found.take(0)))


@pytest.mark.parametrize("name", EVERY)
def test_each_figure_is_drawn_for_none(found: cp.Counterfactuals, name: str) -> None:
    assert drawn(EVERY[name](found.take([])))


def test_a_png_is_written_without_a_browser(found: cp.Counterfactuals, tmp_path: Path) -> None:
    found.plot.surface("amount", "rooms", resolution=10).save(str(tmp_path / "surface.png"))

    assert (tmp_path / "surface.png").read_bytes().startswith(b"\x89PNG")


@pytest.mark.parametrize("figure", ["parallel", "objectives", "frequency", "history", "strips"])
def test_dark_pages_get_dark_paper(found: cp.Counterfactuals, figure: str) -> None:
    svg = drawn(getattr(found.plot, figure)(dark=True))

    assert DARK.paper in svg
    assert LIGHT.row not in svg


@pytest.mark.parametrize("figure", ["parallel", "frequency", "history"])
def test_the_width_is_as_asked(found: cp.Counterfactuals, figure: str) -> None:
    assert getattr(found.plot, figure)(width=333).to_dict()["width"] == 333


def test_nothing_found_is_said_in_the_figure() -> None:
    row = mixed_table().iloc[[0]]
    met = cp.Explainer(worth, mixed_table()).explain(row, (0.0, 1000.0))

    for figure in ("parallel", "frequency", "history", "ice", "strips"):
        assert "Nothing to show: the row already reaches" in drawn(getattr(met.plot, figure)())
    assert drawn(met.plot.objectives())
    assert drawn(met.plot.surface("amount", "rooms", resolution=5))


def test_a_best_effort_shows_its_misses() -> None:
    far = explained(target=(5000.0, 6000.0), evaluations=200)

    assert far.status == "best_effort"
    assert set(far.plot.parallel_data()["counterfactuals"]["outcome"]) == {"the row", INVALID}
    assert all(drawn(draw(far)) for name, draw in EVERY.items() if name != "history")


@pytest.mark.parametrize("name", NO_MODEL)
def test_a_loaded_result_is_drawn_without_its_model(loaded: cp.Counterfactuals, name: str) -> None:
    assert drawn(NO_MODEL[name](loaded))


def test_a_loaded_result_shows_the_same_lines(
    found: cp.Counterfactuals, loaded: cp.Counterfactuals
) -> None:
    for figure in ("parallel", "frequency", "history"):
        ours = getattr(found.plot, f"{figure}_data")()
        theirs = getattr(loaded.plot, f"{figure}_data")()
        for name, frame in ours.items():
            pd.testing.assert_frame_equal(theirs[name], frame)


@pytest.mark.parametrize("figure", ["surface", "ice"])
def test_what_asks_the_model_refuses_a_loaded_result(
    loaded: cp.Counterfactuals, figure: str
) -> None:
    features = ["amount", "rooms"][: 1 + (figure == "surface")]
    message = (
        f"plot.{figure} asks the model about new rows, and this result was loaded from a file, "
        "without its model and data; make an Explainer, call explain again with the same seed, and "
        "plot that result."
    )

    with pytest.raises(InvalidInput, match=re.escape(message)):
        getattr(loaded.plot, figure)(*features)


def test_unknown_features_are_refused_by_name(found: cp.Counterfactuals) -> None:
    message = "plot.surface(y=...) names 'amout', which is not a column of the data; did you mean"

    with pytest.raises(UnknownFeatureError, match=re.escape(f"{message} 'amount'?")):
        found.plot.surface("rooms", "amout")
    with pytest.raises(UnknownFeatureError, match=re.escape("plot.ice(feature=...) names 'x'")):
        found.plot.ice("x")
    with pytest.raises(UnknownFeatureError, match=r"strips.*names 'jib'.*did you mean 'job'"):
        found.plot.strips(["jib"])


def test_one_feature_makes_no_surface(found: cp.Counterfactuals) -> None:
    message = (
        "plot.surface needs two different features, got 'job' twice; for one feature there is "
        "plot.ice('job')."
    )

    with pytest.raises(InvalidInput, match=re.escape(message)):
        found.plot.surface("job", "job")


@pytest.mark.parametrize("features", ["job", [], 3])
def test_features_are_a_list_of_names(found: cp.Counterfactuals, features: Any) -> None:
    message = (
        f"plot.parallel(features=...) takes a list of names, got {features!r}; write for example "
        "features=['amount']."
    )

    with pytest.raises(InvalidInput, match=re.escape(message)):
        found.plot.parallel(features)


@pytest.mark.parametrize(
    ("draw", "message"),
    [
        (
            lambda plot: plot.parallel(most=0),
            "plot.parallel.most must be a whole number from 1 to 1,000, got 0",
        ),
        (
            lambda plot: plot.parallel(n=0),
            "plot.parallel.n must be a whole number from 1 to 1,000,000, got 0",
        ),
        (
            lambda plot: plot.strips(n=1.5),
            "plot.strips.n must be a whole number from 1 to 1,000,000, got 1.5",
        ),
        (
            lambda plot: plot.objectives(n=True),
            "plot.objectives.n must be a whole number from 1 to 1,000,000, got True",
        ),
        (
            lambda plot: plot.frequency(most="x"),
            "plot.frequency.most must be a whole number from 1 to 1,000, got",
        ),
        (
            lambda plot: plot.ice(resolution=1),
            "plot.ice.resolution must be a whole number from 2 to 1,000",
        ),
        (
            lambda plot: plot.surface("job", "size", resolution=999),
            "plot.surface.resolution must be a whole number from 2 to 200, got 999",
        ),
        (
            lambda plot: plot.history(width=9),
            "plot.history.width must be a whole number from 100 to 10,000",
        ),
        (lambda plot: plot.history(dark=1), "plot.history.dark must be True or False, got 1."),
    ],
)
def test_settings_out_of_range_are_refused(
    found: cp.Counterfactuals, draw: Any, message: str
) -> None:
    with pytest.raises(InvalidInput, match=re.escape(message)):
        draw(found.plot)


def test_a_missing_altair_is_named_with_the_way_to_get_it(
    found: cp.Counterfactuals, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "altair", None)
    message = (
        'found.plot needs altair, which is not installed; run: pip install "counterpoint[figures]".'
    )

    with pytest.raises(MissingDependency, match=re.escape(message)):
        found.plot.parallel()
    assert len(found.plot.parallel_data()["counterfactuals"])


def test_a_missing_contourpy_is_named_with_the_way_to_get_it(
    found: cp.Counterfactuals, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "contourpy", None)

    with pytest.raises(MissingDependency, match=r"plot\.surface needs contourpy.*\[figures\]"):
        found.plot.surface("amount", "rooms")


def test_frames_need_no_drawing_library() -> None:
    code = (
        "import sys, pandas as pd, counterpoint as cp\n"
        "data = pd.DataFrame({'a': [0, 1, 2, 3]})\n"
        "found = cp.Explainer(lambda rows: rows['a'] / 3, data).explain({'a': 0}, (0.5, 1.0))\n"
        "found.plot.parallel_data(), found.plot.ice_data(), found.plot.strips_data()\n"
        "print('altair' in sys.modules)"
    )

    answer = subprocess.run(  # noqa: S603 - our own interpreter and code
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    ).stdout

    assert answer.strip() == "False"


def test_of_many_counterfactuals_some_are_drawn_and_that_is_said(found: cp.Counterfactuals) -> None:
    chart = found.plot.parallel(n=7)

    lines = chart.to_dict()["datasets"]["counterfactuals"]
    kept = {row["counterfactual"] for row in lines} - {0}
    assert len(found.genomes) > 7
    assert len(kept) == 7
    n = int(found.reaches.sum())
    counts = f"{n} counterfactuals; {len(found.genomes) - n} near misses for {found.target}"
    assert chart.to_dict()["title"]["subtitle"][0] == f"{counts} (shown: 7, chosen by hypervolume)"


def test_of_a_hundred_features_the_most_often_changed_are_shown() -> None:
    rng = generator(1)
    data = pd.DataFrame({f"f{j}": rng.normal(size=60).round(2) for j in range(100)})
    explainer = cp.Explainer(lambda rows: rows.sum(axis=1).to_numpy(), data)
    row = data.iloc[[int(np.argmin(data.sum(axis=1)))]]
    found = explainer.explain(row, (20.0, 90.0), search=cp.Search(evaluations=600))

    chart = found.plot.parallel().to_dict()

    axes = [row["feature"] for row in chart["datasets"]["axes"]]
    shown = found.plot.parallel_data(most=100)["axes"]["feature"].to_list()
    assert len(axes) == 12
    assert axes == shown[:12]
    assert "Shown: the 12 most often changed of" in chart["title"]["subtitle"][1]
    assert "the 20 most often changed of 100" in drawn(found.plot.frequency())


def test_own_objectives_are_in_the_matrix_by_name() -> None:
    def price(rows: pd.DataFrame, row: pd.DataFrame) -> Any:
        return (rows["amount"] - row["amount"].iloc[0]).abs().to_numpy()

    found = explained(objectives=[cp.Objective("<b>price</b>", price)], evaluations=200)

    svg = drawn(found.plot.objectives())

    assert "&lt;b&gt;price&lt;/b&gt;" in svg
    assert found.plot.objectives_data()["names"]["objective"].to_list()[-1] == "<b>price</b>"


def test_a_one_hot_group_is_one_axis_of_its_levels() -> None:
    data = mixed_table()[["amount", "job"]]
    wide = pd.get_dummies(data, columns=["job"], dtype=int)

    def score(rows: pd.DataFrame) -> Any:
        return (rows["amount"] + 60.0 * rows["job_nurse"]).to_numpy()

    groups = {"job": ["job_clerk", "job_nurse", "job_smith"]}
    row = wide[wide["job_clerk"] == 1].iloc[[0]]
    found = cp.Explainer(score, wide, groups=groups).explain(
        row, (180.0, 300.0), search=cp.Search(evaluations=200)
    )

    ticks = found.plot.parallel_data(["job"])["ticks"]

    assert {"clerk", "nurse"} <= set(ticks["text"])
    assert drawn(found.plot.surface("amount", "job", resolution=5))


def test_of_many_levels_those_that_matter_are_shown() -> None:
    data = pd.DataFrame({"city": [f"c{i % 40:02}" for i in range(200)], "a": range(200)})
    explainer = cp.Explainer(lambda rows: (rows["city"] == "c39").to_numpy(dtype=float), data)
    found = explainer.explain({"city": "c38", "a": 3}, (0.5, 1.0))

    axis = Axis.of(found, 0)

    assert len(axis.labels) == MOST_LEVELS
    assert {"c38", "c39"} <= set(axis.labels)
    assert "20 of 40 levels of city" in drawn(found.plot.ice("city"))


def test_strips_draw_arrows_to_the_most_frequent_values(found: cp.Counterfactuals) -> None:
    arrows = found.plot.strips_data(["amount"], n=len(found.genomes))["counterfactuals"]

    drawn_ones = arrows[arrows["lane"] >= 0]
    assert drawn_ones["lane"].nunique() == min(MOST_ARROWS, arrows["new"].nunique())
    assert drawn_ones["together"].min() >= arrows.loc[arrows["lane"] < 0, "together"].max()
    assert VALID in set(arrows["outcome"])


def with_gaps(row_is_missing: bool) -> cp.Counterfactuals:
    """Return a result of data, and maybe a row, with missing numbers and levels."""
    rng = generator(3)
    data = pd.DataFrame({"a": rng.normal(size=80).round(1), "b": rng.choice(["u", "v"], 80)})
    data.loc[::7, "a"] = np.nan
    data.loc[::5, "b"] = None

    def score(rows: pd.DataFrame) -> Any:
        levels = rows["b"].map({"u": 1.0, "v": 0.0}).fillna(2.0)
        return (rows["a"].fillna(-3.0) + levels.astype(float)).to_numpy()

    row = {"a": np.nan if row_is_missing else -1.0, "b": None if row_is_missing else "v"}
    explainer = cp.Explainer(score, data, allow_missing=True)
    return explainer.explain(row, (1.0, 2.0), search=cp.Search(evaluations=200))


@pytest.mark.parametrize("row_is_missing", [True, False])
def test_missing_values_are_drawn_or_said(row_is_missing: bool) -> None:
    found = with_gaps(row_is_missing)

    lines = found.plot.parallel_data()["counterfactuals"]

    is_missing = lines["value"] == "missing"
    assert is_missing.any()
    assert lines.loc[is_missing, "position"].eq(0.0).all()
    assert "missing" in drawn(found.plot.parallel())
    for chart in (found.plot.surface("a", "b"), found.plot.ice(), found.plot.strips()):
        said = "The row's a is missing: it has no place on the axis" in "".join(
            chart.to_dict()["title"]["subtitle"]
        )
        assert said == row_is_missing
        assert drawn(chart)


def test_a_missing_level_is_a_place_of_its_own() -> None:
    found = with_gaps(row_is_missing=True)

    frames = found.plot.ice_data("b")

    curve, row = frames["curves"], frames["counterfactuals"].iloc[0]
    assert sorted(curve["value"]) == ["missing", "u", "v"]
    assert row["value"] == "missing"
    assert curve.set_index("x").loc[row["x"], "prediction"] == found.row_prediction
    assert found.plot.surface_data("a", "b")["bars_y"]["count"].sum() == 80


@pytest.mark.parametrize(
    ("name", "lines"),
    [
        ("age", "age"),
        ("credit_amount", "credit_amount"),
        (
            "installment_rate_in_percentage_of_disposable_income",
            "installment_\nrate_in_\npercentage_…",
        ),
        ("", ""),
    ],
)
def test_long_names_are_wrapped(name: str, lines: str) -> None:
    assert wrapped(name) == lines
