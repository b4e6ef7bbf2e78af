"""Store the hashes of the reference runs, for `tests/golden/test_reference_bits.py` to compare.

Run as ``python -m scripts.reference_bits`` after a change that is meant to change results, and say
in the commit why it does. It names the runs whose bits are not those that were stored.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from tests.golden.reference_runs import RUNS, hashes_of, versions

PLACE = Path(__file__).parents[1] / "tests" / "golden" / "reference_bits.json"


def written(runs: dict[str, Any]) -> str:
    """Return the file's text, with one line for each run."""
    lines = ",\n".join(f"  {json.dumps(name)}: {json.dumps(run)}" for name, run in runs.items())
    return f'{{\n "versions": {json.dumps(versions())},\n "runs": {{\n{lines}\n }}\n}}\n'


def main() -> None:
    """Run everything, tell what differs and store it."""
    before = json.loads(PLACE.read_text(encoding="utf-8"))["runs"] if PLACE.exists() else {}
    runs = {name: hashes_of(name) for name in RUNS}
    for name in sorted({*before, *runs}):
        if before.get(name) != runs.get(name):
            what = "new" if name not in before else "changed" if name in runs else "gone"
            print(f"{what}: {name}")
    PLACE.write_text(written(runs), encoding="utf-8")


if __name__ == "__main__":  # Dask's worker processes import this module
    main()
