"""Ways to make one ranking of several: by rank, and by standardised score."""

from __future__ import annotations

import math
from collections.abc import Hashable, Sequence
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

Item = TypeVar("Item", bound=Hashable)
Floats = NDArray[np.float64]
Real = TypeVar("Real", np.float32, np.float64)


def reciprocal_rank_fusion(
    rankings: Sequence[Sequence[Item]], *, k: int = 60
) -> list[tuple[Item, float]]:
    """Items with the sum of 1 / (k + rank) over the rankings that hold them, best first.

    Cormack, Clarke and Büttcher 2009. Equal scores keep the order of first appearance; the sums
    are exact, so that the same ranks in another order are an equal score.

    Example:
        >>> reciprocal_rank_fusion([["a", "b"], ["b"]], k=1)
        [('b', 0.8333333333333333), ('a', 0.5)]
    """
    parts: dict[Item, list[float]] = {}
    for ranking in rankings:
        for rank, item in enumerate(ranking, start=1):
            parts.setdefault(item, []).append(1 / (k + rank))
    scores = [(item, math.fsum(shares)) for item, shares in parts.items()]
    return sorted(scores, key=lambda pair: -pair[1])


def standardise(scores: NDArray[Real]) -> NDArray[Real]:
    """Each row with mean 0 and standard deviation 1; a row without spread becomes zeros."""
    if not scores.shape[-1]:
        return scores
    centred = scores - scores.mean(axis=-1, keepdims=True)
    spread = centred.std(axis=-1, keepdims=True)
    flat = spread <= 1e-12
    centred /= np.where(flat, 1.0, spread).astype(centred.dtype)
    standard: NDArray[Real] = np.where(flat, 0, centred)
    return standard


def best_first(scores: Floats, limit: int) -> NDArray[np.intp]:
    """Positions of the highest scores, best first; equal ones by position.

    Example:
        >>> best_first(np.array([1.0, 3.0, 3.0, 2.0]), 3).tolist()
        [1, 2, 3]
    """
    if limit < 1:
        return np.zeros(0, np.intp)
    if limit < len(scores):
        # Everything that ties with the last place stays in, so that ties break by position.
        threshold = np.partition(scores, len(scores) - limit)[len(scores) - limit]
        among = np.flatnonzero(scores >= threshold)
    else:
        among = np.arange(len(scores))
    return among[np.argsort(-scores[among], kind="stable")][:limit]
