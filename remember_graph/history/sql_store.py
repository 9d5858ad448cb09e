"""The turn log in SQL tables: what SQLite and PostgreSQL do alike.

A database adds how to connect, to lock a stream's row, to hold a vector and to free the medium of
what was deleted.
"""

from __future__ import annotations

import json
import time
from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from contextlib import AbstractContextManager
from datetime import UTC, datetime
from typing import Any

import numpy as np

from remember_graph.history import sql_statements as sql
from remember_graph.history.nearest import closest
from remember_graph.history.sql_rows import DERIVED, TURN, derived_of, turn_of, turn_row
from remember_graph.history.store import (
    SUMMARIES_KEPT,
    Forgotten,
    Namespace,
    Near,
    Record,
    Retention,
    Selection,
    StoredSummary,
    Vector,
    turns_of,
)
from remember_graph.protocols import Vectors
from remember_graph.types import Turn


class SqlStore(ABC):
    """A `TurnStore` in tables; see there for what the methods do."""

    locks_row = ""
    """Ends the statement that reads a stream's row in order to write."""

    @abstractmethod
    def _reading(self) -> AbstractContextManager[sql.SqlConnection]:
        """A transaction that only reads."""

    @abstractmethod
    def _writing(self) -> AbstractContextManager[sql.SqlConnection]:
        """A transaction that writes; what fails inside leaves no trace."""

    @abstractmethod
    def _wipe(self, streams: Sequence[int]) -> None:
        """Free the medium of what was deleted of these streams."""

    @abstractmethod
    def close(self) -> None:
        """See `TurnStore`."""

    @abstractmethod
    def _to_column(self, vector: Vector) -> Any:  # noqa: ANN401 - what the driver takes
        """A vector as the database holds it, in half precision."""

    @abstractmethod
    def _from_column(self, value: Any) -> Vector:  # noqa: ANN401
        """The vector of a column."""

    def known(self, namespace: Namespace, ids: Sequence[str]) -> dict[str, Turn]:
        """See `TurnStore`."""
        with self._reading() as connection:
            stream = sql.find(connection, namespace)
            return sql.known(connection, stream.id, ids) if stream else {}

    def append(self, namespace: Namespace, records: Sequence[Record]) -> int:
        """See `TurnStore`."""
        with self._writing() as connection:
            stream = self._made(connection, namespace)
            there = sql.known(connection, stream.id, [record.turn.id for record in records])
            fresh: dict[str, Record] = {}
            for record in records:
                if record.turn.id not in there:
                    fresh.setdefault(record.turn.id, record)
            placed = list(enumerate(fresh.values(), start=stream.next_position))
            connection.executemany(
                f"INSERT INTO turns (stream_id, position, {TURN}, {DERIVED}) "
                "VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
                ((stream.id, at, *turn_row(record)) for at, record in placed),
            )
            self._put_vectors(connection, stream.id, sql.own_vectors(placed))
            connection.execute(
                "UPDATE streams SET next_position = ? WHERE id = ?",
                (stream.next_position + len(fresh), stream.id),
            )
            return len(fresh)

    def read(
        self,
        namespace: Namespace,
        start: int = 0,
        *,
        vector_model: str | None = None,
        limit: int | None = None,
    ) -> list[Record]:
        """See `TurnStore`."""
        with self._reading() as connection:
            stream = sql.find(connection, namespace)
            if stream is None or start >= stream.next_position:
                return []
            rows = connection.execute(
                f"SELECT {TURN}, {DERIVED}, t.position, v.vector, t.hidden FROM turns t "
                "LEFT JOIN vectors v ON v.stream_id = t.stream_id AND v.model = ? "
                "AND v.position = t.position "
                "WHERE t.stream_id = ? AND t.position >= ? ORDER BY t.position"
                + ("" if limit is None else f" LIMIT {int(limit)}"),
                (vector_model, stream.id, start),
            ).fetchall()
        return [self._record(row, vector_model) for row in rows]

    def _record(self, row: Sequence[Any], model: str | None) -> Record:
        position, value, hidden = row[12:15]
        vector = None if value is None else self._from_column(value)
        return Record(
            turn_of(row),
            vector,
            None if vector is None else model,
            derived_of(row),
            position,
            bool(hidden),
        )

    def turns_at(self, namespace: Namespace, positions: Sequence[int]) -> dict[int, Turn]:
        """See `TurnStore`."""
        found: dict[int, Turn] = {}
        with self._reading() as connection:
            stream = sql.find(connection, namespace)
            for part, marks in sql.parts(positions if stream else ()):
                rows = connection.execute(
                    f"SELECT {TURN}, position FROM turns "
                    f"WHERE stream_id = ? AND position IN ({marks})",
                    (stream.id if stream else None, *part),
                )
                found |= {row[8]: turn_of(row) for row in rows}
        return found

    def count(self, namespace: Namespace) -> int:
        """See `TurnStore`."""
        with self._reading() as connection:
            stream = sql.find(connection, namespace)
            if stream is None:
                return 0
            query = "SELECT COUNT(*) FROM turns WHERE stream_id = ?"
            return int(connection.execute(query, (stream.id,)).fetchone()[0])

    def generation(self, namespace: Namespace) -> int:
        """See `TurnStore`."""
        with self._reading() as connection:
            stream = sql.find(connection, namespace)
            return stream.generation if stream else 0

    def add_vectors(
        self,
        namespace: Namespace,
        model: str,
        vectors: Mapping[int, Vector],
        *,
        generation: int | None = None,
    ) -> bool:
        """See `TurnStore`."""
        with self._writing() as connection:
            stream = self._locked(connection, namespace)
            if generation not in (None, stream.generation if stream else 0):
                return False
            if stream is not None:
                there = sql.positions(connection, stream.id, list(vectors))
                kept = [(model, at, v) for at, v in vectors.items() if at in there]
                self._put_vectors(connection, stream.id, kept)
        return True

    def _put_vectors(
        self, connection: sql.SqlConnection, stream: int, vectors: Iterable[tuple[str, int, Vector]]
    ) -> None:
        connection.executemany(
            "INSERT INTO vectors (stream_id, model, position, vector) VALUES (?, ?, ?, ?) "
            "ON CONFLICT (stream_id, model, position) DO UPDATE SET vector = excluded.vector",
            ((stream, model, at, self._to_column(vector)) for model, at, vector in vectors),
        )

    def vectors(
        self, namespace: Namespace, model: str, positions: Sequence[int] | None = None
    ) -> dict[int, Vector]:
        """See `TurnStore`."""
        found: dict[int, Vector] = {}
        query = "SELECT position, vector FROM vectors WHERE stream_id = ? AND model = ?"
        with self._reading() as connection:
            stream = sql.find(connection, namespace)
            if stream is None:
                return {}
            if positions is None:
                rows = connection.execute(query, (stream.id, model))
                return {position: self._from_column(value) for position, value in rows}
            for part, marks in sql.parts(positions):
                rows = connection.execute(
                    f"{query} AND position IN ({marks})", (stream.id, model, *part)
                )
                found |= {position: self._from_column(value) for position, value in rows}
        return found

    def vector_models(self, namespace: Namespace) -> dict[str, int]:
        """See `TurnStore`."""
        with self._reading() as connection:
            stream = sql.find(connection, namespace)
            if stream is None:
                return {}
            rows = connection.execute(
                "SELECT model, COUNT(*) FROM vectors WHERE stream_id = ? GROUP BY model",
                (stream.id,),
            )
            return dict(rows.fetchall())

    def nearest(
        self, namespace: Namespace, model: str, queries: Sequence[Vector], k: int
    ) -> list[list[Near]]:
        """See `TurnStore`."""
        query = (
            "SELECT position, vector FROM vectors WHERE stream_id = ? AND model = ? "
            "ORDER BY position"
        )
        with self._reading() as connection:
            stream = sql.find(connection, namespace)
            rows = connection.execute(query, (stream.id, model)).fetchall() if stream else []
        return [self._closest(rows, query, k) for query in queries]

    def _closest(self, rows: Sequence[Any], query: Vector, k: int) -> list[Near]:
        positions, vectors = self._matrix(rows, len(query))
        return closest(positions, vectors, query, k)

    def _matrix(self, rows: Sequence[Any], width: int) -> tuple[list[int], Vectors]:
        """Positions and vectors of those rows whose vector has so many numbers."""
        read = ((position, self._from_column(value)) for position, value in rows)
        fitting = {position: vector for position, vector in read if len(vector) == width}
        vectors = np.stack(list(fitting.values())) if fitting else np.zeros((0, width), np.float32)
        return list(fitting), vectors

    def drop_vectors(self, namespace: Namespace, *, keep_model: str) -> int:
        """See `TurnStore`."""
        with self._writing() as connection:
            stream = self._locked(connection, namespace)
            if stream is None:
                return 0
            cursor = connection.execute(
                "DELETE FROM vectors WHERE stream_id = ? AND model <> ?", (stream.id, keep_model)
            )
            return int(cursor.rowcount)

    def edit(self, namespace: Namespace, record: Record, *, wipe: bool = True) -> bool:
        """See `TurnStore`."""
        with self._writing() as connection:
            stream = self._locked(connection, namespace)
            if stream is None or not sql.known(connection, stream.id, [record.turn.id]):
                return False
            query = "SELECT position FROM turns WHERE stream_id = ? AND turn_id = ?"
            (at,) = connection.execute(query, (stream.id, record.turn.id)).fetchone()
            columns = ", ".join(f"{name} = ?" for name in f"{TURN}, {DERIVED}".split(", "))
            connection.execute(
                f"UPDATE turns SET {columns} WHERE stream_id = ? AND position = ?",
                (*turn_row(record), stream.id, at),
            )
            sql.delete_vectors(connection, stream.id, [at])
            self._put_vectors(connection, stream.id, sql.own_vectors([(at, record)]))
            sql.make_stale(connection, stream.id, [record.turn.id], "edited")
            sql.bump(connection, stream)
        if wipe:
            self._wipe([stream.id])
        return True

    def hide(self, namespace: Namespace, ids: Sequence[str], *, hidden: bool = True) -> int:
        """See `TurnStore`."""
        with self._writing() as connection:
            stream = self._locked(connection, namespace)
            if stream is None:
                return 0
            changed = sql.hide(connection, stream.id, ids, hidden)
            if changed:
                sql.bump(connection, stream)
        return changed

    def forget(self, namespace: Namespace, selection: Selection, *, wipe: bool = True) -> Forgotten:
        """See `TurnStore`."""
        with self._writing() as connection:
            stream = self._locked(connection, namespace)
            if stream is None:
                return Forgotten()
            forgotten = sql.forget(connection, stream, selection)
        if wipe:
            self._wipe([stream.id])
        return forgotten

    def forget_tenant(self, tenant: str) -> Forgotten:
        """See `TurnStore`."""
        forgotten, streams = Forgotten(), []
        with self._writing() as connection:
            query = f"SELECT name FROM streams WHERE tenant = ? ORDER BY name{self.locks_row}"
            for (name,) in connection.execute(query, (tenant,)).fetchall():
                stream = self._locked(connection, Namespace(tenant, name))
                if stream is not None:
                    forgotten += sql.forget(connection, stream, Selection())
                    streams.append(stream.id)
        self._wipe(streams)
        return forgotten

    def retention(self, namespace: Namespace) -> Retention:
        """See `TurnStore`."""
        query = "SELECT max_age_s, max_turns FROM streams WHERE tenant = ? AND name = ?"
        with self._reading() as connection:
            row = connection.execute(query, namespace).fetchone()
        return Retention(*row) if row else Retention()

    def set_retention(self, namespace: Namespace, retention: Retention) -> None:
        """See `TurnStore`."""
        with self._writing() as connection:
            stream = self._made(connection, namespace)
            connection.execute(
                "UPDATE streams SET max_age_s = ?, max_turns = ? WHERE id = ?",
                (retention.max_age_s, retention.max_turns, stream.id),
            )

    def save_summary(
        self, namespace: Namespace, result: Mapping[str, Any], *, generation: int | None = None
    ) -> None:
        """See `TurnStore`."""
        rests_on = sorted(turns_of(result))
        with self._writing() as connection:
            stream = self._locked(connection, namespace)
            if stream is None or generation not in (None, stream.generation):
                return
            if len(sql.known(connection, stream.id, rests_on)) < len(rests_on):
                return  # a turn was forgotten while the summary was written
            row = connection.execute(
                "INSERT INTO summaries (stream_id, created, result) VALUES (?, ?, ?) RETURNING id",
                (stream.id, datetime.now(UTC).isoformat(), json.dumps(result)),
            ).fetchone()
            connection.executemany(
                "INSERT INTO summary_turns (summary_id, turn_id) VALUES (?, ?)",
                ((row[0], turn_id) for turn_id in rests_on),
            )
            ids = connection.execute(
                "SELECT id FROM summaries WHERE stream_id = ? ORDER BY id DESC", (stream.id,)
            ).fetchall()
            sql.delete_summaries(connection, ids[SUMMARIES_KEPT:])

    def summaries(self, namespace: Namespace) -> list[StoredSummary]:
        """See `TurnStore`."""
        with self._reading() as connection:
            stream = sql.find(connection, namespace)
            if stream is None:
                return []
            rows = connection.execute(
                "SELECT created, result, stale FROM summaries WHERE stream_id = ? ORDER BY id DESC",
                (stream.id,),
            ).fetchall()
        return [
            StoredSummary(created, json.loads(result) if result else None, stale)
            for created, result, stale in rows
        ]

    def streams(self) -> list[tuple[Namespace, int]]:
        """See `TurnStore`."""
        with self._reading() as connection:
            rows = connection.execute(
                "SELECT tenant, name, (SELECT COUNT(*) FROM turns WHERE stream_id = streams.id) "
                "FROM streams"
            ).fetchall()
        return sorted((Namespace(tenant, name), count) for tenant, name, count in rows)

    def _locked(self, connection: sql.SqlConnection, namespace: Namespace) -> sql.StreamRow | None:
        """The stream; nobody else writes to it until the transaction ends."""
        return sql.find(connection, namespace, self.locks_row)

    def _made(self, connection: sql.SqlConnection, namespace: Namespace) -> sql.StreamRow:
        """The stream, made where it is not there; locked."""
        while True:
            stream = self._locked(connection, namespace)
            if stream is not None:
                return stream
            connection.execute(
                "INSERT INTO streams (tenant, name, generation) VALUES (?, ?, ?) "
                "ON CONFLICT (tenant, name) DO NOTHING",
                (*namespace, time.time_ns()),
            )
