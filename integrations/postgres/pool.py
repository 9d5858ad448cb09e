"""Connections to PostgreSQL that several threads share, and transactions on them."""

from __future__ import annotations

import functools
import random
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from typing import Any, ParamSpec, TypeVar

from remember_graph.errors import HistoryError
from remember_graph.integrations.postgres.driver import psycopg, psycopg_pool
from remember_graph.integrations.postgres.server import (
    Connection,
    Server,
    TryAgainError,
    prepare_session,
)

READING = "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY"  # one state for all its statements
WRITING = "BEGIN ISOLATION LEVEL READ COMMITTED"  # who waited for a row sees what became of it

_LOOK_AFTER_S = 3.0  # so long a call waits for a connection before it asks why there is none
_BUSY_AFTER_S = 60.0
_ATTEMPTS = 6

P = ParamSpec("P")
T = TypeVar("T")


def retried(method: Callable[P, T]) -> Callable[P, T]:
    """The method, called again a few times where it stored nothing and may succeed now."""

    @functools.wraps(method)
    def call(*args: P.args, **kwargs: P.kwargs) -> T:
        for attempt in range(_ATTEMPTS - 1):
            try:
                return method(*args, **kwargs)
            except TryAgainError:
                time.sleep(random.uniform(0, 0.02) * 2**attempt)
        return method(*args, **kwargs)

    return call


class Statements:
    """The statements of `SqlStore` on a connection of psycopg, inside a transaction."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    def execute(self, sql: str, parameters: Sequence[Any] = (), /) -> psycopg.Cursor[Any]:
        """See `SqlConnection`."""
        return self._connection.execute(_translated(sql), parameters, binary=True)

    def executemany(self, sql: str, rows: Iterable[Sequence[Any]], /) -> None:
        """See `SqlConnection`."""
        # A row that cannot be made must not fail between the statements of the others.
        made = list(rows)
        if made:
            with self._connection.cursor() as cursor:
                cursor.executemany(_translated(sql), made)


@functools.cache
def _translated(sql: str) -> bytes:
    return sql.replace("?", "%s").encode()


class Pool:
    """Connections of one store; each is looked at before it is used and replaced where it is dead.

    Args:
        server: Whose.
        schemas: Where its tables and the extension are.
        size: So many at most.
    """

    def __init__(self, server: Server, schemas: tuple[str, ...], size: int) -> None:
        self._server = server
        self._pool: psycopg_pool.ConnectionPool[Connection] = psycopg_pool.ConnectionPool(
            kwargs=server.parameters,
            min_size=1,
            max_size=size,
            open=True,
            configure=lambda connection: prepare_session(connection, schemas),
            check=psycopg_pool.ConnectionPool.check_connection,
            # Not for long: attempts lie ever further apart, and the next call begins anew.
            reconnect_timeout=_LOOK_AFTER_S,
        )

    def close(self) -> None:
        """Close them all."""
        self._pool.close()

    @contextmanager
    def connection(self) -> Iterator[Connection]:
        """A connection outside any transaction.

        Raises:
            HistoryError: The server cannot be reached, or the pool is closed.
        """
        connection = self._taken()
        try:
            yield connection
        finally:
            self._pool.putconn(connection)

    def _taken(self) -> Connection:
        deadline = time.monotonic() + _BUSY_AFTER_S
        while True:
            try:
                return self._pool.getconn(timeout=_LOOK_AFTER_S)
            except psycopg_pool.PoolClosed as error:
                raise HistoryError(f"the history in {self._server.place} is closed") from error
            except psycopg_pool.PoolTimeout as error:
                self._server.connect().close()  # says why, where there is no connection to be had
                if time.monotonic() > deadline:
                    raise HistoryError(
                        f"{self._server.place}: all {self._pool.max_size} connections of this "
                        "store are in use; raise `pool_size`"
                    ) from error

    @contextmanager
    def transaction(self, begin: str) -> Iterator[Statements]:
        """A transaction; what fails inside leaves no trace."""
        with self.connection() as connection:
            is_over = False
            try:
                connection.execute(begin.encode())
                yield Statements(connection)
                is_over = True
                connection.execute("COMMIT")
            except psycopg.Error as error:
                # Where the connection breaks at the end, nobody knows whether it was stored.
                raise self._server.failed(error, repeatable=not is_over) from error
            finally:
                _roll_back(connection)


def _roll_back(connection: Connection) -> None:
    with suppress(psycopg.Error):  # a broken connection: the server rolls back
        connection.rollback()
