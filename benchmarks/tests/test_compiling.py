from __future__ import annotations

from benchmarks.compiling import KernelCosts


def test_the_longest_kernels_come_first_and_the_sum_last() -> None:
    costs = KernelCosts()
    costs.lines = [("short", 0.1, 0.1, 1000), ("long", 1.0, 2.0, 5000), ("middle", 0.5, 0.5, 2000)]

    lines = [line.split() for line in costs.as_text(2).splitlines()[1:]]

    assert [line[0] for line in lines] == ["long", "middle", "all"]
    assert lines[-1] == ["all", "3", "1.60", "2.60", "4.20", "8"]
