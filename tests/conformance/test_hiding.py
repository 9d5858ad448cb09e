"""Turns that stay in the log and are left out of every search, and logs that are read in parts."""

from __future__ import annotations

from remember_graph.history.history import History
from remember_graph.history.store import Forgotten, Namespace, Record, Selection, TurnStore
from remember_graph.types import Turn

_NAMESPACE = Namespace("default", "hiding")
_OTHER = Namespace("default", "hiding too")


def _fill(store: TurnStore, *ids: str, namespace: Namespace = _NAMESPACE) -> None:
    store.append(namespace, [Record(Turn("Ana", f"kiln {id}", id=id)) for id in ids])


def _hidden(store: TurnStore, namespace: Namespace = _NAMESPACE) -> list[str]:
    return [record.turn.id for record in store.read(namespace) if record.hidden]


def test_a_hidden_turn_stays_in_the_log_and_can_be_shown_again(store: TurnStore) -> None:
    _fill(store, "1", "2", "3")

    assert store.hide(_NAMESPACE, ["2", "3", "nobody"]) == 2
    assert _hidden(store) == ["2", "3"]
    assert store.hide(_NAMESPACE, ["1", "3"], hidden=False) == 1
    assert _hidden(store) == ["2"]
    assert [record.turn.id for record in store.read(_NAMESPACE)] == ["1", "2", "3"]


def test_hiding_changes_the_generation_and_hiding_again_does_not(store: TurnStore) -> None:
    _fill(store, "1")
    before = store.generation(_NAMESPACE)
    store.hide(_NAMESPACE, ["1"])
    once = store.generation(_NAMESPACE)
    store.hide(_NAMESPACE, ["1"])

    assert once > before
    assert store.generation(_NAMESPACE) == once


def test_hiding_leaves_other_streams_alone(store: TurnStore) -> None:
    _fill(store, "1")
    _fill(store, "1", namespace=_OTHER)
    store.hide(_NAMESPACE, ["1"])

    assert _hidden(store, _OTHER) == []
    assert store.hide(Namespace("nobody", "hiding"), ["1"]) == 0


def test_what_is_hidden_is_not_indexed_and_comes_back_to_its_place(store: TurnStore) -> None:
    history = History(store)
    _fill(store, "1", "2", "3")
    store.hide(_NAMESPACE, ["2"])
    without = [turn.id for turn in history.index(_NAMESPACE).turns]
    store.hide(_NAMESPACE, ["2"], hidden=False)

    assert without == ["1", "3"]
    assert [turn.id for turn in history.index(_NAMESPACE).turns] == ["1", "2", "3"]


def test_an_edited_turn_stays_hidden(store: TurnStore) -> None:
    _fill(store, "1")
    store.hide(_NAMESPACE, ["1"])
    store.edit(_NAMESPACE, Record(Turn("Ana", "new", id="1")))

    assert _hidden(store) == ["1"]


def test_a_hidden_turn_is_known_and_can_be_forgotten(store: TurnStore) -> None:
    _fill(store, "1", "2")
    store.hide(_NAMESPACE, ["1"])

    assert list(store.known(_NAMESPACE, ["1"])) == ["1"]
    assert store.forget(_NAMESPACE, Selection(ids=("1",))) == Forgotten(turns=1)


def test_a_log_can_be_read_in_parts(store: TurnStore) -> None:
    _fill(store, "1", "2", "3", "4", "5")
    store.forget(_NAMESPACE, Selection(ids=("2",)))

    first = store.read(_NAMESPACE, limit=2)
    rest = store.read(_NAMESPACE, first[-1].position + 1, limit=10)

    assert [record.turn.id for record in first] == ["1", "3"]
    assert [record.turn.id for record in rest] == ["4", "5"]
    assert store.read(_NAMESPACE, rest[-1].position + 1, limit=10) == []
