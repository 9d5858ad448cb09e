"""Statements on the tables of one stream, inside a transaction of their caller.

They use `?` for parameters and no other question mark.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, NamedTuple, Protocol

from remember_graph.history.selecting import chosen
from remember_graph.history.sql_rows import TURN, turn_of
from remember_graph.history.store import Forgotten, Namespace, Record, Selection, Vector
from remember_graph.types import Turn, well_formed

_AT_ONCE = 500  # SQLite allows at least 999 parameters


class SqlConnection(Protocol):
    """What the statements need of a connection inside a transaction."""

    def execute(self, sql: str, parameters: Sequence[Any] = (), /) -> Any:  # noqa: ANN401
        """Run one statement; the cursor holds its rows and their number."""

    def executemany(self, sql: str, rows: Iterable[Sequence[Any]], /) -> Any:  # noqa: ANN401
        """Run one statement for each row."""


class StreamRow(NamedTuple):
    """What every statement on a stream begins with."""

    id: int
    generation: int
    next_position: int


def find(connection: SqlConnection, namespace: Namespace, lock: str = "") -> StreamRow | None:
    """The stream's row; `lock` ends the statement where it is read in order to write."""
    query = "SELECT id, generation, next_position FROM streams WHERE tenant = ? AND name = ?"
    row = connection.execute(query + lock, namespace).fetchone()
    return StreamRow(*row) if row else None


def parts(values: Sequence[Any]) -> Iterator[tuple[Sequence[Any], str]]:
    """The values in parts that fit one statement, each with its parameter marks."""
    for at in range(0, len(values), _AT_ONCE):
        part = values[at : at + _AT_ONCE]
        yield part, ", ".join("?" * len(part))


def known(connection: SqlConnection, stream: int, ids: Sequence[str]) -> dict[str, Turn]:
    """The turns of these ids that are there."""
    found: dict[str, Turn] = {}
    possible = [id for id in ids if well_formed(id) == id]  # databases hold no lone surrogates
    for part, marks in parts(possible):
        rows = connection.execute(
            f"SELECT {TURN} FROM turns WHERE stream_id = ? AND turn_id IN ({marks})",
            (stream, *part),
        )
        found |= {row[0]: turn_of(row) for row in rows}
    return found


def positions(connection: SqlConnection, stream: int, wanted: Sequence[int]) -> set[int]:
    """Those of the positions that hold a turn."""
    found: set[int] = set()
    for part, marks in parts(wanted):
        query = f"SELECT position FROM turns WHERE stream_id = ? AND position IN ({marks})"
        found |= {at for (at,) in connection.execute(query, (stream, *part))}
    return found


def own_vectors(placed: Iterable[tuple[int, Record]]) -> Iterator[tuple[str, int, Vector]]:
    """Model, position and vector of the records that have one."""
    for at, record in placed:
        if record.vector is not None and record.vector_model is not None:
            yield record.vector_model, at, record.vector


def hide(connection: SqlConnection, stream: int, ids: Sequence[str], hidden: bool) -> int:
    """Hide or show turns; how many were not so before."""
    changed = 0
    for part, marks in parts([id for id in ids if well_formed(id) == id]):
        changed += connection.execute(
            "UPDATE turns SET hidden = ? "
            f"WHERE stream_id = ? AND hidden <> ? AND turn_id IN ({marks})",
            (int(hidden), stream, int(hidden), *part),
        ).rowcount
    return changed


def delete_vectors(connection: SqlConnection, stream: int, positions: Sequence[int]) -> int:
    """Remove the vectors at these positions, of every model; how many that were."""
    deleted = 0
    for part, marks in parts(positions):
        deleted += connection.execute(
            f"DELETE FROM vectors WHERE stream_id = ? AND position IN ({marks})", (stream, *part)
        ).rowcount
    return deleted


def forget(connection: SqlConnection, stream: StreamRow, selection: Selection) -> Forgotten:
    """Remove the chosen turns, with the stream itself where everything is chosen."""
    rows = connection.execute(
        f"SELECT {TURN}, position FROM turns WHERE stream_id = ? ORDER BY position", (stream.id,)
    ).fetchall()
    gone = [rows[at] for at in chosen(selection, [turn_of(row) for row in rows])]
    positions = [row[8] for row in gone]
    vectors = delete_vectors(connection, stream.id, positions)
    stale = make_stale(connection, stream.id, [row[0] for row in gone], "forgotten")
    connection.executemany(
        "DELETE FROM turns WHERE stream_id = ? AND position = ?",
        ((stream.id, position) for position in positions),
    )
    if selection.is_everything:
        stale = delete_stream(connection, stream.id)
    elif gone:
        bump(connection, stream)
    return Forgotten(len(gone), vectors, stale)


def make_stale(connection: SqlConnection, stream: int, ids: Sequence[str], what: str) -> int:
    """Empty the summaries that rest on one of the turns; how many that were."""
    touched: dict[int, str] = {}
    for part, marks in parts(ids):
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


def delete_summaries(connection: SqlConnection, ids: Sequence[Sequence[int]]) -> None:
    """Remove summaries, given as rows of their ids."""
    for table, column in (("summary_turns", "summary_id"), ("summaries", "id")):
        connection.executemany(f"DELETE FROM {table} WHERE {column} = ?", ids)


def delete_stream(connection: SqlConnection, stream: int) -> int:
    """Remove the stream itself; how many summaries went with it."""
    query = "SELECT id FROM summaries WHERE stream_id = ?"
    ids = connection.execute(query, (stream,)).fetchall()
    delete_summaries(connection, ids)
    connection.execute("DELETE FROM streams WHERE id = ?", (stream,))
    return len(ids)


def bump(connection: SqlConnection, stream: StreamRow) -> None:
    """Give the stream a generation that it never had."""
    connection.execute(
        "UPDATE streams SET generation = ? WHERE id = ?",
        (max(stream.generation + 1, time.time_ns()), stream.id),
    )
