from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from tests.unit.rules.small import AGE, JOB, PAY, ROW, SCHEMA

from counterpoint.rules.domains import Domains, Impossible, Lattice, start_from_data
from counterpoint.table.schema import Schema


@pytest.fixture
def domains() -> Domains:
    return Domains(SCHEMA, start_from_data(ROW, SCHEMA))


def test_domains_begin_with_the_datas_range_widened_to_the_row() -> None:
    row = np.array([70.0, 2.0, 1.0, 1.0])

    assert Domains(SCHEMA, start_from_data(row, SCHEMA)).hull(AGE) == (20.0, 70.0)


def test_a_number_off_its_new_ends_must_change(domains: Domains) -> None:
    domains.limit(AGE, 34.5, is_upper=False)

    assert domains.hull(AGE) == (35.0, 60.0)
    assert domains.must_change(AGE)
    assert domains.version == 1


def test_what_says_nothing_new_changes_nothing(domains: Domains) -> None:
    domains.limit(PAY, 100.0, is_upper=True)

    assert domains.version == 0


def test_the_rows_value_may_be_kept_where_it_is_on_no_step(domains: Domains) -> None:
    domains.keep_steps(AGE, 7.0, 30.0)
    domains.limit(AGE, 36.0, is_upper=True)

    assert (domains.low[AGE], domains.high[AGE]) == (23.0, 30.0)
    assert domains.hull(AGE) == (23.0, 30.0)


def test_levels_are_taken_away_one_by_one(domains: Domains) -> None:
    domains.drop_row(JOB)
    domains.keep_codes(JOB, np.array([False, True, True]))

    assert domains.allowed[JOB].tolist() == [False, False, True]
    with pytest.raises(Impossible, match="no level of 'job' is left"):
        domains.keep_codes(JOB, np.array([True, False, False]))


def test_an_empty_domain_says_what_there_was(domains: Domains) -> None:
    domains.drop_row(AGE)

    with pytest.raises(Impossible, match="no value of 'age' from 20 to 60 is left"):
        domains.keep_row(AGE)


def test_a_float32_column_is_read_as_it_is_written() -> None:
    schema = Schema.infer(pd.DataFrame({"x": np.array([0.1, 0.7], dtype=np.float32)}))
    row = np.array([0.1], dtype=np.float32).astype(np.float64)

    assert Domains(schema, start_from_data(row, schema)).row.tolist() == [0.1]


def test_lattices_that_never_meet_have_no_points_in_common() -> None:
    assert Lattice.of(0.0, 6.0).meet(Lattice.of(1.0, 4.0)) is None


def test_a_lattice_is_decimal() -> None:
    tenths = Lattice.of(0.0, 0.1)

    assert tenths.floor(0.3) == 0.3
    assert tenths.ceil(0.3, is_strict=True) == 0.4
    assert tenths.has(0.3 + 1e-9, slack=1e-6)
