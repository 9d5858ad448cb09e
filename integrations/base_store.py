"""Turns kept in the LangGraph `BaseStore` that a user has anyway.

A `BaseStore` has neither transactions nor a compare-and-set. Whatever one process does to a store
is done under one lock, whichever threads do it; several processes that write need one of the
other stores of this project. Batches are ordered so that what a killed process leaves behind is
never read: a turn counts when its stream's note says so.
"""

from __future__ import annotations

import threading
import weakref
from collections.abc import Iterator, Sequence, Set
from contextlib import contextmanager
from dataclasses import replace
from itertools import islice
from typing import Any

from langgraph.store.base import BaseStore, PutOp

from remember_graph.encoders import load_encoder
from remember_graph.errors import ConfigError, HistoryError
from remember_graph.history.history import History
from remember_graph.history.selecting import chosen
from remember_graph.history.store import (
    Forgotten,
    Namespace,
    Record,
    Selection,
)
from remember_graph.integrations.base_store_beside import Beside
from remember_graph.integrations.base_store_items import Entry, Items, label
from remember_graph.integrations.base_store_streams import Streams
from remember_graph.memory import Memory
from remember_graph.types import Turn

_locks: weakref.WeakKeyDictionary[BaseStore, threading.RLock] = weakref.WeakKeyDictionary()
_making_locks = threading.Lock()


def memory_over(
    store: BaseStore,
    *,
    model: Any = None,  # noqa: ANN401 - a name or a LangChain model
    embeddings: Any = "auto",  # noqa: ANN401 - a name or a LangChain model
    **options: Any,  # noqa: ANN401 - those of `History`
) -> Memory:
    """A memory that keeps everything in a LangGraph store.

    Args:
        store: An `InMemoryStore`, `SqliteStore`, `PostgresStore` or another one; it stays open
            when the memory is closed.
        model: See `Memory.open`.
        embeddings: See `Memory.open`.
        options: `settings`, `embed_in_background` and what else `History` takes.

    Example:
        >>> from langgraph.store.memory import InMemoryStore
        >>> memory = memory_over(InMemoryStore(), embeddings="none")
        >>> memory.add("trip", [Turn("Ana", "The hut has a key box.")]).added
        1
    """
    encoder = load_encoder(embeddings)
    return Memory(History(BaseStoreLog(store), encoder=encoder, **options), model=model)


