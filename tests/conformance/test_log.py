"""The log of a stream: what is added is there, once, in its order."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

import pytest

from remember_graph.history.store import Derived, Namespace, Record, TurnStore
from remember_graph.types import Turn

if TYPE_CHECKING:  # the tests run as modules that cannot import each other
    from tests.conformance.conftest import Log

NAMESPACE = Namespace("default", "chat")


def test_turns_are_read_in_the_order_they_were_added(log: Log) -> None:
    log.fill("za")
    log.fill("m")

    assert log.ids() == ["z", "a", "m"]


def test_reading_starts_at_a_position(store: TurnStore, log: Log) -> None:
    log.fill("abc")

    assert [record.turn.id for record in store.read(NAMESPACE, 1)] == ["b", "c"]


@pytest.mark.parametrize("start", [3, 4])
def test_reading_past_the_end_gives_nothing(store: TurnStore, log: Log, start: int) -> None:
    log.fill("abc")

    assert store.read(NAMESPACE, start) == []


def test_a_stream_that_nobody_wrote_is_empty(store: TurnStore) -> None:
    assert store.read(NAMESPACE) == []
    assert store.known(NAMESPACE, ["a"]) == {}


def test_appending_says_how_many_are_new(log: Log) -> None:
    log.fill("a")

    assert log.fill("abc") == 2


def test_adding_the_same_again_changes_nothing(store: TurnStore, log: Log) -> None:
    log.fill("a", text="first")
    log.fill("b")
    log.fill("bac", text="second")

    assert [(r.turn.id, r.turn.text) for r in store.read(NAMESPACE)] == [
        ("a", "first"),
        ("b", "Hi"),
        ("c", "second"),
    ]


def test_an_id_that_comes_twice_in_a_batch_keeps_its_first_text(store: TurnStore) -> None:
    store.append(NAMESPACE, [Record(Turn("Ana", text, id="a")) for text in ("first", "second")])

    assert [record.turn.text for record in store.read(NAMESPACE)] == ["first"]


def test_an_id_that_comes_twice_in_a_batch_keeps_its_first_place(log: Log) -> None:
    log.fill("aba")

    assert log.ids() == ["a", "b"]


@pytest.mark.parametrize("other", [Namespace("default", "other"), Namespace("other", "chat")])
def test_namespaces_are_apart(store: TurnStore, log: Log, other: Namespace) -> None:
    log.fill("a", text="mine")
    log.fill("ab", other, text="theirs")

    assert log.ids() == ["a"]
    assert store.known(NAMESPACE, ["a", "b"])["a"].text == "mine"
    assert log.ids(other) == ["a", "b"]


def test_streams_are_listed_with_their_number_of_turns(store: TurnStore, log: Log) -> None:
    log.fill("ab", Namespace("t", "one"))
    log.fill("a", Namespace("t", "two"))

    assert sorted(store.streams()) == [(Namespace("t", "one"), 2), (Namespace("t", "two"), 1)]


def test_every_field_of_a_turn_comes_back(store: TurnStore) -> None:
    turn = Turn(
        "Ana",
        "Hi",
        "2024-05-01T10:00:00+02:00",
        "a",
        "system",
        reply_to="b",
        thread="c",
        edited=True,
    )
    store.append(NAMESPACE, [Record(turn)])

    assert store.read(NAMESPACE)[0].turn == turn
    assert store.known(NAMESPACE, ["a"]) == {"a": turn}


def test_no_time_and_an_empty_time_stay_different(store: TurnStore, log: Log) -> None:
    log.fill("a", time=None)
    log.fill("b", time="")

    assert [record.turn.time for record in store.read(NAMESPACE)] == [None, ""]


def test_2000_turns_are_added_at_once(log: Log) -> None:
    ids = [f"id-{number}" for number in range(2_000)]

    assert log.fill(ids) == 2_000
    assert log.fill(ids) == 0
    assert log.ids() == ids


def test_2000_ids_are_looked_up_at_once(store: TurnStore, log: Log) -> None:
    ids = [f"id-{number}" for number in range(2_000)]
    log.fill(ids[::2])

    assert list(store.known(NAMESPACE, ids)) == ids[::2]


def test_a_batch_that_fails_leaves_nothing_behind(store: TurnStore, log: Log) -> None:
    log.fill("a")
    with pytest.raises(AttributeError, match="turn"):
        store.append(NAMESPACE, [Record(Turn("Ana", "Hi", id="b")), cast(Any, None)])

    assert log.ids() == ["a"]


def test_a_store_goes_on_after_a_batch_that_failed(store: TurnStore, log: Log) -> None:
    with pytest.raises(AttributeError, match="turn"):
        store.append(NAMESPACE, [cast(Any, None)])

    assert log.fill("a") == 1


def test_positions_count_up_from_zero(log: Log) -> None:
    log.fill("ab")
    log.fill("c")

    assert log.places() == {"a": 0, "b": 1, "c": 2}


@pytest.mark.parametrize("gone", ["b", "c", "abc"])
def test_a_position_is_never_given_again(store: TurnStore, log: Log, gone: str) -> None:
    log.fill("abc")
    log.forget(gone)
    log.fill("d")

    assert log.places()["d"] == 3


def test_reading_starts_at_a_position_also_where_turns_before_it_are_gone(
    store: TurnStore, log: Log
) -> None:
    log.fill("abcde")
    log.forget("bd")

    assert log.places(1) == {"c": 2, "e": 4}
    assert log.places(3) == {"e": 4}


def test_a_turn_that_was_forgotten_may_be_added_again_at_the_end(log: Log) -> None:
    log.fill("abc")
    log.forget("a")
    log.fill("a")

    assert log.places() == {"b": 1, "c": 2, "a": 3}


def test_derived_values_come_back(store: TurnStore) -> None:
    derived = [
        Derived(7, ("once", "each"), (1, 1), "1"),
        Derived(9, ("twice", "\u4e09\u6642", "c++"), (2, 1, 70_000), "1"),
        Derived(0, (), (), "1"),
        None,
    ]
    turns = [Turn("Ana", "Hi", id=id) for id in "abcd"]
    records = [Record(turn, derived=one) for turn, one in zip(turns, derived, strict=True)]
    store.append(NAMESPACE, records)

    assert [record.derived for record in store.read(NAMESPACE)] == derived


def test_turns_are_counted(store: TurnStore, log: Log) -> None:
    log.fill("abc")
    log.fill("cd")
    log.forget("b")

    assert store.count(NAMESPACE) == 3
    assert store.count(Namespace("default", "none")) == 0


def test_an_empty_batch_adds_nothing(store: TurnStore, log: Log) -> None:
    log.fill("a")

    assert store.append(NAMESPACE, []) == 0
    assert log.places() == {"a": 0}
