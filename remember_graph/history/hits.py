"""Where queried terms stand: postings grouped by term, of single turns or of runs of turns."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Runs:
    """Runs of consecutive turns: run i holds the turns `starts[i]` to `ends[i]` - 1."""

    starts: Ints
    ends: Ints

    def __len__(self) -> int:
        return len(self.starts)


@dataclass(frozen=True, slots=True)
class Hits:
    """The postings of the queried terms, sorted by term and document, each pair once.

    Attributes:
        term: The number of the queried term.
        document: A turn, or a run of turns.
        count: How often the document holds the term.
    """

    term: Ints
    document: Ints
    count: Floats

    def in_runs(self, runs: Runs) -> Hits:
        """Each hit once for every run that holds its turn (runs overlap, both bounds rise)."""
        first = np.searchsorted(runs.ends, self.document, side="right")
        last = np.searchsorted(runs.starts, self.document, side="right")
        copies = np.maximum(last - first, 0)
        offset = np.arange(int(copies.sum())) - np.repeat(np.cumsum(copies) - copies, copies)
        term = np.repeat(self.term, copies)
        document = np.repeat(first, copies) + offset
        # Runs overlap little, so this is nearly in order, which the stable sort makes use of.
        order = np.argsort(term * len(runs) + document, kind="stable")
        count = np.repeat(self.count, copies)
        return _merged(term[order], document[order], count[order])


def grouped(number: NDArray[Any], turn: Ints, count: Floats) -> Hits:
    """Hits of postings that are in the order of their turns.

    Args:
        number: Of each posting's term, from 1 on; short integers are sorted in linear time.
        turn: Of each posting; several surfaces of one stem may stand in a turn.
        count: Of each posting.
    """
    order = np.argsort(number, kind="stable")
    return _merged(number[order].astype(np.int64) - 1, turn[order], count[order])


def joined(parts: Sequence[tuple[Ints, Floats]]) -> Hits:
    """The hits of several terms, each given as its documents and counts, in this order."""
    sizes = [len(documents) for documents, _ in parts]
    documents = [np.zeros(0, np.int64), *(documents for documents, _ in parts)]
    counts = [np.zeros(0), *(counts for _, counts in parts)]
    term = np.repeat(np.arange(len(parts)), sizes)
    return Hits(term, np.concatenate(documents), np.concatenate(counts))


def _merged(term: Ints, document: Ints, count: Floats) -> Hits:
    """Equal neighbours become one, with the sum of their counts."""
    is_new = np.ones(len(term), bool)
    is_new[1:] = (document[1:] != document[:-1]) | (term[1:] != term[:-1])
    if is_new.all():
        return Hits(term, document, count)
    starts = np.flatnonzero(is_new)
    return Hits(term[starts], document[starts], np.add.reduceat(count, starts))