class BaseStoreLog(Beside):
    """A `TurnStore` over a `BaseStore`; see there for what the methods do.

    One process may use it from any thread. Removed items are deleted from the store; when their
    bytes are gone is up to the store.

    Args:
        store: Where the items go. It is not closed by `close`.
        root: The first label of every item's namespace.

    Raises:
        ConfigError: `root` cannot be a label.
    """

    def __init__(self, store: BaseStore, *, root: str = "remember_graph") -> None:
        if root != label(root) or root == "langgraph":
            raise ConfigError(
                "`root` must be letters, digits, `_` and `-`, and not `langgraph`, which "
                f"LangGraph keeps for itself, got {root!r}"
            )
        self._items, self._closed = Items(store), False
        self._streams = Streams(self._items, root)
        with _making_locks:
            self._lock = _locks.setdefault(store, threading.RLock())

    @contextmanager
    def _open(self) -> Iterator[Streams]:
        with self._lock:
            if self._closed:
                raise HistoryError("the history in the LangGraph store is closed")
            yield self._streams

    def known(self, namespace: Namespace, ids: Sequence[str]) -> dict[str, Turn]:
        """See `TurnStore`."""
        with self._open() as streams:
            return {id: one.record.turn for id, one in streams.by_id(namespace, ids).items()}

    def append(self, namespace: Namespace, records: Sequence[Record]) -> int:
        """See `TurnStore`."""
        with self._open() as streams:
            meta = streams.made(namespace)
            there = streams.by_id(namespace, [record.turn.id for record in records])
            first = {record.turn.id: record for record in reversed(records)}
            fresh = [first[id] for id in _ids(records) if id not in there]
            new = [_entry(record, meta.next + at) for at, record in enumerate(fresh)]
            meta = replace(meta, next=meta.next + len(new), count=meta.count + len(new))
            # The note comes last: without it what is before it does not count.
            puts = [*streams.turn_puts(namespace, new), *streams.id_puts(namespace, new)]
            self._items.write([*puts, streams.note(meta)])
            return len(new)

    def read(
        self,
        namespace: Namespace,
        start: int = 0,
        *,
        vector_model: str | None = None,
        limit: int | None = None,
    ) -> list[Record]:
        """See `TurnStore`."""
        with self._open() as streams:
            wanted = islice(streams.entries(namespace, start), limit)
            return [one.with_vector(vector_model) for one in wanted]

    def turns_at(self, namespace: Namespace, positions: Sequence[int]) -> dict[int, Turn]:
        """See `TurnStore`."""
        with self._open() as streams:
            return {at: one.record.turn for at, one in streams.at(namespace, positions).items()}

    def count(self, namespace: Namespace) -> int:
        """See `TurnStore`."""
        with self._open() as streams:
            meta = streams.meta(namespace)
            return meta.count if meta else 0

    def generation(self, namespace: Namespace) -> int:
        """See `TurnStore`."""
        with self._open() as streams:
            meta = streams.meta(namespace)
            return meta.generation if meta else 0

    def edit(self, namespace: Namespace, record: Record, *, wipe: bool = True) -> bool:
        """See `TurnStore`."""
        with self._open() as streams:
            old = streams.by_id(namespace, [record.turn.id]).get(record.turn.id)
            if old is None:
                return False
            hidden = replace(record, hidden=old.record.hidden)
            puts = streams.turn_puts(namespace, [_entry(hidden, old.record.position)])
            _, stale = self._stale(namespace, {record.turn.id}, "edited")
            self._items.write([*self._changed(namespace), *stale, *puts])
            return True

    def hide(self, namespace: Namespace, ids: Sequence[str], *, hidden: bool = True) -> int:
        """See `TurnStore`."""
        with self._open() as streams:
            there = streams.by_id(namespace, ids).values()
            changed = [
                replace(one, record=replace(one.record, hidden=hidden))
                for one in there
                if one.record.hidden != hidden
            ]
            if changed:
                puts = streams.turn_puts(namespace, changed)
                self._items.write([*self._changed(namespace), *puts])
            return len(changed)

    def _changed(self, namespace: Namespace, **values: Any) -> list[PutOp]:  # noqa: ANN401
        """What notes another generation."""
        meta = self._streams.made(namespace)
        changed = replace(meta, generation=self._streams.next_generation(), **values)
        return [self._streams.note(changed)]

    def _stale(self, namespace: Namespace, ids: Set[str], what: str) -> tuple[int, list[PutOp]]:
        """How many summaries rest on one of the turns, and what empties them."""
        count, kept = 0, self._streams.summaries(namespace)
        for summary in kept:
            touched = sorted(ids & set(summary["rests_on"]))
            if touched and summary["result"] is not None:
                summary |= {"result": None, "stale": f"turn {touched[0]} was {what}"}
                count += 1
        return count, [self._streams.summaries_put(namespace, kept)] if count else []

    def forget(self, namespace: Namespace, selection: Selection, *, wipe: bool = True) -> Forgotten:
        """See `TurnStore`."""
        with self._open() as streams:
            meta = streams.meta(namespace)
            if meta is None:
                return Forgotten()
            entries = list(streams.entries(namespace))
            gone = [entries[at] for at in chosen(selection, [one.record.turn for one in entries])]
            vectors = sum(len(one.vectors) for one in gone)
            if selection.is_everything:
                summaries = len(streams.summaries(namespace))
                self._items.write([*streams.removals(namespace, gone), *streams.end(meta)])
            else:
                summaries = self._remove(namespace, entries, gone)
            return Forgotten(len(gone), vectors, summaries)

    def _remove(self, namespace: Namespace, entries: Sequence[Entry], gone: Sequence[Entry]) -> int:
        """Remove some turns of a stream; how many summaries that leaves without their text."""
        if not gone:
            return 0
        ids = {one.record.turn.id for one in gone}
        kept = [one.record.position for one in entries if one.record.turn.id not in ids]
        count, stale = self._stale(namespace, ids, "forgotten")
        removals = self._streams.removals(namespace, gone)
        self._items.write([*stale, *removals, *self._cut(namespace, kept)])
        return count

    def _cut(self, namespace: Namespace, kept: Sequence[int]) -> list[PutOp]:
        first = kept[0] if kept else self._streams.made(namespace).next
        return self._changed(namespace, first=first, count=len(kept))

    def forget_tenant(self, tenant: str) -> Forgotten:
        """See `TurnStore`."""
        with self._open() as streams:
            theirs = [meta.namespace for meta in streams.all(tenant)]
            return sum((self.forget(name, Selection()) for name in theirs), Forgotten())

    def streams(self) -> list[tuple[Namespace, int]]:
        """See `TurnStore`."""
        with self._open() as streams:
            return sorted((meta.namespace, meta.count) for meta in streams.all())

    def close(self) -> None:
        """See `TurnStore`; the user's store stays open."""
        with self._lock:
            self._closed = True


def _ids(records: Sequence[Record]) -> list[str]:
    return list(dict.fromkeys(record.turn.id for record in records))


def _entry(record: Record, position: int) -> Entry:
    vectors = {}
    if record.vector is not None and record.vector_model is not None:
        vectors[record.vector_model] = record.vector
    bare = replace(record, vector=None, vector_model=None, position=position)
    return Entry(bare, vectors)
