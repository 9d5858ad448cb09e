"""The turn log in SQL tables: what SQLite and PostgreSQL do alike.

A database adds how to connect, to lock a stream's row, to hold a vector and to free the medium of
what was deleted. Statements use `?` for parameters and no other question mark.
"""

from __future__ import annotations

import json
import time
from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from datetime import UTC, datetime
from typing import Any, NamedTuple, Protocol

from remember_graph.history.nearest import nearest
from remember_graph.history.selecting import chosen
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
from remember_graph.types import Turn, well_formed

_AT_ONCE = 500  # SQLite allows at least 999 parameters


class SqlConnection(Protocol):
    """What the statements need of a connection inside a transaction."""

    def execute(self, sql: str, parameters: Sequence[Any] = (), /) -> Any:  # noqa: ANN401
        """Run one statement; the cursor holds its rows and their number."""

    def executemany(self, sql: str, rows: Iterable[Sequence[Any]], /) -> Any:  # noqa: ANN401
        """Run one statement for each row."""


class _Stream(NamedTuple):
    id: int
    generation: int
    next_position: int


class SqlStore(ABC):
    """A `TurnStore` in tables; see there for what the methods do."""

    locks_row = ""
    """Ends the statement that reads a stream's row in order to write."""

    @abstractmethod
    def _reading(self) -> AbstractContextManager[SqlConnection]:
        """A transaction that only reads."""

    @abstractmethod
    def _writing(self) -> AbstractContextManager[SqlConnection]:
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
            stream = _find(connection, namespace)
            return _known(connection, stream.id, ids) if stream else {}

    def append(self, namespace: Namespace, records: Sequence[Record]) -> int:
        """See `TurnStore`."""
        with self._writing() as connection:
            stream = self._made(connection, namespace)
            there = _known(connection, stream.id, [record.turn.id for record in records])
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
            self._put_vectors(connection, stream.id, _own_vectors(placed))
            connection.execute(
                "UPDATE streams SET next_position = ? WHERE id = ?",
                (stream.next_position + len(fresh), stream.id),
            )
            return len(fresh)

    def read(
        self, namespace: Namespace, start: int = 0, *, vector_model: str | None = None
    ) -> list[Record]:
        """See `TurnStore`."""
        with self._reading() as connection:
            stream = _find(connection, namespace)
            if stream is None or start >= stream.next_position:
                return []
            rows = connection.execute(
                f"SELECT {TURN}, {DERIVED}, t.position, v.vector FROM turns t "
                "LEFT JOIN vectors v ON v.stream_id = t.stream_id AND v.model = ? "
                "AND v.position = t.position "
                "WHERE t.stream_id = ? AND t.position >= ? ORDER BY t.position",
                (vector_model, stream.id, start),
            ).fetchall()
        return [
            Record(turn_of(row), None, None, derived_of(row), row[12])
            if row[13] is None
            else Record(
                turn_of(row), self._from_column(row[13]), vector_model, derived_of(row), row[12]
            )
            for row in rows
        ]

    def turns_at(self, namespace: Namespace, positions: Sequence[int]) -> dict[int, Turn]:
        """See `TurnStore`."""
        found: dict[int, Turn] = {}
        with self._reading() as connection:
            stream = _find(connection, namespace)
            for part, marks in _parts(positions if stream else ()):
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
            stream = _find(connection, namespace)
            if stream is None:
                return 0
            query = "SELECT COUNT(*) FROM turns WHERE stream_id = ?"
            return int(connection.execute(query, (stream.id,)).fetchone()[0])

    def generation(self, namespace: Namespace) -> int:
        """See `TurnStore`."""
        with self._reading() as connection:
            stream = _find(connection, namespace)
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
                there = _positions(connection, stream.id, list(vectors))
                kept = [(model, at, v) for at, v in vectors.items() if at in there]
                self._put_vectors(connection, stream.id, kept)
        return True

    def _put_vectors(
        self, connection: SqlConnection, stream: int, vectors: Iterable[tuple[str, int, Vector]]
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
            stream = _find(connection, namespace)
            if stream is None:
                return {}
            if positions is None:
                rows = connection.execute(query, (stream.id, model))
                return {position: self._from_column(value) for position, value in rows}
            for part, marks in _parts(positions):
                rows = connection.execute(
                    f"{query} AND position IN ({marks})", (stream.id, model, *part)
                )
                found |= {position: self._from_column(value) for position, value in rows}
        return found

    def vector_models(self, namespace: Namespace) -> dict[str, int]:
        """See `TurnStore`."""
        with self._reading() as connection:
            stream = _find(connection, namespace)
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
        return nearest(self.vectors(namespace, model), queries, k)

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
            if stream is None or not _known(connection, stream.id, [record.turn.id]):
                return False
            query = "SELECT position FROM turns WHERE stream_id = ? AND turn_id = ?"
            (at,) = connection.execute(query, (stream.id, record.turn.id)).fetchone()
            columns = ", ".join(f"{name} = ?" for name in f"{TURN}, {DERIVED}".split(", "))
            connection.execute(
                f"UPDATE turns SET {columns} WHERE stream_id = ? AND position = ?",
                (*turn_row(record), stream.id, at),
            )
            _delete_vectors(connection, stream.id, [at])
            self._put_vectors(connection, stream.id, _own_vectors([(at, record)]))
            _make_stale(connection, stream.id, [record.turn.id], "edited")
            _bump(connection, stream)
        if wipe:
            self._wipe([stream.id])
        return True

    def forget(self, namespace: Namespace, selection: Selection, *, wipe: bool = True) -> Forgotten:
        """See `TurnStore`."""
        with self._writing() as connection:
            stream = self._locked(connection, namespace)
            if stream is None:
                return Forgotten()
            forgotten = _forget(connection, stream, selection)
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
                    forgotten += _forget(connection, stream, Selection())
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
            if len(_known(connection, stream.id, rests_on)) < len(rests_on):
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
            _delete_summaries(connection, ids[SUMMARIES_KEPT:])

    def summaries(self, namespace: Namespace) -> list[StoredSummary]:
        """See `TurnStore`."""
        with self._reading() as connection:
            stream = _find(connection, namespace)
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

    def _locked(self, connection: SqlConnection, namespace: Namespace) -> _Stream | None:
        """The stream; nobody else writes to it until the transaction ends."""
        return _find(connection, namespace, self.locks_row)

    def _made(self, connection: SqlConnection, namespace: Namespace) -> _Stream:
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


def _find(connection: SqlConnection, namespace: Namespace, lock: str = "") -> _Stream | None:
    query = "SELECT id, generation, next_position FROM streams WHERE tenant = ? AND name = ?"
    row = connection.execute(query + lock, namespace).fetchone()
    return _Stream(*row) if row else None


def _parts(values: Sequence[Any]) -> Iterator[tuple[Sequence[Any], str]]:
    """The values in parts that fit one statement, each with its parameter marks."""
    for at in range(0, len(values), _AT_ONCE):
        part = values[at : at + _AT_ONCE]
        yield part, ", ".join("?" * len(part))


def _known(connection: SqlConnection, stream: int, ids: Sequence[str]) -> dict[str, Turn]:
    found: dict[str, Turn] = {}
    possible = [id for id in ids if well_formed(id) == id]  # databases hold no lone surrogates
    for part, marks in _parts(possible):
        rows = connection.execute(
            f"SELECT {TURN} FROM turns WHERE stream_id = ? AND turn_id IN ({marks})",
            (stream, *part),
        )
        found |= {row[0]: turn_of(row) for row in rows}
    return found


def _positions(connection: SqlConnection, stream: int, wanted: Sequence[int]) -> set[int]:
    """Those of the positions that hold a turn."""
    found: set[int] = set()
    for part, marks in _parts(wanted):
        query = f"SELECT position FROM turns WHERE stream_id = ? AND position IN ({marks})"
        found |= {at for (at,) in connection.execute(query, (stream, *part))}
    return found


def _own_vectors(placed: Iterable[tuple[int, Record]]) -> Iterator[tuple[str, int, Vector]]:
    for at, record in placed:
        if record.vector is not None and record.vector_model is not None:
            yield record.vector_model, at, record.vector


def _delete_vectors(connection: SqlConnection, stream: int, positions: Sequence[int]) -> int:
    deleted = 0
    for part, marks in _parts(positions):
        deleted += connection.execute(
            f"DELETE FROM vectors WHERE stream_id = ? AND position IN ({marks})", (stream, *part)
        ).rowcount
    return deleted


def _forget(connection: SqlConnection, stream: _Stream, selection: Selection) -> Forgotten:
    rows = connection.execute(
        f"SELECT {TURN}, position FROM turns WHERE stream_id = ? ORDER BY position", (stream.id,)
    ).fetchall()
    gone = [rows[at] for at in chosen(selection, [turn_of(row) for row in rows])]
    positions = [row[8] for row in gone]
    vectors = _delete_vectors(connection, stream.id, positions)
    stale = _make_stale(connection, stream.id, [row[0] for row in gone], "forgotten")
    connection.executemany(
        "DELETE FROM turns WHERE stream_id = ? AND position = ?",
        ((stream.id, position) for position in positions),
    )
    if selection.is_everything:
        stale = _delete_stream(connection, stream.id)
    elif gone:
        _bump(connection, stream)
    return Forgotten(len(gone), vectors, stale)


def _make_stale(connection: SqlConnection, stream: int, ids: Sequence[str], what: str) -> int:
    """Empty the summaries that rest on one of the turns; how many that were."""
    touched: dict[int, str] = {}
    for part, marks in _parts(ids):
        rows = connection.execute(
            "SELECT s.id, t.turn_id FROM summaries s JOIN summary_turns t "
            f"ON t.summary_id = s.id WHERE s.stream_id = ? AND t.turn_id IN ({marks}) "
            "AND s.result IS NOT NULL",
            (stream, *part),
        )
        for summary, turn_id in rows:
            touched[summary] = min(turn_id, touched.get(summary, turn_id))
    connection.executemany(
        "UPDATE summaries SET result = NULL, stale = ? WHERE id = ?",
        ((f"turn {turn_id} was {what}", summary) for summary, turn_id in touched.items()),
    )
    return len(touched)


def _delete_summaries(connection: SqlConnection, ids: Sequence[Sequence[int]]) -> None:
    for table, column in (("summary_turns", "summary_id"), ("summaries", "id")):
        connection.executemany(f"DELETE FROM {table} WHERE {column} = ?", ids)


def _delete_stream(connection: SqlConnection, stream: int) -> int:
    """Remove the stream itself; how many summaries went with it."""
    query = "SELECT id FROM summaries WHERE stream_id = ?"
    ids = connection.execute(query, (stream,)).fetchall()
    _delete_summaries(connection, ids)
    connection.execute("DELETE FROM streams WHERE id = ?", (stream,))
    return len(ids)


def _bump(connection: SqlConnection, stream: _Stream) -> None:
    connection.execute(
        "UPDATE streams SET generation = ? WHERE id = ?",
        (max(stream.generation + 1, time.time_ns()), stream.id),
    )
