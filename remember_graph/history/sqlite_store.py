"""The turn log in one SQLite file.

Write-ahead logging, one short transaction a call: a turn, its terms and its vector are there
together or not at all, and no model is called while a lock is held. Text is stored plain; what is
deleted is overwritten with zeros and leaves the write-ahead log as well.
"""

from __future__ import annotations

import sqlite3
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import Any

import numpy as np

from remember_graph.errors import HistoryError
from remember_graph.history.sql_store import SqlStore
from remember_graph.history.sqlite_schema import SCHEMA_VERSION, migrate
from remember_graph.history.sqlite_vectors import half, vector_blob, vector_of
from remember_graph.history.store import Vector
from remember_graph.protocols import Vectors

_BUSY_TIMEOUT_S = 60


class SQLiteStore(SqlStore):
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
        # An acknowledged turn has reached the disk, and is there after a power cut as well.
        self._connection.execute("PRAGMA synchronous = FULL")
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

    def _reading(self) -> AbstractContextManager[sqlite3.Connection]:
        return self._transaction("DEFERRED")

    def _writing(self) -> AbstractContextManager[sqlite3.Connection]:
        return self._transaction("IMMEDIATE")

    def _to_column(self, vector: Vector) -> bytes:
        return vector_blob(vector)

    def _from_column(self, value: bytes) -> Vector:
        return vector_of(value)

    def _matrix(self, rows: Sequence[Any], width: int) -> tuple[list[int], Vectors]:
        size = len(vector_blob(np.zeros(width, np.float32)))
        fitting = [row for row in rows if len(row[1]) == size]
        vectors = vector_of(b"".join(value for _, value in fitting)).reshape(-1, width)
        return [position for position, _ in fitting], vectors

    def close(self) -> None:
        """See `TurnStore`."""
        with self._lock:
            self._closed = True
            self._connection.close()

    def _wipe(self, streams: Sequence[int]) -> None:
        """Write the whole file anew, whichever streams it is for, and empty the write-ahead log.

        `secure_delete` overwrites what is deleted where it stands, not the copies that SQLite left
        in the free part of a page when it moved rows to another one earlier.
        """
        with self._lock:
            self._until_done("VACUUM")
            self._until_done("PRAGMA wal_checkpoint(TRUNCATE)")

    def _until_done(self, statement: str) -> None:
        # SQLite does not wait by itself while another connection is emptying the log.
        patience = self._connection.execute("PRAGMA busy_timeout").fetchone()[0] / 1_000
        deadline = time.monotonic() + patience
        while not self._is_done(statement):
            if time.monotonic() > deadline:
                raise self._not_wiped("another process kept using it")
            time.sleep(0.02)

    def _is_done(self, statement: str) -> bool:
        try:
            row = self._connection.execute(statement).fetchone()
        except sqlite3.Error as error:
            if "locked" in str(error):
                return False
            raise self._not_wiped(str(error)) from error
        return row is None or not row[0]  # of a checkpoint: whether somebody stood in its way

    def _not_wiped(self, reason: str) -> HistoryError:
        return HistoryError(
            f"the history file {self._path}: the old texts are removed and found no more, but "
            f"their bytes could not be wiped from the file ({reason}); call again"
        )
