"""How time and memory grow with the observed rows and with the features.

    python -m benchmarks.growth [--quick]

Every point is measured in a process of its own, so that its memory is its own. Writes
docs/performance/growth.json and, with the extra `figures`, growth.svg.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np

import counterpoint as cp
from benchmarks import simulated
from benchmarks.held import held_mib, memory

FOLDER = Path(__file__).parent.parent / "docs" / "performance"
ROWS = (1_000, 10_000, 100_000, 1_000_000)
FEATURES = (10, 20, 50, 100, 200)
N_ALONE, N_TOGETHER = 7, 50
N_OUTLIERS = 100  # of a heavy-tailed table: numbers 10,000 times as large as others
SEARCH = cp.Search(evaluations=3520, patience=None)
WANTED = (0.5, 1.0)


def measure(n: int, d: int, is_correlated: bool, n_outliers: int) -> dict[str, Any]:
    """Time the explanation of rows alone and together over n observed rows of d features."""
    model: Any = simulated.LogLinear() if n_outliers else simulated.Linear()
    data = (
        simulated.heavy_tailed(n, d, n_outliers)
        if n_outliers
        else simulated.table(n, d, is_correlated=is_correlated)
    )
    refused = np.flatnonzero(model(data) < 0.3)[: 1 + N_ALONE + N_TOGETHER]
    rows = data.iloc[refused]
    before = held_mib()
    start = time.perf_counter()
    explainer = cp.Explainer(model, data)
    fitted = time.perf_counter() - start
    explainer.explain(rows.iloc[[0]], WANTED, SEARCH)  # loads the kernels, thins the copies
    alone = []
    for i in range(1, 1 + N_ALONE):
        start = time.perf_counter()
        explainer.explain(rows.iloc[[i]], WANTED, SEARCH)
        alone.append(time.perf_counter() - start)
    together = rows.iloc[1 + N_ALONE :]
    with memory() as taken:
        start = time.perf_counter()
        explainer.explain_many(together, WANTED, SEARCH, workers=1)
        many = (time.perf_counter() - start) / len(together)
    return {
        "rows": n,
        "features": d,
        "correlated": is_correlated,
        "outliers": n_outliers,
        "explainer_s": fitted,
        "alone_ms": 1000.0 * float(np.median(alone)),
        "together_ms": 1000.0 * many,
        "genomes_mib": 8.0 * n * d / 2**20,
        "data_mib": float(data.memory_usage(deep=True).sum()) / 2**20,
        "explainer_mib": taken.before - before,
        "together_mib": taken.most - taken.before,
    }


def in_own_process(*point: int) -> dict[str, Any]:
    """Measure one point in a fresh process."""
    arguments = ["--point", *map(str, map(int, point))]
    done = subprocess.run(  # noqa: S603 - our own module
        [sys.executable, "-m", "benchmarks.growth", *arguments],
        capture_output=True,
        text=True,
        check=True,
    )
    return dict(json.loads(done.stdout))


def run(quick: bool) -> list[dict[str, Any]]:
    """Measure all points, printing each as it comes."""
    points = [(n, 20, c, 0) for c in (True, False) for n in (ROWS[:3] if quick else ROWS)]
    points += [(2_000, d, True, 0) for d in (FEATURES[:3] if quick else FEATURES)]
    points += [] if quick else [(100_000, 10, True, N_OUTLIERS)]
    records = []
    for point in points:
        records.append(in_own_process(*point))
        print(line(records[-1]), flush=True)
    return records


def line(record: dict[str, Any]) -> str:
    """Return one record as a line of text."""
    kind = "correlated" if record["correlated"] else "independent"
    kind = "outliers" if record["outliers"] else kind
    return (
        f"{record['rows']:>9,} rows  {record['features']:>3} features  {kind:11}  "
        f"alone {record['alone_ms']:7.1f} ms  together {record['together_ms']:7.1f} ms/row  "
        f"memory: data {record['data_mib']:4.0f} MiB, explainer {record['explainer_mib']:4.0f}, "
        f"{N_TOGETHER} rows in flight {record['together_mib']:4.0f}"
    )


def draw(records: list[dict[str, Any]], file: Path) -> None:
    """Draw time per explained row over observed rows and over features."""
    import altair as alt  # noqa: TID251 - a figure of its own
    import pandas as pd

    frame = pd.DataFrame([each for each in records if not each["outliers"]]).melt(
        id_vars=["rows", "features", "correlated"],
        value_vars=["alone_ms", "together_ms"],
        var_name="how",
        value_name="ms",
    )
    names = {"alone_ms": "one row alone", "together_ms": f"{N_TOGETHER} rows together"}
    kinds = {True: "correlated features", False: "independent features"}
    frame = frame.assign(how=frame["how"].map(names), kind=frame["correlated"].map(kinds))
    colour = alt.Color("how:N", title=None, scale=alt.Scale(range=["#0072B2", "#D55E00"]))
    dash = alt.StrokeDash("kind:N", title=None, legend=alt.Legend(symbolSize=400))

    def curve(data: Any, x: str, title: str, values: tuple[int, ...]) -> Any:
        ends = alt.Scale(type="log", domain=[values[0], values[-1]], nice=False)
        marks = alt.Axis(format="~s", values=list(values), grid=False)
        levels = alt.Axis(values=[10, 20, 50, 100, 200, 500, 1000], gridColor="#eee")
        scale = alt.Scale(type="log", domain=[5, 1000], nice=False)
        chart = alt.Chart(data, title=title, width=300, height=240).encode(
            alt.X(f"{x}:Q", scale=ends, title=title.split(", more ")[1], axis=marks),
            alt.Y("ms:Q", scale=scale, title="milliseconds per explained row", axis=levels),
            colour,
            alt.Detail("kind:N"),
        )
        return chart.mark_line().encode(dash) + chart.mark_point(filled=True, size=40, opacity=1)

    by_rows, by_features = frame[frame["features"] == 20], frame[frame["rows"] == 2_000]
    by_rows = by_rows[by_rows["rows"] != 2_000]
    chart = curve(by_rows, "rows", "20 features, more observed rows", ROWS)
    chart |= curve(by_features, "features", "2,000 observed rows, more features", FEATURES)
    chart.save(file)


def main() -> None:
    """Measure and write."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="small tables only; writes nothing")
    parser.add_argument("--point", nargs=4, type=int, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.point:
        n, d, is_correlated, n_outliers = arguments.point
        print(json.dumps(measure(n, d, bool(is_correlated), n_outliers)))
        return
    records = run(arguments.quick)
    if not arguments.quick:
        FOLDER.mkdir(exist_ok=True)
        (FOLDER / "growth.json").write_text(json.dumps(records, indent=1) + "\n")
        draw(records, FOLDER / "growth.svg")


if __name__ == "__main__":
    main()
