"""Our time and hypervolume beside those of other packages, for the same rows and models.

    python -m benchmarks.peers [--rows 5] [--quick] [--json FILE]

Needs the packages of benchmarks/requirements-peers.txt; one that is missing or fails is reported.
Every method gets the same fitted model and one thread, and is warmed up on another row. All take
turns on each row, so that a noisy moment of the machine hits all alike. `subjects.py` has tables
and models, `scoring.py` the objectives that judge every method's answers, `with_*.py` how each
package is called.
"""

from __future__ import annotations

from benchmarks.peers.measuring import measure
from benchmarks.peers.reporting import as_markdown

__all__ = ["as_markdown", "measure"]
