"""The turns of a stream that are closest to a query."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pytest

from remember_graph.history.store import Namespace, Near, Record, Selection, TurnStore, Vector
from remember_graph.types import Turn

if TYPE_CHECKING:  # the tests run as modules that cannot import each other
    from tests.conformance.conftest import Log

NAMESPACE = Namespace("default", "chat")
X, Y = np.eye(2, dtype=np.float32)


def _found(store: TurnStore, query: Vector, k: int, model: str = "one") -> list[int]:
    (found,) = store.nearest(NAMESPACE, model, [query], k)
    return [near.position for near in found]


def test_the_nearest_come_first_with_their_cosines(store: TurnStore, log: Log) -> None:
    log.fill("abcd")
    log.embed("one", {0: (0, 1), 1: (1, 0), 2: (-1, 0), 3: (0.6, 0.8)})
    (found,) = store.nearest(NAMESPACE, "one", [X], 4)

    assert [near.position for near in found] == [1, 3, 0, 2]
    # A store may keep half precision, which moves a cosine by less than 0.001.
    assert [near.cosine for near in found] == pytest.approx([1, 0.6, 0, -1], abs=1e-3)
    assert all(isinstance(near, Near) for near in found)
    assert all(type(near.position) is int and type(near.cosine) is float for near in found)


def test_lengths_do_not_count(store: TurnStore, log: Log) -> None:
    log.fill("abc")
    log.embed("one", {0: (30, 40), 1: (0.5, 0), 2: (0, 100)})
    (found,) = store.nearest(NAMESPACE, "one", [np.array([0, 5], np.float32)], 3)

    assert [near.position for near in found] == [2, 0, 1]
    assert [near.cosine for near in found] == pytest.approx([1, 0.8, 0], abs=1e-3)


def test_only_k_are_found(store: TurnStore, log: Log) -> None:
    log.fill("abcd")
    log.embed("one", {0: (0, 1), 1: (1, 0), 2: (-1, 0), 3: (0.6, 0.8)})

    assert _found(store, X, 2) == [1, 3]
    assert _found(store, Y, 1) == [0]


@pytest.mark.parametrize("k", [0, -1])
def test_no_turns_are_the_nearest_none(store: TurnStore, log: Log, k: int) -> None:
    log.fill("abc")
    log.embed("one", {0: (1, 0), 1: (0, 1), 2: (1, 0)})

    assert store.nearest(NAMESPACE, "one", [X], k) == [[]]


def test_a_k_beyond_the_stream_finds_all(store: TurnStore, log: Log) -> None:
    log.fill("ab")
    log.embed("one", {0: (0, 1), 1: (1, 0)})

    assert _found(store, X, 1_000) == [1, 0]


def test_of_equals_the_earlier_comes_first(store: TurnStore, log: Log) -> None:
    log.fill("abcdef")
    log.embed("one", {5: (0, 1), 3: (1, 0), 1: (1, 0), 4: (1, 0), 2: (0, 1), 0: (1, 0)})

    assert _found(store, X, 6) == [0, 1, 3, 4, 2, 5]
    assert _found(store, X, 3) == [0, 1, 3]
    assert _found(store, Y, 1) == [2]


# Chroma's search is approximate: among so many equals it gives any.
@pytest.mark.parametrize("open_store", ["memory", "sqlite", "postgres"], indirect=True)
def test_of_100_equals_the_earliest_come_first(store: TurnStore, log: Log) -> None:
    log.fill(map(str, range(200)))
    log.embed("one", {at: (at % 2, 1) for at in range(200)})

    assert _found(store, Y, 100) == list(range(0, 200, 2))
    assert _found(store, Y, 7) == [0, 2, 4, 6, 8, 10, 12]


def test_each_query_has_its_own_answer(store: TurnStore, log: Log) -> None:
    log.fill("ab")
    log.embed("one", {0: (1, 0), 1: (0, 1)})

    found = store.nearest(NAMESPACE, "one", [Y, X, Y], 1)
    assert [[near.position for near in of_query] for of_query in found] == [[1], [0], [1]]


def test_no_queries_have_no_answers(store: TurnStore, log: Log) -> None:
    log.fill("a")
    log.embed("one", {0: (1, 0)})

    assert store.nearest(NAMESPACE, "one", [], 1) == []


def test_nothing_is_near_in_a_stream_without_vectors(store: TurnStore, log: Log) -> None:
    assert store.nearest(NAMESPACE, "one", [X, Y], 3) == [[], []]

    log.fill("a")
    assert store.nearest(NAMESPACE, "one", [X, Y], 3) == [[], []]


def test_vectors_of_another_width_are_left_out(store: TurnStore, log: Log) -> None:
    log.fill("abc")
    log.embed("one", {0: (1, 0), 2: (0, 1)})
    log.embed("one", {1: (1, 0, 0)})

    assert _found(store, X, 3) == [0, 2]
    assert _found(store, np.array([0, 1, 0], np.float32), 3) == [1]
    assert _found(store, np.ones(4, np.float32), 3) == []


def test_queries_of_several_widths_each_find_their_own(store: TurnStore, log: Log) -> None:
    log.fill("ab")
    log.embed("one", {0: (1, 0)})
    log.embed("one", {1: (1, 0, 0)})

    found = store.nearest(NAMESPACE, "one", [np.ones(3, np.float32), X], 2)
    assert [[near.position for near in of_query] for of_query in found] == [[1], [0]]


def test_a_vector_of_zeros_is_near_to_nothing(store: TurnStore, log: Log) -> None:
    log.fill("abc")
    log.embed("one", {0: (-1, 0), 1: (0, 0), 2: (1, 0)})
    (found,) = store.nearest(NAMESPACE, "one", [X], 3)

    assert [near.position for near in found] == [2, 1, 0]
    assert [near.cosine for near in found] == pytest.approx([1, 0, -1], abs=1e-3)


def test_a_query_of_zeros_is_near_to_nothing(store: TurnStore, log: Log) -> None:
    log.fill("ab")
    log.embed("one", {0: (0, 1), 1: (1, 0)})
    (found,) = store.nearest(NAMESPACE, "one", [np.zeros(2, np.float32)], 2)

    assert found == [Near(0, 0.0), Near(1, 0.0)]


def test_other_models_are_not_searched(store: TurnStore, log: Log) -> None:
    log.fill("abc")
    log.embed("one", {0: (0.6, 0.8)})
    log.embed("two", {1: (1, 0)})
    log.embed("", {2: (1, 0)})

    assert _found(store, X, 3) == [0]
    assert _found(store, X, 3, "two") == [1]
    assert _found(store, X, 3, "three") == []


@pytest.mark.parametrize(
    "other", [Namespace("default", "other"), Namespace("other", "chat"), Namespace("", "chat")]
)
def test_other_namespaces_are_not_searched(store: TurnStore, log: Log, other: Namespace) -> None:
    log.fill("ab")
    log.fill("abcdef", other)
    log.embed("one", {0: (0, 1), 1: (0.6, 0.8)})
    log.embed("one", {at: (1, 0) for at in range(6)}, other)
    (found,) = store.nearest(NAMESPACE, "one", [X], 6)

    assert [near.position for near in found] == [1, 0]
    assert [near.cosine for near in found] == pytest.approx([0.6, 0], abs=1e-3)


def test_a_vector_that_came_with_its_turn_is_found(store: TurnStore) -> None:
    store.append(NAMESPACE, [Record(Turn("Ana", "Hi", id="a"), Y, "one")])

    assert _found(store, Y, 1) == [0]


def test_a_vector_that_was_replaced_is_found_no_more(store: TurnStore, log: Log) -> None:
    log.fill("ab")
    log.embed("one", {0: (1, 0), 1: (0.6, 0.8)})
    log.embed("one", {0: (0, 1)})

    assert _found(store, X, 2) == [1, 0]


def test_what_is_gone_is_found_no_more(store: TurnStore, log: Log) -> None:
    log.fill("abc")
    log.embed("one", {at: (1, 0) for at in range(3)})
    log.edit("a", "new")
    log.forget("b")

    assert _found(store, X, 3) == [2]
    store.forget(NAMESPACE, Selection())
    assert _found(store, X, 3) == []


def test_vectors_that_were_dropped_are_found_no_more(store: TurnStore, log: Log) -> None:
    log.fill("a")
    log.embed("one", {0: (1, 0)})
    log.embed("two", {0: (1, 0)})
    store.drop_vectors(NAMESPACE, keep_model="two")

    assert (_found(store, X, 1), _found(store, X, 1, "two")) == ([], [0])


def test_the_nearest_of_1000_are_the_nearest(store: TurnStore, log: Log) -> None:
    log.fill(map(str, range(1_000)))
    # The turn at position p points p * 0.09 degrees away from X: the lower, the nearer.
    angles = {(at * 7) % 1_000: np.radians(((at * 7) % 1_000) * 0.09) for at in range(1_000)}
    log.embed("one", {at: (np.cos(angle), np.sin(angle)) for at, angle in angles.items()})
    (found,) = store.nearest(NAMESPACE, "one", [np.array([1, 1], np.float32)], 1)

    assert 495 <= found[0].position <= 505  # 45 degrees, give or take what half precision costs
    assert found[0].cosine == pytest.approx(1, abs=1e-3)
