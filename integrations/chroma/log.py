"""The log of a store whose vectors lie in Chroma: a SQLite file that also knows where they are."""

from __future__ import annotations

import secrets
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

from remember_graph.history.sql_rows import TURN, turn_of
from remember_graph.history.sqlite_store import SQLiteStore
from remember_graph.history.store import Namespace
from remember_graph.types import Turn

_AT_ONCE = 500  # SQLite allows at least 999 parameters

_TABLES = (
    "CREATE TABLE IF NOT EXISTS chroma_secret (secret BLOB NOT NULL)",
    "CREATE TABLE IF NOT EXISTS chroma_collections "
    "(owner TEXT NOT NULL, model TEXT NOT NULL, width INTEGER NOT NULL, "
    "PRIMARY KEY (owner, model, width)) WITHOUT ROWID",
)


class Kind(NamedTuple):
    """What vectors have in common that lie in one collection."""

    model: str
    width: int


class ChromaLog(SQLiteStore):
    """A `SQLiteStore` with a secret of its own and a list of the collections it has in Chroma.

    Args:
        path: The file; made where it is not there, its folder is not.

    Raises:
        HistoryError: The file cannot be opened.
    """

    def __init__(self, path: str | Path) -> None:
        super().__init__(path)
        try:
            self.secret = self._prepare_for_chroma()
        except BaseException:
            self.close()
            raise

    def _prepare_for_chroma(self) -> bytes:
        with self._writing() as connection:
            for table in _TABLES:
                connection.execute(table)
            row = connection.execute("SELECT secret FROM chroma_secret").fetchone()
            if row is None:
                row = (secrets.token_bytes(32),)
                connection.execute("INSERT INTO chroma_secret (secret) VALUES (?)", row)
            return bytes(row[0])

    def turns(
        self,
        namespace: Namespace,
        *,
        positions: Sequence[int] | None = None,
        ids: Sequence[str] | None = None,
    ) -> tuple[int, dict[int, Turn]]:
        """The stream's generation and its turns by position, as they are at one moment.

        Args:
            namespace: Whose conversation.
            positions: Only those at one of these.
            ids: Only those with one of these ids.
        """
        column, wanted = ("position", positions) if ids is None else ("turn_id", ids)
        with self._reading() as connection:
            query = "SELECT id, generation FROM streams WHERE tenant = ? AND name = ?"
            row = connection.execute(query, namespace).fetchone()
            if row is None:
                return 0, {}
            rows = _rows(connection, row[0], column, wanted)
        return row[1], {row[8]: turn_of(row) for row in sorted(rows, key=lambda row: row[8])}

    def kinds(self, owner: str) -> list[Kind]:
        """The kinds of vectors of which the owner may have a collection."""
        query = "SELECT model, width FROM chroma_collections WHERE owner = ? ORDER BY model, width"
        with self._reading() as connection:
            return [Kind(*row) for row in connection.execute(query, (owner,)).fetchall()]

    def note_collection(self, owner: str, kind: Kind) -> None:
        """Note a collection; to be called before it is made, so that none is ever unknown."""
        if kind in self.kinds(owner):
            return
        with self._writing() as connection:
            connection.execute(
                "INSERT OR IGNORE INTO chroma_collections (owner, model, width) VALUES (?, ?, ?)",
                (owner, *kind),
            )

    def drop_collection(self, owner: str, kind: Kind) -> None:
        """Take the note back; to be called when the collection is gone."""
        with self._writing() as connection:
            connection.execute(
                "DELETE FROM chroma_collections WHERE owner = ? AND model = ? AND width = ?",
                (owner, *kind),
            )


def _rows(
    connection: Any,  # noqa: ANN401 - of the database's driver
    stream: int,
    column: str,
    wanted: Sequence[Any] | None,
) -> list[Any]:
    query = f"SELECT {TURN}, position FROM turns WHERE stream_id = ?"
    if wanted is None:
        return list(connection.execute(query, (stream,)).fetchall())
    rows: list[Any] = []
    for at in range(0, len(wanted), _AT_ONCE):
        part = wanted[at : at + _AT_ONCE]
        marks = ", ".join("?" * len(part))
        rows += connection.execute(f"{query} AND {column} IN ({marks})", (stream, *part)).fetchall()
    return rows
