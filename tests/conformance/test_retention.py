"""How much of a stream is to be kept is noted beside it."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import pytest

from remember_graph.history.store import Namespace, Retention, Selection, TurnStore

if TYPE_CHECKING:  # the tests run as modules that cannot import each other
    from tests.conformance.conftest import Log

NAMESPACE = Namespace("default", "chat")
BOTH = Retention(max_age_s=86_400.5, max_turns=500)


def test_everything_is_kept_where_nothing_was_said(store: TurnStore, log: Log) -> None:
    assert store.retention(NAMESPACE) == Retention(max_age_s=None, max_turns=None)

    log.fill("a")
    assert store.retention(NAMESPACE) == Retention(max_age_s=None, max_turns=None)


@pytest.mark.parametrize(
    "retention",
    [
        BOTH,
        Retention(max_age_s=0.25),
        Retention(max_turns=1),
        Retention(max_age_s=0.0, max_turns=0),
        Retention(max_age_s=1e12, max_turns=2**31 - 1),
        Retention(),
    ],
)
def test_what_was_noted_comes_back(store: TurnStore, retention: Retention) -> None:
    store.set_retention(NAMESPACE, retention)

    assert store.retention(NAMESPACE) == retention


def test_a_later_note_takes_the_place_of_the_whole_first(store: TurnStore) -> None:
    store.set_retention(NAMESPACE, BOTH)
    store.set_retention(NAMESPACE, Retention(max_turns=3))

    assert store.retention(NAMESPACE) == Retention(max_age_s=None, max_turns=3)


def test_a_note_makes_an_empty_stream(store: TurnStore) -> None:
    store.set_retention(NAMESPACE, BOTH)

    assert store.streams() == [(NAMESPACE, 0)]
    assert store.read(NAMESPACE) == []
    assert store.count(NAMESPACE) == 0
    assert store.generation(NAMESPACE) > 0


def test_asking_makes_no_stream(store: TurnStore) -> None:
    store.retention(NAMESPACE)

    assert store.streams() == []


def test_turns_fill_the_stream_that_a_note_made(store: TurnStore, log: Log) -> None:
    store.set_retention(NAMESPACE, BOTH)
    before = store.generation(NAMESPACE)
    log.fill("ab")

    assert log.places() == {"a": 0, "b": 1}
    assert store.retention(NAMESPACE) == BOTH
    assert store.generation(NAMESPACE) == before


def test_a_note_removes_nothing(store: TurnStore, log: Log) -> None:
    log.fill("abc", time="1990-01-01")
    log.embed("one", {0: (1, 0)})
    log.summarise("a")
    before = store.generation(NAMESPACE)
    store.set_retention(NAMESPACE, Retention(max_age_s=1.0, max_turns=1))

    assert log.ids() == ["a", "b", "c"]
    assert store.vector_models(NAMESPACE) == {"one": 1}
    assert store.summaries(NAMESPACE)[0].stale is None
    assert store.generation(NAMESPACE) == before


@pytest.mark.parametrize(
    "other", [Namespace("default", "other"), Namespace("other", "chat"), Namespace("chat", "")]
)
def test_a_note_is_of_one_stream(store: TurnStore, log: Log, other: Namespace) -> None:
    log.fill("a", other)
    store.set_retention(NAMESPACE, BOTH)

    assert store.retention(other) == Retention()
    assert store.streams() == sorted([(NAMESPACE, 0), (other, 1)])


@pytest.mark.parametrize(
    "selection",
    [
        Selection(speaker="Ana"),
        Selection(ids=("a", "b")),
        Selection(until="2030-01-01"),
        Selection(all_but_latest=1),
    ],
)
def test_a_note_stays_where_turns_are_forgotten(
    store: TurnStore, log: Log, selection: Selection
) -> None:
    log.fill("ab", time="2024-05-01")
    store.set_retention(NAMESPACE, BOTH)
    store.forget(NAMESPACE, selection)

    assert store.count(NAMESPACE) <= 1
    assert store.retention(NAMESPACE) == BOTH


def test_a_note_goes_with_the_whole_stream(store: TurnStore, log: Log) -> None:
    log.fill("a")
    store.set_retention(NAMESPACE, BOTH)
    store.forget(NAMESPACE, Selection())
    log.fill("a")

    assert store.retention(NAMESPACE) == Retention()


def test_a_note_stays_where_a_turn_is_edited(store: TurnStore, log: Log) -> None:
    log.fill("a")
    store.set_retention(NAMESPACE, BOTH)
    log.edit("a", "new")

    assert store.retention(NAMESPACE) == BOTH


def test_opening_again_gives_the_note(open_log: Callable[[], Log]) -> None:
    log = open_log()
    log.store.set_retention(NAMESPACE, BOTH)
    log.store.set_retention(Namespace("default", "other"), Retention(max_turns=2))
    log.store.close()
    again = open_log().store

    assert again.retention(NAMESPACE) == BOTH
    assert again.retention(Namespace("default", "other")) == Retention(max_turns=2)
    assert again.streams() == [(NAMESPACE, 0), (Namespace("default", "other"), 0)]


def test_another_connection_sees_the_note(connect: Callable[[], Log]) -> None:
    writer, reader = connect().store, connect().store
    before = reader.retention(NAMESPACE)
    writer.set_retention(NAMESPACE, BOTH)

    assert (before, reader.retention(NAMESPACE)) == (Retention(), BOTH)
