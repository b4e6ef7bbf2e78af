"""What was paid for already: every experiment as a line of a file, asked once and never again."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from contextlib import contextmanager
from multiprocessing import get_context
from pathlib import Path
from typing import Any, NamedTuple

from benchmarks.racing.space import Configuration, text_of


class Experiment(NamedTuple):
    """One run of what is tuned: a configuration on an instance, with a seed."""

    configuration: Configuration
    instance: int
    seed: int

    @property
    def key(self) -> tuple[str, int, int]:
        """What tells it from others."""
        return text_of(self.configuration), self.instance, self.seed


Cost = Callable[[Configuration, int, int], float]
Ask = Callable[[Sequence[Experiment]], list[float]]


class Record:
    """The costs of all experiments so far, in memory and, if it has a file, on disk.

    Parameters
    ----------
    settings : dict
        What decides which experiments are made; plain values. A file with others is refused.
    file : Path, optional
        Where lines are read from and added to; made if it is not there.
    """

    def __init__(self, settings: Mapping[str, Any], file: Path | None = None) -> None:
        self.file = file
        self._settings = json.loads(json.dumps(dict(settings)))
        self._costs: dict[tuple[str, int, int], float] = {}
        if file is not None and file.exists():
            self._read(file)
        elif file is not None:
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(json.dumps({"settings": self._settings}) + "\n")

    def __len__(self) -> int:
        return len(self._costs)

    def cost_of(self, experiment: Experiment) -> float | None:
        """Return what an experiment cost, or None if it was not made."""
        return self._costs.get(experiment.key)

    def add(self, experiment: Experiment, cost: float) -> None:
        """Keep the cost of an experiment; the line is on disk when this returns."""
        if math.isnan(cost):
            raise ValueError(
                f"the cost of {dict(experiment.configuration)} on instance {experiment.instance} "
                "is not a number; return math.inf for a run that failed."
            )
        self._costs[experiment.key] = cost
        if self.file is not None:
            line = experiment._asdict() | {"cost": cost}
            with self.file.open("a") as out:
                out.write(json.dumps(line) + "\n")

    def _read(self, file: Path) -> None:
        """Read a file of the same settings; a last line that was cut off is taken away."""
        text = file.read_text()
        whole = text[: text.rfind("\n") + 1]
        if not whole:
            raise ValueError(f"{file} is not a record of experiments; give another file.")
        first, *lines = whole.splitlines()
        self._refuse_others(file, first)
        for line in lines:
            kept = json.loads(line)
            experiment = Experiment(kept["configuration"], kept["instance"], kept["seed"])
            self._costs[experiment.key] = kept["cost"]
        if whole != text:
            file.write_text(whole)

    def _refuse_others(self, file: Path, first: str) -> None:
        """Refuse a file that was made with other settings, and name the first that differs."""
        try:
            stored = json.loads(first)["settings"]
        except (ValueError, KeyError, TypeError) as error:
            raise ValueError(
                f"{file} is not a record of experiments; give another file."
            ) from error
        for name in sorted(stored.keys() | self._settings.keys()):
            before, now = stored.get(name), self._settings.get(name)
            if before != now:
                raise ValueError(
                    f"{file} holds experiments made with other settings: {name} was {before!r}, "
                    f"now it is {now!r}; give another file or the settings it was made with."
                )


@contextmanager
def asking(cost: Cost, record: Record, workers: int) -> Iterator[Ask]:
    """Give a function that returns the costs of experiments: from the record, or by making them.

    Parameters
    ----------
    cost : callable
        ``cost(configuration, instance, seed)``, less for better ones; with more than one worker a
        function other processes can import.
    record : Record
        Where costs are looked up and kept, in the order asked, whichever is ready first.
    workers : int
        Processes that make experiments; 1 makes them here.
    """
    if workers == 1:
        yield lambda wanted: _ask(cost, record, wanted, map)
        return
    with ProcessPoolExecutor(workers, mp_context=get_context("spawn")) as pool:
        try:
            yield lambda wanted: _ask(cost, record, wanted, pool.map)
        finally:
            pool.shutdown(cancel_futures=True)


def _ask(
    cost: Cost, record: Record, wanted: Sequence[Experiment], each: Callable[..., Iterator[Any]]
) -> list[float]:
    """Return the cost of each experiment wanted; make those not in the record."""
    new = list({e.key: e for e in wanted if record.cost_of(e) is None}.values())
    columns = ([e[i] for e in new] for i in range(3))
    for experiment, found in zip(new, each(cost, *columns), strict=True):
        record.add(experiment, float(found))
    return [found for e in wanted if (found := record.cost_of(e)) is not None]
