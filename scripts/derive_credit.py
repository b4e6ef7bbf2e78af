"""Derive the nine-feature German credit table from the raw UCI codes.

The raw rows are named, compared with an independent copy of the nine-feature table and put into
its order, which is that of the UCI file. They are then reduced to the 522 complete rows with rare
categories combined, as the MOC paper's code does.

Usage::

    python scripts/derive_credit.py --raw german.dat --check german.csv --out credit.csv
"""

from __future__ import annotations

import argparse
import csv
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

Row = tuple[str, ...]
Names = Mapping[str, Mapping[str, str]]

# fmt: off
COLUMNS = (
    "age", "sex", "job", "housing", "saving_accounts", "checking_account", "credit_amount",
    "duration", "purpose", "risk",
)
RAW_HEADER = (
    "checking_account", "duration", "credit_history", "purpose", "credit_amount",
    "saving_accounts", "employment", "instalment_rate", "sex", "debtors", "residence", "property",
    "age", "other_plans", "housing", "credits", "job", "dependants", "telephone",
    "foreign_worker", "risk",
)
# fmt: on
MISSING = "not_known"
SHOWN_ROWS = 5

RAW_NAMES = {
    "sex": {"A91": "male", "A92": "female", "A93": "male", "A94": "male", "A95": "female"},
    "job": {"A171": "0", "A172": "1", "A173": "2", "A174": "3"},
    "housing": {"A151": "rent", "A152": "own", "A153": "free"},
    "saving_accounts": {
        "A61": "little",
        "A62": "moderate",
        "A63": "quite rich",
        "A64": "rich",
        "A65": MISSING,
    },
    "checking_account": {"A11": "little", "A12": "moderate", "A13": "rich", "A14": MISSING},
    "purpose": {
        "A40": "car",
        "A41": "car",
        "A42": "furniture/equipment",
        "A43": "radio/TV",
        "A44": "domestic appliances",
        "A45": "repairs",
        "A46": "education",
        "A47": "vacation/others",
        "A48": "education",
        "A49": "business",
        "A410": "vacation/others",
    },
    "risk": {"1": "good", "2": "bad"},
}
CHECK_NAMES = {"risk": {"1": "good", "0": "bad"}}
COMBINED_NAMES = {
    "saving_accounts": {"quite rich": "rich"},
    "purpose": {
        "business": "others",
        "domestic appliances": "others",
        "education": "others",
        "furniture/equipment": "furniture",
        "repairs": "others",
        "vacation/others": "others",
    },
}


def rename(row: Iterable[str], names: Names) -> Row:
    """Replace the values that have a new name; any other value stays as it is."""
    values = zip(COLUMNS, row, strict=True)
    return tuple(names.get(column, {}).get(value, value) for column, value in values)


def read_rows(lines: Iterable[str], names: Names, header: Sequence[str] | None = None) -> list[Row]:
    """Read the ten columns of a CSV file, whose first line is the header if none is given."""
    reader = csv.DictReader(lines, header, skipinitialspace=True)
    return [rename([line[column] for column in COLUMNS], names) for line in reader]


def reorder(raw: Sequence[Row], check: Sequence[Row]) -> list[Row]:
    """Put the raw rows into the order of the check rows; fail unless they are the same rows."""
    only_raw = list((Counter(raw) - Counter(check)).elements())
    only_check = list((Counter(check) - Counter(raw)).elements())
    if only_raw or only_check:
        raise ValueError(
            "the raw file and the check table disagree (the first rows of each kind are shown)\n"
            f"rows only in the raw file: {len(only_raw)} {only_raw[:SHOWN_ROWS]}\n"
            f"rows only in the check table: {len(only_check)} {only_check[:SHOWN_ROWS]}"
        )
    return sorted(raw, key=check.index)


def derive(rows: Iterable[Row]) -> list[Row]:
    """Keep the complete rows, in their order, and combine rare categories."""
    return [rename(row, COMBINED_NAMES) for row in rows if MISSING not in row]


def main(arguments: Sequence[str] | None = None) -> None:
    """Derive the table and write it; nothing is written if the check table disagrees."""
    parser = argparse.ArgumentParser(description="Derive the nine-feature German credit table.")
    parser.add_argument("--raw", type=Path, required=True, help="the raw UCI codes")
    parser.add_argument("--check", type=Path, required=True, help="the table to agree with")
    parser.add_argument("--out", type=Path, required=True, help="the CSV file to write")
    options = parser.parse_args(arguments)

    raw = read_rows(options.raw.read_text(encoding="utf-8").splitlines(), RAW_NAMES, RAW_HEADER)
    check = read_rows(options.check.read_text(encoding="utf-8").splitlines(), CHECK_NAMES)
    derived = derive(reorder(raw, check))
    with options.out.open("w", encoding="utf-8", newline="") as stream:
        csv.writer(stream, lineterminator="\n").writerows([COLUMNS, *derived])
    print(f"{len(raw)} rows agree with the check table; {len(derived)} complete rows written")


if __name__ == "__main__":
    main()
