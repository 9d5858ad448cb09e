"""The vectors closest to some queries, by exact search."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from remember_graph.history.store import Near, Vector


def nearest(vectors: Mapping[int, Vector], queries: Sequence[Vector], k: int) -> list[list[Near]]:
    """Per query the `k` closest by cosine, best first; of equals the earlier position first.

    Vectors of another width than the query's are left out.

    Example:
        >>> x, y = np.eye(2, dtype=np.float32)
        >>> nearest({3: x, 5: y}, [y], 1)
        [[Near(position=5, cosine=1.0)]]
    """
    return [_nearest(vectors, np.asarray(query, np.float32), k) for query in queries]


def _nearest(vectors: Mapping[int, Vector], query: Vector, k: int) -> list[Near]:
    fitting = {at: vector for at, vector in sorted(vectors.items()) if len(vector) == len(query)}
    if not fitting or k < 1:
        return []
    rows = np.stack(list(fitting.values()))
    lengths = np.linalg.norm(rows, axis=1) * np.linalg.norm(query)
    cosines = rows @ query / np.maximum(lengths, 1e-9)
    positions = list(fitting)
    best = np.argsort(-cosines, kind="stable")[:k]
    return [Near(positions[at], float(cosines[at])) for at in best]
