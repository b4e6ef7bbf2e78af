"""The paper's tuning of its search by iterated F-racing, run again on models trained here.

    python -m benchmarks.tuning [--data DIR] [--budget 3000] [--first-test 15] [--evaluations 8000]

Six tuning datasets, five models each and ten rows of each make 300 instances (fewer datasets in DIR
make fewer). A configuration's cost on one is minus the integral of the archive's hypervolume over
model evaluations, from 0 to `--evaluations`. Every experiment is a line of OUT/tuning.jsonl: run
again, the same command goes on where it was interrupted. Afterwards the configurations found, the
paper's and our default are compared on instances no race used, and OUT/tuning.md is written.
"""

from __future__ import annotations

import argparse
import warnings
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from time import monotonic
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

import counterpoint as cp
from benchmarks import published, tables
from benchmarks.racing.budget import Tuning
from benchmarks.racing.draws import shuffled
from benchmarks.racing.race import Outcome, Rules
from benchmarks.racing.record import Experiment, Record, asking
from benchmarks.racing.space import Choice, Configuration, Real, Space, Whole
from benchmarks.racing.tune import Iteration, Tuned, tune
from benchmarks.searched_models import FOLDS, KINDS, TRIES, model_of
from benchmarks.tuning_page import BASE, Compared, Page, page_of
from counterpoint.search.settings import Variant

# The paper's appendix, by the names of our settings.
SPACE: Space = {
    "population": Whole(20, 100),
    "initialization": Choice(("random", "ice")),
    "mutation": Choice(("gaussian", "conditional")),
    "p_recombine": Real(0.3, 1.0),
    "p_recombine_gene": Real(0.3, 1.0),
    "p_recombine_keep": Real(0.3, 1.0),
    "p_mutate": Real(0.05, 0.8),
    "p_mutate_gene": Real(0.05, 0.8),
    "p_mutate_keep": Real(0.05, 0.5),
}
PAPER: Configuration = {name: getattr(cp.Search.paper("mocmod"), name) for name in SPACE}
DEFAULT: Configuration = {"method": "explore"}
AUTHORS_STEP = "deviation_times_range"


def variant(name: Variant, **others: str) -> Configuration:
    """Return the settings of one of the paper's variants, all with its probabilities."""
    return others | {setting: getattr(cp.Search.paper(name), setting) for setting in SPACE}


# The paper's configuration with one or both of its ideas taken back; then with Gaussian steps as
# long as the authors' code makes them.
VARIANTS: dict[str, Configuration] = {
    "random start": variant("moccond"),
    "Gaussian": variant("mocice"),
    "random start, Gaussian": variant("moc"),
    "Gaussian, the authors' step": variant("mocice", step=AUTHORS_STEP),
    "random start, Gaussian, the authors' step": variant("moc", step=AUTHORS_STEP),
}
N_ROWS = 10  # explained rows per dataset
COMPARED_SEED = 2  # of the comparison's runs; another than the races'


class Place(NamedTuple):
    """What an instance is: a dataset, a kind of model, and the place of a row."""

    dataset: str
    model: str
    row: int


@dataclass(frozen=True)
class Instances:
    """The cost of a configuration on an instance; other processes can have it, too.

    Parameters
    ----------
    data : Path
        Where the datasets are.
    models : Path
        Where trained models are kept.
    evaluations : int
        Model evaluations of a run.
    datasets : tuple of str
        The datasets' names.
    """

    data: Path
    models: Path
    evaluations: int
    datasets: tuple[str, ...]

    def __len__(self) -> int:
        return len(self.datasets) * len(KINDS) * N_ROWS

    def place(self, instance: int) -> Place:
        """Return what an instance is."""
        pair, row = divmod(instance, N_ROWS)
        dataset, model = divmod(pair, len(KINDS))
        return Place(self.datasets[dataset], list(KINDS)[model], row)

    def __call__(self, values: Configuration, instance: int, seed: int) -> float:
        """Return minus the integral of the hypervolume of one run."""
        dataset, model, row = self.place(instance)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # what the data look like is not the subject
            explainer, rows = _subject(self.data, self.models, dataset, model)
            search = search_of(values, self.evaluations)
            found = explainer.explain(rows[row : row + 1], "opposite", search=search, seed=seed)
        return -integral(found.history, self.evaluations)


@cache
def _subject(data: Path, models: Path, dataset: str, model: str) -> tuple[Any, pd.DataFrame]:
    """Return the explainer of one model and the rows to explain."""
    table = tables.load(dataset, data)
    fitted = model_of(model, table, dataset, models)
    return cp.Explainer(fitted, table.data, precision="full"), table.rows


def search_of(values: Configuration, evaluations: int) -> cp.Search:
    """Return the settings of a run: the paper's search, unless the method is named.

    Examples
    --------
    >>> search_of({"population": 30}, 500).method
    'nsga2'
    """
    usual: dict[str, Any] = {"method": "nsga2", "evaluations": evaluations, "patience": None}
    return cp.Search(**(usual | dict(values)))


