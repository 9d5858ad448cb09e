"""How a schema is made, found again and brought up to date."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from contextlib import closing
from typing import TYPE_CHECKING

import numpy as np
import pytest

from remember_graph.errors import HistoryError
from remember_graph.history.store import Namespace, Record
from remember_graph.types import Turn

if TYPE_CHECKING:
    from remember_graph.integrations.postgres import PostgresStore
    from tests.unit.integrations.postgres.conftest import Server

    OpenStore = Callable[..., PostgresStore]

_NAMESPACE = Namespace("default", "chat")
_SCHEMA = "remember_graph.integrations.postgres.schema"


def _record(id: str) -> Record:
    return Record(Turn("Ana", "Hi", id=id), np.array([1, 0], np.float32), "m")


def test_a_second_schema_is_another_log(open_store: OpenStore) -> None:
    open_store().append(_NAMESPACE, [_record("a")])

    assert open_store(schema="another_one").streams() == []


@pytest.fixture
def database(server: Server, schema: str) -> str:
    """A database that nothing was done in."""
    server.run(f'CREATE DATABASE "{schema}"')
    return schema


@pytest.fixture
def guest(server: Server, schema: str) -> str:
    """A login that owns nothing."""
    server.run(f'CREATE ROLE "guest_{schema}" LOGIN')
    return f"guest_{schema}"


def test_an_up_to_date_schema_is_opened_without_changing_or_locking_anything(
    store: PostgresStore, open_store: OpenStore, server: Server, schema: str, guest: str
) -> None:
    store.append(_NAMESPACE, [_record("a")])
    server.run(
        f'GRANT USAGE ON SCHEMA "{schema}" TO "{guest}"',
        f'GRANT SELECT ON ALL TABLES IN SCHEMA "{schema}" TO "{guest}"',
    )

    with closing(server.connect()) as other:
        other.execute("SELECT pg_advisory_lock(%s)", (0x72656D67,))
        assert open_store(server.url_of(user=guest)).count(_NAMESPACE) == 1


def test_a_newer_schema_is_refused(
    store: PostgresStore, open_store: OpenStore, server: Server, schema: str
) -> None:
    server.run(f'UPDATE "{schema}".schema_version SET version = 7')

    with pytest.raises(
        HistoryError, match=rf"the schema {schema} of .* has version 7, this release reads up to 1"
    ):
        open_store()


def test_a_migration_keeps_what_is_there_and_is_made_once(
    store: PostgresStore, open_store: OpenStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    store.append(_NAMESPACE, [_record("a")])
    second = "ALTER TABLE streams ADD COLUMN colour TEXT;"
    monkeypatch.setattr(f"{_SCHEMA}._MIGRATIONS", ("no statement", second))

    for _ in range(2):
        (record,) = open_store().read(_NAMESPACE, vector_model="m")
        assert (record.turn.id, record.vector_model) == ("a", "m")


def test_a_migration_that_fails_leaves_no_trace(
    open_store: OpenStore, server: Server, schema: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(f"{_SCHEMA}._MIGRATIONS", ("CREATE TABLE half (); SELECT 1 / 0",))

    with pytest.raises(HistoryError, match=rf"cannot open the schema {schema} of .*by zero"):
        open_store()
    assert server.run(f"SELECT to_regnamespace('{schema}')") == [(None,)]


def test_a_schema_without_statistics_of_what_was_said(
    store: PostgresStore, server: Server, schema: str
) -> None:
    store.append(_NAMESPACE, [_record(str(number)) for number in range(200)])
    server.run(f'ANALYZE "{schema}".turns', f'ANALYZE "{schema}".vectors')

    sampled = server.run(
        f"SELECT DISTINCT attname FROM pg_stats WHERE schemaname = '{schema}' ORDER BY 1"
    )
    assert [name for (name,) in sampled] == ["edited", "hidden", "position", "stream_id", "tokens"]


def test_an_extension_that_is_not_installed_is_named(
    open_store: OpenStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(f"{_SCHEMA}._EXTENSION", "no_such_vector")

    with pytest.raises(
        HistoryError, match=r"lacks the extension no_such_vector .*install pgvector 0\.7 or later"
    ):
        open_store()


def test_an_extension_that_may_not_be_created_is_named(
    open_store: OpenStore, server: Server, database: str, guest: str
) -> None:
    with pytest.raises(
        HistoryError, match=r"lacks the extension vector, and this login may not create it: let an"
    ):
        open_store(server.url_of(database, guest))


def test_an_extension_that_is_too_old_is_named(
    open_store: OpenStore, server: Server, database: str
) -> None:
    url = server.url_of(database)
    server.run(
        "CREATE EXTENSION vector",
        "UPDATE pg_extension SET extversion = '0.6.2' WHERE extname = 'vector'",
        url=url,
    )

    with pytest.raises(
        HistoryError, match=r"has pgvector 0\.6\.2, 0\.7 or later .*ALTER EXTENSION vector UPDATE"
    ):
        open_store(url)


def test_an_extension_in_another_schema_is_found(
    open_store: OpenStore, server: Server, database: str
) -> None:
    url = server.url_of(database)
    server.run("CREATE SCHEMA tools", "CREATE EXTENSION vector SCHEMA tools", url=url)
    store = open_store(url, search="hnsw")
    store.append(_NAMESPACE, [_record("a")])
    store.build_search_index(_NAMESPACE, "m")

    assert store.nearest(_NAMESPACE, "m", [np.array([2, 0], np.float32)], 1) == [[(0, 1.0)]]


def test_a_database_of_another_encoding_is_refused(
    open_store: OpenStore, server: Server, schema: str
) -> None:
    server.run(
        f"CREATE DATABASE \"{schema}\" TEMPLATE template0 ENCODING 'LATIN1' LOCALE 'C'",
    )

    with pytest.raises(HistoryError, match="has the encoding LATIN1: a database with UTF8 is"):
        open_store(server.url_of(schema))


_OPEN = """
import sys
from remember_graph.history.store import Namespace, Record
from remember_graph.integrations.postgres import PostgresStore
from remember_graph.types import Turn
store = PostgresStore(sys.argv[1], schema=sys.argv[2], pool_size=1)
store.append(Namespace("default", "chat"), [Record(Turn("Ana", "Hi", id=sys.argv[3]))])
store.close()
"""


def test_processes_that_open_a_new_database_at_once_all_succeed(
    open_store: OpenStore, server: Server, database: str, schema: str
) -> None:
    url = server.url_of(database)
    processes = [
        subprocess.Popen([sys.executable, "-c", _OPEN, url, schema, str(number)])
        for number in range(8)
    ]

    assert [process.wait(timeout=120) for process in processes] == [0] * 8
    assert open_store(url).count(_NAMESPACE) == 8
