"""Stores in a folder and on a real server, and a Chroma that fails when a test says so."""

from __future__ import annotations

import socket
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any
from urllib.request import urlopen

import numpy as np
import pytest

from remember_graph.history.store import Record, Vector
from remember_graph.integrations.chroma import ChromaStore
from remember_graph.types import Turn

Serve = Callable[[Path, int], Any]


@pytest.fixture(scope="session", autouse=True)
def chromadb() -> Any:
    """The package, without which nothing here can run."""
    return pytest.importorskip("chromadb", reason="needs pip install 'remember-graph[chroma]'")


@pytest.fixture(scope="session")
def free_port() -> Callable[[], int]:
    """Gives loopback ports on which nobody listens."""

    def find() -> int:
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            return int(probe.getsockname()[1])

    return find


def _answers(port: int) -> bool:
    try:
        with urlopen(f"http://127.0.0.1:{port}/api/v2/heartbeat", timeout=5) as answer:
            return bool(answer.status == 200)
    except OSError:
        return False


@contextmanager
def _served(folder: Path, port: int) -> Iterator[None]:
    # The script of this very environment; PATH may lead to another one.
    program = Path(sys.executable).with_name("chroma")
    place = ["--path", str(folder), "--host", "127.0.0.1", "--port", str(port)]
    command = [str(program), "run", *place]
    server = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    pause = threading.Event()
    try:
        for _ in range(600):
            if _answers(port):
                break
            assert server.poll() is None, "chroma run ended by itself"
            pause.wait(0.05)
        else:
            pytest.fail("chroma run did not answer")
        yield
    finally:
        server.kill()
        server.wait()


@pytest.fixture(scope="session")
def served() -> Serve:
    """`chroma run` over a folder, for as long as the context lasts."""
    return _served


@pytest.fixture(scope="session")
def server_port(
    tmp_path_factory: pytest.TempPathFactory, free_port: Callable[[], int]
) -> Iterator[int]:
    """A server for all tests: logs with files of their own never meet on it."""
    port = free_port()
    with _served(tmp_path_factory.mktemp("chroma-server"), port):
        yield port


@pytest.fixture
def opened() -> Iterator[ExitStack]:
    """Closes at the end what a test opened."""
    with ExitStack() as stack:
        yield stack


@pytest.fixture
def open_embedded(tmp_path: Path, opened: ExitStack) -> Callable[[], ChromaStore]:
    """Opens the store in the folder `memory` of the test's folder."""

    def open_one() -> ChromaStore:
        store = ChromaStore.embedded(tmp_path / "memory")
        opened.callback(store.close)
        return store

    return open_one


@pytest.fixture
def open_http(tmp_path: Path, opened: ExitStack, server_port: int) -> Callable[..., ChromaStore]:
    """Opens a store on the server, with its log in the test's folder."""

    def open_one(log: str = "turns.db") -> ChromaStore:
        store = ChromaStore.over_http("127.0.0.1", server_port, log=tmp_path / log)
        opened.callback(store.close)
        return store

    return open_one


@pytest.fixture
def embedded(open_embedded: Callable[[], ChromaStore]) -> ChromaStore:
    """An empty store in a folder."""
    return open_embedded()


@pytest.fixture(params=["embedded", "http"])
def store(request: pytest.FixtureRequest) -> ChromaStore:
    """An empty store of each kind."""
    made: ChromaStore = request.getfixturevalue(f"open_{request.param}")()
    return made


class Flaky:
    """Chroma's client or one of its collections; the calls that `fails` names fail.

    What `before` holds under the name of a call is done before it.
    """

    def __init__(self, inner: Any, switch: Flaky | None = None) -> None:
        self.inner = inner
        self.fails: set[str] = switch.fails if switch else set()
        self.before: dict[str, Callable[[], object]] = switch.before if switch else {}

    def __getattr__(self, name: str) -> Any:
        value = getattr(self.inner, name)

        def call(*arguments: Any, **options: Any) -> Any:
            self.before.pop(name, lambda: None)()
            if name in self.fails:
                raise OSError("the disk is gone\nwith a long\nstory")
            result = value(*arguments, **options)
            return Flaky(result, self) if name.endswith("_collection") else result

        return call


@pytest.fixture
def make_flaky() -> Callable[[ChromaStore], Flaky]:
    """Puts a `Flaky` before the store's Chroma."""

    def make(store: ChromaStore) -> Flaky:
        made = Flaky(store._opened.connection.client)
        store._opened.connection.client = made
        return made

    return make


@pytest.fixture
def flaky(embedded: ChromaStore, make_flaky: Callable[[ChromaStore], Flaky]) -> Flaky:
    """Stands before the Chroma of the embedded store."""
    return make_flaky(embedded)


@pytest.fixture
def recorded() -> Callable[..., Record]:
    """A record of a turn of Ana, with a vector of the model `one` where numbers are given."""

    def make(id: str, text: str, *numbers: float) -> Record:
        vector: Vector | None = np.array(numbers, np.float32) if numbers else None
        return Record(Turn("Ana", text, id=id), vector, "one" if numbers else None)

    return make


@pytest.fixture
def vectors_in_chroma() -> Callable[[ChromaStore], int]:
    """Counts all vectors that an embedded store's Chroma holds, of whatever turn."""

    def count(store: ChromaStore) -> int:
        client = store._opened.connection.client
        inner = client.inner if isinstance(client, Flaky) else client
        return sum(collection.count() for collection in inner.list_collections())

    return count
