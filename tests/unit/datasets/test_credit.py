from __future__ import annotations

import importlib.util
from pathlib import Path
from types import ModuleType

import pandas as pd
import pytest

from counterpoint import datasets
from counterpoint.datasets import load_credit

SCRIPT = Path(__file__).parents[3] / "scripts" / "derive_credit.py"
STORED = Path(datasets.__file__).with_name("credit.csv")

RAW_LINES = [
    "A11, 6, A34, A43, 1169, A65, A75, 4, A93, A101, 4, A121, 67, A143, A152, 2, A173, 1, "
    "A192, A201, 1",
    "A12, 48, A32, A43, 5951, A61, A73, 2, A92, A101, 2, A121, 22, A143, A152, 1, A173, 1, "
    "A191, A201, 2",
    "A14, 12, A34, A46, 2096, A61, A74, 2, A93, A101, 3, A121, 49, A143, A152, 1, A172, 2, "
    "A191, A201, 1",
    "A11, 42, A32, A42, 7882, A61, A74, 2, A93, A103, 4, A122, 45, A143, A153, 1, A173, 2, "
    "A191, A201, 1",
    "A11, 24, A33, A40, 4870, A61, A73, 3, A93, A101, 4, A124, 53, A143, A153, 2, A173, 2, "
    "A191, A201, 2",
]
CHECK_LINES = [
    "risk,sex,job,housing,saving_accounts,checking_account,credit_amount,duration,purpose,age",
    "0,male,2,free,little,little,4870,24,car,53",
    "1,male,2,own,not_known,little,1169,6,radio/TV,67",
    "0,female,2,own,little,moderate,5951,48,radio/TV,22",
    "1,male,1,own,little,not_known,2096,12,education,49",
    "1,male,2,free,little,little,7882,42,furniture/equipment,45",
]
HEADER = "age,sex,job,housing,saving_accounts,checking_account,credit_amount,duration,purpose,risk"
DERIVED_LINES = [
    HEADER,
    "53,male,2,free,little,little,4870,24,car,bad",
    "22,female,2,own,little,moderate,5951,48,radio/TV,bad",
    "45,male,2,free,little,little,7882,42,furniture,good",
]
# Rows 2, 4, 5, 8, 10 and 11 of the UCI file: the first six with both accounts known.
FIRST_STORED_LINES = [
    HEADER,
    "22,female,2,own,little,moderate,5951,48,radio/TV,bad",
    "45,male,2,free,little,little,7882,42,furniture,good",
    "53,male,2,free,little,little,4870,24,car,bad",
    "35,male,3,rent,little,moderate,6948,36,car,good",
    "28,male,3,own,little,moderate,5234,30,car,bad",
    "25,female,2,rent,little,moderate,1295,12,car,bad",
]
# Rows 999 and 1000 of the UCI file.
LAST_STORED_LINES = [
    "23,male,2,free,little,little,1845,45,radio/TV,bad",
    "27,male,2,own,moderate,moderate,4576,45,car,good",
]


@pytest.fixture(scope="module")
def script() -> ModuleType:
    spec = importlib.util.spec_from_file_location("derive_credit", SCRIPT)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def write_lines(path: Path, lines: list[str]) -> str:
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return str(path)


def read_raw(script: ModuleType, lines: list[str]) -> list[tuple[str, ...]]:
    rows: list[tuple[str, ...]] = script.read_rows(lines, script.RAW_NAMES, script.RAW_HEADER)
    return rows


def read_check(script: ModuleType, lines: list[str]) -> list[tuple[str, ...]]:
    rows: list[tuple[str, ...]] = script.read_rows(lines, script.CHECK_NAMES)
    return rows


def raw_line(**fields: str) -> str:
    """Give the second raw line with some of its fields replaced."""
    positions = {"checking": 0, "purpose": 3, "saving": 5, "sex": 8, "housing": 14, "job": 16}
    parts = RAW_LINES[1].split(", ")
    for name, code in fields.items():
        parts[positions[name]] = code
    return ", ".join(parts)


