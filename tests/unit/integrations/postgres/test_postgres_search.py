"""Vectors close to a query, with and without an index."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from remember_graph.errors import HistoryError
from remember_graph.history.nearest import nearest
from remember_graph.history.store import Namespace, Record, Selection, Vector
from remember_graph.types import Turn

if TYPE_CHECKING:
    from remember_graph.integrations.postgres import PostgresStore
    from tests.unit.integrations.postgres.conftest import Server

    OpenStore = Callable[..., PostgresStore]

_NAMESPACE = Namespace("default", "chat")
_MODEL = "it's 100%_?\0"
_numbers = st.tuples(*[st.sampled_from([-1.0, 0.0, 1.0])] * 3)  # many of the same closeness


def _vector(*values: float) -> Vector:
    return np.array(values, np.float32)


def _fill(store: PostgresStore, vectors: Sequence[Vector], model: str = _MODEL) -> None:
    store.append(
        _NAMESPACE,
        [Record(Turn("Ana", "Hi", id=str(at)), one, model) for at, one in enumerate(vectors)],
    )


def _positions(store: PostgresStore, query: Vector, k: int, model: str = _MODEL) -> list[int]:
    return [near.position for near in store.nearest(_NAMESPACE, model, [query], k)[0]]


def _random(number: int, width: int) -> list[Vector]:
    return list(np.random.default_rng(1).standard_normal((number, width)).astype(np.float32))


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(_numbers, min_size=1, max_size=30), _numbers, st.integers(0, 35))
def test_exact_search_finds_what_comparing_each_vector_finds(
    store: PostgresStore, held: list[tuple[float, ...]], query: tuple[float, ...], k: int
) -> None:
    vectors = {at: _vector(*one) for at, one in enumerate(held)}
    _fill(store, list(vectors.values()))

    (found,) = store.nearest(_NAMESPACE, _MODEL, [_vector(*query)], k)
    (expected,) = nearest(vectors, [_vector(*query)], k)
    assert [near.position for near in found] == [near.position for near in expected]
    assert [near.cosine for near in found] == pytest.approx([n.cosine for n in expected], abs=1e-6)
    store.forget(_NAMESPACE, Selection(), wipe=False)


def test_each_query_has_its_answer(store: PostgresStore) -> None:
    _fill(store, [_vector(1, 0), _vector(0, 1)])

    found = store.nearest(_NAMESPACE, _MODEL, [_vector(0, 3), _vector(3, 0)], 1)
    assert [[tuple(near) for near in one] for one in found] == [[(1, 1.0)], [(0, 1.0)]]


@pytest.mark.parametrize("search", ["exact", "hnsw"])
def test_vectors_of_another_width_are_left_out(open_store: OpenStore, search: str) -> None:
    store = open_store(search=search)
    _fill(store, [_vector(1, 0), _vector(1, 0, 0), _vector(0, 1)])
    store.build_search_index(_NAMESPACE, _MODEL)
    store.append(_NAMESPACE, [Record(Turn("Ana", "Hi", id="z"), _vector(0, 0, 1), _MODEL)])

    assert _positions(store, _vector(1, 0), 9) == [0, 2]
    assert _positions(store, _vector(0, 0, 1), 9) == [3, 1]
    assert _positions(store, _vector(1, 0, 0, 0), 9) == []


def _plan(store: PostgresStore, width: int, model: str = _MODEL) -> str:
    """How the search of a query in the index is run."""
    from remember_graph.integrations.postgres import search as postgres_search
    from remember_graph.integrations.postgres.values import packed_single

    with store._reading() as connection:
        stream = store._id(connection, _NAMESPACE)
        assert stream is not None
        index = postgres_search.Indexed(stream, model, width)
        postgres_search.prepare_indexed(connection, 5, iterative=True)
        parameters = (packed_single(np.ones(width, np.float32)), 5)
        rows = connection.execute(f"EXPLAIN {index.search}", parameters).fetchall()
    return "\n".join(line for (line,) in rows)


@pytest.mark.parametrize("number", [20, 3_000])
def test_the_index_of_the_stream_is_used(open_store: OpenStore, number: int) -> None:
    store = open_store(search="hnsw")
    _fill(store, _random(number, 16))
    before = _plan(store, 16)
    store.build_search_index(_NAMESPACE, _MODEL)

    assert "Index Scan using near_" not in before
    assert "Index Scan using near_" in _plan(store, 16)


def test_an_index_finds_nearly_what_comparing_each_vector_finds(open_store: OpenStore) -> None:
    exact, indexed = open_store(), open_store(search="hnsw")
    vectors = _random(2_000, 16)
    _fill(exact, vectors)
    indexed.build_search_index(_NAMESPACE, _MODEL)

    found = [
        set(_positions(indexed, query, 10)) & set(_positions(exact, query, 10))
        for query in vectors[:50]
    ]
    assert sum(len(both) for both in found) >= 450
    assert [_positions(indexed, query, 1) for query in vectors[:50]] == [[at] for at in range(50)]


def test_an_index_gives_as_many_as_are_asked_for(open_store: OpenStore) -> None:
    store = open_store(search="hnsw")
    _fill(store, _random(1_500, 8))
    store.build_search_index(_NAMESPACE, _MODEL)

    assert len(_positions(store, np.ones(8, np.float32), 1_200)) == 1_200


def test_an_index_follows_what_is_added_edited_and_forgotten(open_store: OpenStore) -> None:
    store = open_store(search="hnsw")
    _fill(store, [_vector(1, 0), _vector(0.9, 0.1), _vector(0, 1)])
    store.build_search_index(_NAMESPACE, _MODEL)
    store.append(_NAMESPACE, [Record(Turn("Ana", "Hi", id="z"), _vector(0.95, 0), _MODEL)])
    store.edit(_NAMESPACE, Record(Turn("Ana", "new", id="0"), _vector(0, 2), _MODEL))
    store.forget(_NAMESPACE, Selection(ids=("2",)))

    assert _positions(store, _vector(1, 0), 9) == [3, 1, 0]


def test_an_index_that_is_built_again_stays(open_store: OpenStore) -> None:
    store = open_store(search="hnsw")
    _fill(store, [_vector(1, 0)])
    for _ in range(2):
        store.build_search_index(_NAMESPACE, _MODEL)

    assert _positions(store, _vector(1, 0), 1) == [0]


def test_an_index_whose_building_broke_off_is_built_anew(
    open_store: OpenStore, server: Server, schema: str
) -> None:
    store = open_store(search="hnsw")
    _fill(store, [_vector(1, 0)])
    store.build_search_index(_NAMESPACE, _MODEL)
    (name,) = _indexes(server, schema)
    server.run(
        f"UPDATE pg_index SET indisvalid = false WHERE indexrelid = '\"{schema}\".{name}'::regclass"
    )
    assert _positions(store, _vector(1, 0), 1) == [0]
    store.build_search_index(_NAMESPACE, _MODEL)

    assert "Index Scan using near_" in _plan(store, 2)


def _indexes(server: Server, schema: str) -> list[str]:
    rows = server.run(
        f"SELECT indexname FROM pg_indexes WHERE schemaname = '{schema}' "
        "AND indexname LIKE 'near%' ORDER BY 1"
    )
    return [name for (name,) in rows]


def test_an_index_goes_with_its_stream_its_tenant_or_its_model(
    store: PostgresStore, server: Server, schema: str
) -> None:
    def build() -> int:
        _fill(store, [_vector(1, 0)])
        store.add_vectors(_NAMESPACE, "other", {store.read(_NAMESPACE)[0].position: _vector(1, 1)})
        for model in (_MODEL, "other"):
            store.build_search_index(_NAMESPACE, model)
        return len(_indexes(server, schema))

    assert build() == 2
    store.drop_vectors(_NAMESPACE, keep_model="other")
    assert len(_indexes(server, schema)) == 1
    store.forget(_NAMESPACE, Selection())
    assert _indexes(server, schema) == []
    assert build() == 2
    store.forget_tenant("default")
    assert _indexes(server, schema) == []


def test_an_index_of_no_vectors_is_refused(store: PostgresStore) -> None:
    _fill(store, [_vector(1, 0)])

    with pytest.raises(HistoryError, match="there are no vectors of 'other' in 'default', 'chat'"):
        store.build_search_index(_NAMESPACE, "other")


def test_vectors_that_are_too_wide_for_an_index_are_refused_and_searched_without(
    open_store: OpenStore,
) -> None:
    store = open_store(search="hnsw")
    _fill(store, [np.ones(4_001, np.float32)])

    with pytest.raises(HistoryError, match="have 4001 numbers, an index holds up to 4000: use"):
        store.build_search_index(_NAMESPACE, _MODEL)
    assert _positions(store, np.ones(4_001, np.float32), 1) == [0]
