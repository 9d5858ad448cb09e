"""Several processes at one history, and a server that goes away."""

from __future__ import annotations

import subprocess
import sys
import threading
from collections.abc import Callable
from typing import TYPE_CHECKING

import pytest

from remember_graph.errors import HistoryError
from remember_graph.history.store import Namespace, Record, Selection
from remember_graph.types import Turn

if TYPE_CHECKING:
    from remember_graph.integrations.postgres import PostgresStore
    from tests.unit.integrations.postgres.conftest import Server

    OpenStore = Callable[..., PostgresStore]

_NAMESPACE = Namespace("default", "chat")


def _turn(id: str) -> Record:
    return Record(Turn("Ana", "Hi", id=id))


_ADD = """
import sys
from remember_graph.history.store import Namespace, Record
from remember_graph.integrations.postgres import PostgresStore
from remember_graph.types import Turn
store = PostgresStore(sys.argv[1], schema=sys.argv[2], pool_size=1)
for at in range(0, 1_000, 20):
    turns = [Turn("Ana", "Hi", id=f"{sys.argv[3]}-{at + n}") for n in range(20)]
    store.append(Namespace("default", "chat"), [Record(turn) for turn in turns])
store.close()
"""


def test_processes_that_add_to_one_stream_lose_nothing_and_readers_see_no_gap(
    store: PostgresStore, server: Server, schema: str
) -> None:
    processes = [
        subprocess.Popen([sys.executable, "-c", _ADD, server.url, schema, name]) for name in "abcd"
    ]
    seen: list[Record] = []
    while any(process.poll() is None for process in processes):
        seen += store.read(_NAMESPACE, len(seen))
        assert [record.position for record in seen] == list(range(len(seen)))
    seen += store.read(_NAMESPACE, len(seen))

    assert [process.wait() for process in processes] == [0] * 4
    assert [record.position for record in seen] == list(range(4_000))
    assert {record.turn.id for record in seen} == {
        f"{name}-{number}" for name in "abcd" for number in range(1_000)
    }
    assert [record.turn.id for record in store.read(_NAMESPACE)] == [r.turn.id for r in seen]


def test_tenants_that_are_forgotten_by_several_at_once_do_not_stand_in_each_others_way(
    open_store: OpenStore,
) -> None:
    stores = [open_store() for _ in range(3)]
    names = [Namespace("default", name) for name in "zyxabc"]
    failures: list[Exception] = []

    def churn(store: PostgresStore) -> None:
        try:
            for _ in range(4):
                for namespace in names:
                    store.append(namespace, [_turn("a"), _turn("b")])
                store.forget_tenant("default")
        except HistoryError as error:
            failures.append(error)

    threads = [threading.Thread(target=churn, args=(store,)) for store in stores]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    stores[0].forget_tenant("default")

    assert failures == []
    assert stores[0].streams() == []


def test_a_server_that_was_restarted_between_two_calls_is_not_noticed(
    own_server: Server, open_store: OpenStore
) -> None:
    store = open_store(own_server.url)
    store.append(_NAMESPACE, [_turn("a")])
    own_server.stop()
    own_server.start()

    assert [record.turn.id for record in store.read(_NAMESPACE)] == ["a"]
    assert store.append(_NAMESPACE, [_turn("a"), _turn("b")]) == 1
    own_server.stop()
    own_server.start()
    assert store.append(_NAMESPACE, [_turn("c")]) == 1
    assert store.forget(_NAMESPACE, Selection(ids=("a",))).turns == 1
    assert [record.position for record in store.read(_NAMESPACE)] == [1, 2]


def test_a_server_that_stays_away_is_named_and_may_come_back(
    own_server: Server, open_store: OpenStore
) -> None:
    store = open_store(own_server.url)
    store.append(_NAMESPACE, [_turn("a")])
    own_server.stop()

    for _ in range(2):
        with pytest.raises(HistoryError, match=r"cannot connect to PostgreSQL at .*, database"):
            store.read(_NAMESPACE)
    own_server.start()
    assert store.count(_NAMESPACE) == 1


def test_a_connection_that_is_lost_inside_a_call_is_replaced_and_the_call_made_again(
    store: PostgresStore, server: Server, schema: str
) -> None:
    server.run(
        f'SET search_path TO "{schema}"',
        "CREATE SEQUENCE calls",
        "CREATE FUNCTION leave() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN "
        f"IF nextval('{schema}.calls') < 3 THEN "
        "PERFORM pg_terminate_backend(pg_backend_pid()); END IF; RETURN NEW; END $$",
        "CREATE TRIGGER leave BEFORE INSERT ON turns FOR EACH ROW EXECUTE FUNCTION leave()",
    )

    assert store.append(_NAMESPACE, [_turn("a"), _turn("b")]) == 2
    assert [record.position for record in store.read(_NAMESPACE)] == [0, 1]


def test_a_stream_that_stays_locked_is_named(
    store: PostgresStore,
    server: Server,
    schema: str,
    open_store: OpenStore,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    store.append(_NAMESPACE, [_turn("a")])
    monkeypatch.setattr("remember_graph.integrations.postgres.server._LOCK_TIMEOUT", "20ms")
    impatient = open_store()
    with server.connect() as other, other.transaction():
        other.execute(f'SELECT 1 FROM "{schema}".streams FOR UPDATE'.encode())
        with pytest.raises(HistoryError, match="another process kept it locked, call again"):
            impatient.append(_NAMESPACE, [_turn("b")])

    assert impatient.append(_NAMESPACE, [_turn("b")]) == 1
