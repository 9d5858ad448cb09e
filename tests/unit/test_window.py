"""The window and the clipping of a turn."""

from __future__ import annotations

import dataclasses

from hypothesis import assume, given
from hypothesis import strategies as st

from remember_graph.tokens import count_tokens
from remember_graph.types import Turn
from remember_graph.window import CUT_MARK, clip_turn, window_start

_tokens = st.lists(st.integers(0, 30), max_size=12)


def test_the_window_is_the_latest_turns_that_fit() -> None:
    # 4 + 3 = 7 fit 8; with 2 it would be 9.
    assert window_start([9, 2, 3, 4], 8) == 2


def test_a_last_turn_above_the_size_is_the_window_alone() -> None:
    assert window_start([1, 1, 50], 8) == 2


def test_a_stream_without_turns_has_an_empty_window() -> None:
    assert window_start([], 8) == 0


def test_the_window_may_end_earlier() -> None:
    assert window_start([5, 5, 5, 5], 10, end=3) == 1


def test_a_window_that_ends_at_the_start_is_empty() -> None:
    assert window_start([5, 5], 10, end=0) == 0


@given(_tokens, st.integers(1, 60))
def test_the_window_is_never_above_its_size_unless_it_is_one_turn(
    tokens: list[int], size: int
) -> None:
    window = tokens[window_start(tokens, size) :]

    assert sum(window) <= size or len(window) == 1


@given(_tokens, st.integers(1, 60))
def test_one_more_turn_would_not_fit_the_window(tokens: list[int], size: int) -> None:
    start = window_start(tokens, size)

    assert start == 0 or sum(tokens[start - 1 :]) > size


@given(_tokens.filter(bool), st.integers(1, 60))
def test_the_window_has_at_least_the_last_turn(tokens: list[int], size: int) -> None:
    assert window_start(tokens, size) < len(tokens)


_texts = st.text(st.sampled_from("ab é会ж1 .\n\N{PARTY POPPER}"), max_size=60)


@given(st.sampled_from(["", "Ana", "Zoë"]), _texts, st.integers(1, 30))
def test_a_clipped_turn_is_never_above_the_size_when_the_mark_fits(
    speaker: str, text: str, size: int
) -> None:
    assume(count_tokens(Turn(speaker, CUT_MARK).line) <= size)

    assert count_tokens(clip_turn(Turn(speaker, text), size, count_tokens).line) <= size


@given(_texts)
def test_a_turn_that_fits_is_not_clipped(text: str) -> None:
    turn = Turn("Ana", text, id="7")

    assert clip_turn(turn, count_tokens(turn.line), count_tokens) == turn


@given(_texts, st.integers(1, 30))
def test_a_clipped_text_is_the_beginning_of_the_text_and_a_mark(text: str, size: int) -> None:
    clipped = clip_turn(Turn("Ana", text), size, count_tokens).text

    assert clipped == text or text.startswith(clipped.removesuffix(CUT_MARK))


def test_a_text_is_clipped_between_words() -> None:
    # `Ana` and `:` are 2 tokens, the mark [ … ] 3: of 7, two words are left.
    clipped = clip_turn(Turn("Ana", "one two three four five six seven ten"), 7, count_tokens)

    assert clipped.text == "one two […]"


def test_clipping_keeps_everything_but_the_text() -> None:
    turn = Turn("Ana", "word " * 50, time="2024-05-01", id="7", thread="t", edited=True)

    clipped = clip_turn(turn, 20, count_tokens)

    assert dataclasses.replace(clipped, text=turn.text) == turn
