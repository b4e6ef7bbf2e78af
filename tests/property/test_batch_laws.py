"""Laws of batch jobs: however they are cut, ended, harmed and begun again, they end the same."""

from __future__ import annotations

import io
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
from tests.batches import (
    N_ROWS,
    PART_ROWS,
    SEARCH,
    StopAfter,
    contents,
    explainer,
    lines_of,
    rows_of_square,
    run_batch,
)
from tests.batches import write_rows as write

from counterpoint.batch.engines.engine import Chunk, Done, Lost, Recipe, work
from counterpoint.batch.files import Batch
from counterpoint.batch.job import FEW, GROWTH, MOST, ChunkSchedule, ChunkSizes, split
from counterpoint.batch.rows import Order

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
        assert summary.counts.rows == N_ROWS
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
    plan = ChunkSchedule(iter(stretches), ends[-1])
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
    sizes = ChunkSizes()
    for each in seconds:
        n_rows = sizes.size(n_left, 4)
        assert 1 <= n_rows <= min(MOST, max(FEW, GROWTH * sizes.largest))
        sizes.hear(n_rows, each)
        assert sizes.limit(n_rows) >= sizes.row_timeout
        assert sizes.limit(1) == sizes.row_timeout


class Treacherous:
    """An engine that explains at once, and then loses, damages or repeats what it has."""

    name = "treacherous"

    def __init__(self, recipe: Recipe, order: Order, deeds: list[str], poison: set[int]) -> None:
        self.recipe, self.order, self.deeds, self.poison = recipe, order, deeds, poison
        self.events: list[Done | Lost] = []
        self.late: set[Chunk] = set()

    def slots(self) -> int:
        """Return another number each time: workers come and go."""
        return 1 + len(self.deeds) % 3

    def submit(self, chunk: Chunk, rows: pd.DataFrame) -> None:
        """Explain rows, or do something else."""
        deed = self.deeds.pop() if self.deeds else "done"
        done = Done(chunk, work(self.recipe, self.order, rows), 0.01)
        if self.poison.intersection(range(*chunk)):
            self.events.append(Lost(chunk, "it killed its worker"))
        elif deed == "lose":
            self.events.append(Lost(chunk, "its worker was shut down"))
        elif deed == "damage":
            self.events.append(Done(chunk, done.payload[:-30], 0.01))
        elif deed == "hang":
            self.late.add(chunk)
        else:
            self.events.extend([done] * (2 if deed == "repeat" else 1))

    def wait(self, seconds: float) -> list[Done | Lost]:
        """Return what has happened, the latest first."""
        assert seconds > 0
        events, self.events = self.events[::-1], []
        return events

    def running(self) -> dict[Chunk, float]:
        """Return what never ends."""
        return dict.fromkeys(self.late, 1e9)

    def give_up(self, chunk: Chunk) -> None:
        """Forget it."""
        self.late.remove(chunk)

    def close(self) -> None:
        """Do nothing."""


DEEDS = st.sampled_from(["done", "lose", "damage", "repeat", "hang"])


@settings(max_examples=10, deadline=None)
@given(
    deeds=st.lists(DEEDS, max_size=12),
    poison=st.sets(st.integers(0, N_ROWS - 1), max_size=2),
    chunk=st.sampled_from([3, 11]),
)
def test_whatever_an_engine_does_each_row_comes_out_once(
    deeds: list[str], poison: set[int], chunk: int
) -> None:
    with tempfile.TemporaryDirectory() as folder:
        rows, out = write(Path(folder)), Path(folder) / "out"
        batch = Batch(
            Recipe.of(explainer()),
            Order((0.5, 1.0), SEARCH, id="loan"),
            out,
            lambda recipe, order: Treacherous(recipe, order, deeds, poison),
            PART_ROWS,
            progress=False,
            sizes=ChunkSizes(rows=chunk),
        )

        batch.run(rows)

        lines, expected = lines_of(out), clean_lines()
        failed = set(lines.loc[lines["status"] == "failed", "row"])
        assert poison <= failed
        assert failed == poison or deeds_left_a_row_twice(lines)
        pd.testing.assert_frame_equal(
            lines[~lines["row"].isin(failed)].reset_index(drop=True),
            expected[~expected["row"].isin(failed)].reset_index(drop=True),
        )
        assert lines["row"].drop_duplicates().tolist() == list(range(N_ROWS))


def deeds_left_a_row_twice(lines: pd.DataFrame) -> bool:
    """Whether rows failed for the two reasons there are, and no other."""
    told = set(lines.loc[lines["status"] == "failed", "message"])
    return told <= {"its worker died while it was explained", "no answer within 120 s"}


@lru_cache(maxsize=1)
def clean_lines() -> pd.DataFrame:
    """Return the lines of a job to which nothing happens."""
    parts = (io.BytesIO(content) for name, content in sorted(clean().items()) if "part" in name)
    return pd.concat(map(pd.read_parquet, parts), ignore_index=True)


def test_the_output_has_the_types_the_schema_says() -> None:
    with tempfile.TemporaryDirectory() as folder:
        rows, out = write(Path(folder)), Path(folder) / "out"

        run_batch(rows, out)

        lines = lines_of(out)
        assert lines["loan"].tolist() == sorted(lines["loan"])
        assert lines["row"].tolist() == [int(loan[1:]) for loan in lines["loan"]]
        assert pd.api.types.is_bool_dtype(lines["valid"].dtype)
