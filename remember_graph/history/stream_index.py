"""The searchable form of one stream: turns, postings, vectors and chunk bounds, in one order.

It only grows: adding turns appends to each part. Every search names how many turns are history
(`turns`); what comes after them, the window included, counts neither as a result nor in any
statistic. Who adds or searches holds `lock`.
"""

from __future__ import annotations

import threading
from collections.abc import Mapping, Sequence
from datetime import datetime

import numpy as np
from numpy.typing import NDArray

from remember_graph.history.chunks import ChunkBounds
from remember_graph.history.deriving import Deriver
from remember_graph.history.growable import GrowableArray
from remember_graph.history.hits import Runs
from remember_graph.history.postings import Postings
from remember_graph.history.selecting import readable_time
from remember_graph.history.store import Record, Vector
from remember_graph.protocols import Vectors
from remember_graph.types import Turn

Floats = NDArray[np.float64]

_REACH, _DECAY = 3, 0.6  # of a turn's context; the decay was chosen by cross-validation
_KERNEL = (_DECAY ** np.abs(np.arange(-_REACH, _REACH + 1))).astype(np.float32)
_BLOCK = 4_096  # turns whose vectors are worked on at once


class StreamIndex:
    """The index of one stream. System turns are kept in the log and left out here.

    Args:
        deriver: Makes terms and token counts where a record has none.
        language: Of the stems and function words; `auto` tells it from the turns.
        encoder_id: Vectors of this model are searched; None where there is no model.
        chunk_tokens: Most tokens in a chunk.
        chunk_overlap: How many tokens before its end the next chunk may start.
    """

    def __init__(
        self,
        deriver: Deriver,
        *,
        language: str | None = "auto",
        encoder_id: str | None = None,
        chunk_tokens: int = 128,
        chunk_overlap: int = 32,
    ) -> None:
        self.encoder_id = encoder_id
        self.lock = threading.RLock()
        self.turns: list[Turn] = []
        self.postings = Postings(language)
        self.next_position = 0  # of the log: what is not in the index yet starts here
        self.generation = 0
        self._times: list[str] = []  # of turns that `oldest` has not looked at yet
        self._oldest: datetime | None = None
        self._places: dict[int, int] = {}  # from positions in the log to turns of the index
        self.width: int | None = None  # numbers in a vector
        self._deriver = deriver
        self._positions: dict[str, int] = {}
        self._speakers: dict[str, int] = {}
        self._speaker_of = GrowableArray(np.int64)
        self._tokens = GrowableArray(np.int64)
        self._chunks = ChunkBounds(chunk_tokens, chunk_overlap)
        self._vectors: GrowableArray[np.float32] | None = None
        self._has_vector = GrowableArray(np.bool_)
        self._chunk_norms = GrowableArray(np.float64)
        self._known_context_norms = GrowableArray(np.float32)
        self._sum = np.zeros(0)  # of the first `_summed` vectors
        self._summed = 0

    def __len__(self) -> int:
        return len(self.turns)

    def add(self, records: Sequence[Record]) -> None:
        """Append the records, in order."""
        if records:
            self.next_position = records[-1].position + 1
        self._times.extend(record.turn.time for record in records if record.turn.time)
        messages = [
            record for record in records if record.turn.kind == "message" and not record.hidden
        ]
        derived = [self._deriver.of(record) for record in messages]
        for place, record in enumerate(messages, start=len(self.turns)):
            self._positions[record.turn.id] = place
            self._places[record.position] = place
        self.turns.extend(record.turn for record in messages)
        self._tokens.extend([one.tokens for one in derived])
        self._speaker_of.extend([self._speaker_number(record.turn) for record in messages])
        self._chunks.add([one.tokens for one in derived])
        self.postings.add_counted([(one.terms, one.counts) for one in derived])
        self._add_vectors(messages)

    def _speaker_number(self, turn: Turn) -> int:
        return self._speakers.setdefault(turn.speaker, len(self._speakers))

    @property
    def oldest(self) -> datetime | None:
        """The earliest time of all turns, system turns included; None where none has a time."""
        times = [self._oldest, *(readable_time(text) for text in self._times)]
        self._oldest = min((time for time in times if time is not None), default=None)
        self._times.clear()
        return self._oldest

    @property
    def without_vector(self) -> list[int]:
        """Positions in the log of the turns that have no vector yet."""
        if len(self._places) == int(self._has_vector.view.sum()):
            return []
        missing = ~self._has_vector.view
        return [position for position, place in self._places.items() if missing[place]]

    def lines_at(self, positions: Sequence[int]) -> list[str]:
        """The lines of the turns at these positions in the log."""
        return [self.turns[self._places[position]].line for position in positions]

    def fill_vectors(self, vectors: Mapping[int, Vector]) -> None:
        """Put in vectors that were made later, by position in the log."""
        if not vectors:
            return
        self.width = self.width or len(next(iter(vectors.values())))
        fitting = {at: v for at, v in vectors.items() if len(v) == self.width}
        if not fitting:
            return
        if self._vectors is None:
            self._vectors = GrowableArray(np.float32, self.width)
        missing = len(self.turns) - len(self._vectors)
        self._vectors.extend(np.zeros((missing, self.width)))
        places = [self._places[position] for position in fitting]
        self._vectors.view[places] = np.stack(list(fitting.values()))
        self._has_vector.view[places] = True
        # What was computed with the missing ones as zeros is computed again when it is needed.
        self._chunk_norms.truncate(0)
        self._known_context_norms.truncate(0)
        self._summed = 0

    def _add_vectors(self, records: Sequence[Record]) -> None:
        ours = [r.vector if r.vector_model == self.encoder_id else None for r in records]
        if self.width is None:
            self.width = next((len(vector) for vector in ours if vector is not None), None)
        # A model that changed its width under the same name: its new vectors fit no others.
        ours = [v if v is not None and len(v) == self.width else None for v in ours]
        self._has_vector.extend([vector is not None for vector in ours])
        if self._vectors is None:
            if self.width is None:
                return
            self._vectors = GrowableArray(np.float32, self.width)
        rows = np.zeros((len(self.turns) - len(self._vectors), *self._vectors.view.shape[1:]))
        for offset, vector in enumerate(reversed(ours), start=1):
            if vector is not None:
                rows[-offset] = vector
        self._vectors.extend(rows)

    def language_at(self, turns: int) -> str | None:
        """The language of the first turns, where it can be told."""
        return self.postings.language_at(turns)

    @property
    def tokens(self) -> NDArray[np.int64]:
        """Tokens of each turn."""
        return self._tokens.view

    @property
    def speakers(self) -> list[str]:
        """Everybody who has spoken, in the order of their first turns."""
        return list(self._speakers)

    def speaker_numbers(self, turns: int) -> NDArray[np.int64]:
        """For each of the first turns, which of `speakers` said it."""
        return self._speaker_of.view[:turns]

    def position(self, turn_id: str) -> int | None:
        """Where a turn stands, None where it is not in the index."""
        return self._positions.get(turn_id)

    def chunks(self, turns: int) -> Runs:
        """The chunks of the first turns."""
        return self._chunks.runs(turns)

    def embedded(self, turns: int) -> int:
        """How many of the first turns have a vector."""
        return int(self._has_vector.view[:turns].sum())

    def vectors(self, turns: int) -> Vectors | None:
        """Unit vectors of the first turns (zero where missing); None where there are none."""
        if self._vectors is None:
            return None
        missing = turns - len(self._vectors)
        view = self._vectors.view[:turns]
        return view if missing <= 0 else np.pad(view, ((0, missing), (0, 0)))

    def cosines(self, queries: Vectors, *, turns: int) -> Floats:
        """Cosine of every turn with every query, shape (queries, turns); exact."""
        vectors = self.vectors(turns)
        if vectors is None:
            return np.zeros((len(queries), turns))
        return (queries @ vectors.T).astype(np.float64)

    def chunk_cosines(self, turn_cosines: Floats, *, turns: int) -> Floats:
        """Cosine of every chunk with every query, from those of its turns.

        A chunk's vector is the mean of its turns' vectors, weighted by the square root of
        their tokens; its product with a query is then the same mean of the turns' products.
        """
        runs = self.chunks(turns)
        weights = np.sqrt(self.tokens[:turns])
        running = np.cumsum(turn_cosines * weights, axis=1)
        running = np.concatenate((np.zeros((len(turn_cosines), 1)), running), axis=1)
        sums: Floats = running[:, runs.ends] - running[:, runs.starts]
        return sums / self._norms(runs, turns)

    def directions(self, vectors: Vectors, *, turns: int) -> Vectors:
        """What sets each vector apart from the mean of the first turns, as unit vectors."""
        centred = vectors - self._mean(turns)
        lengths = np.linalg.norm(centred, axis=1, keepdims=True)
        directions: Vectors = (centred / np.maximum(lengths, 1e-9)).astype(np.float32)
        return directions

    def _mean(self, turns: int) -> Vectors:
        """Of the first turns' vectors; what the last call added up is not added up again."""
        vectors = self.vectors(turns)
        if vectors is None or not turns:
            return np.zeros(self.width or 1, np.float32)
        if turns < self._summed or not self._summed:
            self._sum, self._summed = np.zeros(vectors.shape[1]), 0
        for at in range(self._summed, turns, _BLOCK):
            self._sum += vectors[at : at + _BLOCK].sum(axis=0)
        self._summed = turns
        return (self._sum / turns).astype(np.float32)

    def context_cosines(self, directions: Vectors, *, turns: int) -> Vectors:
        """Cosine of each direction with every turn seen among its neighbours.

        A turn's context is the unit sum of the vectors of the turns around it, each weighted by
        the square root of its tokens and by 0.6 per turn of distance, up to 3. The contexts' mean,
        which tells nothing apart, is taken out. Like a chunk's, the products of a context follow
        from those of its turns. Shape (directions, turns).
        """
        vectors = self.vectors(turns)
        if vectors is None or not turns:
            return np.zeros((len(directions), turns), np.float32)
        # In single precision throughout: a wider factor would copy all vectors to its width.
        weights: Vectors = np.sqrt(self.tokens[:turns]).astype(np.float32)
        shares: Vectors = np.float32(1) / self._context_norms(vectors, weights)
        pull: Vectors = weights * _blurred(shares)
        mean = pull @ vectors / np.float32(turns)
        *products, of_mean = np.vstack((directions, mean)) @ vectors.T
        # |c - m|² of a unit context c and the mean m
        squared = 1 - 2 * shares * _blurred(of_mean * weights) + mean @ mean
        scale = 1 / np.sqrt(np.maximum(squared, 1e-9))
        cosines = np.empty((len(directions), turns), np.float32)
        for row, product, shift in zip(cosines, products, directions @ mean, strict=True):
            row[:] = (_blurred(product * weights) * shares - shift) * scale
        return cosines

    def _context_norms(self, vectors: Vectors, weights: Vectors) -> Vectors:
        """Length of each turn's context; those with all neighbours there are computed once."""
        complete = max(len(vectors) - _REACH, 0)
        known = self._known_context_norms
        for start in range(len(known), complete, _BLOCK):
            known.extend(_context_lengths(vectors, weights, start, min(start + _BLOCK, complete)))
        tail = _context_lengths(vectors, weights, complete, len(vectors))
        norms: Vectors = np.maximum(np.concatenate((known.view[:complete], tail)), 1e-9)
        return norms

    def _norms(self, runs: Runs, turns: int) -> Floats:
        """Length of each chunk's weighted sum; those of closed chunks are computed once."""
        vectors = self.vectors(turns)
        if vectors is None:
            return np.ones(len(runs))
        weights = np.sqrt(self.tokens[:turns])

        def norm(run: int) -> float:
            part = slice(runs.starts[run], runs.ends[run])
            return float(np.linalg.norm(weights[part] @ vectors[part])) or 1.0

        closed = max(len(runs) - 1, 0)  # the last one may still grow
        self._chunk_norms.extend([norm(run) for run in range(len(self._chunk_norms), closed)])
        tail = [norm(run) for run in range(closed, len(runs))]
        return np.concatenate((self._chunk_norms.view[:closed], tail))

    def best_of_chunks(self, chunk_scores: Floats, *, turns: int) -> Floats:
        """For every turn the best score of the chunks that hold it, shape (queries, turns)."""
        runs = self.chunks(turns)
        position = np.arange(turns)
        first = np.searchsorted(runs.ends, position, side="right")
        last = np.searchsorted(runs.starts, position, side="right") - 1
        best: Floats = chunk_scores[:, first]
        for step in range(1, int((last - first).max(initial=0)) + 1):
            best = np.maximum(best, chunk_scores[:, np.minimum(first + step, last)])
        return best


def _context_lengths(vectors: Vectors, weights: Vectors, start: int, stop: int) -> Vectors:
    """Lengths of the contexts of the turns from `start` to `stop` - 1."""
    low = max(start - _REACH, 0)
    part = slice(low, stop + _REACH)
    weighted = vectors[part] * weights[part, np.newaxis]
    sums = weighted.copy()
    for step in range(1, min(_REACH, len(weighted) - 1) + 1):
        sums[step:] += np.float32(_DECAY**step) * weighted[:-step]
        sums[:-step] += np.float32(_DECAY**step) * weighted[step:]
    lengths: Vectors = np.linalg.norm(sums[start - low : stop - low], axis=1)
    return lengths


def _blurred(row: Vectors) -> Vectors:
    """A row of values, each with its neighbours' added, weighted by their distance."""
    blurred: Vectors = np.convolve(row, _KERNEL)[_REACH:-_REACH]
    return blurred
