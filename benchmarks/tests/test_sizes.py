"""The tables of sizes: what is measured, and how two checkouts stand beside each other."""

from __future__ import annotations

import numpy as np
from benchmarks import sizes
from benchmarks.sizes import Size


def test_all_sizes_and_kinds_of_columns_are_measured() -> None:
    measured = sizes.sizes(quick=False)

    assert {size.d for size in measured} == {8, 21, 60, 200}
    assert {size.kind for size in measured} == {"numbers", "mixed"}
    assert {size.model for size in measured} == {"linear", "forest", "boosting"}
    assert {*sizes.sizes(quick=True)} <= {*measured}


def test_tables_have_the_features_that_their_titles_say() -> None:
    for size in (Size(8, "numbers", "linear"), Size(21, "mixed", "linear")):
        data, model = sizes.made(size, n=60)

        assert data.shape == (60, size.d)
        assert (data.select_dtypes("number").shape[1] == size.d) == (size.kind == "numbers")
        assert np.unique(model.predict(data)).tolist() == [0, 1]


def test_two_checkouts_stand_in_one_table() -> None:
    size = {"total_ms": 20.0, "own_ms": 8.0, "limit_ms": 10.0}
    cores = {"rows": 100.0, "one_s": 20.0, "all_s": 12.5, "share": 0.8, "most": 0.9}
    memory = {"rows": 50.0, "explainer_mib": 100.0, "most_mib": 250.0, "helper_mib": 180.0}
    start = {"first_s": 1.25, "compile_s": 12.0}
    sides = ("before", "after")
    records = {
        "size:linear, 8 features, numbers": dict.fromkeys(sides, size),
        "cores:linear, 8 features, numbers": dict.fromkeys(sides, cores),
        "memory:600 evaluations": dict.fromkeys(sides, memory),
        "start:": dict.fromkeys(sides, start),
    }

    text = sizes.as_markdown(records)

    assert "| linear, 8 features, numbers | 20.0 | 20.0 | 8.0 | 8.0 | 2.0 | 2.0 |" in text
    assert "| linear, 8 features, numbers | 20.0 | 20.0 | 12.5 | 12.5 | 80 % | 80 % | 90 %" in text
    assert "total (ms/row), before | total (ms/row), now" in text
    assert "| what | before | now |" in text
    assert "| compiling the kernels, once | 12.0 s | 12.0 s |" in text
    told = "250 MiB (the explainer 100, 50 rows kept), and 180 in a process that helps"
    assert f"20 features, 600 evaluations each | {told} | {told} |" in text
    alone = {name: {"after": sides["after"]} for name, sides in records.items()}
    assert "before" not in sizes.as_markdown(alone)


def test_searches_that_know_nothing_of_each_other_begin_at_once_and_tell_their_time() -> None:
    taken = sizes.seconds_apart(Size(8, "numbers", "linear"), 2, 2)

    assert 0.0 < taken < 60.0
