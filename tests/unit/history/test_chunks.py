"""Chunks of whole turns."""

from __future__ import annotations

from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from remember_graph.history.chunks import ChunkBounds

_tokens = st.lists(st.integers(0, 40), max_size=14)
_SIZE, _OVERLAP = 50, 12


def _bounds(
    tokens: list[int], turns: int | None = None, size: int = _SIZE, overlap: int = _OVERLAP
) -> list[tuple[int, int]]:
    chunks = ChunkBounds(size, overlap)
    half = len(tokens) // 2
    chunks.add(tokens[:half])
    chunks.add(tokens[half:])
    runs = chunks.runs(len(tokens) if turns is None else turns)
    return list(zip(runs.starts.tolist(), runs.ends.tolist(), strict=True))


def test_a_chunk_ends_before_the_turn_that_would_pass_its_size() -> None:
    # 60 + 60 = 120; with 20 it would be 140. Turn 1 has 60 > 32 tokens, so nothing is repeated.
    assert _bounds([60, 60, 20], size=128, overlap=32) == [(0, 2), (2, 3)]


def test_the_next_chunk_starts_as_far_back_as_the_overlap_allows() -> None:
    # 90 + 10 + 20 = 120. Back over 20 and 10 (30 of 32 tokens); 30 + 30 fit 128.
    assert _bounds([90, 10, 20, 30], size=128, overlap=32) == [(0, 3), (1, 4)]


def test_the_overlap_gives_way_where_the_next_turn_would_not_fit_beside_it() -> None:
    # Back over 20: 20 + 120 would pass 128.
    assert _bounds([90, 20, 120], size=128, overlap=32) == [(0, 2), (2, 3)]


def test_a_turn_above_the_size_is_a_chunk_of_its_own() -> None:
    assert _bounds([10, 200, 40], size=128, overlap=32) == [(0, 1), (1, 2), (2, 3)]


def test_a_history_without_turns_has_no_chunks() -> None:
    assert _bounds([1, 2], turns=0) == []


@given(_tokens, st.data())
def test_chunks_as_of_a_turn_are_those_of_a_stream_that_ended_there(
    tokens: list[int], data: st.DataObject
) -> None:
    turns = data.draw(st.integers(0, len(tokens)))

    assert _bounds(tokens, turns) == _bounds(tokens[:turns])


@given(_tokens)
def test_no_chunk_is_above_the_size_unless_it_is_one_turn(tokens: list[int]) -> None:
    assert all(sum(tokens[s:e]) <= _SIZE or e - s == 1 for s, e in _bounds(tokens))


@given(_tokens)
def test_every_turn_is_in_a_chunk(tokens: list[int]) -> None:
    covered = {turn for start, end in _bounds(tokens) for turn in range(start, end)}

    assert covered == set(range(len(tokens)))


@given(_tokens)
def test_the_bounds_rise_from_chunk_to_chunk(tokens: list[int]) -> None:
    bounds = _bounds(tokens)

    assert all(a < c and b < d for (a, b), (c, d) in pairwise(bounds))


@given(_tokens)
def test_neighbours_share_at_most_the_overlap(tokens: list[int]) -> None:
    bounds = _bounds(tokens)

    assert all(sum(tokens[start:end]) <= _OVERLAP for (_, end), (start, _) in pairwise(bounds))
