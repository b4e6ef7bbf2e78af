from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from counterpoint.arrays import LARGEST, Floats
from counterpoint.models.additive import (
    CONSTANT,
    NO_GENES,
    columns_of,
    number_at,
    place_of,
    thresholds_in_genes,
)
from counterpoint.table.schema import Encoding, Schema

DATA = pd.DataFrame({"a": np.arange(8.0), "b": np.arange(8) % 5, "c": list("xyzx") * 2})
ENCODING = Encoding(Schema.infer(DATA))
OBSERVED = ENCODING.encode(DATA)
ANY = st.floats(-LARGEST, LARGEST)


@given(st.lists(ANY, min_size=2, max_size=9))
def test_places_are_in_the_order_of_numbers_and_lead_back_to_them(numbers: list[float]) -> None:
    values = np.sort(np.array(numbers))

    places = place_of(values, np.zeros(len(values), dtype=np.bool_))

    assert places.tolist() == sorted(places.tolist())
    np.testing.assert_array_equal(number_at(places, np.zeros(len(values), np.bool_)), values)


@given(
    slope=st.floats(0.01, 100.0) | st.floats(-100.0, -0.01),
    shift=st.floats(-9.0, 9.0),
    at=st.lists(st.floats(-50.0, 50.0), min_size=1, max_size=5),
    power=st.sampled_from([1, 3]),
)
def test_a_threshold_of_genes_is_the_last_number_on_its_side(
    slope: float, shift: float, at: list[float], power: int
) -> None:
    def encode(genomes: Floats) -> Floats:
        return slope * genomes[:, :1] ** power + shift

    columns = columns_of(encode, ENCODING, OBSERVED)
    bounds = np.array(at)

    found = thresholds_in_genes(columns, np.zeros(len(at), dtype=np.int64), bounds)

    for side, is_first in ((found, True), (np.nextafter(found, np.inf), False)):
        genomes = np.repeat(OBSERVED[:1], len(at), axis=0)
        genomes[:, 0] = side
        is_below = encode(genomes)[:, 0] <= bounds
        assert ((is_below == (slope > 0)) == is_first).all()


def test_each_column_has_the_gene_it_depends_on() -> None:
    def encode(genomes: Floats) -> Floats:
        a, b, c = genomes.T
        return np.stack([b * 2.0, np.ones(len(a)), c == 1.0, a], axis=1)

    columns = columns_of(encode, ENCODING, OBSERVED)

    assert columns.owner.tolist() == [1, CONSTANT, 2, 0]
    assert columns.levels[2].tolist() == [0.0, 1.0, 0.0]
    assert columns.levels[1, 0] == 1.0


@pytest.mark.parametrize(
    "encode",
    [lambda g: g[:, :1] + g[:, 1:2], lambda g: np.sin(g[:, :1]), lambda g: np.log(g[:, :1] - 3.0)],
    ids=["of two", "of waves", "undefined"],
)
@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_columns_that_do_not_rise_or_fall_with_one_gene_are_refused(encode: object) -> None:
    with pytest.raises(ValueError, match=NO_GENES):
        columns_of(encode, ENCODING, OBSERVED)  # type: ignore[arg-type]
