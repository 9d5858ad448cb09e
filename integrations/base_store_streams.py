"""The streams of a LangGraph `BaseStore`: where the items of each lie, and what they hold."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from langgraph.store.base import PutOp

from remember_graph.history.store import Namespace
from remember_graph.integrations.base_store_items import (
    Entry,
    Folder,
    Items,
    Meta,
    delete,
    label,
    put,
)

_READ_AT_ONCE = 500


class Streams:
    """Reads the items of streams, and says what writes them.

    A turn lies at its position, and a second small item leads from its id to there. Both count
    only where the note of the stream covers the position and the turn there has the id.

    Args:
        items: All items.
        root: The first label of each.
    """

    def __init__(self, items: Items, root: str) -> None:
        self._items, self._root = items, root

    def meta(self, namespace: Namespace) -> Meta | None:
        """The note of a stream; None where there is no such stream."""
        key = label(namespace.stream)
        found = self._items.get(self._notes(namespace.tenant), [key])
        return Meta(**found[key]) if found else None

    def made(self, namespace: Namespace) -> Meta:
        """The same, a new one where there is none."""
        return self.meta(namespace) or Meta(*namespace, self.next_generation())

    def all(self, tenant: str | None = None) -> list[Meta]:
        """The notes of all streams, or of those of a tenant."""
        folder = (self._root, "streams") if tenant is None else self._notes(tenant)
        return [Meta(**value) for value in self._items.all_under(folder)]

    def note(self, meta: Meta) -> PutOp:
        """What writes the note of a stream."""
        return put(self._notes(meta.tenant), label(meta.stream), meta.to_json())

    def next_generation(self) -> int:
        """A number that no stream of this store ever had."""
        folder = (self._root, "counters")
        last: int = self._items.get(folder, ["generation"]).get("generation", 0)
        self._items.write([put(folder, "generation", last + 1)])
        return last + 1

    def entries(self, namespace: Namespace, start: int = 0) -> Iterator[Entry]:
        """The turns from a position on, in order."""
        meta, folder = self.meta(namespace), self._folder("turns", namespace)
        if meta is None:
            return
        for at in range(max(start, meta.first), meta.next, _READ_AT_ONCE):
            keys = [str(place) for place in range(at, min(at + _READ_AT_ONCE, meta.next))]
            yield from map(Entry.from_json, self._items.get(folder, keys).values())

    def at(self, namespace: Namespace, positions: Sequence[int]) -> dict[int, Entry]:
        """The turns at those of these positions that hold one."""
        meta = self.meta(namespace)
        keys = [str(at) for at in dict.fromkeys(positions) if meta and 0 <= at < meta.next]
        found = self._items.get(self._folder("turns", namespace), keys)
        return {int(key): Entry.from_json(value) for key, value in found.items()}

    def by_id(self, namespace: Namespace, ids: Sequence[str]) -> dict[str, Entry]:
        """The turns that have these ids."""
        keys = {label(id): id for id in ids}
        places = self._items.get(self._folder("ids", namespace), list(keys))
        entries = self.at(namespace, list(places.values()))
        led = {keys[key]: entries.get(place) for key, place in places.items()}
        return {id: one for id, one in led.items() if one and one.record.turn.id == id}

    def turn_puts(self, namespace: Namespace, entries: Sequence[Entry]) -> list[PutOp]:
        """What writes turns in their places."""
        folder = self._folder("turns", namespace)
        return [put(folder, str(one.record.position), one.to_json()) for one in entries]

    def id_puts(self, namespace: Namespace, entries: Sequence[Entry]) -> list[PutOp]:
        """What leads from the ids of turns to their positions."""
        folder = self._folder("ids", namespace)
        return [put(folder, label(one.record.turn.id), one.record.position) for one in entries]

    def removals(self, namespace: Namespace, entries: Sequence[Entry]) -> list[PutOp]:
        """What removes turns, and what leads to them."""
        turns, ids = self._folder("turns", namespace), self._folder("ids", namespace)
        return [
            *(delete(turns, str(one.record.position)) for one in entries),
            *(delete(ids, label(one.record.turn.id)) for one in entries),
        ]

    def summaries(self, namespace: Namespace) -> list[dict[str, Any]]:
        """The kept summaries, the latest first."""
        folder, key = self._summaries(namespace)
        found: list[dict[str, Any]] = self._items.get(folder, [key]).get(key, [])
        return found

    def summaries_put(self, namespace: Namespace, summaries: Sequence[dict[str, Any]]) -> PutOp:
        """What writes all of them."""
        return put(*self._summaries(namespace), list(summaries))

    def end(self, meta: Meta) -> list[PutOp]:
        """What removes a stream that has no turns."""
        notes = self._notes(meta.tenant), label(meta.stream)
        return [delete(*self._summaries(meta.namespace)), delete(*notes)]

    def _folder(self, kind: str, namespace: Namespace) -> Folder:
        return (self._root, kind, label(namespace.tenant), label(namespace.stream))

    def _notes(self, tenant: str) -> Folder:
        return (self._root, "streams", label(tenant))

    def _summaries(self, namespace: Namespace) -> tuple[Folder, str]:
        return (self._root, "summaries", label(namespace.tenant)), label(namespace.stream)
