"""The vectors closest to a query, searched inside PostgreSQL.

Without an index all vectors of the stream and model are compared. An index (HNSW) holds the
vectors of one stream and model alone, so a search in it cannot meet those of others.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from contextlib import suppress
from typing import NamedTuple

from remember_graph.history.sql_statements import SqlConnection
from remember_graph.history.store import Near, Vector
from remember_graph.integrations.postgres.driver import psycopg
from remember_graph.integrations.postgres.server import Connection
from remember_graph.integrations.postgres.values import escaped, packed_single

WIDEST_INDEXED = 4_000
_INDEX = "near"
_MOST_LOOKED_AT = 1_000  # the bound of pgvector

# A vector of zeros has no direction, and the distance to it is no number: it counts as unrelated.
_EXACT = """
SELECT position, COALESCE(NULLIF(vector::vector <=> ?::vector, 'NaN'), 1) AS distance
FROM vectors WHERE stream_id = ? AND model = ? AND vector_dims(vector) = ?
ORDER BY distance, position LIMIT ?
"""


class Indexed(NamedTuple):
    """What an index is for: the vectors of one stream and model, of one width."""

    stream: int
    model: str
    width: int

    @property
    def name(self) -> str:
        """The name of the index."""
        digest = hashlib.sha256(self.model.encode("utf-8", "backslashreplace")).hexdigest()[:20]
        return f"{_INDEX}_{self.stream}_{self.width}_{digest}"

    @property
    def _distinct(self) -> str:
        """The condition of the index, which a search must repeat to be given it."""
        return (
            f"stream_id = {self.stream} AND model = {_literal(self.model)} "
            f"AND vector_dims(vector) = {self.width}"
        )

    @property
    def definition(self) -> str:
        """The statement that makes it, of the partition `{}`."""
        return (
            f"CREATE INDEX CONCURRENTLY IF NOT EXISTS {self.name} ON {{}} "
            f"USING hnsw ((vector::halfvec({self.width})) halfvec_cosine_ops) "
            f"WHERE {self._distinct}"
        )

    @property
    def search(self) -> str:
        """The statement that searches in it."""
        return (
            f"SELECT position, vector::halfvec({self.width}) <=> ?::vector::halfvec({self.width}) "
            f"AS distance FROM vectors WHERE {self._distinct} ORDER BY distance LIMIT ?"
        )


def exact(connection: SqlConnection, stream: int, model: str, query: Vector, k: int) -> list[Near]:
    """The `k` closest; of equals the earlier position first."""
    row = (packed_single(query), stream, model, len(query), k)
    return _near(connection.execute(_EXACT, row).fetchall())


def prepare_indexed(connection: SqlConnection, k: int, *, iterative: bool) -> None:
    """Let the searches of this transaction find `k` vectors in an index."""
    looked_at = min(max(4 * k, 100), _MOST_LOOKED_AT)
    connection.execute(f"SET LOCAL hnsw.ef_search = {looked_at}")
    if iterative:  # goes on where the first look gives too few
        connection.execute("SET LOCAL hnsw.iterative_scan = strict_order")
    # Of texts no statistics are kept, so the planner takes every stream for a tiny one, and
    # sorting it for cheaper than any index.
    connection.execute("SET LOCAL enable_sort = off")


def indexed(connection: SqlConnection, index: Indexed, query: Vector, k: int) -> list[Near]:
    """The `k` closest, as far as the index finds them."""
    rows = connection.execute(index.search, (packed_single(query), k)).fetchall()
    return _near(sorted(rows, key=lambda row: (row[1], row[0])))


def has_index(connection: SqlConnection, index: Indexed) -> bool:
    """Whether the index is there and complete."""
    query = "SELECT 1 FROM pg_index WHERE indexrelid = to_regclass(?) AND indisvalid"
    return connection.execute(query, (index.name,)).fetchone() is not None


def build(connection: Connection, index: Indexed, partition: str) -> None:
    """Build the index, while others go on reading and writing."""
    query = "SELECT 1 FROM pg_index WHERE indexrelid = to_regclass(%s) AND NOT indisvalid"
    if connection.execute(query, (index.name,)).fetchone():  # of a build that broke off
        _drop(connection, index.name)
    try:
        connection.execute(index.definition.format(partition).encode())
    except psycopg.Error:
        with suppress(psycopg.Error):
            _drop(connection, index.name)
        raise
    # Statistics of an expression are copies of its values, which outlive their rows.
    connection.execute(f"ALTER INDEX {index.name} ALTER COLUMN 1 SET STATISTICS 0".encode())


def drop_unused(connection: Connection) -> None:
    """Drop the indexes of streams and models that have no vectors any more."""
    rows = connection.execute(
        "SELECT relname FROM pg_class WHERE relkind = 'i' AND relname LIKE %s "
        "AND relnamespace = current_schema()::text::regnamespace",
        (f"{_INDEX}\\_%",),
    ).fetchall()
    for (name,) in rows:
        stream, width = (int(part) for part in name.split("_")[1:3])
        models = connection.execute(
            "SELECT DISTINCT model FROM vectors WHERE stream_id = %s", (stream,)
        ).fetchall()
        if name not in {Indexed(stream, model, width).name for (model,) in models}:
            _drop(connection, name)


def _drop(connection: Connection, name: str) -> None:
    connection.execute(f"DROP INDEX CONCURRENTLY IF EXISTS {name}".encode())


def _literal(text: str) -> str:
    """A text in a statement, as letters that mean nothing else there."""
    return "U&'" + "".join(f"\\+{ord(character):06x}" for character in escaped(text)) + "'"


def _near(rows: Sequence[tuple[int, float]]) -> list[Near]:
    return [Near(position, 1 - distance) for position, distance in rows]
