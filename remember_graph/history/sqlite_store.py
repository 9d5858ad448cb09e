"""The turn log in one SQLite file.

Write-ahead logging, one short transaction an append: a turn and its vector are there together
or not at all, and no model is called while a lock is held. Text is stored plain.
"""

from __future__ import annotations

import sqlite3
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import numpy as np

from remember_graph.errors import HistoryError
from remember_graph.history.store import Namespace, Record
from remember_graph.types import Turn

SCHEMA_VERSION = 1
_BUSY_TIMEOUT_S = 30
_IDS_A_QUERY = 500  # SQLite allows at least 999 parameters

_SCHEMA = """
CREATE TABLE IF NOT EXISTS streams (
    id INTEGER PRIMARY KEY,
    tenant TEXT NOT NULL,
    name TEXT NOT NULL,
    UNIQUE (tenant, name)
);
CREATE TABLE IF NOT EXISTS turns (
    stream_id INTEGER NOT NULL REFERENCES streams (id),
    position INTEGER NOT NULL,
    turn_id TEXT NOT NULL,
    speaker TEXT NOT NULL,
    text TEXT NOT NULL,
    time TEXT,
    kind TEXT NOT NULL,
    reply_to TEXT,
    thread TEXT,
    edited INTEGER NOT NULL,
    vector BLOB,
    vector_model TEXT,
    PRIMARY KEY (stream_id, position),
    UNIQUE (stream_id, turn_id)
) WITHOUT ROWID;
"""
_FIELDS = "turn_id, speaker, text, time, kind, reply_to, thread, edited"


