"""Forgetting removes the selected turns and all that was made of them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pytest

from remember_graph.history.store import Forgotten, Namespace, Record, Selection, TurnStore
from remember_graph.types import Turn

if TYPE_CHECKING:  # the tests run as modules that cannot import each other
    from tests.conformance.conftest import Log

NAMESPACE = Namespace("default", "chat")
X, Y = np.eye(2, dtype=np.float32)

_TIMED = [
    Record(Turn("Ana", "Hi", "2024-05-01T09:00:00+02:00", "a")),  # 07:00 UTC
    Record(Turn("Ana", "Hi", "2024-05-01T08:00:00", "b")),
    Record(Turn("Ana", "Hi", "2024-05-02", "c")),
    Record(Turn("Ana", "Hi", None, "d")),
    Record(Turn("Ana", "Hi", "yesterday", "e")),
    Record(Turn("Bo", "Hi", "2024-05-03", "f")),
]


@pytest.mark.parametrize(
    ("selection", "gone"),
    [
        (Selection(ids=("b", "z")), "b"),
        (Selection(ids=()), ""),
        (Selection(speaker="Bo"), "f"),
        (Selection(speaker="bo"), ""),
        (Selection(since="2024-05-01T08:00:00"), "bcf"),
        (Selection(until="2024-05-01T08:00:00Z"), "a"),
        (Selection(since="2024-05-01T07:30:00Z", until="2024-05-03"), "bc"),
        (Selection(speaker="Ana", since="2024-05-02"), "c"),
        (Selection(ids=("a", "f"), speaker="Ana"), "a"),
        (Selection(), "abcdef"),
        (Selection(all_but_latest=2), "abcd"),
        (Selection(all_but_latest=6), ""),
        (Selection(all_but_latest=7), ""),
        (Selection(speaker="Ana", all_but_latest=2), "abc"),
        (Selection(speaker="Bo", all_but_latest=1), ""),
        (Selection(until="2024-05-03", all_but_latest=1), "ab"),
        (Selection(since="2024-05-02", all_but_latest=1), "c"),
        (Selection(ids=("f", "a", "c"), all_but_latest=1), "ac"),
        (Selection(speaker="Ana", until="2024-05-02", all_but_latest=1), "a"),
    ],
)
def test_the_selected_turns_are_forgotten(
    store: TurnStore, log: Log, selection: Selection, gone: str
) -> None:
    store.append(NAMESPACE, _TIMED)

    assert store.forget(NAMESPACE, selection).turns == len(gone)
    assert "".join(log.ids()) == "".join(id for id in "abcdef" if id not in gone)
    assert store.known(NAMESPACE, list(gone)) == {}


def test_forgetting_counts_each_layer(store: TurnStore, log: Log) -> None:
    log.fill("abc")
    store.add_vectors(NAMESPACE, "one", {0: X, 1: Y})
    store.add_vectors(NAMESPACE, "two", {0: X, 2: Y})
    log.summarise("c")
    log.summarise("ab")

    first = store.forget(NAMESPACE, Selection(ids=("a", "b")))
    rest = store.forget(NAMESPACE, Selection())

    assert first == Forgotten(turns=2, vectors=3, summaries=1)
    assert rest.turns == rest.vectors == 1
    assert store.vectors(NAMESPACE, "two", [0, 1, 2]) == {}


def test_2000_turns_are_forgotten_at_once(store: TurnStore, log: Log) -> None:
    store.append(
        NAMESPACE,
        [Record(Turn("A", "x", id=str(at)), X, "one") for at in range(2_000)],
    )
    gone = Selection(ids=tuple(str(at) for at in range(0, 2_000, 2)))

    assert store.forget(NAMESPACE, gone) == Forgotten(turns=1_000, vectors=1_000)
    assert log.ids() == [str(at) for at in range(1, 2_000, 2)]


@pytest.mark.parametrize("selection", [Selection(), Selection(speaker="Ana")])
@pytest.mark.parametrize("other", [Namespace("default", "other"), Namespace("other", "chat")])
def test_forgetting_leaves_other_namespaces_alone(
    store: TurnStore, log: Log, selection: Selection, other: Namespace
) -> None:
    for namespace in (NAMESPACE, other):
        store.append(namespace, [Record(Turn("Ana", "Hi", id="a"), X, "one")])
        log.summarise("a", namespace)
    before = store.generation(other)
    store.forget(NAMESPACE, selection)

    assert log.ids(other) == ["a"]
    assert len(store.vectors(other, "one", [0])) == 1
    assert [summary.stale for summary in store.summaries(other)] == [None]
    assert store.generation(other) == before


def test_forgetting_everything_removes_the_stream(store: TurnStore, log: Log) -> None:
    log.fill("a")
    log.summarise("a")

    assert store.forget(NAMESPACE, Selection()) == Forgotten(turns=1, summaries=1)
    assert store.streams() == []
    assert store.summaries(NAMESPACE) == []
    assert store.generation(NAMESPACE) == 0


def test_forgetting_a_stream_that_is_not_there_is_nothing(store: TurnStore) -> None:
    assert store.forget(NAMESPACE, Selection()) == Forgotten()


def test_a_stream_that_was_forgotten_starts_anew(store: TurnStore, log: Log) -> None:
    store.append(NAMESPACE, [Record(Turn("Ana", "Hi", id="a"), X, "one")])
    log.summarise("a")
    store.forget(NAMESPACE, Selection())
    log.fill("z")

    assert log.ids() == ["z"]
    assert store.vectors(NAMESPACE, "one", [0]) == {}
    assert store.summaries(NAMESPACE) == []


def test_the_latest_are_those_at_the_end_of_the_log(store: TurnStore, log: Log) -> None:
    log.fill("abc")
    log.forget("a")
    log.fill("a")

    assert store.forget(NAMESPACE, Selection(all_but_latest=1)).turns == 2
    assert log.places() == {"a": 3}


def test_what_is_kept_of_the_latest_keeps_its_vectors_and_summaries(
    store: TurnStore, log: Log
) -> None:
    log.fill("abc")
    log.embed("one", {0: (1, 0), 2: (0, 1)})
    log.summarise("c")
    log.summarise("bc")

    assert store.forget(NAMESPACE, Selection(all_but_latest=1)) == Forgotten(2, 1, 1)
    assert set(store.vectors(NAMESPACE, "one")) == {2}
    assert [summary.stale for summary in store.summaries(NAMESPACE)] == [
        "turn b was forgotten",
        None,
    ]


def test_a_removal_that_does_not_wipe_is_seen_at_once(store: TurnStore, log: Log) -> None:
    log.fill("abc")
    log.embed("one", {0: (1, 0), 1: (0, 1)})
    log.summarise("a")
    before = store.generation(NAMESPACE)
    gone = store.forget(NAMESPACE, Selection(ids=("a", "c")), wipe=False)

    assert gone == Forgotten(turns=2, vectors=1, summaries=1)
    assert log.places() == {"b": 1}
    assert store.known(NAMESPACE, ["a", "b"]).keys() == {"b"}
    assert store.streams() == [(NAMESPACE, 1)]
    assert store.vector_models(NAMESPACE) == {"one": 1}
    assert [near.position for near in store.nearest(NAMESPACE, "one", [X], 2)[0]] == [1]
    assert store.summaries(NAMESPACE)[0].result is None
    assert store.generation(NAMESPACE) != before


def test_a_whole_stream_is_gone_at_once_without_wiping(store: TurnStore, log: Log) -> None:
    log.fill("ab")

    assert store.forget(NAMESPACE, Selection(), wipe=False) == Forgotten(turns=2)
    assert store.streams() == []
    assert store.forget(NAMESPACE, Selection()) == Forgotten()


def test_a_stream_whose_turns_are_all_gone_one_by_one_is_still_there(
    store: TurnStore, log: Log
) -> None:
    log.fill("ab")
    log.forget("ab")

    assert store.streams() == [(NAMESPACE, 0)]
    assert store.read(NAMESPACE) == []
    assert store.generation(NAMESPACE) > 0
