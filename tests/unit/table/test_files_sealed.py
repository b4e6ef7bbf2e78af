"""A sealed file hands on the bytes it was sealed with, and no others."""

from __future__ import annotations

import io

import pytest
from hypothesis import given
from hypothesis import strategies as st

from counterpoint.errors import InvalidInput
from counterpoint.table.files import BLOCK, Seal, SealedFile

SIZES = st.integers(0, 3 * BLOCK) | st.sampled_from([0, 1, BLOCK - 1, BLOCK, BLOCK + 1, 2 * BLOCK])


def bytes_of(size: int) -> bytearray:
    """Return bytes of which no two blocks are the same."""
    return bytearray((bytes(range(251)) * (1 + size // 251))[:size])


def sealed(content: bytes, seal: Seal) -> io.BufferedReader:
    """Open bytes as a file that is held to a seal."""
    return io.BufferedReader(SealedFile(io.BytesIO(content), seal, "rows 'x'"), BLOCK)


@given(SIZES, st.lists(st.tuples(st.integers(0, 3 * BLOCK), SIZES), max_size=5))
def test_it_reads_as_the_plain_file_does(size: int, reads: list[tuple[int, int]]) -> None:
    plain = io.BytesIO(bytes_of(size))
    file = sealed(plain.getvalue(), Seal.of(io.BytesIO(plain.getvalue())))

    for place, n in reads:
        assert file.seek(place) == plain.seek(place)
        assert file.read(n) == plain.read(n)
        assert file.tell() == plain.tell()


@given(st.integers(1, 3 * BLOCK), st.data())
def test_a_changed_byte_is_never_handed_on(size: int, data: st.DataObject) -> None:
    content = bytes_of(size)
    seal = Seal.of(io.BytesIO(content))
    place = data.draw(st.integers(0, size - 1))
    content[place] ^= 1 << data.draw(st.integers(0, 7))
    file = sealed(bytes(content), seal)

    file.seek(place // BLOCK * BLOCK)
    with pytest.raises(InvalidInput, match=r"^rows 'x' was changed while the job ran: its bytes"):
        file.read(1)


@given(st.integers(1, 3 * BLOCK), st.integers(1, BLOCK))
def test_a_file_that_was_cut_is_told_and_one_that_grew_is_read_as_it_was(size: int, n: int) -> None:
    content = bytes(bytes_of(size))
    seal = Seal.of(io.BytesIO(content))

    assert sealed(content + b"more" * n, seal).read() == content
    with pytest.raises(InvalidInput, match="was changed while the job ran"):
        sealed(content[:-n] if n < size else b"", seal).read()