class SQLiteStore:
    """A store in one file.

    Args:
        path: The file; made where it is not there, its folder is not.

    Raises:
        HistoryError: The file cannot be opened, or is of a newer version or another program.
    """

    def __init__(self, path: str | Path) -> None:
        self._path = str(path)
        self._lock = threading.RLock()
        self._closed = False
        try:
            self._connection = sqlite3.connect(
                self._path,
                timeout=_BUSY_TIMEOUT_S,
                isolation_level=None,
                check_same_thread=False,
            )
        except sqlite3.Error as error:
            raise self._cannot_open(str(error)) from error
        try:
            self._prepare()
        except sqlite3.Error as error:
            self._connection.close()
            raise self._cannot_open(str(error)) from error
        except HistoryError:
            self._connection.close()
            raise

    def _cannot_open(self, reason: str) -> HistoryError:
        return HistoryError(f"cannot open the history file {self._path}: {reason}")

    def _prepare(self) -> None:
        version = self._check_ours()
        self._connection.execute("PRAGMA journal_mode = WAL")
        self._connection.execute("PRAGMA synchronous = NORMAL")
        if version < SCHEMA_VERSION:
            self._connection.executescript(
                f"BEGIN IMMEDIATE; {_SCHEMA} PRAGMA user_version = {SCHEMA_VERSION}; COMMIT;"
            )

    def _check_ours(self) -> int:
        """The schema version; 0 for a file that is still empty."""
        version = int(self._connection.execute("PRAGMA user_version").fetchone()[0])
        if version > SCHEMA_VERSION:
            raise HistoryError(
                f"the history file {self._path} has schema version {version}, "
                f"this release reads up to {SCHEMA_VERSION}: upgrade remember-graph"
            )
        # In one statement: another process may be making the tables just now.
        query = "SELECT COUNT(*), COALESCE(SUM(name = 'streams'), 0) FROM sqlite_master"
        tables, ours = self._connection.execute(query).fetchone()
        if tables and not ours:
            raise self._cannot_open("it is a database of another program")
        return version

    @contextmanager
    def _transaction(self, mode: str) -> Iterator[sqlite3.Connection]:
        """One transaction of the one connection; what fails inside leaves no trace."""
        with self._lock:
            if self._closed:
                raise HistoryError(f"the history file {self._path} is closed")
            try:
                self._connection.execute(f"BEGIN {mode}")
                yield self._connection
                self._connection.execute("COMMIT")
            except sqlite3.Error as error:
                raise HistoryError(f"the history file {self._path} failed: {error}") from error
            finally:
                if self._connection.in_transaction:  # SQLite rolls back by itself on some errors
                    self._connection.execute("ROLLBACK")

    def known(self, namespace: Namespace, ids: Sequence[str]) -> dict[str, Turn]:
        """See `TurnStore`."""
        with self._transaction("DEFERRED") as connection:
            return self._known(connection, self._stream_id(connection, namespace), ids)

    def append(self, namespace: Namespace, records: Sequence[Record]) -> int:
        """See `TurnStore`."""
        with self._transaction("IMMEDIATE") as connection:
            connection.execute(
                "INSERT OR IGNORE INTO streams (tenant, name) VALUES (?, ?)", namespace
            )
            stream = self._stream_id(connection, namespace)
            there = self._known(connection, stream, [record.turn.id for record in records])
            fresh: dict[str, Record] = {}
            for record in records:
                if record.turn.id not in there:
                    fresh.setdefault(record.turn.id, record)
            position = self._count(connection, stream)
            connection.executemany(
                f"INSERT INTO turns (stream_id, position, {_FIELDS}, vector, vector_model) "
                "VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
                (
                    _row(stream, position + offset, record)
                    for offset, record in enumerate(fresh.values())
                ),
            )
            return len(fresh)

    def read(self, namespace: Namespace, start: int = 0) -> list[Record]:
        """See `TurnStore`."""
        with self._transaction("DEFERRED") as connection:
            rows = connection.execute(
                f"SELECT {_FIELDS}, vector, vector_model FROM turns "
                "WHERE stream_id = ? AND position >= ? ORDER BY position",
                (self._stream_id(connection, namespace), start),
            ).fetchall()
        return [_record(row) for row in rows]

    def streams(self) -> list[tuple[Namespace, int]]:
        """See `TurnStore`."""
        with self._transaction("DEFERRED") as connection:
            rows = connection.execute(
                "SELECT tenant, name, (SELECT COUNT(*) FROM turns WHERE stream_id = streams.id) "
                "FROM streams ORDER BY tenant, name"
            ).fetchall()
        return [(Namespace(tenant, name), count) for tenant, name, count in rows]

    def close(self) -> None:
        """See `TurnStore`."""
        with self._lock:
            self._closed = True
            self._connection.close()

    @staticmethod
    def _stream_id(connection: sqlite3.Connection, namespace: Namespace) -> int | None:
        row = connection.execute(
            "SELECT id FROM streams WHERE tenant = ? AND name = ?", namespace
        ).fetchone()
        return int(row[0]) if row else None

    @staticmethod
    def _count(connection: sqlite3.Connection, stream: int | None) -> int:
        query = "SELECT COALESCE(MAX(position) + 1, 0) FROM turns WHERE stream_id = ?"
        return int(connection.execute(query, (stream,)).fetchone()[0])

    @staticmethod
    def _known(
        connection: sqlite3.Connection, stream: int | None, ids: Sequence[str]
    ) -> dict[str, Turn]:
        found: dict[str, Turn] = {}
        for at in range(0, len(ids), _IDS_A_QUERY):
            part = ids[at : at + _IDS_A_QUERY]
            marks = ", ".join("?" * len(part))
            rows = connection.execute(
                f"SELECT {_FIELDS} FROM turns WHERE stream_id = ? AND turn_id IN ({marks})",
                (stream, *part),
            )
            found |= {row[0]: _turn(row) for row in rows}
        return found


def _row(stream: int | None, position: int, record: Record) -> tuple[object, ...]:
    turn, vector = record.turn, record.vector
    return (
        stream,
        position,
        turn.id,
        turn.speaker,
        turn.text,
        turn.time,
        turn.kind,
        turn.reply_to,
        turn.thread,
        int(turn.edited),
        None if vector is None else vector.astype("<f4").tobytes(),
        record.vector_model,
    )


def _turn(row: tuple[object, ...]) -> Turn:
    names = ("id", "speaker", "text", "time", "kind", "reply_to", "thread", "edited")
    return Turn.from_dict(dict(zip(names, (*row[:7], bool(row[7])), strict=True)))


def _record(row: tuple[object, ...]) -> Record:
    vector, model = row[8], row[9]
    if not isinstance(vector, bytes):
        return Record(_turn(row))
    return Record(_turn(row), np.frombuffer(vector, "<f4"), str(model))
