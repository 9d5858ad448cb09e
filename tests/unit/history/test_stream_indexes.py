"""Which indexes stay in memory, and who waits for whom."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from typing import Any

import pytest

from remember_graph.history import stream_indexes
from remember_graph.history.deriving import Deriver
from remember_graph.history.in_memory_store import InMemoryStore
from remember_graph.history.store import Namespace, Record, Selection
from remember_graph.history.stream_index import StreamIndex
from remember_graph.history.stream_indexes import StreamIndexes
from remember_graph.types import Turn

_SOON = 30  # seconds: a test that waits this long has failed


class _CountingStore(InMemoryStore):
    """Counts how often a stream is read from its start; can be made to wait there."""

    def __init__(self) -> None:
        super().__init__()
        self.opened: list[str] = []
        self.held_up: str | None = None
        self.arrived, self.gate = threading.Event(), threading.Event()

    def read(self, namespace: Namespace, start: int = 0, **options: Any) -> list[Record]:
        if start == 0:
            self.opened.append(namespace.stream)
        if namespace.stream == self.held_up:
            self.arrived.set()
            assert self.gate.wait(_SOON)
        return super().read(namespace, start, **options)


@pytest.fixture
def store() -> Iterator[_CountingStore]:
    store = _CountingStore()
    yield store
    store.gate.set()


def _name(stream: str) -> Namespace:
    return Namespace("default", stream)


def _fill(store: InMemoryStore, stream: str, turns: int) -> None:
    store.append(_name(stream), [Record(Turn("Ana", "Hi", id=str(at))) for at in range(turns)])


def _indexes(store: InMemoryStore) -> StreamIndexes:
    return StreamIndexes(store, lambda: StreamIndex(Deriver()))


def test_an_index_is_read_once_and_then_only_continued(store: _CountingStore) -> None:
    _fill(store, "a", 2)
    indexes = _indexes(store)
    first = indexes.current(_name("a"))
    store.append(_name("a"), [Record(Turn("Ben", "Yes", id="new"))])

    assert indexes.current(_name("a")) is first
    assert [turn.id for turn in first.turns] == ["0", "1", "new"]
    assert store.opened == ["a"]


def test_the_stream_that_was_used_longest_ago_makes_room(
    store: _CountingStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(stream_indexes, "STREAMS_IN_MEMORY", 2)
    for stream in "abc":
        _fill(store, stream, 1)
    indexes = _indexes(store)
    for stream in "abaca":  # c pushes b out, not a
        indexes.current(_name(stream))
    indexes.current(_name("b"))

    assert store.opened == ["a", "b", "c", "b"]


def test_long_streams_make_room_before_there_are_many(
    store: _CountingStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(stream_indexes, "TURNS_IN_MEMORY", 10)
    for stream, turns in (("a", 3), ("b", 3), ("c", 5)):
        _fill(store, stream, turns)
    indexes = _indexes(store)
    for stream in "abcbca":  # 3 + 3 + 5 turns are one too many: a goes when c comes
        indexes.current(_name(stream))

    assert store.opened == ["a", "b", "c", "a"]


def test_a_stream_that_is_too_long_alone_is_kept_alone(
    store: _CountingStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(stream_indexes, "TURNS_IN_MEMORY", 10)
    _fill(store, "long", 11)
    indexes = _indexes(store)

    assert indexes.current(_name("long")) is indexes.current(_name("long"))


def test_dropped_streams_are_read_again_and_others_are_not(store: _CountingStore) -> None:
    for stream in "ab":
        _fill(store, stream, 1)
    indexes = _indexes(store)
    for stream in "ab":
        indexes.current(_name(stream))
    indexes.drop(lambda name: name.stream == "a")
    for stream in "ab":
        indexes.current(_name(stream))

    assert store.opened == ["a", "b", "a"]


def test_a_stream_that_is_being_read_holds_up_no_other(store: _CountingStore) -> None:
    names = [str(at) for at in range(1_000)]
    indexes = _indexes(store)
    slow = _name("slow")
    other = next(
        name for name in map(_name, names) if indexes._lock_of(name) is not indexes._lock_of(slow)
    )
    for name in (slow, other):
        _fill(store, name.stream, 1)
    store.held_up = "slow"
    reader = threading.Thread(target=indexes.current, args=(slow,))
    reader.start()
    assert store.arrived.wait(_SOON)

    assert len(indexes.current(other)) == 1

    store.gate.set()
    reader.join(_SOON)
    assert not reader.is_alive()


def test_what_is_forgotten_while_a_stream_is_read_is_not_in_its_index(
    store: _CountingStore,
) -> None:
    _fill(store, "a", 3)
    store.held_up = "a"
    indexes = _indexes(store)
    found: list[StreamIndex] = []
    reader = threading.Thread(target=lambda: found.append(indexes.current(_name("a"))))
    reader.start()
    assert store.arrived.wait(_SOON)
    store.forget(_name("a"), Selection(ids=("1",)))
    store.gate.set()
    reader.join(_SOON)

    assert [turn.id for turn in found[0].turns] == ["0", "2"]
