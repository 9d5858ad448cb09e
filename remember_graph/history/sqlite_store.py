"""The turn log in one SQLite file.

Write-ahead logging, one short transaction a call: a turn, its terms and its vector are there
together or not at all, and no model is called while a lock is held. Text is stored plain; what is
deleted is overwritten with zeros and leaves the write-ahead log as well.
"""

from __future__ import annotations

import json
import sqlite3
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from remember_graph.errors import HistoryError
from remember_graph.history.selecting import selector
from remember_graph.history.sqlite_rows import (
    DERIVED,
    TURN,
    derived_of,
    half,
    turn_of,
    turn_row,
    vector_blob,
    vector_of,
)
from remember_graph.history.sqlite_schema import SCHEMA_VERSION, migrate
from remember_graph.history.store import (
    SUMMARIES_KEPT,
    Forgotten,
    Namespace,
    Record,
    Selection,
    StoredSummary,
    Vector,
    turns_of,
)
from remember_graph.types import Turn, well_formed

_BUSY_TIMEOUT_S = 60
_AT_ONCE = 500  # SQLite allows at least 999 parameters


class SQLiteStore:
    """A store in one file; see `TurnStore` for what the methods do.

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
        self._check_ours()
        self._use_write_ahead_log()
        self._connection.execute("PRAGMA synchronous = NORMAL")
        self._connection.execute("PRAGMA secure_delete = ON")
        self._connection.create_function("half", 1, half, deterministic=True)
        # Two processes may come to a new file at once: who holds the lock looks again.
        with self._transaction("IMMEDIATE"):
            version = self._check_ours()
            if version < SCHEMA_VERSION:
                migrate(self._connection, version)

    def _use_write_ahead_log(self) -> None:
        # SQLite does not wait for this lock by itself, and many may open a new file at once.
        deadline = time.monotonic() + _BUSY_TIMEOUT_S
        while True:
            try:
                self._connection.execute("PRAGMA journal_mode = WAL")
                return
            except sqlite3.OperationalError as error:
                if "locked" not in str(error) or time.monotonic() > deadline:
                    raise
                time.sleep(0.02)

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
            return self._known(connection, _stream_id(connection, namespace), ids)

    def append(self, namespace: Namespace, records: Sequence[Record]) -> int:
        """See `TurnStore`."""
        with self._transaction("IMMEDIATE") as connection:
            connection.execute(
                "INSERT OR IGNORE INTO streams (tenant, name, generation) VALUES (?, ?, ?)",
                (*namespace, time.time_ns()),
            )
            stream = _stream_id(connection, namespace)
            there = self._known(connection, stream, [record.turn.id for record in records])
            fresh: dict[str, Record] = {}
            for record in records:
                if record.turn.id not in there:
                    fresh.setdefault(record.turn.id, record)
            query = "SELECT next_position FROM streams WHERE id = ?"
            position = int(connection.execute(query, (stream,)).fetchone()[0])
            placed = list(enumerate(fresh.values(), start=position))
            connection.executemany(
                f"INSERT INTO turns (stream_id, position, {TURN}, {DERIVED}) "
                "VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
                ((stream, at, *turn_row(record)) for at, record in placed),
            )
            _insert_vectors(connection, stream, placed)
            connection.execute(
                "UPDATE streams SET next_position = ? WHERE id = ?", (position + len(fresh), stream)
            )
            return len(fresh)

    def read(
        self, namespace: Namespace, start: int = 0, *, vector_model: str | None = None
    ) -> list[Record]:
        """See `TurnStore`."""
        with self._transaction("DEFERRED") as connection:
            rows = connection.execute(
                f"SELECT {TURN}, {DERIVED}, t.position, v.vector FROM turns t "
                "LEFT JOIN vectors v ON v.stream_id = t.stream_id AND v.model = ? "
                "AND v.position = t.position "
                "WHERE t.stream_id = ? AND t.position >= ? ORDER BY t.position",
                (vector_model, _stream_id(connection, namespace), start),
            ).fetchall()
        return [
            Record(turn_of(row), None, None, derived_of(row), row[12])
            if row[13] is None
            else Record(turn_of(row), vector_of(row[13]), vector_model, derived_of(row), row[12])
            for row in rows
        ]

    def generation(self, namespace: Namespace) -> int:
        """See `TurnStore`."""
        with self._transaction("DEFERRED") as connection:
            return _generation(connection, namespace)

    def add_vectors(
        self,
        namespace: Namespace,
        model: str,
        vectors: Mapping[int, Vector],
        *,
        generation: int | None = None,
    ) -> bool:
        """See `TurnStore`."""
        with self._transaction("IMMEDIATE") as connection:
            stream = _stream_id(connection, namespace)
            if generation not in (None, _generation(connection, namespace)):
                return False
            connection.executemany(
                "INSERT OR REPLACE INTO vectors (stream_id, model, position, vector) "
                "SELECT stream_id, ?, position, ? FROM turns WHERE stream_id = ? AND position = ?",
                ((model, vector_blob(v), stream, position) for position, v in vectors.items()),
            )
        return True

    def vectors(
        self, namespace: Namespace, model: str, positions: Sequence[int]
    ) -> dict[int, Vector]:
        """See `TurnStore`."""
        found: dict[int, Vector] = {}
        with self._transaction("DEFERRED") as connection:
            stream = _stream_id(connection, namespace)
            for part, marks in _parts(positions):
                rows = connection.execute(
                    "SELECT position, vector FROM vectors "
                    f"WHERE stream_id = ? AND model = ? AND position IN ({marks})",
                    (stream, model, *part),
                )
                found |= {position: vector_of(blob) for position, blob in rows}
        return found

    def drop_vectors(self, namespace: Namespace, *, keep_model: str) -> int:
        """See `TurnStore`."""
        with self._transaction("IMMEDIATE") as connection:
            cursor = connection.execute(
                "DELETE FROM vectors WHERE stream_id = ? AND model <> ?",
                (_stream_id(connection, namespace), keep_model),
            )
            return cursor.rowcount

    def edit(self, namespace: Namespace, record: Record) -> bool:
        """See `TurnStore`."""
        with self._transaction("IMMEDIATE") as connection:
            stream = _stream_id(connection, namespace)
            query = "SELECT position FROM turns WHERE stream_id = ? AND turn_id = ?"
            row = connection.execute(query, (stream, record.turn.id)).fetchone()
            if row is None:
                return False
            columns = ", ".join(f"{name} = ?" for name in f"{TURN}, {DERIVED}".split(", "))
            connection.execute(
                f"UPDATE turns SET {columns} WHERE stream_id = ? AND position = ?",
                (*turn_row(record), stream, row[0]),
            )
            _delete_vectors(connection, stream, [row[0]])
            _insert_vectors(connection, stream, [(row[0], record)])
            _make_stale(connection, stream, [record.turn.id], "edited")
            _bump(connection, stream)
        self._wipe()
        return True

    def forget(self, namespace: Namespace, selection: Selection) -> Forgotten:
        """See `TurnStore`."""
        with self._transaction("IMMEDIATE") as connection:
            stream = _stream_id(connection, namespace)
            rows = connection.execute(
                f"SELECT {TURN}, position FROM turns WHERE stream_id = ?", (stream,)
            ).fetchall()
            is_selected = selector(selection)
            chosen = [row for row in rows if is_selected(turn_of(row))]
            positions = [row[8] for row in chosen]
            vectors = _delete_vectors(connection, stream, positions)
            stale = _make_stale(connection, stream, [row[0] for row in chosen], "forgotten")
            connection.executemany(
                "DELETE FROM turns WHERE stream_id = ? AND position = ?",
                ((stream, position) for position in positions),
            )
            if selection.is_everything:
                stale = _delete_stream(connection, stream)
            elif chosen:
                _bump(connection, stream)
        self._wipe()
        return Forgotten(len(chosen), vectors, stale)

    def save_summary(
        self, namespace: Namespace, result: Mapping[str, Any], *, generation: int | None = None
    ) -> None:
        """See `TurnStore`."""
        with self._transaction("IMMEDIATE") as connection:
            stream = _stream_id(connection, namespace)
            rests_on = sorted(turns_of(result))
            changed = generation not in (None, _generation(connection, namespace))
            there = self._known(connection, stream, rests_on)
            if stream is None or changed or len(there) < len(rests_on):
                return  # a turn was edited or forgotten while the summary was written
            cursor = connection.execute(
                "INSERT INTO summaries (stream_id, created, result) VALUES (?, ?, ?)",
                (stream, datetime.now(UTC).isoformat(), json.dumps(result)),
            )
            connection.executemany(
                "INSERT INTO summary_turns (summary_id, turn_id) VALUES (?, ?)",
                ((cursor.lastrowid, turn_id) for turn_id in rests_on),
            )
            old = connection.execute(
                "SELECT id FROM summaries WHERE stream_id = ? ORDER BY id DESC LIMIT -1 OFFSET ?",
                (stream, SUMMARIES_KEPT),
            ).fetchall()
            for table, column in (("summary_turns", "summary_id"), ("summaries", "id")):
                connection.executemany(f"DELETE FROM {table} WHERE {column} = ?", old)

    def summaries(self, namespace: Namespace) -> list[StoredSummary]:
        """See `TurnStore`."""
        with self._transaction("DEFERRED") as connection:
            rows = connection.execute(
                "SELECT created, result, stale FROM summaries WHERE stream_id = ? ORDER BY id DESC",
                (_stream_id(connection, namespace),),
            ).fetchall()
        return [
            StoredSummary(created, json.loads(result) if result else None, stale)
            for created, result, stale in rows
        ]

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

    def _wipe(self) -> None:
        """Write the file anew and empty the write-ahead log.

        `secure_delete` overwrites what is deleted where it stands, not the copies that SQLite left
        in the free part of a page when it moved rows to another one earlier.
        """
        with self._lock:
            patience = self._connection.execute("PRAGMA busy_timeout").fetchone()[0] / 1_000
            deadline = time.monotonic() + patience
            # SQLite does not wait by itself while another connection is emptying the log.
            while not self._is_wiped():
                if time.monotonic() > deadline:
                    raise HistoryError(
                        f"the history file {self._path}: the old texts are removed, but another "
                        "process kept reading and the write-ahead log still holds them; call again"
                    )
                time.sleep(0.02)

    def _is_wiped(self) -> bool:
        try:
            self._connection.execute("VACUUM")
            busy = self._connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()[0]
        except sqlite3.OperationalError as error:
            if "locked" in str(error):
                return False
            raise HistoryError(f"the history file {self._path} failed: {error}") from error
        return not busy

    @staticmethod
    def _known(
        connection: sqlite3.Connection, stream: int | None, ids: Sequence[str]
    ) -> dict[str, Turn]:
        found: dict[str, Turn] = {}
        possible = [id for id in ids if well_formed(id) == id]  # SQLite holds no lone surrogates
        for part, marks in _parts(possible):
            rows = connection.execute(
                f"SELECT {TURN} FROM turns WHERE stream_id = ? AND turn_id IN ({marks})",
                (stream, *part),
            )
            found |= {row[0]: turn_of(row) for row in rows}
        return found


def _parts(values: Sequence[Any]) -> Iterator[tuple[Sequence[Any], str]]:
    """The values in parts that fit one statement, each with its parameter marks."""
    for at in range(0, len(values), _AT_ONCE):
        part = values[at : at + _AT_ONCE]
        yield part, ", ".join("?" * len(part))


def _stream_id(connection: sqlite3.Connection, namespace: Namespace) -> int | None:
    query = "SELECT id FROM streams WHERE tenant = ? AND name = ?"
    row = connection.execute(query, namespace).fetchone()
    return int(row[0]) if row else None


def _generation(connection: sqlite3.Connection, namespace: Namespace) -> int:
    query = "SELECT generation FROM streams WHERE tenant = ? AND name = ?"
    row = connection.execute(query, namespace).fetchone()
    return int(row[0]) if row else 0


def _insert_vectors(
    connection: sqlite3.Connection, stream: int | None, placed: Sequence[tuple[int, Record]]
) -> None:
    connection.executemany(
        "INSERT INTO vectors (stream_id, model, position, vector) VALUES (?, ?, ?, ?)",
        (
            (stream, record.vector_model, at, vector_blob(record.vector))
            for at, record in placed
            if record.vector is not None and record.vector_model is not None
        ),
    )


def _delete_vectors(
    connection: sqlite3.Connection, stream: int | None, positions: Sequence[int]
) -> int:
    deleted = 0
    for part, marks in _parts(positions):
        deleted += connection.execute(
            f"DELETE FROM vectors WHERE stream_id = ? AND position IN ({marks})", (stream, *part)
        ).rowcount
    return deleted


def _make_stale(
    connection: sqlite3.Connection, stream: int | None, ids: Sequence[str], what: str
) -> int:
    """Empty the summaries that rest on one of the turns; how many that were."""
    touched: dict[int, str] = {}
    for part, marks in _parts(ids):
        rows = connection.execute(
            "SELECT s.id, MIN(t.turn_id) FROM summaries s JOIN summary_turns t "
            f"ON t.summary_id = s.id WHERE s.stream_id = ? AND t.turn_id IN ({marks}) "
            "AND s.result IS NOT NULL GROUP BY s.id",
            (stream, *part),
        )
        for summary, turn_id in rows:
            touched[summary] = min(turn_id, touched.get(summary, turn_id))
    connection.executemany(
        "UPDATE summaries SET result = NULL, stale = ? WHERE id = ?",
        ((f"turn {turn_id} was {what}", summary) for summary, turn_id in touched.items()),
    )
    return len(touched)


def _delete_stream(connection: sqlite3.Connection, stream: int | None) -> int:
    """Remove the stream itself; how many summaries went with it."""
    connection.execute(
        "DELETE FROM summary_turns WHERE summary_id IN "
        "(SELECT id FROM summaries WHERE stream_id = ?)",
        (stream,),
    )
    deleted = connection.execute("DELETE FROM summaries WHERE stream_id = ?", (stream,)).rowcount
    connection.execute("DELETE FROM streams WHERE id = ?", (stream,))
    return deleted


def _bump(connection: sqlite3.Connection, stream: int | None) -> None:
    connection.execute(
        "UPDATE streams SET generation = MAX(generation + 1, ?) WHERE id = ?",
        (time.time_ns(), stream),
    )
