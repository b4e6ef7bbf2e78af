"""Channels between processes: whole messages of any length, and an end that is told."""

from __future__ import annotations

import socket
import threading
from collections.abc import Iterator

import numpy as np
import pytest

from counterpoint.progress import Channel, Outbox


@pytest.fixture
def ends() -> Iterator[tuple[Channel, Channel]]:
    """Both ends of a channel."""
    pair = Channel.pair()
    yield pair
    for each in pair:
        each.close()


def test_a_message_longer_than_any_buffer_arrives_whole(ends: tuple[Channel, Channel]) -> None:
    numbers = np.arange(1_000_000.0)
    threading.Thread(target=ends[0].send, args=(numbers,), daemon=True).start()

    told = ends[1].receive()

    assert np.array_equal(told, numbers)


def test_messages_arrive_in_order_and_empty_ones_too(ends: tuple[Channel, Channel]) -> None:
    ends[0].send_packed(b"")
    ends[0].send("second")

    assert ends[1].receive_packed() == b""
    assert ends[1].receive() == "second"


def test_nothing_said_is_no_message_and_an_end_is_told(ends: tuple[Channel, Channel]) -> None:
    assert not ends[1].has_message(0.0)

    ends[0].close()

    assert ends[1].has_message(1.0)
    with pytest.raises(EOFError):
        ends[1].receive()


def test_the_callers_own_time_limit_of_sockets_does_not_count() -> None:
    before = socket.getdefaulttimeout()
    socket.setdefaulttimeout(0.01)
    try:
        one, other = Channel.pair()
    finally:
        socket.setdefaulttimeout(before)
    threading.Timer(0.1, one.send, args=("late",)).start()

    told = other.receive()

    assert told == "late"
    one.close()
    other.close()


def test_who_sends_by_an_outbox_goes_on_though_nobody_reads_and_the_order_stays(
    ends: tuple[Channel, Channel],
) -> None:
    one, other = ends
    messages = [bytes([n]) * 10_000_000 for n in range(3)]  # far more than a socket holds
    outbox = Outbox(one)

    for message in messages:
        outbox.send(message)  # would stand still for ever

    assert [other.receive() for _ in messages] == messages
