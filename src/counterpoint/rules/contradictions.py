"""Rules that cannot hold together, named before the search starts."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import combinations

from counterpoint.rules.domains import Domains, Impossible, Start
from counterpoint.rules.normal_form import Core
from counterpoint.rules.propagation import propagate
from counterpoint.table.schema import Schema

MOST_PAIRED = 30  # up to so many rules every pair is tried


def contradictions(
    texts: Sequence[str], rules: Sequence[Core], schema: Schema, start: Start
) -> list[str]:
    """Return a message for each smallest set of rules found that leaves nothing.

    Parameters
    ----------
    texts : sequence of str
        The rules in canonical form.
    rules : sequence of Core
        The same rules, reduced.
    schema : Schema
        What the columns are.
    start : Start
        What is possible without rules.

    Returns
    -------
    list of str
        One message for each set; no rule is in two of them. Empty if no contradiction is found,
        which does not prove that there is none.
    """
    weigh = _Scales(texts, rules, schema, start)
    left, found = list(range(len(rules))), []
    while weigh.objection(left) is not None:
        culprits = weigh.smallest(left)
        found.append(weigh.message(culprits))
        left = [i for i in left if i not in culprits]
    return found


class _Scales:
    """Weighs sets of rules, given by their places."""

    def __init__(
        self, texts: Sequence[str], rules: Sequence[Core], schema: Schema, start: Start
    ) -> None:
        self.texts = texts
        self.rules = rules
        self.schema = schema
        self.start = start

    def objection(self, places: Iterable[int]) -> str | None:
        """Return why rules cannot hold together, perhaps in no words; None if they might."""
        try:
            propagate([self.rules[i] for i in places], Domains(self.schema, self.start))
        except Impossible as impossible:
            return str(impossible)
        return None

    def smallest(self, places: list[int]) -> list[int]:
        """Return a set of rules that cannot hold together, each of which is needed for that."""
        most = 2 if len(places) <= MOST_PAIRED else 1
        for size in range(1, most + 1):
            for few in combinations(places, size):
                if self.objection(few) is not None:
                    return list(few)
        needed = places
        for i in places:
            without = [k for k in needed if k != i]
            if self.objection(without) is not None:
                needed = without
        return needed

    def message(self, places: list[int]) -> str:
        """Name the rules, and what they leave nothing of."""
        quoted = [f'"{self.texts[i]}"' for i in places]
        names = " and ".join([", ".join(quoted[:-1]), quoted[-1]] if len(quoted) > 1 else quoted)
        verb = "can never hold" if len(places) == 1 else "cannot hold together"
        reason = self.objection(places)
        return f"{names} {verb}: {reason}." if reason else f"{names} {verb}."
