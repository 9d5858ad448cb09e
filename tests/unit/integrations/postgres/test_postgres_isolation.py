"""Two tenants with the same stream name, the same ids and the same texts."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np
import pytest

from remember_graph.history.store import (
    Forgotten,
    Namespace,
    Near,
    Record,
    Retention,
    Selection,
    Vector,
)
from remember_graph.types import Turn

if TYPE_CHECKING:
    from remember_graph.integrations.postgres import PostgresStore

_MINE = Namespace("mine", "chat")
_THEIRS = Namespace("theirs", "chat")


def _vector(*values: float) -> Vector:
    return np.array(values, np.float32)


@pytest.fixture
def shared(request: pytest.FixtureRequest, open_store: Callable[..., PostgresStore]) -> object:
    """A store where theirs has a turn more, which lies closest to every query."""
    store = open_store(search=getattr(request, "param", "exact"))
    vectors = [_vector(1, 0), _vector(0.8, 0.6)]
    for namespace in (_MINE, _THEIRS):
        turns = [Turn("Ana", text, id=text) for text in ("first", "second")]
        store.append(
            namespace, [Record(turn, v, "m") for turn, v in zip(turns, vectors, strict=True)]
        )
        store.save_summary(
            namespace, {"summary": {"sentences": []}, "window": ["first"], "memory": []}
        )
    store.append(_THEIRS, [Record(Turn("Ana", "third", id="third"), _vector(0, 1), "m")])
    for namespace in (_MINE, _THEIRS):
        store.build_search_index(namespace, "m")
    return store


def test_turns_are_counted_apart(shared: PostgresStore) -> None:
    assert (shared.count(_MINE), shared.count(_THEIRS)) == (2, 3)
    assert shared.streams() == [(_MINE, 2), (_THEIRS, 3)]
    assert shared.vector_models(_MINE) == {"m": 2}


@pytest.mark.parametrize("shared", ["exact", "hnsw"], indirect=True)
def test_only_turns_of_the_own_stream_are_near(shared: PostgresStore) -> None:
    (mine,) = shared.nearest(_MINE, "m", [_vector(0, 1)], 10)
    (theirs,) = shared.nearest(_THEIRS, "m", [_vector(0, 1)], 1)

    assert [near.position for near in mine] == [1, 0]
    assert theirs == [Near(2, 1.0)]


@pytest.mark.parametrize("shared", ["exact", "hnsw"], indirect=True)
def test_forgetting_a_tenant_leaves_the_other(shared: PostgresStore) -> None:
    assert shared.forget_tenant("mine") == Forgotten(turns=2, vectors=2, summaries=1)

    assert shared.streams() == [(_THEIRS, 3)]
    assert shared.nearest(_MINE, "m", [_vector(0, 1)], 10) == [[]]
    (theirs,) = shared.nearest(_THEIRS, "m", [_vector(0, 1)], 10)
    assert [near.position for near in theirs] == [2, 1, 0]
    assert [summary.stale for summary in shared.summaries(_THEIRS)] == [None]


def test_an_edit_leaves_the_other(shared: PostgresStore) -> None:
    shared.edit(_MINE, Record(Turn("Ana", "new", id="first")))

    assert shared.known(_THEIRS, ["first"])["first"].text == "first"
    assert shared.vector_models(_THEIRS) == {"m": 3}
    assert [summary.stale for summary in shared.summaries(_THEIRS)] == [None]


def test_dropping_vectors_leaves_the_other(shared: PostgresStore) -> None:
    assert shared.drop_vectors(_MINE, keep_model="none") == 2

    assert shared.vector_models(_THEIRS) == {"m": 3}


def test_how_much_is_kept_is_noted_apart(shared: PostgresStore) -> None:
    shared.set_retention(_MINE, Retention(max_age_s=1.5, max_turns=7))

    assert shared.retention(_MINE) == Retention(1.5, 7)
    assert shared.retention(_THEIRS) == Retention()
    shared.forget(_MINE, Selection())
    assert shared.retention(_MINE) == Retention()
