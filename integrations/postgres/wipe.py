"""Free the files of PostgreSQL of what was deleted.

A deleted row stays in its page until it is vacuumed, and a plain vacuum leaves its bytes in the
hole. Only writing the table anew (`VACUUM FULL`) gets rid of them, and only once no transaction
anywhere in the database may still look at the row.
"""

from __future__ import annotations

import re
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress

from remember_graph.integrations.postgres.driver import psycopg
from remember_graph.integrations.postgres.schema import PARTITIONS
from remember_graph.integrations.postgres.server import Connection

_PATIENCE_S = 30.0
_LOCK_TIMEOUT = "10s"
_SUMMARIES = ["summaries", "summary_turns"]
_MARK = 0  # no stream has this id


class NotWipedError(Exception):
    """The bytes may still be there; the message says why."""


def wipe(connection: Connection) -> None:
    """Write anew what held turns, vectors and summaries of every stream that is noted for it.

    Raises:
        NotWipedError: Something stood in the way.
        psycopg.Error: Likewise.
    """
    with _short_of_patience(connection):
        noted = connection.execute("SELECT stream_id, times FROM removals").fetchall()
        streams = [stream for stream, _ in noted if stream != _MARK]
        if not streams:
            return  # another call did it
        _await_readers(connection)
        for table in _tables(connection, streams):
            _vacuum(connection, table, "FULL, ANALYZE, VERBOSE")
        # One by one, so that no two notes are held at once; what was noted anew meanwhile stays.
        for note in noted:
            connection.execute("DELETE FROM removals WHERE stream_id = %s AND times = %s", note)
    # Until then the old files of the tables are there, though empty.
    with suppress(psycopg.errors.InsufficientPrivilege):
        connection.execute("CHECKPOINT")


def _tables(connection: Connection, streams: Sequence[int]) -> list[str]:
    query = (
        "SELECT number FROM generate_series(0, %(last)s) number WHERE EXISTS ("
        "SELECT 1 FROM unnest(%(streams)s::bigint[]) stream WHERE "
        "satisfies_hash_partition('turns'::regclass, %(last)s + 1, number, stream)) ORDER BY 1"
    )
    parameters = {"streams": list(streams), "last": PARTITIONS - 1}
    held = connection.execute(query, parameters).fetchall()
    there = connection.execute("SELECT 1 FROM streams WHERE id = ANY(%s)", (list(streams),))
    names = ["streams"] if len(there.fetchall()) < len(streams) else []
    return [f"{table}_{n}" for (n,) in held for table in ("turns", "vectors")] + _SUMMARIES + names


def _await_readers(connection: Connection) -> None:
    """Wait until no transaction is left that began before this call.

    A row that is deleted now is needed by just those; vacuuming its table says whether it is.
    """
    connection.execute(
        "INSERT INTO removals (stream_id) VALUES (%s) ON CONFLICT DO NOTHING", (_MARK,)
    )
    connection.execute("DELETE FROM removals WHERE stream_id = %s", (_MARK,))
    deadline = time.monotonic() + _PATIENCE_S
    while _vacuum(connection, "removals", "FULL, VERBOSE"):
        if time.monotonic() > deadline:
            raise NotWipedError("another transaction may still read them")
        time.sleep(0.05)


def _vacuum(connection: Connection, table: str, options: str) -> int:
    """Write the table anew; how many deleted rows had to be kept for others."""
    kept: list[int] = []
    warnings: list[str] = []

    def note(message: psycopg.errors.Diagnostic) -> None:
        if message.severity_nonlocalized == "WARNING":
            warnings.append(message.message_primary or "")
        # Whatever the language, the first number of the details is that of the rows.
        elif number := re.search(r"\d+", message.message_detail or ""):
            kept.append(int(number.group()))

    connection.add_notice_handler(note)
    try:
        connection.execute(f"VACUUM ({options}) {table}".encode())
    finally:
        connection.remove_notice_handler(note)
    if warnings or not kept:  # a table that this login may not vacuum is skipped with a warning
        raise NotWipedError(" ".join(warnings) or f"the server skipped {table}")
    return kept[0]


@contextmanager
def _short_of_patience(connection: Connection) -> Iterator[None]:
    """No lock is waited for as long as elsewhere: others queue behind this one."""
    before = connection.execute("SHOW lock_timeout").fetchone()
    connection.execute("SELECT set_config('lock_timeout', %s, false)", (_LOCK_TIMEOUT,))
    try:
        yield
    finally:
        with suppress(psycopg.Error):
            connection.execute("SELECT set_config('lock_timeout', %s, false)", before)
