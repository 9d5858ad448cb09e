"""What the store in PostgreSQL does beside what every store does."""

from __future__ import annotations

import json
import subprocess
import sys
import threading
import traceback
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from remember_graph.errors import ConfigError, HistoryError
from remember_graph.history.store import Derived, Namespace, Record, Selection
from remember_graph.types import Turn

if TYPE_CHECKING:
    from remember_graph.integrations.postgres import PostgresStore
    from tests.unit.integrations.postgres.conftest import Server

    OpenStore = Callable[..., PostgresStore]

_NAMESPACE = Namespace("default", "chat")
_any_text = st.text(st.characters(exclude_categories=["Cs"]), max_size=20)
_with_marks = st.text(st.sampled_from("\0\x01\x02012ab"), max_size=12)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(_any_text | _with_marks, _any_text | _with_marks)
def test_any_text_comes_back(store: PostgresStore, name: str, text: str) -> None:
    namespace = Namespace(name, name)
    turn = Turn(name, text, text, name, reply_to=name, thread=text)
    derived = Derived(1, ("a", "\0"), (1, 2), name)
    store.append(namespace, [Record(turn, np.ones(2, np.float32), name, derived)])
    store.save_summary(
        namespace, {"summary": {"sentences": []}, "window": [name], "memory": [], "text": text}
    )

    (record,) = store.read(namespace, vector_model=name)
    assert (record.turn, record.derived, record.vector_model) == (turn, derived, name)
    assert store.known(namespace, [name]) == {name: turn}
    assert store.vector_models(namespace) == {name: 1}
    assert [
        summary.result and summary.result["text"] for summary in store.summaries(namespace)
    ] == [text]
    assert store.streams() == [(namespace, 1)]
    store.forget(namespace, Selection(), wipe=False)


def test_texts_that_differ_only_in_what_is_escaped_are_different_ids(store: PostgresStore) -> None:
    ids = ["\0", "\x01", "\x010", "\x011", "\x01\x01", "\x010\0", "0", "1"]
    store.append(_NAMESPACE, [Record(Turn("Ana", "Hi", id=id)) for id in ids])

    assert [record.turn.id for record in store.read(_NAMESPACE)] == ids


@pytest.mark.parametrize(
    "url",
    [
        "postgresql://ana:sec/ret@localhost/db",
        "postgresql://ana:sec@ret@localhost/db",
        "postgresql://ana:sec/ret@localhost:5432/db",
        "postgresql://ana:secret@[localhost/db",
        "postgresql://ana:secret@localhost/db?nonsense=1",
        "host=localhost password='secret",
    ],
)
def test_a_url_that_cannot_be_read_is_refused_without_its_password(
    open_store: OpenStore, url: str
) -> None:
    with pytest.raises(ConfigError, match=r"must be postgresql://USER.*percent-encoded") as caught:
        open_store(url)

    assert "sec" not in "".join(traceback.format_exception(caught.value))


@pytest.mark.parametrize(
    ("url", "place"),
    [
        ("postgresql://ana:Xs3cr3t@127.0.0.1:9/talk", "127.0.0.1:9, database talk"),
        ("postgresql://ana:Xs3cr3t@/talk?host=/no/such/folder", "/no/such/folder, database talk"),
        ("host=127.0.0.1 port=9 password=Xs3cr3t", "127.0.0.1:9, its default database"),
    ],
)
def test_a_server_that_cannot_be_reached_is_named_without_the_password(
    open_store: OpenStore, url: str, place: str
) -> None:
    with pytest.raises(HistoryError, match="check that the server runs") as caught:
        open_store(url)

    message = str(caught.value)
    assert f"cannot connect to PostgreSQL at {place}: " in message
    assert "Xs3cr3t" not in message
    assert "Xs3cr3t" not in str(caught.value.__cause__)
    assert "\n" not in message


def test_a_database_that_is_not_there_is_named(open_store: OpenStore, server: Server) -> None:
    with pytest.raises(HistoryError, match=r'database talk: .*database "talk" does not exist'):
        open_store(server.url_of("talk"))


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"schema": "No; --"}, "`schema` must be .* got 'No; --'"),
        ({"search": "fast"}, "`search` must be exact or hnsw, got 'fast'"),
        ({"pool_size": 0}, "`pool_size` must be at least 1, got 0"),
    ],
)
def test_an_option_that_is_not_allowed_is_refused(
    open_store: OpenStore, options: dict[str, Any], message: str
) -> None:
    with pytest.raises(ConfigError, match=message):
        open_store(**options)


