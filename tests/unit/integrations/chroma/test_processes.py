"""Who may use a folder or a server, and when."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from collections.abc import Callable
from contextlib import AbstractContextManager
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path

import numpy as np
import pytest

from remember_graph.errors import HistoryError
from remember_graph.history.store import Namespace, Record, Selection
from remember_graph.integrations.chroma import ChromaStore

NAMESPACE = Namespace("t", "chat")
X = np.array([1, 0], np.float32)
Recorded = Callable[..., Record]

_OPEN = """
import sys
from remember_graph.errors import HistoryError
from remember_graph.integrations.chroma import ChromaStore
try:
    store = ChromaStore.embedded(sys.argv[1])
except HistoryError as error:
    print(error, flush=True)
else:
    print("open", flush=True)
    sys.stdin.read()  # until it is killed
"""


def _process(code: str, folder: Path) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-c", code, str(folder)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )


def test_a_second_process_is_refused_and_told_what_helps(
    embedded: ChromaStore, tmp_path: Path
) -> None:
    with _process(_OPEN, tmp_path / "memory") as process:
        told, _ = process.communicate(timeout=60)

    assert "is in use by another process" in told
    assert f"chroma run --path {tmp_path / 'memory/chroma'}" in told
    assert "chroma+http://HOST:PORT/" in told
    assert len(told.splitlines()) == 1


def test_a_second_store_in_the_same_process_is_refused(
    embedded: ChromaStore, open_embedded: Callable[[], ChromaStore], recorded: Recorded
) -> None:
    with pytest.raises(HistoryError, match="in use"):
        open_embedded()

    embedded.append(NAMESPACE, [recorded("a", "Hi", 1, 0)])
    assert embedded.vectors(NAMESPACE, "one")[0].tolist() == [1, 0]


def test_a_store_that_was_closed_makes_room(
    embedded: ChromaStore, open_embedded: Callable[[], ChromaStore], recorded: Recorded
) -> None:
    embedded.append(NAMESPACE, [recorded("a", "Hi", 1, 0)])
    embedded.close()
    embedded.close()  # harmless

    assert open_embedded().vectors(NAMESPACE, "one")[0].tolist() == [1, 0]


def test_a_process_that_was_killed_makes_room(
    tmp_path: Path, open_embedded: Callable[[], ChromaStore]
) -> None:
    with _process(_OPEN, tmp_path / "memory") as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "open\n"
        with pytest.raises(HistoryError, match="in use"):
            open_embedded()
        process.kill()
        process.wait(60)

    assert open_embedded().streams() == []


def test_a_store_that_could_not_be_opened_holds_no_lock(
    tmp_path: Path, open_embedded: Callable[[], ChromaStore]
) -> None:
    (tmp_path / "memory").mkdir()
    log = tmp_path / "memory/turns.db"
    log.write_bytes(b"no database, but long enough to look at" * 100)
    with pytest.raises(HistoryError, match=r"turns\.db"):
        open_embedded()
    log.unlink()

    assert open_embedded().streams() == []


def test_a_folder_that_is_a_file_is_refused(tmp_path: Path) -> None:
    (tmp_path / "memory").write_text("a file")

    with pytest.raises(HistoryError, match="cannot open the Chroma folder"):
        ChromaStore.embedded(tmp_path / "memory")


def test_files_that_are_not_chromas_are_refused_in_one_line(tmp_path: Path) -> None:
    folder = tmp_path / "memory/chroma"
    folder.mkdir(parents=True)
    (folder / "chroma.sqlite3").write_bytes(b"no database, but long enough to look at" * 100)
    with pytest.raises(HistoryError, match="cannot open the Chroma folder") as caught:
        ChromaStore.embedded(tmp_path / "memory")

    assert len(str(caught.value).splitlines()) == 1


_FORK = """
import os, sys
import numpy as np
from remember_graph.errors import HistoryError
from remember_graph.history.store import Namespace, Record, Selection
from remember_graph.integrations.chroma import ChromaStore
from remember_graph.types import Turn

name = Namespace("t", "chat")
store = ChromaStore.embedded(sys.argv[1])
store.append(name, [Record(Turn("Ana", "Hi", id="a"), np.ones(2, np.float32), "one")])
child = os.fork()
if child == 0:
    for call in (lambda: store.count(name), lambda: store.vectors(name, "one"),
                 lambda: store.append(name, []), lambda: store.forget(name, Selection())):
        try:
            call()
        except HistoryError as error:
            print(error)
    store.close()
    sys.exit(0)
_, status = os.waitpid(child, 0)
print(status, store.vectors(name, "one")[0].tolist())
store.close()
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system has no fork")
def test_a_forked_child_is_refused_and_ends_and_the_parent_goes_on(tmp_path: Path) -> None:
    with _process(_FORK, tmp_path / "memory") as process:
        said, _ = process.communicate(timeout=60)

    *refused, parent = said.splitlines()
    assert len(refused) == 4
    assert all("was opened before os.fork()" in line for line in refused)
    assert parent == "0 [1.0, 1.0]"


