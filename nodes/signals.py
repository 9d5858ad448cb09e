"""How well every turn of the history answers each query, seen four ways.

Cosine and BM25 of the turn itself, and the best cosine and the best BM25 of the chunks that hold
it; each standardised over the history's turns, so that they can be added.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from remember_graph.history.stream_index import StreamIndex
from remember_graph.nodes.fusion import standardise
from remember_graph.protocols import Vectors
from remember_graph.settings import RetrieveSettings

Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Signals:
    """Standardised scores, each of shape (queries, turns); the cosines zero without vectors."""

    cosine: Floats
    bm25: Floats
    chunk_cosine: Floats
    chunk_bm25: Floats

    @property
    def fused(self) -> Floats:
        """Their sum."""
        return self.cosine + self.bm25 + self.chunk_cosine + self.chunk_bm25


def measure(
    index: StreamIndex,
    queries: Sequence[Sequence[str]],
    vectors: Vectors | None,
    settings: RetrieveSettings,
    *,
    turns: int,
) -> Signals:
    """The signals of the first `turns` turns.

    Args:
        index: The stream.
        queries: Terms of each query.
        vectors: Unit vectors of the queries; None for lexical search alone.
        settings: Constants of BM25.
        turns: How many turns are history.
    """
    k1 = settings.bm25_k1
    bm25 = index.postings.scores(queries, turns=turns, k1=k1, b=settings.bm25_b_turns)
    chunk_bm25 = index.postings.scores(
        queries, turns=turns, runs=index.chunks(turns), k1=k1, b=settings.bm25_b
    )
    cosine = np.zeros_like(bm25)
    chunk_cosine = np.zeros_like(chunk_bm25)
    if vectors is not None and index.embedded(turns):
        cosine = index.cosines(vectors, turns=turns)
        chunk_cosine = index.chunk_cosines(cosine, turns=turns)
    return Signals(
        standardise(cosine),
        standardise(bm25),
        standardise(index.best_of_chunks(chunk_cosine, turns=turns)),
        standardise(index.best_of_chunks(chunk_bm25, turns=turns)),
    )
