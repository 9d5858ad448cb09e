"""What is there after opening again, what others see, and what a closed store does."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np
import pytest

from remember_graph.errors import HistoryError
from remember_graph.history.store import Namespace, Record, Retention, Selection, TurnStore
from remember_graph.types import Turn

if TYPE_CHECKING:  # the tests run as modules that cannot import each other
    from tests.conformance.conftest import Log

NAMESPACE = Namespace("default", "chat")


def test_opening_again_gives_everything(open_log: Callable[[], Log]) -> None:
    log = open_log()
    log.fill("z")
    vector = np.array([0.25, 0.5], np.float32)
    log.store.append(NAMESPACE, [Record(Turn("Ana", "Yes", id="a"), vector, "model/2")])
    log.store.close()

    records = open_log().store.read(NAMESPACE, vector_model="model/2")
    assert [record.turn for record in records] == [
        Turn("Ana", "Hi", id="z"),
        Turn("Ana", "Yes", id="a"),
    ]
    assert records[1].vector is not None
    assert records[1].vector.tolist() == [0.25, 0.5]


def test_a_reader_sees_what_another_connection_committed(connect: Callable[[], Log]) -> None:
    writer, reader = connect(), connect()
    writer.fill("a")
    seen_first = reader.ids()
    writer.fill("b")

    assert (seen_first, reader.ids()) == (["a"], ["a", "b"])


def test_opening_again_gives_edits_removals_vectors_and_summaries(
    open_log: Callable[[], Log],
) -> None:
    log = open_log()
    log.fill("abcd")
    log.embed("one", {0: (1, 0), 1: (0, 1)})
    log.summarise("a")
    log.edit("a", "new")
    log.forget("d")
    generation = log.store.generation(NAMESPACE)
    log.store.close()
    again = open_log()
    again.fill("e")

    assert again.places() == {"a": 0, "b": 1, "c": 2, "e": 4}
    assert again.store.known(NAMESPACE, ["a"])["a"].text == "new"
    assert set(again.store.vectors(NAMESPACE, "one", [0, 1])) == {1}
    assert again.store.summaries(NAMESPACE)[0].stale == "turn a was edited"
    assert again.store.generation(NAMESPACE) == generation


def test_opening_again_finds_the_nearest_turns(open_log: Callable[[], Log]) -> None:
    log = open_log()
    log.fill("ab")
    log.embed("one", {0: (1, 0), 1: (0, 1)})
    log.store.close()
    ((near,),) = open_log().store.nearest(NAMESPACE, "one", [np.array([0, 2], np.float32)], 1)

    assert near.position == 1
    assert near.cosine == pytest.approx(1, abs=1e-3)


def test_what_is_forgotten_stays_forgotten_after_opening_again(
    open_log: Callable[[], Log],
) -> None:
    log = open_log()
    log.fill("ab")
    log.embed("one", {0: (1, 0), 1: (0, 1)})
    log.fill("a", Namespace("default", "other"))
    log.forget("a")
    log.store.forget_tenant("nobody")
    log.store.close()
    again = open_log().store

    assert again.streams() == [(NAMESPACE, 1), (Namespace("default", "other"), 1)]
    assert again.known(NAMESPACE, ["a"]) == {}
    assert again.vector_models(NAMESPACE) == {"one": 1}


def test_a_reader_sees_what_another_connection_changed(connect: Callable[[], Log]) -> None:
    writer, reader = connect(), connect()
    writer.fill("abc")
    writer.embed("one", {0: (1, 0), 1: (1, 0), 2: (1, 0)})
    seen_first = reader.store.vector_models(NAMESPACE)
    writer.edit("a", "new")
    writer.forget("b")

    assert (seen_first, reader.store.vector_models(NAMESPACE)) == ({"one": 3}, {"one": 1})
    assert reader.store.known(NAMESPACE, ["a"])["a"].text == "new"
    assert reader.ids() == ["a", "c"]
    assert reader.store.generation(NAMESPACE) == writer.store.generation(NAMESPACE)


_CALLS: dict[str, Callable[[TurnStore], object]] = {
    "known": lambda store: store.known(NAMESPACE, ["a"]),
    "append": lambda store: store.append(NAMESPACE, []),
    "read": lambda store: store.read(NAMESPACE),
    "generation": lambda store: store.generation(NAMESPACE),
    "add_vectors": lambda store: store.add_vectors(NAMESPACE, "one", {}),
    "vectors": lambda store: store.vectors(NAMESPACE, "one"),
    "vector_models": lambda store: store.vector_models(NAMESPACE),
    "nearest": lambda store: store.nearest(NAMESPACE, "one", [np.ones(2, np.float32)], 1),
    "drop_vectors": lambda store: store.drop_vectors(NAMESPACE, keep_model="one"),
    "edit": lambda store: store.edit(NAMESPACE, Record(Turn("Ana", "Hi", id="a"))),
    "forget": lambda store: store.forget(NAMESPACE, Selection()),
    "forget_tenant": lambda store: store.forget_tenant("default"),
    "retention": lambda store: store.retention(NAMESPACE),
    "set_retention": lambda store: store.set_retention(NAMESPACE, Retention()),
    "save_summary": lambda store: store.save_summary(
        NAMESPACE, {"summary": {"sentences": []}, "window": [], "memory": []}
    ),
    "summaries": lambda store: store.summaries(NAMESPACE),
    "streams": lambda store: store.streams(),
}


def test_a_closed_store_answers_nothing(store: TurnStore) -> None:
    store.close()

    for name, call in _CALLS.items():
        with pytest.raises(HistoryError, match="closed"):
            pytest.fail(f"{name} answered {call(store)}")


def test_closing_twice_is_closing_once(store: TurnStore) -> None:
    store.close()
    store.close()
