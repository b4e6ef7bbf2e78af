"""Laws of batch jobs: however they are cut, ended, harmed and begun again, they end the same."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable
from functools import lru_cache
from itertools import pairwise
from pathlib import Path
from typing import Any

import pandas as pd
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.batches import N_ROWS, StopAfter, contents, lines_of, rows_of_square, run_batch
from tests.batches import write_rows as write

from counterpoint.scale.engine import Chunk
from counterpoint.scale.pace import FEW, GROWTH, MOST, Pace
from counterpoint.scale.plan import Plan, split

Harm = Callable[[Path], None]


def nothing(out: Path) -> None:
    """Leave all as it is."""


def flip_a_chunk(out: Path) -> None:
    """Change a byte in the middle of the first chunk."""
    for chunk in sorted(out.glob("work/chunk-*.arrow"))[:1]:
        content = bytearray(chunk.read_bytes())
        content[len(content) // 2] ^= 1
        chunk.write_bytes(content)


def lose_a_chunk(out: Path) -> None:
    """Take the last chunk away."""
    for chunk in sorted(out.glob("work/chunk-*.arrow"))[-1:]:
        chunk.unlink()


def cut_a_part(out: Path) -> None:
    """Cut a part in half."""
    for part in sorted(out.glob("part-*.parquet"))[:1]:
        os.truncate(part, part.stat().st_size // 2)


def lose_a_part(out: Path) -> None:
    """Take a part away."""
    for part in sorted(out.glob("part-*.parquet"))[-1:]:
        part.unlink()


def tear_the_journal(out: Path) -> None:
    """Cut the journal's last line, as a crash may."""
    for journal in out.glob("work/journal.jsonl"):
        os.truncate(journal, max(0, journal.stat().st_size - 9))


def garble_the_journal(out: Path) -> None:
    """Write over the journal's first line."""
    for journal in out.glob("work/journal.jsonl"):
        journal.write_bytes(b"no line of ours\n[]\n" + journal.read_bytes()[19:])


def leave_a_draft(out: Path) -> None:
    """Leave what a killed process was writing."""
    (out / "work" / "part-00000.tmp").write_bytes(b"half a part")


HARMS: list[Harm] = [
    nothing,
    flip_a_chunk,
    lose_a_chunk,
    cut_a_part,
    lose_a_part,
    tear_the_journal,
    garble_the_journal,
    leave_a_draft,
]
RUNS = st.tuples(
    st.integers(0, 6), st.sampled_from([1, 3, 5, 40]), st.integers(1, 3), st.sampled_from(HARMS)
)


@lru_cache(maxsize=1)
def clean() -> dict[str, bytes]:
    """Return what the job ends with if nothing happens to it."""
    with tempfile.TemporaryDirectory() as folder:
        run_batch(write(Path(folder)), Path(folder) / "out")
        return contents(Path(folder) / "out")


@settings(max_examples=15, deadline=None)
@given(runs=st.lists(RUNS, max_size=4))
def test_an_ended_and_harmed_job_ends_with_the_same_bytes(runs: list[Any]) -> None:
    with tempfile.TemporaryDirectory() as folder:
        rows, out = write(Path(folder)), Path(folder) / "out"
        for n_looks, chunk, workers, harm in runs:
            run_batch(rows, out, chunk=chunk, workers=workers, stop=StopAfter(n_looks))
            if (out / "work").exists() or harm in (cut_a_part, lose_a_part):
                harm(out)

        summary = run_batch(rows, out)

        assert contents(out) == clean()
        assert summary.tally.rows == N_ROWS
        assert set(lines_of(out)["loan"]) == set(rows_of_square()["loan"])


@settings(max_examples=5, deadline=None)
@given(cut=st.integers(1, N_ROWS - 1))
def test_how_rows_are_spread_over_files_does_not_matter(cut: int) -> None:
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder)
        rows_of_square().iloc[:cut].to_parquet(place / "1.parquet")
        rows_of_square().iloc[cut:].to_csv(place / "2.csv", index=False)

        run_batch(place, place / "out")

        expected = {name: content for name, content in clean().items() if name != "manifest.json"}
        assert {name: contents(place / "out")[name] for name in expected} == expected


@given(start=st.integers(0, 50), n=st.integers(1, 100))
def test_pieces_are_a_chunk_again(start: int, n: int) -> None:
    pieces = split(Chunk(start, start + n))

    assert [row for piece in pieces for row in range(*piece)] == list(range(start, start + n))
    assert 1 <= len(pieces) <= 8
    assert n == 1 or len(pieces) > 1


@given(
    bad=st.sets(st.integers(0, 99), max_size=5),
    gaps=st.lists(st.integers(1, 30), min_size=1, max_size=6),
    size=st.integers(1, 40),
)
def test_just_the_rows_to_blame_are_given_up(bad: set[int], gaps: list[int], size: int) -> None:
    """A worker that dies of some rows leads to these rows and no others, with each done once."""
    ends = [sum(gaps[:i]) for i in range(len(gaps) + 1)]
    stretches = [Chunk(start, stop) for start, stop in pairwise(ends)]
    plan = Plan(iter(stretches), ends[-1])
    done: list[int] = []
    given_up: list[int] = []
    while (chunk := plan.next(size)) is not None:
        if not bad.intersection(range(*chunk)):
            done.extend(range(*chunk))
        elif (row := plan.fail(chunk)) is not None:
            given_up.extend(range(*row))

    assert sorted(done + given_up) == list(range(ends[-1]))
    assert set(given_up) == bad & set(range(ends[-1]))
    assert plan.n_left == 0


@given(seconds=st.lists(st.floats(0.001, 50.0), max_size=20), n_left=st.integers(1, 10**6))
def test_chunks_grow_no_faster_than_what_is_known(seconds: list[float], n_left: int) -> None:
    pace = Pace()
    for each in seconds:
        n_rows = pace.size(n_left, 4)
        assert 1 <= n_rows <= min(MOST, max(FEW, GROWTH * pace.largest))
        pace.hear(n_rows, each)
        assert pace.limit(n_rows) >= pace.row_timeout
        assert pace.limit(1) == pace.row_timeout


def test_the_output_has_the_types_the_schema_says() -> None:
    with tempfile.TemporaryDirectory() as folder:
        rows, out = write(Path(folder)), Path(folder) / "out"

        run_batch(rows, out)

        lines = lines_of(out)
        assert lines["loan"].tolist() == sorted(lines["loan"])
        assert lines["row"].tolist() == [int(loan[1:]) for loan in lines["loan"]]
        assert pd.api.types.is_bool_dtype(lines["valid"].dtype)
