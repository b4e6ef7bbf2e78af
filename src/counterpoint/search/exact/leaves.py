"""Leaves: what of each tree the allowed options of a row can still reach.

The options of a gene are bits of a whole number, ascending by distance, so that the lowest bit of
what is left is the nearest.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from counterpoint.arrays import Bools
from counterpoint.models.trees import Forest, goes_left_at
from counterpoint.search.exact.cells import Options
from counterpoint.search.exact.ruled import Ruled


class Reached(NamedTuple):
    """What of one tree can still be reached.

    Attributes
    ----------
    leaves : list of int
        The nodes.
    masks : list of dict
        For each leaf the options that lead to it, as bits, of the genes that do not all.
    splits : set of (int, int)
        Genes and the options that go left, of the splits that are left.
    """

    leaves: list[int]
    masks: list[dict[int, int]]
    splits: set[tuple[int, int]]


class Reach(NamedTuple):
    """How far from the row a program looks.

    Attributes
    ----------
    distance : float
        The largest distance.
    changes : int
        The most features that may change.
    """

    distance: float
    changes: int


def bits_of(which: Bools) -> int:
    """Return truth values as the bits of a whole number, the first as the lowest."""
    return int.from_bytes(np.packbits(which, bitorder="little").tobytes(), "little")


def lowest(mask: int) -> int:
    """Return the place of the lowest bit."""
    return (mask & -mask).bit_length() - 1


class Walker:
    """Walks the trees of a forest with all options at once.

    Parameters
    ----------
    forest : Forest
        The trees, in terms of genes.
    options : list of Options
        What each gene may be.
    """

    def __init__(self, forest: Forest, options: list[Options]) -> None:
        self.forest, self.options = forest, options
        self._shares = [each.shares.tolist() for each in options]
        self._is_own = [bool(each.is_own[0]) if len(each.is_own) else False for each in options]
        self._left: dict[tuple[int, float, int, bool], int] = {}
        self._roots, self._children = forest.roots.tolist(), forest.children.tolist()
        self._feature = forest.feature.tolist()
        self._threshold = forest.threshold.tolist()
        self._set = forest.category_set.tolist()
        self._missing = forest.missing_left.tolist()

    def left(self, node: int) -> int:
        """Return which options of its gene go left at a node."""
        key = (self._feature[node], self._threshold[node], self._set[node], self._missing[node])
        known = self._left.get(key)
        if known is None:
            values = self.options[key[0]].values[None]
            known = bits_of(goes_left_at(self.forest, np.array([node]), values)[0])
            self._left[key] = known
        return known

    def reach(self, masks: list[int], reach: Reach) -> list[Reached] | None:
        """Return what of each tree the options `masks` can reach; None if nothing of one."""
        shares, is_own = self._shares, self._is_own
        far = sum(shares[j][lowest(mask)] for j, mask in enumerate(masks))
        n_changed = sum(not (is_own[j] and mask & 1) for j, mask in enumerate(masks))
        if far > reach.distance or n_changed > reach.changes:
            return None
        trees = []
        for root in self._roots:
            trees.append(self._walk(root, masks, reach, (far, n_changed)))
            if not trees[-1].leaves:
                return None
        return trees

    def _walk(self, root: int, masks: list[int], reach: Reach, start: tuple[float, int]) -> Reached:
        """Return what of one tree can be reached, all options being so far and so many changes."""
        shares, is_own, reached = self._shares, self._is_own, Reached([], [], set())
        waiting: list[tuple[int, dict[int, int], float, int]] = [(root, {}, *start)]
        while waiting:
            node, known, far, n_changed = waiting.pop()
            left, right = self._children[node]
            if left == node:
                reached.leaves.append(node)
                reached.masks.append(known)
                continue
            j = self._feature[node]
            mask, goes = known.get(j, masks[j]), self.left(node)
            sides = (mask & goes, mask & ~goes)
            if not sides[0] or not sides[1]:
                waiting.append((left if sides[0] else right, known, far, n_changed))
                continue
            here = (mask & -mask).bit_length() - 1
            for side, child in zip(sides, (left, right), strict=True):
                if side >> here & 1:  # the nearest goes this way
                    waiting.append((child, {**known, j: side}, far, n_changed))
                    continue
                farther = far + shares[j][(side & -side).bit_length() - 1] - shares[j][here]
                more = n_changed + (is_own[j] and here == 0)
                if farther <= reach.distance and more <= reach.changes:
                    waiting.append((child, {**known, j: side}, farther, more))
            reached.splits.add((j, goes & masks[j]))
        return reached


def merged(
    trees: list[Reached], options: list[Options], masks: list[int], ruled: Ruled
) -> list[int]:
    """Return which options are left: of those that nobody tells apart the nearest.

    Splits do, rules tell apart all values of some genes, and of others whether they change.
    """
    splits: dict[int, set[int]] = {}
    for tree in trees:
        for j, goes in tree.splits:
            splits.setdefault(j, set()).add(goes)
    left = []
    for j, mask in enumerate(masks):
        if j in ruled.whole:
            left.append(mask)
            continue
        several = splits.get(j, set()) | (
            {bits_of(options[j].is_own)} if j in ruled.apart else set()
        )
        known, kept = set(), 0
        for i in range(mask.bit_length()):
            if mask >> i & 1:
                sides = tuple(goes >> i & 1 for goes in several)
                if sides not in known:
                    known.add(sides)
                    kept |= 1 << i
        left.append(kept)
    return left
