"""Every chart is drawn at least once, for results of every sort; every refusal says what to do."""

from __future__ import annotations

import base64
import gzip
import json
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from tests.figures import FIELDS, drawn, explained, fields_of, mixed_table, with_gaps, worth

import counterpoint as cp
from counterpoint.errors import InvalidInput, MissingDependency, UnknownFeatureError
from counterpoint.result.figures.axes import INVALID
from counterpoint.result.figures.charts.theme import DARK, LIGHT

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


@pytest.mark.parametrize("name", EVERY)
def test_each_figure_is_drawn(found: cp.Counterfactuals, name: str) -> None:
    spec = EVERY[name](found).to_dict()

    assert fields_of(spec) <= FIELDS | {f"objective_{m}" for m in range(4)}
    svg = drawn(spec)
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


def test_a_notebook_shows_a_chart_without_fetching_anything() -> None:
    chart = with_gaps(False).plot.frequency()

    bundle = chart._repr_mimebundle_()

    assert list(bundle) == ["text/html"]
    assert "http" not in bundle["text/html"]
    packed_parts = re.findall(r'unpacked\("([^"]+)"\)', bundle["text/html"])
    library, spec = (gzip.decompress(base64.b64decode(part)).decode() for part in packed_parts)
    assert "vegaEmbed" in library
    assert json.loads(spec)["datasets"].keys() == {"features"}


def test_labels_name_features_levels_and_classes_in_figures() -> None:
    data = pd.DataFrame({"duration": [6, 12, 24, 48] * 5, "job": [0, 1, 2, 2] * 5})
    data["job"] = data["job"].astype("category")
    labels = cp.Labels(
        features={"duration": "term"},
        levels={"job": {2: "skilled"}},
        classes={"good": "approved"},
        units={"duration": "months"},
    )

    def ask(rows: pd.DataFrame) -> Any:
        good = 1.0 - rows["duration"].to_numpy() / 60.0
        return np.column_stack([1.0 - good, good])

    explainer = cp.Explainer(ask, data, classes=["bad", "good"], labels=labels)
    found = explainer.explain(data[3:4], target="good")

    assert set(found.plot.parallel_data()["axes"]["feature"]) <= {"term", "job"}
    assert "Probability of “approved”" in json.dumps(found.plot.ice().to_dict(), ensure_ascii=False)
    curves = found.plot.ice_data("job")["curves"]
    assert "skilled" in set(curves["value"])
    assert "term (months)" in json.dumps(found.plot.strips().to_dict())