def test_the_table_has_522_complete_rows() -> None:
    features, risk = load_credit()
    assert features.shape == (522, 9)
    assert len(risk) == 522
    assert features.index.equals(risk.index)
    assert not features.isna().any(axis=None)
    assert not risk.isna().any()


def test_the_columns_are_in_the_papers_order() -> None:
    features, risk = load_credit()
    assert features.columns.to_list() == [
        "age",
        "sex",
        "job",
        "housing",
        "saving_accounts",
        "checking_account",
        "credit_amount",
        "duration",
        "purpose",
    ]
    assert risk.name == "risk"


def test_the_first_row_is_the_papers_applicant() -> None:
    features, risk = load_credit()
    assert features.iloc[0].to_list() == [
        22,
        "female",
        2,
        "own",
        "little",
        "moderate",
        5951,
        48,
        "radio/TV",
    ]
    assert risk.iloc[0] == "bad"


@pytest.mark.parametrize("name", ["age", "job", "credit_amount", "duration"])
def test_numbers_are_integers(name: str) -> None:
    features, _ = load_credit()
    assert str(features[name].dtype) == "int64"


@pytest.mark.parametrize(
    ("name", "counts"),
    [
        ("sex", {"female": 168, "male": 354}),
        ("housing", {"free": 65, "own": 349, "rent": 108}),
        ("saving_accounts", {"little": 412, "moderate": 64, "rich": 46}),
        ("checking_account", {"little": 245, "moderate": 224, "rich": 53}),
        ("purpose", {"car": 173, "furniture": 107, "others": 110, "radio/TV": 132}),
    ],
)
def test_categories_are_unordered_with_sorted_levels(name: str, counts: dict[str, int]) -> None:
    features, _ = load_credit()
    dtype = features[name].dtype
    assert isinstance(dtype, pd.CategoricalDtype)
    assert not dtype.ordered
    assert dtype.categories.to_list() == sorted(counts)
    assert features[name].value_counts().to_dict() == counts


def test_job_counts() -> None:
    features, _ = load_credit()
    assert features["job"].value_counts().to_dict() == {0: 14, 1: 116, 2: 313, 3: 79}


def test_risk_counts() -> None:
    _, risk = load_credit()
    assert risk.value_counts().to_dict() == {"good": 291, "bad": 231}


def test_each_call_gives_its_own_frame() -> None:
    first, _ = load_credit()
    first.loc[0, "age"] = 99
    second, _ = load_credit()
    assert second.loc[0, "age"] == 22


def test_the_stored_rows_are_in_the_order_of_the_uci_file() -> None:
    stored = STORED.read_text(encoding="utf-8").splitlines()
    assert stored[:7] == FIRST_STORED_LINES
    assert stored[-2:] == LAST_STORED_LINES


def test_the_stored_file_ends_each_line_with_a_newline_alone() -> None:
    stored = STORED.read_bytes()
    assert b"\r" not in stored
    assert stored.endswith(b"\n")
    assert stored.count(b"\n") == 523


@pytest.mark.parametrize("missing", [{"saving": "A65"}, {"checking": "A14"}])
def test_rows_with_an_unknown_account_are_dropped(
    script: ModuleType, missing: dict[str, str]
) -> None:
    assert script.derive(read_raw(script, [raw_line(**missing)])) == []


@pytest.mark.parametrize(
    ("code", "named", "combined"),
    [
        ("A40", "car", "car"),
        ("A41", "car", "car"),
        ("A42", "furniture/equipment", "furniture"),
        ("A43", "radio/TV", "radio/TV"),
        ("A44", "domestic appliances", "others"),
        ("A45", "repairs", "others"),
        ("A46", "education", "others"),
        ("A47", "vacation/others", "others"),
        ("A48", "education", "others"),
        ("A49", "business", "others"),
        ("A410", "vacation/others", "others"),
    ],
)
def test_purpose_codes(script: ModuleType, code: str, named: str, combined: str) -> None:
    raw = read_raw(script, [raw_line(purpose=code)])
    assert raw[0][8] == named
    assert script.derive(raw)[0][8] == combined


