"""Vectors lie beside the turns, by model and position."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from remember_graph.history.store import Forgotten, Namespace, Record, Selection, TurnStore
from remember_graph.types import Turn

if TYPE_CHECKING:  # the tests run as modules that cannot import each other
    from tests.conformance.conftest import Log

NAMESPACE = Namespace("default", "chat")
X, Y = np.eye(2, dtype=np.float32)


def test_a_vector_comes_back_with_its_model(store: TurnStore, log: Log) -> None:
    vector = np.array([0.6, -0.8, 1e-30], np.float32)
    store.append(NAMESPACE, [Record(Turn("Ana", "Hi", id="a"), vector, "model/3")])
    log.fill("b")

    with_vector, without = store.read(NAMESPACE, vector_model="model/3")
    assert with_vector.vector is not None
    # A store may keep half precision: 11 bits.
    np.testing.assert_allclose(with_vector.vector, vector, rtol=2**-11, atol=1e-7)
    assert with_vector.vector.dtype == np.dtype(np.float32)
    assert with_vector.vector_model == "model/3"
    assert (without.vector, without.vector_model) == (None, None)


def test_vectors_of_several_models_lie_side_by_side(store: TurnStore, log: Log) -> None:
    store.append(NAMESPACE, [Record(Turn("Ana", "Hi", id="a"), X, "one")])
    log.embed("two", {0: (0, 1, 0)})

    assert store.vectors(NAMESPACE, "one", [0])[0].tolist() == [1, 0]
    assert store.vectors(NAMESPACE, "two", [0])[0].tolist() == [0, 1, 0]
    assert store.read(NAMESPACE, vector_model="three")[0].vector is None


def test_reading_without_a_model_gives_no_vectors(store: TurnStore) -> None:
    store.append(NAMESPACE, [Record(Turn("Ana", "Hi", id="a"), X, "one")])

    assert store.read(NAMESPACE)[0].vector is None


def test_a_vector_that_is_added_again_takes_the_place_of_the_first(
    store: TurnStore, log: Log
) -> None:
    log.fill("a")
    store.add_vectors(NAMESPACE, "one", {0: X})
    store.add_vectors(NAMESPACE, "one", {0: Y})

    assert store.vectors(NAMESPACE, "one", [0])[0].tolist() == [0, 1]


def test_vectors_are_given_for_the_positions_that_have_one(store: TurnStore, log: Log) -> None:
    log.fill("abc")
    store.add_vectors(NAMESPACE, "one", {0: X, 2: Y})

    assert set(store.vectors(NAMESPACE, "one", [2, 1, 7])) == {2}
    assert store.vectors(NAMESPACE, "one", []) == {}


def test_vectors_of_2000_positions_are_given_at_once(store: TurnStore, log: Log) -> None:
    log.fill(map(str, range(2_000)))
    log.embed("one", {at: (at % 7, 1) for at in range(2_000)})

    found = store.vectors(NAMESPACE, "one", range(2_000))
    assert {at: vector[0] for at, vector in found.items()} == {at: at % 7 for at in range(2_000)}


def test_vectors_of_positions_that_are_gone_are_dropped(store: TurnStore, log: Log) -> None:
    log.fill("ab")
    log.forget("a")
    store.add_vectors(NAMESPACE, "one", {at: X for at in (0, 1, 2)})
    log.fill("c")  # at position 2

    assert set(store.vectors(NAMESPACE, "one", [0, 1, 2])) == {1}


def test_vectors_for_a_stream_that_is_not_there_are_dropped(store: TurnStore) -> None:
    store.add_vectors(NAMESPACE, "one", {0: X})

    assert store.streams() == []
    assert store.vectors(NAMESPACE, "one", [0]) == {}


def test_vectors_of_every_other_model_are_dropped(store: TurnStore, log: Log) -> None:
    other = Namespace("default", "other")
    for namespace in (NAMESPACE, other):
        log.fill("ab", namespace)
        for model in ("one", "two", "three"):
            store.add_vectors(namespace, model, {0: X, 1: Y})

    assert store.drop_vectors(NAMESPACE, keep_model="two") == 4
    held = {model: len(store.vectors(NAMESPACE, model, [0, 1])) for model in ("one", "two")}
    assert held == {"one": 0, "two": 2}
    assert len(store.vectors(other, "one", [0, 1])) == 2


def test_a_vector_of_no_model_is_left_out(store: TurnStore) -> None:
    assert store.append(NAMESPACE, [Record(Turn("Ana", "Hi", id="a"), X)]) == 1


def test_a_turn_whose_vector_has_no_model_is_there_all_the_same(log: Log) -> None:
    log.store.append(NAMESPACE, [Record(Turn("Ana", "Hi", id="a"), X)])

    assert log.ids() == ["a"]
    assert log.store.vector_models(NAMESPACE) == {}


def test_vectors_are_counted_by_model(store: TurnStore, log: Log) -> None:
    log.fill("abc")
    log.embed("one", {0: (1, 0), 2: (0, 1)})
    log.embed("two", {1: (1, 0, 0)})

    assert store.vector_models(NAMESPACE) == {"one": 2, "two": 1}


def test_a_vector_that_takes_the_place_of_another_is_counted_once(
    store: TurnStore, log: Log
) -> None:
    log.fill("a")
    log.embed("one", {0: (1, 0)})
    log.embed("one", {0: (0, 1)})

    assert store.vector_models(NAMESPACE) == {"one": 1}


def test_models_without_vectors_are_not_counted(store: TurnStore, log: Log) -> None:
    log.fill("ab")
    log.embed("gone", {0: (1, 0)})
    log.embed("stays", {1: (1, 0)})
    log.embed("never", {7: (1, 0)})
    log.forget("a")

    assert store.vector_models(NAMESPACE) == {"stays": 1}


def test_a_stream_that_is_not_there_has_no_vectors(store: TurnStore) -> None:
    assert store.vector_models(NAMESPACE) == {}
    assert store.vectors(NAMESPACE, "one") == {}
    assert store.drop_vectors(NAMESPACE, keep_model="one") == 0


def test_without_positions_all_vectors_of_the_stream_are_given(store: TurnStore, log: Log) -> None:
    log.fill("abcd")
    log.embed("one", {0: (1, 0), 3: (0, 1)})
    log.embed("two", {1: (1, 0)})

    found = store.vectors(NAMESPACE, "one")
    assert {at: vector.tolist() for at, vector in found.items()} == {0: [1, 0], 3: [0, 1]}
    assert store.vectors(NAMESPACE, "three") == {}


def test_without_positions_2000_vectors_are_given(store: TurnStore, log: Log) -> None:
    log.fill(map(str, range(2_000)))
    log.embed("one", {at: (at % 7, 1) for at in range(2_000)})

    found = store.vectors(NAMESPACE, "one")
    assert [found[at].tolist() for at in range(2_000)] == [[at % 7, 1] for at in range(2_000)]


def test_vectors_of_one_model_may_differ_in_width(store: TurnStore, log: Log) -> None:
    log.fill("ab")
    log.embed("one", {0: (1, 0)})
    log.embed("one", {1: (0, 1, 0)})

    found = store.vectors(NAMESPACE, "one")
    assert {at: vector.tolist() for at, vector in found.items()} == {0: [1, 0], 1: [0, 1, 0]}


def test_the_length_of_a_vector_is_kept(store: TurnStore, log: Log) -> None:
    log.fill("a")
    log.embed("one", {0: (3, -4)})

    assert store.vectors(NAMESPACE, "one")[0].tolist() == [3, -4]


def test_vectors_of_the_present_generation_are_stored(store: TurnStore, log: Log) -> None:
    log.fill("a")
    generation = store.generation(NAMESPACE)

    assert store.add_vectors(NAMESPACE, "one", {0: X}, generation=generation)
    assert store.vector_models(NAMESPACE) == {"one": 1}


def test_vectors_that_were_made_before_a_change_are_refused(store: TurnStore, log: Log) -> None:
    log.fill("ab")
    generation = store.generation(NAMESPACE)
    log.edit("a", "new")

    assert not store.add_vectors(NAMESPACE, "one", {0: X, 1: Y}, generation=generation)
    assert store.vector_models(NAMESPACE) == {}


def test_vectors_of_a_stream_that_was_forgotten_are_refused(store: TurnStore, log: Log) -> None:
    log.fill("a")
    generation = store.generation(NAMESPACE)
    store.forget(NAMESPACE, Selection())

    assert not store.add_vectors(NAMESPACE, "one", {0: X}, generation=generation)
    assert store.streams() == []


def test_dropping_vectors_keeps_what_there_is_of_the_kept_model(store: TurnStore, log: Log) -> None:
    log.fill("ab")
    log.embed("one", {0: (1, 0), 1: (0, 1)})

    assert store.drop_vectors(NAMESPACE, keep_model="one") == 0
    assert store.drop_vectors(NAMESPACE, keep_model="two") == 2
    assert store.forget(NAMESPACE, Selection()) == Forgotten(turns=2)
