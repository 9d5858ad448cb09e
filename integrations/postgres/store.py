"""The turn log in PostgreSQL with pgvector, for several processes on several machines.

One short transaction a call: a turn, its terms and its vector are there together or not at all,
and no model is called while a lock is held. Turns of a stream are added one after another, under
the lock of the stream's row; different streams do not wait for each other.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from contextlib import AbstractContextManager, closing, suppress
from typing import Literal

import numpy as np

from remember_graph.errors import ConfigError, HistoryError
from remember_graph.history.sql_statements import SqlConnection
from remember_graph.history.sql_store import SqlStore
from remember_graph.history.store import Forgotten, Namespace, Near, Selection, Vector
from remember_graph.integrations.postgres import search as search_in
from remember_graph.integrations.postgres.driver import psycopg
from remember_graph.integrations.postgres.pool import READING, WRITING, Pool, retried
from remember_graph.integrations.postgres.schema import open_schema
from remember_graph.integrations.postgres.server import Connection, Server, reason
from remember_graph.integrations.postgres.values import (
    Packed,
    packed_half,
    unpacked_half,
)
from remember_graph.integrations.postgres.wipe import NotWipedError, wipe

_SCHEMA = re.compile(r"[a-z_][a-z0-9_]{0,62}")
_ITERATIVE_SINCE = (0, 8)


class PostgresStore(SqlStore):
    """A store in one schema of a database; see `TurnStore` for what the methods do.

    Each process opens a store of its own, also after a fork. Text is stored plain.

    What is edited or forgotten is wiped from the files of the tables and of their indexes: the
    parts of the tables that held it are written anew, and stay locked for that time. What lies
    elsewhere is for whoever runs the server to expire: the write-ahead log (with its archive and
    replicas, until it is recycled), backups, and freed blocks of the disk.

    Args:
        url: `postgresql://USER:PASSWORD@HOST:PORT/DATABASE`, or what else libpq reads. A pooler
            before the server must give each session a connection of its own.
        schema: The schema for the tables; made where it is not there.
        search: `exact` compares a query with every vector of the stream. `hnsw` uses the index of
            a stream where `build_search_index` made one: faster in a large stream, and what it
            finds is close to exact.
        pool_size: So many calls at once at most; others wait.

    Raises:
        ConfigError: An argument cannot be read.
        HistoryError: The database cannot be reached or used, or is of a newer release.
    """

    locks_row = " FOR UPDATE"

    def __init__(
        self,
        url: str,
        *,
        schema: str = "remember_graph",
        search: Literal["exact", "hnsw"] = "exact",
        pool_size: int = 8,
    ) -> None:
        _check(schema, search, pool_size)
        self._search = search
        self._server = Server(url)
        with closing(self._server.connect()) as connection:
            opened = open_schema(connection, self._server, schema)
        self._scans_again = opened.extension >= _ITERATIVE_SINCE
        self._pool = Pool(self._server, opened.search_path, pool_size)

    def _reading(self) -> AbstractContextManager[SqlConnection]:
        return self._pool.transaction(READING)

    def _writing(self) -> AbstractContextManager[SqlConnection]:
        return self._pool.transaction(WRITING)

    def _to_column(self, vector: Vector) -> Packed:
        return packed_half(vector)

    def _from_column(self, value: bytes) -> Vector:
        return unpacked_half(value)

    def close(self) -> None:
        """See `TurnStore`."""
        self._pool.close()

    known = retried(SqlStore.known)
    append = retried(SqlStore.append)
    read = retried(SqlStore.read)
    turns_at = retried(SqlStore.turns_at)
    count = retried(SqlStore.count)
    generation = retried(SqlStore.generation)
    add_vectors = retried(SqlStore.add_vectors)
    vectors = retried(SqlStore.vectors)
    vector_models = retried(SqlStore.vector_models)
    edit = retried(SqlStore.edit)
    hide = retried(SqlStore.hide)
    retention = retried(SqlStore.retention)
    set_retention = retried(SqlStore.set_retention)
    save_summary = retried(SqlStore.save_summary)
    summaries = retried(SqlStore.summaries)
    streams = retried(SqlStore.streams)
    _forget = retried(SqlStore.forget)
    _forget_tenant = retried(SqlStore.forget_tenant)
    _drop_vectors = retried(SqlStore.drop_vectors)

    def forget(self, namespace: Namespace, selection: Selection, *, wipe: bool = True) -> Forgotten:
        """See `TurnStore`."""
        forgotten = self._forget(namespace, selection, wipe=False)
        if selection.is_everything:
            self._drop_unused_indexes()
        if wipe:  # also where there is no such stream: an earlier call may not have come so far
            self._wipe()
        return forgotten

    def forget_tenant(self, tenant: str) -> Forgotten:
        """See `TurnStore`."""
        forgotten = self._forget_tenant(tenant)
        self._drop_unused_indexes()
        return forgotten

    def drop_vectors(self, namespace: Namespace, *, keep_model: str) -> int:
        """See `TurnStore`."""
        dropped = self._drop_vectors(namespace, keep_model=keep_model)
        self._drop_unused_indexes()
        return dropped

    def _drop_unused_indexes(self) -> None:
        # They are empty now: where one is in use, the next call drops it as well.
        with self._pool.connection() as connection, suppress(psycopg.Error):
            search_in.drop_unused(connection)

    @retried
    def nearest(
        self, namespace: Namespace, model: str, queries: Sequence[Vector], k: int
    ) -> list[list[Near]]:
        """See `TurnStore`."""
        with self._reading() as connection:
            stream = self._id(connection, namespace)
            if stream is None or k < 1:
                return [[] for _ in queries]
            return [
                self._nearest(connection, stream, model, np.asarray(query, np.float32), k)
                for query in queries
            ]

    def _nearest(
        self, connection: SqlConnection, stream: int, model: str, query: Vector, k: int
    ) -> list[Near]:
        index = search_in.Indexed(stream, model, len(query))
        if self._search == "hnsw" and search_in.has_index(connection, index):
            search_in.prepare_indexed(connection, k, iterative=self._scans_again)
            return search_in.indexed(connection, index, query, k)
        return search_in.exact(connection, stream, model, query, k)

    def _id(self, connection: SqlConnection, namespace: Namespace) -> int | None:
        query = "SELECT id FROM streams WHERE tenant = ? AND name = ?"
        row = connection.execute(query, namespace).fetchone()
        return int(row[0]) if row else None

    def build_search_index(self, namespace: Namespace, model: str) -> None:
        """Build the index of a stream's vectors of one model, while others read and write.

        It then follows what is added and removed, and goes with the stream or the model. It makes
        each search of a large stream faster and each wipe of an edit slower, which builds it anew.
        Call it from one process at a time.

        Raises:
            HistoryError: The vectors are too wide for an index, or there are none.
        """
        with self._pool.connection() as connection:
            try:
                self._build(connection, namespace, model)
            except psycopg.Error as error:
                raise self._server.failed(error) from error

    def _build(self, connection: Connection, namespace: Namespace, model: str) -> None:
        row = connection.execute(
            "SELECT stream_id, vector_dims(vector) AS width, tableoid::regclass::text, COUNT(*) "
            "FROM vectors WHERE model = %s AND stream_id = "
            "(SELECT id FROM streams WHERE tenant = %s AND name = %s) "
            "GROUP BY 1, 2, 3 ORDER BY 4 DESC LIMIT 1",
            (model, *namespace),
        ).fetchone()
        where = f"{namespace.tenant!r}, {namespace.stream!r} of {self._server.place}"
        if row is None:
            raise HistoryError(f"there are no vectors of {model!r} in {where} to build an index of")
        stream, width, partition, _ = row
        if width > search_in.WIDEST_INDEXED:
            raise HistoryError(
                f"the vectors of {model!r} in {where} have {width} numbers, an index holds up to "
                f"{search_in.WIDEST_INDEXED}: use search='exact'"
            )
        search_in.build(connection, search_in.Indexed(stream, model, width), partition)

    def _wipe(self, streams: Sequence[int] = ()) -> None:
        """Free the files of all that was deleted; the database knows of which streams."""
        try:
            with self._pool.connection() as connection:
                wipe(connection)
        except NotWipedError as error:
            raise self._not_wiped(str(error)) from error
        except psycopg.Error as error:
            raise self._not_wiped(reason(error)) from error

    def _not_wiped(self, why: str) -> HistoryError:
        return HistoryError(
            f"{self._server.place}: the old texts are removed and found no more, but their bytes "
            f"could not be wiped from its files ({why}); call again"
        )


def _check(schema: str, search: str, pool_size: int) -> None:
    if not _SCHEMA.fullmatch(schema):
        raise ConfigError(
            f"`schema` must be lower-case letters, digits and _, at most 63, got {schema!r}"
        )
    if search not in ("exact", "hnsw"):
        raise ConfigError(f"`search` must be exact or hnsw, got {search!r}")
    if pool_size < 1:
        raise ConfigError(f"`pool_size` must be at least 1, got {pool_size!r}")