@pytest.mark.parametrize(
    ("code", "named", "combined"),
    [
        ("A61", "little", "little"),
        ("A62", "moderate", "moderate"),
        ("A63", "quite rich", "rich"),
        ("A64", "rich", "rich"),
    ],
)
def test_saving_codes(script: ModuleType, code: str, named: str, combined: str) -> None:
    raw = read_raw(script, [raw_line(saving=code)])
    assert raw[0][4] == named
    assert script.derive(raw)[0][4] == combined


@pytest.mark.parametrize(
    ("field", "code", "place", "value"),
    [
        ("sex", "A91", 1, "male"),
        ("sex", "A92", 1, "female"),
        ("sex", "A93", 1, "male"),
        ("sex", "A94", 1, "male"),
        ("sex", "A95", 1, "female"),
        ("job", "A171", 2, "0"),
        ("job", "A172", 2, "1"),
        ("job", "A173", 2, "2"),
        ("job", "A174", 2, "3"),
        ("housing", "A151", 3, "rent"),
        ("housing", "A152", 3, "own"),
        ("housing", "A153", 3, "free"),
        ("checking", "A11", 5, "little"),
        ("checking", "A12", 5, "moderate"),
        ("checking", "A13", 5, "rich"),
    ],
)
def test_other_codes(script: ModuleType, field: str, code: str, place: int, value: str) -> None:
    assert read_raw(script, [raw_line(**{field: code})])[0][place] == value


def test_the_rows_are_written_in_the_order_of_the_check_table(
    script: ModuleType, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    raw = write_lines(tmp_path / "german.dat", RAW_LINES)
    check = write_lines(tmp_path / "german.csv", CHECK_LINES)
    out = tmp_path / "credit.csv"
    script.main(["--raw", raw, "--check", check, "--out", str(out)])
    assert out.read_bytes() == ("\n".join(DERIVED_LINES) + "\n").encode()
    assert capsys.readouterr().out == (
        "5 rows agree with the check table; 3 complete rows written\n"
    )


def test_a_disagreeing_check_fails_and_writes_nothing(script: ModuleType, tmp_path: Path) -> None:
    lines = [line.replace("education,49", "repairs,49") for line in CHECK_LINES]
    raw = write_lines(tmp_path / "german.dat", RAW_LINES)
    check = write_lines(tmp_path / "german.csv", lines)
    out = tmp_path / "credit.csv"
    with pytest.raises(ValueError, match="disagree") as failure:
        script.main(["--raw", raw, "--check", check, "--out", str(out)])
    _, only_raw, only_check = str(failure.value).splitlines()
    assert only_raw.startswith("rows only in the raw file: 1 [('49', ")
    assert "'education'" in only_raw
    assert only_check.startswith("rows only in the check table: 1 [('49', ")
    assert "'repairs'" in only_check
    assert not out.exists()


@pytest.mark.parametrize(
    ("line", "shown"), [(raw_line(purpose="A99"), "'A99'"), ("A11, 6", "None")]
)
def test_a_raw_line_that_cannot_be_named_fails_the_check(
    script: ModuleType, line: str, shown: str
) -> None:
    raw = read_raw(script, [line, *RAW_LINES[1:]])
    with pytest.raises(ValueError, match=f"rows only in the raw file: 1 .*{shown}"):
        script.reorder(raw, read_check(script, CHECK_LINES))


def test_a_check_with_a_row_too_many_fails(script: ModuleType) -> None:
    check = read_check(script, CHECK_LINES)
    with pytest.raises(ValueError, match="rows only in the check table: 1 "):
        script.reorder(read_raw(script, RAW_LINES), [*check, check[0]])


def test_a_check_with_a_row_too_few_fails(script: ModuleType) -> None:
    with pytest.raises(ValueError, match="rows only in the raw file: 1 "):
        script.reorder(read_raw(script, RAW_LINES), read_check(script, CHECK_LINES[:-1]))
