"""A history as chunks of whole turns, ranked for a window by words and by vectors.

What a product would have stored before the window came (terms of turns, vectors of chunks) is
prepared, and kept by its text, so that what the windows of a stream share is not made twice.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray
from rank_bm25 import BM25Okapi

from remember_graph.evals.cached_encoder import CachedEncoder
from remember_graph.evals.methods import MemoryCase
from remember_graph.history.chunks import ChunkBounds
from remember_graph.nodes.fusion import best_first
from remember_graph.protocols import TextEncoder, Vectors
from remember_graph.settings import RetrieveSettings
from remember_graph.terms import extract_terms
from remember_graph.types import Turn


def chunk_history(tokens: Sequence[int], settings: RetrieveSettings) -> list[range]:
    """Positions of the turns of each chunk, in the order of the conversation."""
    bounds = ChunkBounds(settings.chunk_tokens, settings.chunk_overlap)
    bounds.add(tokens)
    runs = bounds.runs(len(tokens))
    return [range(start, end) for start, end in zip(runs.starts, runs.ends, strict=True)]


def join_lines(turns: Sequence[Turn]) -> str:
    """Turns as one text, a line each."""
    return "\n".join(turn.line for turn in turns)


class TermRanking:
    """Chunks by Okapi BM25 (`rank_bm25`), the window's terms as the query.

    Plain terms, function words included, each as often as the window says it: BM25 as it is
    commonly run. Without function words and with stems, as in the product's own index, it recalls
    more (0.33 for 0.25 of gapbench's gaps at 1,024 tokens).
    """

    def __init__(self) -> None:
        self._terms: dict[str, list[str]] = {}
        self._documents: list[list[str]] = []

    def prepare(self, case: MemoryCase, chunks: Sequence[range]) -> None:
        """Take the terms of the chunks."""
        terms = [self._terms_of(turn.line) for turn in case.history]
        self._documents = [[term for at in chunk for term in terms[at]] for chunk in chunks]

    def rank(self, window: Sequence[Turn]) -> list[int]:
        """Every chunk, best first; statistics included, for `rank_bm25` cannot add documents."""
        if not any(self._documents):  # it divides by the number of terms
            return list(range(len(self._documents)))
        okapi = cast("Any", BM25Okapi)(self._documents)
        query = Counter(term for turn in window for term in extract_terms(turn.line))
        scores = np.zeros(len(self._documents))
        for term, times in query.items():  # the score is a sum over terms: each is looked up once
            if term in okapi.idf:
                scores += times * okapi.get_scores([term])
        return _all_best_first(scores)

    def _terms_of(self, line: str) -> list[str]:
        if line not in self._terms:
            self._terms[line] = extract_terms(line)
        return self._terms[line]


class VectorRanking:
    """Chunks by the cosine of their vector with that of the whole window."""

    def __init__(self, encoder: TextEncoder) -> None:
        self._encoder = CachedEncoder(encoder)
        self._documents: Vectors | None = None

    def prepare(self, case: MemoryCase, chunks: Sequence[range]) -> None:
        """Embed the chunks, those that are new."""
        texts = [join_lines(case.history[chunk.start : chunk.stop]) for chunk in chunks]
        self._documents = self._encoder.encode_documents(texts) if texts else None

    def rank(self, window: Sequence[Turn]) -> list[int]:
        """Every chunk, best first."""
        if self._documents is None:
            return []
        query = self._encoder.encode_queries([join_lines(window)])[0]
        return _all_best_first((self._documents @ query).astype(np.float64))


def _all_best_first(scores: NDArray[np.float64]) -> list[int]:
    return [int(at) for at in best_first(scores, len(scores))]
