"""How good the interview's recommendation is: simulated users with hidden utilities.

    python -m benchmarks.interview [--rows 10] [--users 1] [--tuning]

Rows of four tables are explained, and users are made up who each have a hidden utility over the
counterfactuals that reach the target, of one of six families (`FAMILIES`). None is drawn from the
interview's prior, and of three of them the interview's model cannot even express the utility. Users
of a seventh kind look at what is acceptable first, then at what is nearest: they refuse what
changes one of two features, and say "neither, because of" one of these. Half of the users always
answer as they feel; the others are noisy: they are sure only of large differences, and call small
ones equal. Regret is what the user's best counterfactual is worth more
than the one picked, as a share of the range from their worst to their best.

The settings of `result/choosing/preference.py` were chosen with `--tuning`: other rows and other
users. The table goes into docs/choosing.md.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from sklearn.datasets import load_breast_cancer, load_diabetes, load_wine
from sklearn.ensemble import HistGradientBoostingRegressor, RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import counterpoint as cp
from counterpoint.arrays import Floats
from counterpoint.datasets import load_credit
from counterpoint.demo import train_model
from counterpoint.result.choosing.interview import Answer

PAGE = Path(__file__).parent.parent / "docs" / "choosing.md"
BEGIN, END = "<!-- interview: begin -->", "<!-- interview: end -->"
N_QUESTIONS = 8  # the interview has no more
Rng = Any


class Case(NamedTuple):
    """One explained row: what can be chosen, as a user sees it.

    Attributes
    ----------
    found : Counterfactuals
        The counterfactuals that reach the target.
    aims : ndarray of shape (n, m)
        Their objectives, each from 0 to 1.
    changed : ndarray of shape (n, d)
        1 where a feature changes.
    moves : ndarray of shape (n, d)
        By which share of its range, up or down; levels by 1.
    """

    found: cp.Counterfactuals
    aims: Floats
    changed: Floats
    moves: Floats


def heavy(rng: Rng, n: int) -> Floats:
    """Return costs of which a few are far above the rest."""
    return np.asarray(np.exp(1.5 * rng.normal(size=n)))


def by_objectives(case: Case, rng: Rng) -> Floats:
    """Return a weighted sum of objectives."""
    return np.asarray(case.aims @ rng.dirichlet(np.ones(case.aims.shape[1])))


def by_features(case: Case, rng: Rng) -> Floats:
    """Return what the changed features cost, whatever they change to."""
    return case.changed @ heavy(rng, case.changed.shape[1])


def by_both(case: Case, rng: Rng) -> Floats:
    """Return a weighted sum of objectives, and a fine for changing one of two dreaded features."""
    often = np.argsort(-case.changed.mean(axis=0), kind="stable")[:6]
    dreaded = rng.choice(often, size=2, replace=False)
    return np.asarray(by_objectives(case, rng) + case.changed[:, dreaded].max(axis=1))


def by_effort(case: Case, rng: Rng) -> Floats:
    """Return the length of the way, some features being steeper, up and down not the same."""
    d = case.moves.shape[1]
    up, down = np.maximum(case.moves, 0.0), np.maximum(-case.moves, 0.0)
    return up @ heavy(rng, d) + down @ heavy(rng, d)


def by_worst(case: Case, rng: Rng) -> Floats:
    """Return the worst of all weighted objectives: nothing makes up for it."""
    return np.asarray((case.aims * rng.dirichlet(np.ones(case.aims.shape[1]))).max(axis=1))


def by_squares(case: Case, rng: Rng) -> Floats:
    """Return a sum in which large moves and bad objectives cost more than in proportion."""
    steep = heavy(rng, case.moves.shape[1])
    bent = by_objectives(case._replace(aims=case.aims**2), rng)
    return np.asarray(bent + case.moves**2 @ (steep / steep.sum()))


REFUSED = 10.0  # far above any distance


def by_acceptance(case: Case, rng: Rng) -> Floats:
    """Return the distance; what changes one of two refused features is out of the question."""
    return np.asarray(case.aims[:, 0] + REFUSED * case.changed[:, refused(case, rng)].max(axis=1))


def refused(case: Case, rng: Rng) -> Any:
    """Return the features that somebody would never change: they leave something to choose."""
    often = np.argsort(-case.changed.mean(axis=0), kind="stable")[:6]
    two = rng.permutation(often)[:2]
    if case.changed[:, two].max(axis=1).min() > 0.0:
        two = two[case.changed[:, two].min(axis=0) == 0.0][:1]
    return two


FAMILIES: dict[str, Callable[[Case, Rng], Floats]] = {
    "objectives": by_objectives,
    "features": by_features,
    "both": by_both,
    "effort": by_effort,
    "worst": by_worst,
    "squares": by_squares,
    "acceptable first": by_acceptance,
}


def tables() -> Iterator[tuple[str, pd.DataFrame, Any, Any]]:
    """Yield name, data, model and target of each table."""
    data, risk = load_credit()
    yield "credit", data, train_model(data, risk), ("good", (0.5, 1.0))
    cells, kind = load_breast_cancer(return_X_y=True, as_frame=True)
    linear = make_pipeline(StandardScaler(), LogisticRegression(max_iter=1000)).fit(cells, kind)
    yield "breast cancer", cells, linear, "opposite"
    wine, grape = load_wine(return_X_y=True, as_frame=True)
    yield "wine", wine, RandomForestClassifier(50, random_state=0).fit(wine, grape), "opposite"
    people, progress = load_diabetes(return_X_y=True, as_frame=True, scaled=False)
    boosted = HistGradientBoostingRegressor(random_state=0, max_iter=50).fit(people, progress)
    yield "diabetes", people, boosted, (None, 120.0)


def cases(n_rows: int, *, is_tuning: bool) -> Iterator[tuple[str, Case]]:
    """Yield explained rows of all tables; tuning takes other rows."""
    for name, data, model, target in tables():
        explainer = cp.Explainer(model, data, groups={})
        start = len(data) // 2 if is_tuning else 0
        n = 0
        for i in range(start, len(data)):
            found = alone(explainer.explain(data.iloc[[i]], target, seed=0))
            if found.stopped and len(found) >= 10:
                n += 1
                yield name, as_seen(found)
            if n == n_rows:
                break


def alone(found: cp.Counterfactuals) -> cp.Counterfactuals:
    """Return the counterfactuals of the set, which users choose from, without rows of ways."""
    return found.take(np.flatnonzero(found.reaches))


def as_seen(found: cp.Counterfactuals) -> Case:
    """Return the case of a result."""
    aims = found.objectives - found.objectives.min(axis=0)
    span = aims.max(axis=0)
    aims = (aims / np.where(span > 0, span, 1))[:, span > 0]
    row, space = found.genome, found.space
    way = found.genomes - row
    width = np.maximum(space.high, row) - np.minimum(space.low, row)
    moves = np.where(space.is_level, np.abs(np.sign(way)), way / np.where(width > 0, width, 1))
    return Case(found, aims, found.changed.astype(np.float64), np.asarray(moves, dtype=np.float64))


def regrets(costs: Floats) -> Floats:
    """Return what each candidate lacks to the best, as a share of the range."""
    span = costs.max() - costs.min()
    return np.asarray((costs - costs.min()) / (span if span > 0 else 1.0))


def answer_of(regret: Floats, a: int, b: int, rng: Rng | None) -> Answer:
    """Return what a user says who has these regrets; without `rng` always what they feel."""
    ahead = regret[b] - regret[a]
    if rng is None:
        return "equal" if ahead == 0 else "A" if ahead > 0 else "B"
    ahead += rng.logistic(scale=0.08)
    return "equal" if abs(ahead) < 0.03 else "A" if ahead > 0 else "B"


def interviewed(
    case: Case, regret: Floats, never: list[int], rng: Rng | None
) -> tuple[list[float], int]:
    """Return the regret of what is recommended after 0, 1, ... questions, and how many there were.

    What changes a feature that somebody would `never` change is answered by "neither".
    """
    interview = case.found.prefer(seed=0)
    names = case.found.encoding.schema.names
    path = [regret[interview.position]]
    n_asked = 0
    for _ in range(N_QUESTIONS):
        if interview.question is not None:
            a, b = interview.question.positions
            reasons = [j for j in never if case.changed[a, j] and case.changed[b, j]]
            if reasons:
                interview.answer("neither", because=names[reasons[0]])
            else:
                interview.answer(answer_of(regret, a, b, rng))
            n_asked += 1
        path.append(regret[interview.position])
    return [float(each) for each in path], n_asked


def simulate(n_rows: int, n_users: int, *, is_tuning: bool) -> pd.DataFrame:
    """Return one line per user."""
    lines: list[dict[str, Any]] = []
    for i, (name, case) in enumerate(cases(n_rows, is_tuning=is_tuning)):
        knee = case.found.representatives()["balanced"]
        for f, (family, cost) in enumerate(FAMILIES.items()):
            for u in range(2 * n_users):
                rng = np.random.default_rng([2026, is_tuning, i, f, u])  # noqa: TID251 - made-up users
                again = np.random.default_rng([2026, is_tuning, i, f, u])  # noqa: TID251 - the same
                regret = regrets(cost(case, rng))
                never = refused(case, again).tolist() if cost is by_acceptance else []
                path, n_asked = interviewed(case, regret, never, rng if u % 2 else None)
                lines.append(
                    {
                        "table": name,
                        "family": family,
                        "answers": "noisy" if u % 2 else "sure",
                        "n": len(case.found),
                        "interview": path[-1],
                        "knee": float(regret[knee]),
                        "random": float(regret.mean()),
                        "path": path,
                        "questions": n_asked,
                    }
                )
    return pd.DataFrame(lines)


def shown(users: pd.DataFrame, by: str) -> Iterator[str]:
    """Yield a line of the table for each group of users."""
    for name, some in users.groupby(by, sort=False):
        yield line_of(f"{by}: {name}", some)


def line_of(title: str, users: pd.DataFrame) -> str:
    """Return one line of the table, in percent of the range."""
    ways = ("interview", "knee", "random")
    means = " | ".join(f"{100 * users[way].mean():.1f}" for way in ways)
    worst = 100 * float(users["interview"].quantile(0.9))
    asked = f"{users['questions'].mean():.1f} | {users['questions'].quantile(0.95):.0f}"
    return f"| {title} | {len(users)} | {asked} | {means} | {worst:.1f} |"


def table_of(users: pd.DataFrame) -> str:
    """Return all that was measured, in Markdown."""
    after = " | ".join(f"{100 * regret:.1f}" for regret in np.mean(users["path"].tolist(), axis=0))
    return "\n".join(
        [
            "| users | n | questions | 95 % are asked at most | regret at the end | of the knee | "
            "of a random one | nine of ten users are below |",
            "|---|---|---|---|---|---|---|---|",
            line_of("**all**", users),
            *shown(users, "table"),
            *shown(users, "family"),
            *shown(users, "answers"),
            "",
            f"| questions | {' | '.join(str(k) for k in range(N_QUESTIONS + 1))} |",
            "|---" * (N_QUESTIONS + 2) + "|",
            f"| mean regret | {after} |",
        ]
    )


def write_into(page: Path, table: str) -> None:
    """Put the table between the marks of a page."""
    text = page.read_text()
    before, after = text.split(BEGIN)[0], text.split(END)[1]
    page.write_text(f"{before}{BEGIN}\n{table}\n{END}{after}")


def main() -> None:
    """Print the table, and write it into the page unless it was for tuning."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--rows", type=int, default=10, help="of each table")
    parser.add_argument("--users", type=int, default=1, help="of each family and kind, per row")
    parser.add_argument("--tuning", action="store_true", help="other rows and users; print only")
    options = parser.parse_args()
    users = simulate(options.rows, options.users, is_tuning=options.tuning)
    table = table_of(users)
    print(table)
    if not options.tuning:
        write_into(PAGE, table)


if __name__ == "__main__":
    main()
