"""The paper's chunks, which cut through turns."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from remember_graph.history.token_chunks import TokenChunk, TokenChunks

_lines = st.lists(
    st.lists(st.sampled_from(["one", "two", "three", "extraordinarily"]), max_size=9).map(" ".join),
    max_size=8,
)


def _chunks(lines: list[str], turns: int, size: int = 5, overlap: int = 2) -> list[TokenChunk]:
    stream = TokenChunks(size, overlap)
    for line in lines:
        stream.add(line, len(line.split()))
    found = (stream.chunk(number, turns) for number in range(stream.complete(turns) + 1))
    return [chunk for chunk in found if chunk is not None]


def test_a_chunk_starts_a_size_less_the_overlap_after_the_one_before() -> None:
    # Size 5, overlap 2: tokens 0-4, 3-7, and 6-7 need none, since 3-7 holds all.
    assert _chunks(["a b c d", "e f g h"], 2) == [
        TokenChunk("a b c d\ne", 0, 1),
        TokenChunk("d\ne f g h", 0, 1),
    ]


def test_a_short_history_is_one_chunk() -> None:
    assert _chunks(["a b", "c"], 2) == [TokenChunk("a b\nc", 0, 1)]


def test_a_history_without_turns_has_no_chunk() -> None:
    assert _chunks(["a b"], 0) == []


def test_a_long_word_is_laid_over_its_tokens_in_parts() -> None:
    stream = TokenChunks(2, 1)
    stream.add("x" * 36, 6)  # three parts of 12 letters, two tokens each

    assert stream.chunk(0, 1) == TokenChunk("x" * 12, 0, 0)
    assert stream.chunk(2, 1) == TokenChunk("x" * 12, 0, 0)


def test_tokens_without_text_belong_to_their_turn() -> None:
    stream = TokenChunks(4, 1)
    stream.add("a", 1)
    stream.add("", 9)

    assert stream.chunk(1, 2) == TokenChunk("", 1, 1)


@given(_lines, st.data())
def test_chunks_as_of_a_turn_are_those_of_a_stream_that_ended_there(
    lines: list[str], data: st.DataObject
) -> None:
    turns = data.draw(st.integers(0, len(lines)))

    assert _chunks(lines, turns) == _chunks(lines[:turns], turns)


@given(_lines, st.data())
def test_complete_chunks_never_change(lines: list[str], data: st.DataObject) -> None:
    turns = data.draw(st.integers(0, len(lines)))
    stream = TokenChunks(5, 2)
    for line in lines:
        stream.add(line, len(line.split()))
    complete = stream.complete(turns)

    assert _chunks(lines, turns)[:complete] == _chunks(lines, len(lines))[:complete]


@given(_lines)
def test_every_word_is_in_a_chunk(lines: list[str]) -> None:
    text = " ".join(chunk.text for chunk in _chunks(lines, len(lines)))

    assert {word[:12] for line in lines for word in line.split()} <= {w[:12] for w in text.split()}
