"""An edit takes the place of a turn; the generation tells of it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pytest

from remember_graph.history.store import Derived, Forgotten, Namespace, Record, Selection, TurnStore
from remember_graph.types import Turn

if TYPE_CHECKING:  # the tests run as modules that cannot import each other
    from tests.conformance.conftest import Log

NAMESPACE = Namespace("default", "chat")
X, Y = np.eye(2, dtype=np.float32)


def test_an_edit_takes_the_place_of_the_turn(store: TurnStore, log: Log) -> None:
    log.fill("abc")
    turn = Turn("Bo", "new", "2024-05-01", "b", "system", "a", "t", edited=True)

    assert store.edit(NAMESPACE, Record(turn, derived=Derived(3, ("new",), (1,), "1")))
    record = store.read(NAMESPACE)[1]
    assert (record.turn, record.position) == (turn, 1)
    assert record.derived == Derived(3, ("new",), (1,), "1")
    assert store.known(NAMESPACE, ["b"]) == {"b": turn}


def test_an_edit_removes_the_old_vectors_and_brings_its_own(store: TurnStore) -> None:
    store.append(NAMESPACE, [Record(Turn("Ana", "Hi", id="a"), X, "one")])
    store.add_vectors(NAMESPACE, "two", {0: X})
    store.edit(NAMESPACE, Record(Turn("Ana", "new", id="a"), Y, "one"))

    assert store.vectors(NAMESPACE, "one", [0])[0].tolist() == [0, 1]
    assert store.vectors(NAMESPACE, "two", [0]) == {}


def test_an_edit_without_derived_values_removes_the_old_ones(store: TurnStore, log: Log) -> None:
    store.append(
        NAMESPACE, [Record(Turn("A", "Hi", id="a"), derived=Derived(2, ("a",), (1,), "1"))]
    )
    log.edit("a", "new")

    assert store.read(NAMESPACE)[0].derived is None


@pytest.mark.parametrize("namespace", [NAMESPACE, Namespace("default", "none")])
def test_an_edit_of_an_unknown_turn_changes_nothing(
    store: TurnStore, log: Log, namespace: Namespace
) -> None:
    log.fill("a")
    before = store.generation(namespace)

    assert not log.edit("z", "new", namespace)
    assert store.generation(namespace) == before
    assert store.streams() == [(NAMESPACE, 1)]


def test_an_edit_leaves_other_namespaces_alone(store: TurnStore, log: Log) -> None:
    other = Namespace("other", "chat")
    log.fill("a")
    log.fill("a", other)
    before = store.generation(other)
    log.edit("a", "new")

    assert store.known(other, ["a"])["a"].text == "Hi"
    assert store.generation(other) == before


def test_a_generation_is_0_where_there_is_no_stream_and_another_number_where_there_is(
    store: TurnStore,
    log: Log,
) -> None:
    before = store.generation(NAMESPACE)
    log.fill("a")

    assert before == 0
    assert store.generation(NAMESPACE) > 0


def test_adding_turns_and_vectors_keeps_the_generation(store: TurnStore, log: Log) -> None:
    log.fill("a")
    before = store.generation(NAMESPACE)
    log.fill("ab")
    store.add_vectors(NAMESPACE, "one", {0: X})

    assert store.generation(NAMESPACE) == before


def test_every_edit_and_removal_gives_a_generation_that_was_never_there(
    store: TurnStore, log: Log
) -> None:
    seen = [store.generation(NAMESPACE)]
    for text in ("first", "second"):
        log.fill("abcd")
        seen.append(store.generation(NAMESPACE))
        log.edit("a", text)
        seen.append(store.generation(NAMESPACE))
        log.forget("b")
        seen.append(store.generation(NAMESPACE))
        store.forget(NAMESPACE, Selection())
        assert store.generation(NAMESPACE) == 0

    assert len(set(seen)) == len(seen)


def test_forgetting_nothing_keeps_the_generation(store: TurnStore, log: Log) -> None:
    log.fill("a")
    before = store.generation(NAMESPACE)

    assert store.forget(NAMESPACE, Selection(ids=())) == Forgotten()
    assert log.forget("z") == Forgotten()
    assert store.generation(NAMESPACE) == before


def test_an_edit_that_does_not_wipe_is_seen_at_once(store: TurnStore, log: Log) -> None:
    log.fill("ab")
    log.embed("one", {0: (1, 0), 1: (0, 1)})
    log.summarise("a")
    before = store.generation(NAMESPACE)

    assert log.edit("a", "new", wipe=False)
    assert [record.turn.text for record in store.read(NAMESPACE)] == ["new", "Hi"]
    assert store.known(NAMESPACE, ["a"])["a"].text == "new"
    assert set(store.vectors(NAMESPACE, "one")) == {1}
    assert [near.position for near in store.nearest(NAMESPACE, "one", [X], 2)[0]] == [1]
    assert store.summaries(NAMESPACE)[0].stale == "turn a was edited"
    assert store.generation(NAMESPACE) != before


def test_an_edit_keeps_the_place_among_the_others(log: Log) -> None:
    log.fill("abc")
    log.edit("a", "new")
    log.fill("d")

    assert log.places() == {"a": 0, "b": 1, "c": 2, "d": 3}
