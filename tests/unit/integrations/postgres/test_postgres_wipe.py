"""What is edited or forgotten leaves the files of the tables."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from typing import TYPE_CHECKING

import numpy as np
import pytest

from remember_graph.errors import HistoryError
from remember_graph.history.store import Derived, Forgotten, Namespace, Record, Selection
from remember_graph.types import Turn

if TYPE_CHECKING:
    from remember_graph.integrations.postgres import PostgresStore
    from tests.unit.integrations.postgres.conftest import Server

    OpenStore = Callable[..., PostgresStore]

_NAMESPACE = Namespace("default", "chat")
_OTHER = Namespace("default", "other")
_PLACES = ("text", "id", "speaker", "term", "summary")
_WIPE = "remember_graph.integrations.postgres.wipe"


def _fill(store: PostgresStore, mark: str) -> None:
    """Many turns, one of which holds the mark in every place, and a summary of it."""
    records = [Record(Turn("Ana", f"the hall is booked {n}", id=str(n))) for n in range(300)]
    turn = Turn(f"{mark}speaker", f"{mark}text", id=f"{mark}id")
    derived = Derived(1, (f"{mark}term",), (1,), "1")
    records.insert(150, Record(turn, np.ones(4, np.float32), "m", derived))
    store.append(_NAMESPACE, records)
    store.append(_OTHER, records[:10])
    store.save_summary(
        _NAMESPACE,
        {
            "summary": {"sentences": []},
            "window": [turn.id],
            "memory": [],
            "says": f"{mark}summary",
        },
    )


def _found(server: Server, mark: str) -> list[str]:
    """In which places the mark is found in the files of the tables."""
    server.run("CHECKPOINT")
    held: set[str] = set()
    for path in (server.data / "base").glob("*/[0-9]*"):
        with suppress(FileNotFoundError):  # the server removes files at any time
            content = path.read_bytes()
            held |= {place for place in _PLACES if f"{mark}{place}".encode() in content}
    return [place for place in _PLACES if place in held]


def test_what_is_kept_is_found_in_the_files(
    store: PostgresStore, server: Server, schema: str
) -> None:
    _fill(store, schema)

    assert _found(server, schema) == list(_PLACES)


def test_what_is_forgotten_is_found_in_no_file(
    store: PostgresStore, server: Server, schema: str
) -> None:
    _fill(store, schema)
    server.run(*[f'ANALYZE "{schema}".{table}' for table in ("turns", "summaries", "streams")])
    store.forget(_NAMESPACE, Selection(ids=(f"{schema}id",)))

    # The reason why a summary does not hold any more names the turn.
    assert _found(server, schema) == ["id"]
    assert store.count(_NAMESPACE) == 300


def test_what_is_edited_is_found_in_no_file(
    store: PostgresStore, server: Server, schema: str
) -> None:
    _fill(store, schema)
    server.run(f'ANALYZE "{schema}".turns', f'ANALYZE "{schema}".summaries')
    store.edit(_NAMESPACE, Record(Turn("Ana", "new", id=f"{schema}id")))

    assert _found(server, schema) == ["id"]
    assert store.known(_NAMESPACE, [f"{schema}id"])[f"{schema}id"].text == "new"


def test_of_a_stream_that_is_forgotten_not_even_the_name_is_found(
    store: PostgresStore, server: Server, schema: str
) -> None:
    namespace = Namespace(f"{schema}speaker", f"{schema}text")
    store.append(namespace, [Record(Turn(f"{schema}id", f"{schema}term", id=f"{schema}summary"))])
    before = _found(server, schema)
    store.forget(namespace, Selection())

    assert (before, _found(server, schema)) == (list(_PLACES), [])


def test_of_a_tenant_that_is_forgotten_nothing_is_found(
    store: PostgresStore, server: Server, schema: str
) -> None:
    _fill(store, schema)
    store.forget_tenant("default")

    assert _found(server, schema) == []


def test_what_was_removed_without_wiping_is_wiped_by_the_next_call_with_it(
    store: PostgresStore, server: Server, schema: str
) -> None:
    _fill(store, schema)
    store.edit(_NAMESPACE, Record(Turn("Ana", "new", id=f"{schema}id")), wipe=False)
    before = _found(server, schema)
    store.forget(_NAMESPACE, Selection(ids=("0",)))

    assert (before, _found(server, schema)) == (list(_PLACES), ["id"])


def test_what_was_removed_without_wiping_is_wiped_by_the_next_call_for_another_stream(
    store: PostgresStore, server: Server, schema: str
) -> None:
    _fill(store, schema)
    store.forget(_OTHER, Selection())
    store.forget(_NAMESPACE, Selection(), wipe=False)
    before = _found(server, schema)
    store.append(_OTHER, [Record(Turn("Ana", "Hi", id="0"))])
    store.edit(_OTHER, Record(Turn("Ana", "new", id="0")))

    assert (before, _found(server, schema)) == (list(_PLACES), [])


def test_calling_again_wipes_a_whole_stream_that_could_not_be_wiped_at_first(
    store: PostgresStore, server: Server, schema: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    _fill(store, schema)
    with (
        server.connect() as reader,
        reader.transaction(),
        monkeypatch.context() as impatient,
    ):
        impatient.setattr(f"{_WIPE}._LOCK_TIMEOUT", "20ms")
        reader.execute(f'LOCK TABLE "{schema}".turns IN ACCESS SHARE MODE'.encode())
        with pytest.raises(HistoryError, match=r"could not be wiped .*; call again"):
            store.forget(_NAMESPACE, Selection())
    before = _found(server, schema)

    assert store.forget(_NAMESPACE, Selection()) == Forgotten()
    assert (before, _found(server, schema)) == (list(_PLACES), [])


def test_a_reader_from_before_is_waited_for_and_named(
    store: PostgresStore, server: Server, schema: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    _fill(store, schema)
    with server.connect() as reader, monkeypatch.context() as impatient:
        impatient.setattr(f"{_WIPE}._PATIENCE_S", 0)
        reader.execute("BEGIN ISOLATION LEVEL REPEATABLE READ")
        reader.execute("SELECT 1")
        with pytest.raises(
            HistoryError,
            match=r"are removed and found no more, but .*another transaction may still.*call again",
        ):
            store.forget(_NAMESPACE, Selection(ids=(f"{schema}id",)))
        assert f"{schema}id" not in store.known(_NAMESPACE, [f"{schema}id"])
        reader.execute("COMMIT")
    store.forget(_NAMESPACE, Selection(ids=(f"{schema}id",)))

    assert _found(server, schema) == ["id"]


def test_a_table_that_stays_locked_is_named(
    store: PostgresStore, server: Server, schema: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(f"{_WIPE}._LOCK_TIMEOUT", "20ms")
    _fill(store, schema)
    with server.connect() as reader, reader.transaction():
        reader.execute(f'LOCK TABLE "{schema}".summaries IN ACCESS SHARE MODE'.encode())
        with pytest.raises(HistoryError, match=r"are removed and found no more.*lock timeout"):
            store.edit(_NAMESPACE, Record(Turn("Ana", "new", id=f"{schema}id")))

    assert store.append(_NAMESPACE, [Record(Turn("Ana", "Hi", id="more"))]) == 1
    assert store.known(_NAMESPACE, [f"{schema}id"])[f"{schema}id"].text == "new"


def test_a_login_that_may_not_wipe_is_told_so(
    store: PostgresStore, open_store: OpenStore, server: Server, schema: str
) -> None:
    _fill(store, schema)
    guest = f"guest_{schema}"
    server.run(
        f'CREATE ROLE "{guest}" LOGIN',
        f'GRANT USAGE ON SCHEMA "{schema}" TO "{guest}"',
        f'GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA "{schema}" TO "{guest}"',
    )
    weak = open_store(server.url_of(user=guest))

    with pytest.raises(HistoryError, match=r"are removed and found no more.*permission denied"):
        weak.forget(_NAMESPACE, Selection(ids=(f"{schema}id",)))
    assert store.count(_NAMESPACE) == 300


def test_a_login_that_may_not_checkpoint_wipes_its_own_tables(
    open_store: OpenStore, server: Server, schema: str
) -> None:
    owner = f"owner_{schema}"
    server.run(
        f'CREATE ROLE "{owner}" LOGIN',
        f'CREATE DATABASE "{schema}" OWNER "{owner}"',
    )
    server.run("CREATE EXTENSION vector", url=server.url_of(schema))
    store = open_store(server.url_of(schema, owner))
    _fill(store, schema)
    store.forget(_NAMESPACE, Selection(ids=(f"{schema}id",)))

    assert _found(server, schema) == ["id"]


def test_only_the_partitions_of_the_stream_and_the_summaries_are_written_anew(
    store: PostgresStore, server: Server, schema: str
) -> None:
    def files() -> dict[str, int]:
        query = (
            "SELECT relname, pg_relation_filenode(oid)::bigint FROM pg_class "
            f"WHERE relkind = 'r' AND relnamespace = '{schema}'::regnamespace"
        )
        return dict(server.run(query))

    _fill(store, schema)
    before = files()
    store.edit(_NAMESPACE, Record(Turn("Ana", "new", id="0")))
    after = files()

    (held,) = server.run(
        f'SELECT DISTINCT t.tableoid::regclass::text FROM "{schema}".turns t JOIN '
        f"\"{schema}\".streams s ON s.id = t.stream_id AND s.name = 'chat'"
    )
    number = held[0].rpartition("_")[2]
    assert {name for name in before if before[name] != after[name]} == {
        f"turns_{number}",
        f"vectors_{number}",
        "summaries",
        "summary_turns",
        "removals",
    }
