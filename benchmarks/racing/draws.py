"""Draws addressed by what they are for, as those of `counterpoint.streams`: never in turn.

A draw is a hash of its address under the seed. So a tuning that is run again draws what it drew,
however many workers it has and wherever it was interrupted.
"""

from __future__ import annotations

from hashlib import blake2b

Part = int | str


def word(seed: int, *address: Part) -> int:
    """Return the 64 random bits at an address."""
    text = "/".join(map(str, address)).encode()
    digest = blake2b(text, key=seed.to_bytes(8, "little"), digest_size=8).digest()
    return int.from_bytes(digest, "little")


def uniform(seed: int, *address: Part) -> float:
    """Return the draw in [0, 1) at an address.

    Examples
    --------
    >>> uniform(7, "value", 1) == uniform(7, "value", 1)
    True
    >>> uniform(7, "value", 1) == uniform(7, "value", 2)
    False
    """
    return (word(seed, *address) >> 11) * 2.0**-53


def shuffled(seed: int, n: int, *address: Part) -> list[int]:
    """Return the numbers from 0 to n - 1 in a random order.

    Examples
    --------
    >>> sorted(shuffled(7, 4, "order"))
    [0, 1, 2, 3]
    """
    return sorted(range(n), key=lambda i: word(seed, *address, i))


def pick(weights: list[float], u: float) -> int:
    """Return the place that a draw in [0, 1) falls on, places as wide as their weights.

    Examples
    --------
    >>> pick([1.0, 3.0], 0.2), pick([1.0, 3.0], 0.3)
    (0, 1)
    """
    rest = u * sum(weights)
    for i, weight in enumerate(weights):
        rest -= weight
        if rest < 0.0:
            return i
    return max(i for i, weight in enumerate(weights) if weight > 0.0)  # lost to rounding
