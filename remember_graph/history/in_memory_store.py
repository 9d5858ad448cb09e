"""A store in dicts, that lives and dies with the process."""

from __future__ import annotations

import copy
import itertools
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from typing import Any

from remember_graph.errors import HistoryError
from remember_graph.history.nearest import nearest
from remember_graph.history.selecting import chosen
from remember_graph.history.store import (
    SUMMARIES_KEPT,
    Forgotten,
    Namespace,
    Near,
    Record,
    Retention,
    Selection,
    StoredSummary,
    Vector,
    turns_of,
)
from remember_graph.types import Turn


@dataclass(slots=True)
class _Stream:
    generation: int
    records: dict[str, Record] = field(default_factory=dict)  # by turn id
    next_position: int = 0
    retention: Retention = field(default_factory=Retention)
    vectors: dict[str, dict[int, Vector]] = field(default_factory=dict)  # by model, by position
    summaries: list[tuple[set[str], StoredSummary]] = field(default_factory=list)

    def by_position(self) -> dict[int, Record]:
        return {record.position: record for record in self.records.values()}


class InMemoryStore:
    """A store for one process; see `TurnStore` for what the methods do."""

    def __init__(self) -> None:
        self._lock = threading.RLock()
        self._closed = False
        self._streams: dict[Namespace, _Stream] = {}
        self._generations = itertools.count(1)

    @contextmanager
    def _open(self, namespace: Namespace, *, create: bool = False) -> Iterator[_Stream]:
        with self._lock:
            self._check_open()
            stream = self._streams.get(namespace)
            if stream is None:
                stream = _Stream(next(self._generations) if create else 0)
            yield stream
            if create:
                self._streams[namespace] = stream

    def _check_open(self) -> None:
        if self._closed:
            raise HistoryError("the history in memory is closed")

    def known(self, namespace: Namespace, ids: Sequence[str]) -> dict[str, Turn]:
        """See `TurnStore`."""
        with self._open(namespace) as stream:
            return {id: stream.records[id].turn for id in ids if id in stream.records}

    def append(self, namespace: Namespace, records: Sequence[Record]) -> int:
        """See `TurnStore`."""
        with self._open(namespace, create=True) as stream:
            fresh: dict[str, Record] = {}
            for record in records:
                if record.turn.id not in stream.records and record.turn.id not in fresh:
                    position = stream.next_position + len(fresh)
                    fresh[record.turn.id] = replace(record, position=position)
            for record in fresh.values():
                if record.vector is not None and record.vector_model is not None:
                    of_model = stream.vectors.setdefault(record.vector_model, {})
                    of_model[record.position] = record.vector
            stream.records |= {
                id: replace(record, vector=None, vector_model=None) for id, record in fresh.items()
            }
            stream.next_position += len(fresh)
            return len(fresh)

    def read(
        self,
        namespace: Namespace,
        start: int = 0,
        *,
        vector_model: str | None = None,
        limit: int | None = None,
    ) -> list[Record]:
        """See `TurnStore`."""
        with self._open(namespace) as stream:
            if start >= stream.next_position:
                return []
            vectors = stream.vectors.get(vector_model or "", {})
            wanted = (one for one in stream.records.values() if one.position >= start)
            return [
                replace(record, vector=vectors.get(record.position), vector_model=vector_model)
                if record.position in vectors
                else record
                for record in itertools.islice(wanted, limit)
            ]

    def turns_at(self, namespace: Namespace, positions: Sequence[int]) -> dict[int, Turn]:
        """See `TurnStore`."""
        with self._open(namespace) as stream:
            held = stream.by_position()
            return {at: held[at].turn for at in positions if at in held}

    def count(self, namespace: Namespace) -> int:
        """See `TurnStore`."""
        with self._open(namespace) as stream:
            return len(stream.records)

    def generation(self, namespace: Namespace) -> int:
        """See `TurnStore`."""
        with self._open(namespace) as stream:
            return stream.generation

    def add_vectors(
        self,
        namespace: Namespace,
        model: str,
        vectors: Mapping[int, Vector],
        *,
        generation: int | None = None,
    ) -> bool:
        """See `TurnStore`."""
        with self._open(namespace) as stream:
            if generation not in (None, stream.generation):
                return False
            there = stream.by_position()
            stream.vectors.setdefault(model, {}).update(
                {position: vector for position, vector in vectors.items() if position in there}
            )
            return True

    def vectors(
        self, namespace: Namespace, model: str, positions: Sequence[int] | None = None
    ) -> dict[int, Vector]:
        """See `TurnStore`."""
        with self._open(namespace) as stream:
            held = stream.vectors.get(model, {})
            wanted = held if positions is None else positions
            return {position: held[position] for position in wanted if position in held}

    def vector_models(self, namespace: Namespace) -> dict[str, int]:
        """See `TurnStore`."""
        with self._open(namespace) as stream:
            return {model: len(held) for model, held in stream.vectors.items() if held}

    def nearest(
        self, namespace: Namespace, model: str, queries: Sequence[Vector], k: int
    ) -> list[list[Near]]:
        """See `TurnStore`."""
        return nearest(self.vectors(namespace, model), queries, k)

    def drop_vectors(self, namespace: Namespace, *, keep_model: str) -> int:
        """See `TurnStore`."""
        with self._open(namespace) as stream:
            others = [model for model in stream.vectors if model != keep_model]
            return sum(len(stream.vectors.pop(model)) for model in others)

    def edit(self, namespace: Namespace, record: Record, *, wipe: bool = True) -> bool:
        """See `TurnStore`."""
        with self._open(namespace) as stream:
            old = stream.records.get(record.turn.id)
            if old is None:
                return False
            self._drop_vectors_at(stream, {old.position})
            bare = replace(
                record, position=old.position, vector=None, vector_model=None, hidden=old.hidden
            )
            stream.records[record.turn.id] = bare
            if record.vector is not None and record.vector_model is not None:
                stream.vectors.setdefault(record.vector_model, {})[old.position] = record.vector
            _make_stale(stream, {record.turn.id}, "edited")
            stream.generation = next(self._generations)
            return True

    def hide(self, namespace: Namespace, ids: Sequence[str], *, hidden: bool = True) -> int:
        """See `TurnStore`."""
        with self._open(namespace) as stream:
            there = (stream.records[id] for id in dict.fromkeys(ids) if id in stream.records)
            changed = [record for record in there if record.hidden != hidden]
            for record in changed:
                stream.records[record.turn.id] = replace(record, hidden=hidden)
            if changed:
                stream.generation = next(self._generations)
            return len(changed)

    def forget(self, namespace: Namespace, selection: Selection, *, wipe: bool = True) -> Forgotten:
        """See `TurnStore`."""
        with self._open(namespace) as stream:
            records = list(stream.records.values())
            gone = [records[at] for at in chosen(selection, [one.turn for one in records])]
            ids = {record.turn.id for record in gone}
            vectors = self._drop_vectors_at(stream, {record.position for record in gone})
            stale = _make_stale(stream, ids, "forgotten")
            stream.records = {id: r for id, r in stream.records.items() if id not in ids}
            if gone:
                stream.generation = next(self._generations)
            if selection.is_everything:
                stale = len(stream.summaries)
                self._streams.pop(namespace, None)
            return Forgotten(len(gone), vectors, stale)

    def forget_tenant(self, tenant: str) -> Forgotten:
        """See `TurnStore`."""
        with self._lock:
            self._check_open()
            theirs = [namespace for namespace in self._streams if namespace.tenant == tenant]
            return sum((self.forget(name, Selection()) for name in theirs), Forgotten())

    def retention(self, namespace: Namespace) -> Retention:
        """See `TurnStore`."""
        with self._open(namespace) as stream:
            return stream.retention

    def set_retention(self, namespace: Namespace, retention: Retention) -> None:
        """See `TurnStore`."""
        with self._open(namespace, create=True) as stream:
            stream.retention = retention

    @staticmethod
    def _drop_vectors_at(stream: _Stream, positions: set[int]) -> int:
        dropped = 0
        for held in stream.vectors.values():
            for position in positions & held.keys():
                del held[position]
                dropped += 1
        return dropped

    def save_summary(
        self, namespace: Namespace, result: Mapping[str, Any], *, generation: int | None = None
    ) -> None:
        """See `TurnStore`."""
        with self._open(namespace) as stream:
            rests_on = turns_of(result)
            changed = generation not in (None, stream.generation)
            if changed or not rests_on <= stream.records.keys():
                return  # a turn was edited or forgotten while the summary was written
            created = datetime.now(UTC).isoformat()
            kept = StoredSummary(created, copy.deepcopy(dict(result)), None)
            stream.summaries.insert(0, (rests_on, kept))
            del stream.summaries[SUMMARIES_KEPT:]

    def summaries(self, namespace: Namespace) -> list[StoredSummary]:
        """See `TurnStore`."""
        with self._open(namespace) as stream:
            return [summary for _, summary in stream.summaries]

    def streams(self) -> list[tuple[Namespace, int]]:
        """See `TurnStore`."""
        with self._lock:
            self._check_open()
            return sorted((name, len(held.records)) for name, held in self._streams.items())

    def close(self) -> None:
        """See `TurnStore`."""
        with self._lock:
            self._closed = True


def _make_stale(stream: _Stream, ids: set[str], what: str) -> int:
    """Empty the summaries that rest on one of the turns; how many that were."""
    count = 0
    for number, (rests_on, summary) in enumerate(stream.summaries):
        touched = sorted(rests_on & ids)
        if touched and summary.result is not None:
            reason = f"turn {touched[0]} was {what}"
            stream.summaries[number] = (rests_on, StoredSummary(summary.created, None, reason))
            count += 1
    return count
