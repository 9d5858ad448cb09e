"""Chunks: runs of whole turns of up to 128 tokens, each starting up to 32 tokens back.

A chunk's bounds depend on the turns up to its end alone, so appending turns only adds chunks.
The last chunk of a history stays open: it is the run from the next chunk's start to the end.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from remember_graph.history.growable import GrowableArray
from remember_graph.history.hits import Runs


class ChunkBounds:
    """The chunks of a stream, kept up to date turn by turn.

    Args:
        size: Most tokens in a chunk; a single longer turn is a chunk of its own.
        overlap: How many tokens before its end the next chunk may start.
    """

    def __init__(self, size: int = 128, overlap: int = 32) -> None:
        self._size, self._overlap = size, overlap
        self._tokens: list[int] = []
        self._starts = GrowableArray(np.int64)
        self._ends = GrowableArray(np.int64)
        self._open_start = 0
        self._open_tokens = 0

    def add(self, tokens: Sequence[int]) -> None:
        """Append turns of so many tokens."""
        starts, ends = [], []
        for position, coming in enumerate(tokens, start=len(self._tokens)):
            if self._open_start < position and self._open_tokens + coming > self._size:
                starts.append(self._open_start)
                ends.append(position)
                self._open_start, self._open_tokens = self._step_back(position, coming)
            self._tokens.append(coming)
            self._open_tokens += coming
        self._starts.extend(starts)
        self._ends.extend(ends)

    def _step_back(self, end: int, coming: int) -> tuple[int, int]:
        """Where the next chunk starts, and the tokens it then already holds."""
        start, held = end, 0
        while start - 1 > self._open_start:
            grown = held + self._tokens[start - 1]
            if grown > self._overlap or grown + coming > self._size:
                break
            start, held = start - 1, grown
        return start, held

    def runs(self, turns: int) -> Runs:
        """The chunks of the first `turns` turns, as if the later turns were not there."""
        closed = int(np.searchsorted(self._ends.view, turns, side="left"))
        starts, ends = self._starts.view[:closed], self._ends.view[:closed]
        tail = self._tail_start(closed)
        if tail < turns:
            starts, ends = np.append(starts, tail), np.append(ends, turns)
        return Runs(starts, ends)

    def _tail_start(self, closed: int) -> int:
        """Where the chunk after the first `closed` ones starts."""
        return int(self._starts.view[closed]) if closed < len(self._starts) else self._open_start