@pytest.mark.parametrize(
    "call",
    [
        lambda store: store.vectors(NAMESPACE, "one"),
        lambda store: store.vector_models(NAMESPACE),
        lambda store: store.nearest(NAMESPACE, "one", [], 1),
        lambda store: store.add_vectors(NAMESPACE, "one", {}),
        lambda store: store.drop_vectors(NAMESPACE, keep_model="one"),
        lambda store: store.forget(NAMESPACE, Selection()),
        lambda store: store.forget_tenant("t"),
    ],
    ids=["vectors", "models", "nearest", "add", "drop", "forget", "forget_tenant"],
)
def test_a_closed_store_says_so(store: ChromaStore, call: Callable[[ChromaStore], object]) -> None:
    store.close()

    with pytest.raises(HistoryError, match="is closed"):
        call(store)


def test_a_server_that_is_not_there_is_told_in_one_line(
    tmp_path: Path, free_port: Callable[[], int]
) -> None:
    port = free_port()
    with pytest.raises(HistoryError, match=f"no Chroma server answers at .*:{port} ") as caught:
        ChromaStore.over_http("127.0.0.1", port, log=tmp_path / "turns.db")

    assert len(str(caught.value).splitlines()) == 1
    assert not (tmp_path / "turns.db").exists()


class _NotFound(BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        self.send_error(404)

    def log_message(self, format: str, *_: object) -> None:
        """Nothing on the terminal."""


def test_a_server_of_another_kind_is_refused(tmp_path: Path) -> None:
    with HTTPServer(("127.0.0.1", 0), _NotFound) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        try:
            with pytest.raises(HistoryError, match="no Chroma server answers"):
                ChromaStore.over_http("127.0.0.1", server.server_port, log=tmp_path / "turns.db")
        finally:
            server.shutdown()
            thread.join()


def test_a_log_that_cannot_be_opened_is_refused(tmp_path: Path, server_port: int) -> None:
    with pytest.raises(HistoryError, match="cannot open the history file"):
        ChromaStore.over_http("127.0.0.1", server_port, log=tmp_path / "no/folder/turns.db")


def test_a_server_may_go_and_come_back(
    tmp_path: Path,
    recorded: Recorded,
    served: Callable[[Path, int], AbstractContextManager[None]],
    free_port: Callable[[], int],
) -> None:
    port = free_port()
    with served(tmp_path / "served", port):
        store = ChromaStore.over_http("127.0.0.1", port, log=tmp_path / "turns.db")
        store.append(NAMESPACE, [recorded("a", "Hi", 1, 0)])
    assert store.append(NAMESPACE, [recorded("b", "Ho", 0, 1)]) == 1
    told = store.vector_failure or ""
    records = store.read(NAMESPACE, vector_model="one")
    with served(tmp_path / "served", port):
        found = store.vectors(NAMESPACE, "one")
    store.close()

    assert told.startswith(f"the Chroma server at http://127.0.0.1:{port} failed")
    assert [(record.turn.text, record.vector) for record in records] == [("Hi", None), ("Ho", None)]
    assert set(found) == {0}
    assert store.vector_failure is None


def test_stores_on_one_server_and_log_see_each_others_vectors(
    open_http: Callable[[], ChromaStore], recorded: Recorded
) -> None:
    one, other = open_http(), open_http()
    one.append(NAMESPACE, [recorded("a", "Hi", 1, 0)])
    seen = [set(other.vectors(NAMESPACE, "one"))]
    other.edit(NAMESPACE, recorded("a", "new", 0, 1))
    seen.append(set(one.vectors(NAMESPACE, "one")))
    one.close()
    other.forget_tenant("t")
    other.append(NAMESPACE, [recorded("b", "Ho", 1, 1)])

    assert seen == [{0}, {0}]
    assert other.vectors(NAMESPACE, "one")[0].tolist() == [1, 1]


def test_headers_go_with_every_request(
    tmp_path: Path, server_port: int, recorded: Recorded
) -> None:
    store = ChromaStore.over_http(
        "127.0.0.1", server_port, log=tmp_path / "turns.db", headers={"Authorization": "Bearer x"}
    )
    store.append(NAMESPACE, [recorded("a", "Hi", 1, 0)])
    sent = store._opened.connection.client._server.get_request_headers()
    store.close()

    assert sent["authorization"] == "Bearer x"
    assert store.vector_failure is None


_WITHOUT = """
import sys
sys.modules["chromadb"] = None
from remember_graph.errors import MissingExtraError
from remember_graph.integrations.chroma import open_chroma
for url in (f"chroma:///{sys.argv[1]}", "chroma+http://127.0.0.1:1/a.db"):
    try:
        open_chroma(url)
    except MissingExtraError as error:
        print(error)
"""


def test_without_chromadb_the_pip_line_is_told(tmp_path: Path) -> None:
    with _process(_WITHOUT, tmp_path / "memory") as process:
        told, _ = process.communicate(timeout=60)

    line = "chromadb is not installed; run: pip install 'remember-graph[chroma]'"
    assert told.splitlines() == [line, line]


def test_importing_the_store_does_not_load_chromadb(tmp_path: Path) -> None:
    code = "import remember_graph.integrations.chroma, sys; print('chromadb' in sys.modules)"
    with _process(code, tmp_path) as process:
        told, _ = process.communicate(timeout=60)

    assert told == "False\n"
