"""Forgetting a tenant removes all its streams and nobody else's."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np

from remember_graph.history.store import (
    Forgotten,
    Namespace,
    Retention,
    Selection,
    TurnStore,
)

if TYPE_CHECKING:  # the tests run as modules that cannot import each other
    from tests.conformance.conftest import Log

ONE, TWO = Namespace("t", "one"), Namespace("t", "two")
X = np.array([1, 0], np.float32)


def _fill_two_streams(log: Log) -> None:
    """Five turns, four vectors and two summaries."""
    log.fill("abc", ONE)
    log.fill("ab", TWO)
    log.embed("m", {0: (1, 0), 1: (0, 1)}, ONE)
    log.embed("n", {0: (1, 0)}, ONE)
    log.embed("m", {1: (1, 0)}, TWO)
    log.summarise("a", ONE)
    log.summarise("b", TWO)


def test_all_streams_of_the_tenant_go_and_the_counts_add_up(store: TurnStore, log: Log) -> None:
    _fill_two_streams(log)

    assert store.forget_tenant("t") == Forgotten(turns=5, vectors=4, summaries=2)
    assert store.streams() == []


def test_nothing_of_the_tenant_is_found_afterwards(store: TurnStore, log: Log) -> None:
    _fill_two_streams(log)
    store.forget_tenant("t")

    for namespace in (ONE, TWO):
        assert store.read(namespace) == []
        assert store.known(namespace, ["a"]) == {}
        assert store.vector_models(namespace) == {}
        assert store.nearest(namespace, "m", [X], 3) == [[]]
        assert store.summaries(namespace) == []
        assert store.generation(namespace) == 0


_ALIKE = ["", " ", "T", "t/", "t/one", "tt", "%", "_", "*", "t%", "t\0", "one"]


def test_tenants_whose_names_look_alike_keep_everything(store: TurnStore, log: Log) -> None:
    _fill_two_streams(log)
    others = [Namespace(name, "one") for name in _ALIKE]
    for theirs in others:
        log.fill("ab", theirs)
        log.embed("m", {0: (1, 0)}, theirs)
        log.summarise("a", theirs)
        store.set_retention(theirs, Retention(max_turns=7))
    before = [store.generation(theirs) for theirs in others]
    store.forget_tenant("t")

    assert store.streams() == sorted((theirs, 2) for theirs in others)
    assert [store.generation(theirs) for theirs in others] == before
    for theirs in others:
        assert log.ids(theirs) == ["a", "b"]
        assert store.vector_models(theirs) == {"m": 1}
        assert [near.position for near in store.nearest(theirs, "m", [X], 3)[0]] == [0]
        assert [summary.stale for summary in store.summaries(theirs)] == [None]
        assert store.retention(theirs) == Retention(max_turns=7)


def test_a_name_that_reads_like_a_pattern_means_itself_alone(store: TurnStore, log: Log) -> None:
    _fill_two_streams(log)

    assert [store.forget_tenant(name) for name in _ALIKE] == [Forgotten()] * len(_ALIKE)
    assert store.streams() == [(ONE, 3), (TWO, 2)]


def test_a_tenant_that_is_not_there_is_nothing(store: TurnStore) -> None:
    assert store.forget_tenant("t") == Forgotten()


def test_a_tenant_that_was_forgotten_starts_anew(store: TurnStore, log: Log) -> None:
    _fill_two_streams(log)
    store.set_retention(ONE, Retention(max_turns=7))
    before = store.generation(ONE)
    store.forget_tenant("t")
    log.fill("z", ONE)

    assert store.streams() == [(ONE, 1)]
    assert [record.position for record in store.read(ONE)] == [0]
    assert store.vectors(ONE, "m") == {}
    assert store.retention(ONE) == Retention()
    assert store.summaries(ONE) == []
    assert store.generation(ONE) not in (0, before)


def test_an_empty_stream_of_the_tenant_goes_as_well(store: TurnStore) -> None:
    store.set_retention(ONE, Retention(max_turns=7))

    assert store.forget_tenant("t") == Forgotten()
    assert store.streams() == []


def test_stale_summaries_count_where_their_stream_goes(store: TurnStore, log: Log) -> None:
    log.fill("ab", ONE)
    log.summarise("a", ONE)
    store.forget(ONE, Selection(ids=("a",)))

    assert store.forget_tenant("t") == Forgotten(turns=1, summaries=1)


def test_nobody_ever_sees_some_of_the_streams_gone_and_some_not(log: Log) -> None:
    _forget_while_reading(log.store, log)


def test_no_other_connection_sees_some_of_the_streams_gone_and_some_not(
    connect: Callable[[], Log],
) -> None:
    _forget_while_reading(connect().store, connect())


def _forget_while_reading(reader: TurnStore, writer: Log) -> None:
    names = [Namespace("t", str(number)) for number in range(12)]
    for name in names:
        writer.fill("ab", name)
    seen: list[int] = []
    forgotten = threading.Event()

    def read() -> None:
        while not forgotten.is_set():
            seen.append(len(reader.streams()))
        seen.append(len(reader.streams()))

    thread = threading.Thread(target=read)
    thread.start()
    try:
        writer.store.forget_tenant("t")
    finally:
        forgotten.set()
        thread.join()

    assert set(seen) <= {0, 12}
    assert seen[-1] == 0
