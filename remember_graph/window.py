"""The window: the latest whole turns of a stream that fit its size."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from remember_graph.tokens import TokenCounter
from remember_graph.types import Turn

CUT_MARK = " […]"


def window_start(
    tokens: Sequence[int] | NDArray[np.int64], size: int, *, end: int | None = None
) -> int:
    """Where the window that ends before `end` starts: whole turns, at least one.

    Args:
        tokens: Tokens of each turn of the stream.
        size: Most tokens of the window; a last turn that is longer is the window alone.
        end: Position after its last turn; default the end of the stream.

    Example:
        >>> window_start([5, 5, 5], 11)
        1
        >>> window_start([5, 50], 11)
        1
    """
    start = end = len(tokens) if end is None else end
    left = size
    while start > 0 and (tokens[start - 1] <= left or start == end):
        left -= int(tokens[start - 1])
        start -= 1
    return start


def clip_turn(turn: Turn, size: int, count_tokens: TokenCounter) -> Turn:
    """The turn, its text cut with a mark where `speaker: text` is longer than `size` tokens.

    Example:
        >>> from remember_graph.tokens import count_tokens
        >>> clip_turn(Turn("Ana", "one two three four five six seven"), 8, count_tokens).text
        'one two three […]'
    """
    if count_tokens(turn.line) <= size:
        return turn

    def cut(chars: int) -> Turn:
        return dataclasses.replace(turn, text=turn.text[:chars].rstrip() + CUT_MARK)

    low, high = 0, len(turn.text)
    while low < high:  # the longest cut that still fits; counters grow with the text
        middle = (low + high + 1) // 2
        if count_tokens(cut(middle).line) <= size:
            low = middle
        else:
            high = middle - 1
    at_word = turn.text.rfind(" ", 0, low + 1)
    return cut(at_word if at_word > low // 2 else low)
