"""The paper's chunks: a window of 128 tokens sliding over the token stream by 96.

Unlike `chunks.py` these cut through turns. A counter only tells a line's total, so its tokens are
laid evenly over the line's pieces (words; long words in parts); a piece belongs to the chunks that
hold its first token.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from dataclasses import dataclass

_PIECE = re.compile(r"\S{1,12}\s*")


@dataclass(frozen=True, slots=True)
class TokenChunk:
    """A stretch of the token stream.

    Attributes:
        text: What it says.
        first: Position of the first turn it touches.
        last: Position of the last turn it touches.
    """

    text: str
    first: int
    last: int


class TokenChunks:
    """The chunks of a stream, by appending lines.

    Args:
        size: Tokens in a chunk.
        overlap: Tokens that a chunk shares with the next.
    """

    def __init__(self, size: int = 128, overlap: int = 32) -> None:
        self._size, self._step = size, size - overlap
        self._pieces: list[str] = []
        self._starts: list[int] = []  # the token each piece starts at
        self._turns: list[int] = []
        self._ends = [0]  # tokens up to the start of turn i

    @property
    def turns(self) -> int:
        """How many lines there are."""
        return len(self._ends) - 1

    def add(self, line: str, tokens: int) -> None:
        """Append the line of one turn."""
        pieces = _PIECE.findall(line)
        start = self._ends[-1]
        for number, piece in enumerate(pieces):
            self._pieces.append(piece)
            self._starts.append(start + number * tokens // len(pieces))
            self._turns.append(self.turns)
        self._ends.append(start + tokens)

    def complete(self, turns: int) -> int:
        """How many chunks of the first turns can no longer change by adding more turns."""
        total = self._ends[turns]
        return 0 if total <= self._size else (total - self._size - 1) // self._step + 1

    def chunk(self, number: int, turns: int) -> TokenChunk | None:
        """A chunk of the first turns; None where they end before it."""
        start = number * self._step
        stop = min(start + self._size, self._ends[turns])
        if start >= stop:
            return None
        low, high = bisect_left(self._starts, start), bisect_left(self._starts, stop)
        if low >= high:  # no text starts here: a counter that charges for nothing
            turn = bisect_left(self._ends, start + 1) - 1
            return TokenChunk("", turn, turn)
        text = "".join(self._line_broken(at, low) for at in range(low, high)).strip()
        return TokenChunk(text, self._turns[low], self._turns[high - 1])

    def _line_broken(self, at: int, low: int) -> str:
        starts_turn = at > low and self._turns[at] != self._turns[at - 1]
        return ("\n" if starts_turn else "") + self._pieces[at]
