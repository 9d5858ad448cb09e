"""What indexing needs of a turn: its terms and its tokens, made once and kept beside it."""

from __future__ import annotations

from collections import Counter

from remember_graph.history.store import Derived, Record
from remember_graph.terms import extract_terms
from remember_graph.tokens import TokenCounter, count_tokens
from remember_graph.types import Turn

# Changes whenever `extract_terms` or `count_tokens` give other values for some text: what was kept
# by an older release is then made again.
_RELEASE = "1"


class Deriver:
    """Makes `Derived`, or takes what a record has where it is still valid.

    Args:
        count: Counts `speaker: text`. Only the default counter's values can be told again in
            another process, so those of any other are never taken from a record.
    """

    def __init__(self, count: TokenCounter = count_tokens) -> None:
        self._count = count
        self._by = _RELEASE if count is count_tokens else ""

    def of(self, record: Record) -> Derived:
        """What is derived of the record's turn."""
        if record.derived is not None and self._by and record.derived.by == self._by:
            return record.derived
        return self.make(record.turn)

    def make(self, turn: Turn) -> Derived:
        """Derive from the text."""
        line = turn.line
        counts = Counter(extract_terms(line))
        return Derived(self._count(line), tuple(counts), tuple(counts.values()), self._by)