_CLOSED: dict[str, Callable[[PostgresStore], object]] = {
    "count": lambda store: store.count(_NAMESPACE),
    "nearest": lambda store: store.nearest(_NAMESPACE, "m", [], 1),
    "drop_vectors": lambda store: store.drop_vectors(_NAMESPACE, keep_model="m"),
    "forget_tenant": lambda store: store.forget_tenant("default"),
    "build_search_index": lambda store: store.build_search_index(_NAMESPACE, "m"),
}


@pytest.mark.parametrize("call", _CLOSED.values(), ids=list(_CLOSED))
def test_a_closed_store_says_so(
    store: PostgresStore, call: Callable[[PostgresStore], object]
) -> None:
    store.close()
    store.close()

    with pytest.raises(HistoryError, match=r"the history in PostgreSQL at .* is closed"):
        call(store)


def test_a_failure_does_not_quote_the_values_of_a_row(
    store: PostgresStore, server: Server, schema: str
) -> None:
    server.run(f"ALTER TABLE \"{schema}\".turns ADD CHECK (text NOT LIKE '%secret%')")

    with pytest.raises(
        HistoryError, match=r"database postgres failed: .*check constraint"
    ) as caught:
        store.append(_NAMESPACE, [Record(Turn("Ana", "a secret", id="a"))])
    assert "secret" not in str(caught.value)


def test_an_id_that_no_index_holds_is_refused_with_the_bound(store: PostgresStore) -> None:
    id = "".join(chr(0x4E00 + at * 7919 % 20_000) for at in range(4_000))

    with pytest.raises(HistoryError, match="has more than about 2,600 bytes"):
        store.append(_NAMESPACE, [Record(Turn("Ana", "Hi", id=id))])
    assert store.streams() == []


def test_a_call_that_the_server_broke_off_for_another_is_made_again(
    store: PostgresStore, server: Server, schema: str
) -> None:
    server.run(
        f'SET search_path TO "{schema}"',
        "CREATE SEQUENCE calls",
        "CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN "
        f"IF nextval('{schema}.calls') < 4 THEN RAISE 'busy' USING ERRCODE = '40P01'; END IF; "
        "RETURN NEW; END $$",
        "CREATE TRIGGER refuse BEFORE INSERT ON turns FOR EACH ROW EXECUTE FUNCTION refuse()",
    )

    assert store.append(_NAMESPACE, [Record(Turn("Ana", "Hi", id="a"))]) == 1
    assert [record.position for record in store.read(_NAMESPACE)] == [0]


def test_a_call_that_is_always_broken_off_fails_in_the_end(
    store: PostgresStore, server: Server, schema: str
) -> None:
    server.run(
        f'SET search_path TO "{schema}"',
        "CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN "
        "RAISE 'busy' USING ERRCODE = '40001'; END $$",
        "CREATE TRIGGER refuse BEFORE INSERT ON turns FOR EACH ROW EXECUTE FUNCTION refuse()",
    )

    with pytest.raises(HistoryError, match="failed: busy"):
        store.append(_NAMESPACE, [Record(Turn("Ana", "Hi", id="a"))])


def test_more_threads_than_connections_take_turns(open_store: OpenStore) -> None:
    store = open_store(pool_size=1)

    def add(name: str) -> None:
        for number in range(10):
            store.append(_NAMESPACE, [Record(Turn("Ana", "Hi", id=f"{name}{number}"))])

    threads = [threading.Thread(target=add, args=(name,)) for name in "abcdef"]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert [record.position for record in store.read(_NAMESPACE)] == list(range(60))


_WITHOUT = """
import json, sys
sys.modules[sys.argv[1]] = None
from remember_graph.errors import MissingExtraError
from remember_graph.history.opening import open_store
try:
    open_store("postgresql://localhost/db")
except MissingExtraError as error:
    print(json.dumps(str(error)))
"""


@pytest.mark.parametrize("package", ["psycopg", "psycopg_pool"])
def test_a_package_that_is_missing_is_named_with_its_pip_line(server: Server, package: str) -> None:
    run = subprocess.run(
        [sys.executable, "-c", _WITHOUT, package], capture_output=True, text=True, timeout=60
    )

    assert json.loads(run.stdout) == (
        f"{package} is not installed; run: pip install 'remember-graph[postgres]'"
    )
