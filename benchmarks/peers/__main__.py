"""The command: measure, print the table, and write the records where asked."""

from __future__ import annotations

import argparse
import json
from pathlib import Path

from benchmarks import peers


def main() -> None:
    """Measure all methods and print the table."""
    parser = argparse.ArgumentParser(
        description=peers.__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--rows", type=int, default=5, help="rows to explain, at most ten")
    parser.add_argument("--quick", action="store_true", help="two rows, forest only")
    parser.add_argument("--json", type=Path, help="file to write the records to")
    arguments = parser.parse_args()
    records = peers.measure(arguments.rows, arguments.quick)
    print(peers.as_markdown(records))
    if arguments.json:
        arguments.json.write_text(json.dumps(records, indent=1) + "\n")


if __name__ == "__main__":
    main()
