"""The vectors closest to some queries, by exact search."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from remember_graph.history.store import Near, Vector
from remember_graph.protocols import Vectors


def nearest(vectors: Mapping[int, Vector], queries: Sequence[Vector], k: int) -> list[list[Near]]:
    """Per query the `k` closest by cosine, best first; of equals the earlier position first.

    Vectors of another width than the query's are left out.

    Example:
        >>> x, y = np.eye(2, dtype=np.float32)
        >>> nearest({3: x, 5: y}, [y], 1)
        [[Near(position=5, cosine=1.0)]]
    """
    found = []
    for query in queries:
        fitting = {at: one for at, one in sorted(vectors.items()) if len(one) == len(query)}
        rows = np.stack(list(fitting.values())) if fitting else np.zeros((0, len(query)))
        found.append(closest(list(fitting), rows.astype(np.float32), query, k))
    return found


def closest(positions: Sequence[int], rows: Vectors, query: Vector, k: int) -> list[Near]:
    """The same for one query over a matrix, whose rows are in the order of their positions."""
    if k < 1:
        return []
    query = np.asarray(query, np.float32)
    lengths = np.linalg.norm(rows, axis=1) * np.linalg.norm(query)
    cosines = rows @ query / np.maximum(lengths, 1e-9)
    best = np.argsort(-cosines, kind="stable")[:k]
    return [Near(positions[at], float(cosines[at])) for at in best]
