"""No stream, tenant or log ever sees a vector of another, and Chroma sees no text."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from remember_graph.history.store import Forgotten, Namespace, Near, Record, Selection
from remember_graph.integrations.chroma import ChromaStore
from remember_graph.types import Turn

MINE = Namespace("ana", "chat")
OTHERS = [Namespace("bo", "chat"), Namespace("ana", "other")]
X, Y = np.eye(2, dtype=np.float32)


def _fill_both(store: ChromaStore, other: Namespace) -> None:
    """The same ids and texts, at the same positions, with other vectors."""
    turns = [Turn("Ana", "Hi", id="a"), Turn("Ana", "Ho", id="b")]
    store.append(MINE, [Record(turn, X, "one") for turn in turns])
    store.append(other, [Record(turn, Y, "one") for turn in turns])


@pytest.mark.parametrize("other", OTHERS)
def test_each_has_its_own_vectors(store: ChromaStore, other: Namespace) -> None:
    _fill_both(store, other)

    for namespace, vector in ((MINE, X), (other, Y)):
        found = store.vectors(namespace, "one")
        assert {at: v.tolist() for at, v in found.items()} == {0: [*vector], 1: [*vector]}


@pytest.mark.parametrize("other", OTHERS)
def test_each_has_its_own_counts(store: ChromaStore, other: Namespace) -> None:
    _fill_both(store, other)
    store.add_vectors(other, "two", {0: X})

    assert store.vector_models(MINE) == {"one": 2}
    assert store.vector_models(other) == {"one": 2, "two": 1}


@pytest.mark.parametrize("other", OTHERS)
def test_each_finds_its_own_nearest(store: ChromaStore, other: Namespace) -> None:
    _fill_both(store, other)

    assert store.nearest(MINE, "one", [Y], 5) == [[Near(0, 0.0), Near(1, 0.0)]]
    assert store.nearest(other, "one", [Y], 5) == [[Near(0, 1.0), Near(1, 1.0)]]


@pytest.mark.parametrize("other", OTHERS)
def test_what_one_forgets_the_other_keeps(store: ChromaStore, other: Namespace) -> None:
    _fill_both(store, other)

    assert store.forget(MINE, Selection()) == Forgotten(turns=2, vectors=2)
    assert set(store.vectors(other, "one")) == {0, 1}
    assert store.vectors(MINE, "one") == {}


def test_a_tenant_that_is_forgotten_takes_no_vector_of_another_along(store: ChromaStore) -> None:
    _fill_both(store, OTHERS[0])

    assert store.forget_tenant("bo") == Forgotten(turns=2, vectors=2)
    assert store.vector_models(MINE) == {"one": 2}


def test_vectors_that_are_dropped_stay_in_the_tenants_other_stream(store: ChromaStore) -> None:
    _fill_both(store, OTHERS[1])

    assert store.drop_vectors(MINE, keep_model="two") == 2
    assert store.vector_models(OTHERS[1]) == {"one": 2}


def test_two_logs_on_one_server_never_meet(open_http: Callable[..., ChromaStore]) -> None:
    one, other = open_http("one.db"), open_http("other.db")
    one.append(MINE, [Record(Turn("Ana", "Hi", id="a"), X, "one")])
    other.append(MINE, [Record(Turn("Ana", "Hi", id="a"), Y, "one")])
    other.forget_tenant("ana")

    assert one.vectors(MINE, "one")[0].tolist() == [1, 0]


def test_chroma_is_told_no_text_and_no_name(
    embedded: ChromaStore, tmp_path: Path, recorded: Callable[..., Record]
) -> None:
    embedded.append(Namespace("tenantword", "streamword"), [recorded("idword", "textword", 1, 2)])
    assert embedded.vector_failure is None
    embedded.close()
    held = [path.read_bytes() for path in (tmp_path / "memory/chroma").rglob("*") if path.is_file()]

    assert held
    for word in (b"tenantword", b"streamword", b"idword", b"textword", b"Ana"):
        assert not any(word in content for content in held), word


def test_the_log_holds_no_vectors(
    embedded: ChromaStore, tmp_path: Path, recorded: Callable[..., Record]
) -> None:
    vector = np.array([0.5, -0.25, 0.125, 2.0], np.float32)
    embedded.append(MINE, [recorded("a", "Hi", *vector)])
    embedded.close()
    log = (tmp_path / "memory/turns.db").read_bytes()

    assert vector.astype("<f2").tobytes() not in log
    assert vector.astype("<f4").tobytes() not in log


@pytest.fixture(scope="module")
def shared_store(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ChromaStore]:
    """One store for all examples."""
    store = ChromaStore.embedded(tmp_path_factory.mktemp("any-names"))
    yield store
    store.close()


@given(names=st.lists(st.builds(Namespace, st.text(), st.text()), min_size=2, unique=True))
def test_namespaces_of_any_names_stay_apart(
    shared_store: ChromaStore, names: list[Namespace]
) -> None:
    for number, name in enumerate(names):
        vector = np.array([number, 1], np.float32)
        shared_store.append(name, [Record(Turn("Ana", "Hi", id="a"), vector, "one")])
    try:
        found = [shared_store.vectors(name, "one")[0].tolist() for name in names]
        assert found == [[number, 1] for number in range(len(names))]
        assert shared_store.vector_failure is None
    finally:
        for tenant in {name.tenant for name in names}:
            shared_store.forget_tenant(tenant)