def integral(history: pd.DataFrame, evaluations: int) -> float:
    """Return the area below the hypervolume, drawn as a line from 0 over all generations.

    Parameters
    ----------
    history : DataFrame
        With columns evaluations and hypervolume, one row per generation.
    evaluations : int
        Where the area ends; after the last generation the line is level.

    Examples
    --------
    >>> integral(pd.DataFrame({"evaluations": [10, 20], "hypervolume": [1.0, 3.0]}), 30)
    55.0
    """
    x = np.concatenate([[0.0], history["evaluations"], [evaluations]])
    volumes = history["hypervolume"].to_numpy()
    y = np.concatenate([[0.0], volumes, volumes[-1:]])
    return float(np.trapezoid(y, x))


def compare(
    named: dict[str, Configuration], cost: Instances, n: int, seed: int, file: Path, workers: int
) -> Compared:
    """Run configurations on the n instances that the races would have come to last.

    Returns
    -------
    Compared
        Mean hypervolume over evaluations, by instance and configuration.
    """
    last = shuffled(seed, len(cost), "instances", 0)[-n:]
    settings = {"evaluations": cost.evaluations, "datasets": cost.datasets, "tries": TRIES}
    volumes = []
    with asking(cost, Record(settings, file), workers) as ask:
        for i, instance in enumerate(last):
            runs = [Experiment(values, instance, COMPARED_SEED) for values in named.values()]
            volumes.append([-x / cost.evaluations for x in ask(runs)])
            if (i + 1) % 10 == 0:
                print(f"compared on {i + 1} of {n} instances", flush=True)
    return Compared(list(named), [cost.place(i) for i in last], np.array(volumes))


def run(cost: Instances, tuning: Tuning, file: Path, workers: int, races: int | None) -> Tuned:
    """Tune, and print how it goes."""
    start = monotonic()

    def tell(iteration: Iteration, outcome: Outcome) -> None:
        best = outcome.survivors[0].values  # noqa: PD011 - no frame
        print(f"{iteration}\n  {monotonic() - start:.0f} s, best: {dict(best)}", flush=True)

    def hear(n_seen: int, n_alive: int) -> None:
        print(f"  task {n_seen}: {n_alive} left, {monotonic() - start:.0f} s", flush=True)

    return tune(cost, SPACE, tuning, file=file, workers=workers, races=races, tell=tell, hear=hear)


def arguments() -> argparse.Namespace:
    """Read the command line."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--data", type=Path, help="else that of the published runs")
    parser.add_argument("--budget", type=int, default=3000, help="experiments")
    parser.add_argument("--first-test", type=int, default=15, help="tasks before the first test")
    parser.add_argument("--evaluations", type=int, default=8000, help="of the model, per run")
    parser.add_argument("--races", type=int, help="stop after so many, to go on another day")
    parser.add_argument("--compare", type=int, default=60, help="instances of the comparison")
    parser.add_argument("--seed", type=int, default=12345)
    parser.add_argument("--workers", type=int, default=2, help="processes")
    parser.add_argument("--models", type=Path, default=Path("build/tuning"), help="kept models")
    parser.add_argument("--out", type=Path, default=Path("docs/study"))
    return parser.parse_args()


def main() -> None:
    """Tune, compare, and write the page."""
    chosen = arguments()
    chosen.data = chosen.data or published.folder() / "data"
    datasets = tuple(tables.names("tuning", chosen.data))
    if not datasets:
        raise SystemExit(f"--data {chosen.data} has no tuning datasets; name the paper's folder.")
    if chosen.evaluations <= 100:
        raise SystemExit(
            f"--evaluations must exceed the largest population, 100, got {chosen.evaluations}."
        )
    cost = Instances(chosen.data, chosen.models, chosen.evaluations, datasets)
    tuning = Tuning(
        budget=chosen.budget,
        n_instances=len(cost),
        seed=chosen.seed,
        rules=Rules(first_test=chosen.first_test),
        subject=f"{', '.join(datasets)}; {chosen.evaluations} evaluations; {TRIES} x {FOLDS}",
    )
    found = run(cost, tuning, chosen.out / "tuning.jsonl", chosen.workers, chosen.races)
    named = {f"racing {i + 1}": values for i, values in enumerate(found.elites[:3])}
    named |= {BASE: PAPER, **VARIANTS, "our default": DEFAULT}
    n_fresh = max(1, min(chosen.compare, len(cost) - len(found.costs)))
    file = chosen.out / "tuning-compared.jsonl"
    compared = compare(named, cost, n_fresh, chosen.seed, file, chosen.workers)
    text = page_of(Page(SPACE, PAPER, found, tuning, chosen.evaluations, compared))
    (chosen.out / "tuning.md").write_text(text)
    print(text)


if __name__ == "__main__":
    main()
