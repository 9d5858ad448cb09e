"""The searchable form of the paper's chunks, beside a stream's index.

Chunks that are complete keep their postings and vectors; only the last one, which grows with the
stream, is made anew for each window. Its statistics are those of the history's chunks alone.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from remember_graph.history.growable import GrowableArray
from remember_graph.history.postings import Postings
from remember_graph.history.stream_index import StreamIndex
from remember_graph.history.token_chunks import TokenChunk, TokenChunks
from remember_graph.protocols import Vectors
from remember_graph.terms import extract_terms

Encode = Callable[[Sequence[str]], Vectors]


@dataclass(frozen=True, slots=True)
class ChunkScores:
    """Scores of the history's chunks.

    Attributes:
        chunks: The chunks.
        bm25: Shape (queries, chunks).
        cosine: Shape (queries, chunks); None without vectors.
    """

    chunks: list[TokenChunk]
    bm25: NDArray[np.float64]
    cosine: NDArray[np.float64] | None


class ChunkIndex:
    """Postings and vectors of the chunks of one stream.

    Args:
        size: Tokens in a chunk.
        overlap: Tokens that a chunk shares with the next.
    """

    def __init__(self, size: int, overlap: int) -> None:
        self._stream = TokenChunks(size, overlap)
        self._chunks: list[TokenChunk] = []
        self._settled = 0  # of `_chunks`, those that can no longer change
        self._postings = Postings(None)  # the language is the stream's, set for each history
        self._vectors: GrowableArray[np.float32] | None = None

    def scores(
        self,
        index: StreamIndex,
        queries: Sequence[Sequence[str]],
        query_vectors: Vectors | None,
        encode: Encode | None,
        *,
        turns: int,
        k1: float,
        b: float,
    ) -> ChunkScores:
        """BM25 (`rank_bm25`'s formula) and cosine of every chunk of the first turns.

        Args:
            index: The stream's turns.
            queries: Terms of each query.
            query_vectors: Unit vectors of the queries; None without a model.
            encode: Makes vectors of new chunks; None without a model.
            turns: How many turns are history.
            k1: Of BM25.
            b: Of BM25.
        """
        self._bring_to(index, turns)
        bm25 = self._postings.scores(queries, k1=k1, b=b, idf="okapi")
        if query_vectors is None or encode is None or not self._chunks:
            return ChunkScores(list(self._chunks), bm25, None)
        vectors = self._embedded(encode)
        return ChunkScores(list(self._chunks), bm25, (query_vectors @ vectors.T).astype(np.float64))

    def _bring_to(self, index: StreamIndex, turns: int) -> None:
        """Keep the complete chunks of this history, add the missing ones and the open one."""
        self._postings.use_language(index.postings.language_at(turns))
        for position in range(self._stream.turns, turns):
            self._stream.add(index.turns[position].line, int(index.tokens[position]))
        complete = self._stream.complete(turns)
        kept = min(self._settled, complete)
        self._truncate(kept)
        self._settled = complete
        for number in range(kept, complete + 1):  # the last of them is the open one
            chunk = self._stream.chunk(number, turns)
            if chunk is not None:
                self._chunks.append(chunk)
                self._postings.add(extract_terms(chunk.text))

    def _truncate(self, chunks: int) -> None:
        del self._chunks[chunks:]
        self._postings.truncate(chunks)
        if self._vectors is not None:
            self._vectors.truncate(chunks)

    def _embedded(self, encode: Encode) -> Vectors:
        done = len(self._vectors) if self._vectors is not None else 0
        if done < len(self._chunks):
            fresh = encode([chunk.text for chunk in self._chunks[done:]])
            if self._vectors is None:
                self._vectors = GrowableArray(np.float32, fresh.shape[1])
            self._vectors.extend(fresh)
        assert self._vectors is not None
        return self._vectors.view
