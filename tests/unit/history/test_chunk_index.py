"""The index of the paper's chunks."""

from __future__ import annotations

from typing import Any

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from remember_graph.history.chunk_index import ChunkIndex, ChunkScores
from remember_graph.history.deriving import Deriver
from remember_graph.history.store import Record
from remember_graph.history.stream_index import StreamIndex
from remember_graph.types import Turn

_texts = st.lists(
    st.lists(st.sampled_from(["ab", "cd", "ef", "gh"]), min_size=1, max_size=9).map(" ".join),
    min_size=1,
    max_size=9,
)


def _stream(texts: list[str]) -> StreamIndex:
    index = StreamIndex(Deriver())
    index.add([Record(Turn("", text, id=str(at)), position=at) for at, text in enumerate(texts)])
    return index


def _encode(texts: Any) -> Any:
    """How often a text has each of two words, as a unit vector."""
    rows = np.array([[1 + text.count("ab"), 1 + text.count("cd")] for text in texts], np.float32)
    return rows / np.linalg.norm(rows, axis=1, keepdims=True)


def _scores(
    chunks: ChunkIndex, stream: StreamIndex, turns: int, query: str = "ab cd", encode: Any = _encode
) -> ChunkScores:
    vectors = np.array([[1, 0]], np.float32)
    return chunks.scores(stream, [query.split()], vectors, encode, turns=turns, k1=1.5, b=0.75)


@given(_texts, st.data())
def test_scores_as_of_a_turn_are_those_of_an_index_that_saw_no_more(
    texts: list[str], data: st.DataObject
) -> None:
    stream, chunks = _stream(texts), ChunkIndex(6, 2)
    for _ in range(3):
        turns = data.draw(st.integers(1, len(texts)))
        found = _scores(chunks, stream, turns)
        fresh = _scores(ChunkIndex(6, 2), _stream(texts[:turns]), turns)

        assert found.chunks == fresh.chunks
        np.testing.assert_allclose(found.bm25, fresh.bm25, atol=1e-9)
        assert found.cosine is not None
        assert fresh.cosine is not None
        np.testing.assert_allclose(found.cosine, fresh.cosine, atol=1e-6)


@given(_texts)
def test_a_complete_chunk_is_embedded_once(texts: list[str]) -> None:
    encoded: list[str] = []

    def encode(batch: Any) -> Any:
        encoded.extend(batch)
        return _encode(batch)

    stream, chunks = _stream(texts), ChunkIndex(6, 2)
    first = _scores(chunks, stream, len(texts), encode=encode)
    _scores(chunks, stream, len(texts), encode=encode)

    assert len(encoded) == len(first.chunks) + 1  # only the open one a second time


def test_asking_again_gives_the_same_scores() -> None:
    stream, chunks = _stream(["the meetings and the plan with zz"]), ChunkIndex(8, 2)

    scores = [_scores(chunks, stream, 1, "the meeting").bm25.tolist() for _ in range(8)]

    assert scores[-1] == scores[0]


def test_without_vectors_there_are_no_cosines() -> None:
    found = ChunkIndex(6, 2).scores(
        _stream(["ab cd"]), [["ab"]], None, None, turns=1, k1=1.5, b=0.75
    )

    assert found.cosine is None


def test_a_history_without_turns_has_no_chunks() -> None:
    found = _scores(ChunkIndex(6, 2), _stream(["ab"]), 0)

    assert (found.chunks, found.bm25.shape) == ([], (1, 0))
