"""Vectors go to Chroma and come back."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from contextlib import AbstractContextManager
from pathlib import Path

import numpy as np
import pytest

from remember_graph.history.nearest import nearest
from remember_graph.history.store import Forgotten, Namespace, Record, Selection
from remember_graph.integrations.chroma import ChromaStore
from remember_graph.types import Turn

NAMESPACE = Namespace("t", "chat")


def _unit_rows(count: int, width: int) -> np.ndarray:
    rows = np.random.default_rng(7).standard_normal((count, width)).astype(np.float32)
    return np.asarray(rows / np.linalg.norm(rows, axis=1, keepdims=True))


def _many(rows: np.ndarray) -> list[Record]:
    return [Record(Turn("Ana", f"{n}", id=f"{n}"), row, "one") for n, row in enumerate(rows)]


def test_12000_vectors_are_added_at_once(store: ChromaStore) -> None:
    rows = np.stack([np.arange(12_000) % 97, np.full(12_000, 1)], axis=1).astype(np.float32)
    store.append(NAMESPACE, _many(rows))

    assert store.vector_failure is None
    found = store.vectors(NAMESPACE, "one")
    assert list(found) == list(range(12_000))
    assert [vector[0] for vector in found.values()] == [at % 97 for at in range(12_000)]


def test_6000_vectors_are_forgotten_at_once(embedded: ChromaStore) -> None:
    embedded.append(NAMESPACE, _many(np.ones((6_000, 2), np.float32)))

    assert embedded.forget(NAMESPACE, Selection()) == Forgotten(turns=6_000, vectors=6_000)
    assert embedded.vectors(NAMESPACE, "one") == {}


def test_vectors_of_1536_numbers_are_added_at_once(open_http: Callable[[], ChromaStore]) -> None:
    store = open_http()
    store.append(NAMESPACE, _many(np.full((1_000, 1_536), 0.5, np.float32)))

    assert store.vector_failure is None
    assert store.vector_models(NAMESPACE) == {"one": 1_000}


def test_numbers_come_back_in_half_precision(
    store: ChromaStore, recorded: Callable[..., Record]
) -> None:
    store.append(NAMESPACE, [recorded("a", "Hi", 0.1, 3.0, -0.7)])

    # The closest numbers of 11 bits: 1638 / 2**14, 3 and -1434 / 2**11.
    assert store.vectors(NAMESPACE, "one")[0].tolist() == [0.0999755859375, 3.0, -0.7001953125]


def test_a_vector_that_is_no_number_is_left_out_alone(
    store: ChromaStore, recorded: Callable[..., Record]
) -> None:
    odd = [float("nan"), float("inf"), 1e6]  # half precision ends at 65,504
    records = [recorded(str(at), "Hi", value, 1) for at, value in enumerate([1, *odd])]
    store.append(NAMESPACE, [*records, recorded("none", "Hi", 1, 0)])

    assert store.vector_failure is None
    assert set(store.vectors(NAMESPACE, "one")) == {0, 4}


def test_the_nearest_of_1000_are_those_of_an_exact_search(store: ChromaStore) -> None:
    rows, queries = _unit_rows(1_000, 32), list(_unit_rows(5, 32))
    store.append(NAMESPACE, _many(rows))
    exact = nearest(store.vectors(NAMESPACE, "one"), queries, 10)

    for found, wanted in zip(store.nearest(NAMESPACE, "one", queries, 10), exact, strict=True):
        assert [near.position for near in found] == [near.position for near in wanted]
        assert [n.cosine for n in found] == pytest.approx([n.cosine for n in wanted], abs=1e-5)


def test_turns_that_are_gone_take_no_place_of_the_nearest(embedded: ChromaStore) -> None:
    embedded.append(NAMESPACE, _many(np.ones((100, 2), np.float32)))
    # Another program edits the log, and knows nothing of Chroma.
    for at in range(90):
        embedded._opened.log.edit(NAMESPACE, Record(Turn("Ana", "new", id=str(at))), wipe=False)
    (found,) = embedded.nearest(NAMESPACE, "one", [np.ones(2, np.float32)], 5)

    assert [near.position for near in found] == [90, 91, 92, 93, 94]


def test_reading_from_a_position_gives_the_vectors_from_there(store: ChromaStore) -> None:
    store.append(NAMESPACE, _many(np.eye(3, dtype=np.float32)))
    records = store.read(NAMESPACE, 1, vector_model="one")

    assert [record.vector.tolist() for record in records if record.vector is not None] == [
        [0, 1, 0],
        [0, 0, 1],
    ]


def test_a_turn_that_is_added_again_brings_no_vector(
    store: ChromaStore, recorded: Callable[..., Record]
) -> None:
    store.append(NAMESPACE, [recorded("a", "Hi")])
    store.append(NAMESPACE, [recorded("a", "other", 1, 0), recorded("b", "Ho", 0, 1)])

    assert {at: v.tolist() for at, v in store.vectors(NAMESPACE, "one").items()} == {1: [0, 1]}


def test_of_an_id_that_comes_twice_the_first_vector_counts(
    store: ChromaStore, recorded: Callable[..., Record]
) -> None:
    store.append(NAMESPACE, [recorded("a", "Hi", 1, 0), recorded("a", "Hi", 0, 1)])

    assert store.vectors(NAMESPACE, "one")[0].tolist() == [1, 0]


def test_a_vector_of_another_width_takes_the_place_of_the_first(
    embedded: ChromaStore,
    recorded: Callable[..., Record],
    vectors_in_chroma: Callable[[ChromaStore], int],
) -> None:
    embedded.append(NAMESPACE, [recorded("a", "Hi", 1, 0)])
    embedded.add_vectors(NAMESPACE, "one", {0: np.ones(3, np.float32)})

    assert embedded.vectors(NAMESPACE, "one")[0].tolist() == [1, 1, 1]
    assert vectors_in_chroma(embedded) == 1


def test_forgetting_the_last_turn_leaves_no_collection(
    embedded: ChromaStore, recorded: Callable[..., Record]
) -> None:
    embedded.append(NAMESPACE, [recorded("a", "Hi", 1, 0)])
    embedded.forget(NAMESPACE, Selection())

    assert embedded._opened.connection.client.list_collections() == []


def test_a_folder_can_be_served_to_others_later(
    open_embedded: Callable[[], ChromaStore],
    tmp_path: Path,
    recorded: Callable[..., Record],
    served: Callable[[Path, int], AbstractContextManager[None]],
    free_port: Callable[[], int],
) -> None:
    store, port = open_embedded(), free_port()
    store.append(NAMESPACE, [recorded("a", "Hi", 1, 0)])
    store.close()
    folder = tmp_path / "memory"
    with served(folder / "chroma", port):
        over_http = ChromaStore.over_http("127.0.0.1", port, log=folder / "turns.db")
        found = over_http.vectors(NAMESPACE, "one")
        over_http.close()

    assert found[0].tolist() == [1, 0]


def test_vectors_are_made_anew_once_chromas_folder_was_deleted(
    open_embedded: Callable[[], ChromaStore], tmp_path: Path, recorded: Callable[..., Record]
) -> None:
    store = open_embedded()
    store.append(NAMESPACE, [recorded("a", "Hi", 1, 0)])
    store.close()
    shutil.rmtree(tmp_path / "memory/chroma")
    again = open_embedded()

    assert again.vectors(NAMESPACE, "one") == {}
    assert again.vector_models(NAMESPACE) == {}
    assert again.vector_failure is None
    assert again.add_vectors(NAMESPACE, "one", {0: np.ones(2, np.float32)})
    assert again.vectors(NAMESPACE, "one")[0].tolist() == [1, 1]
