"""`langgraph dev` starts offline on the project's `langgraph.json` and answers runs."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
import threading
import urllib.error
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("langgraph_api", reason="needs langgraph-cli[inmem]")

_ROOT = Path(__file__).parents[2]
_TRIES, _PAUSE_S = 300, 0.2


def _free_port() -> int:
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return int(one.getsockname()[1])


def _ask(url: str, body: Any = None) -> Any:
    data = None if body is None else json.dumps(body).encode()
    request = urllib.request.Request(url, data, {"content-type": "application/json"})
    with urllib.request.urlopen(request, timeout=60) as answer:
        return json.load(answer)


def _wait_until_up(url: str, process: subprocess.Popen[bytes]) -> None:
    pause = threading.Event()
    for _ in range(_TRIES):
        try:
            _ask(f"{url}/ok")
            return
        except (urllib.error.URLError, OSError):
            assert process.poll() is None, "langgraph dev ended"
            pause.wait(_PAUSE_S)
    pytest.fail("langgraph dev did not come up")


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    folder = tmp_path_factory.mktemp("server")
    # A copy: the server keeps files of its own beside the configuration.
    text = (_ROOT / "langgraph.json").read_text("utf-8")
    configuration = json.loads(text)
    configuration["dependencies"] = [str(_ROOT)]
    configuration["graphs"] = {
        name: target.replace("./", f"{_ROOT}/") for name, target in configuration["graphs"].items()
    }
    (folder / "langgraph.json").write_text(json.dumps(configuration), "utf-8")
    port = _free_port()
    command = [
        *(sys.executable, "-m", "langgraph_cli", "dev", "--no-browser", "--no-reload"),
        *("--host", "127.0.0.1", "--port", str(port)),
    ]
    environment = {**os.environ, "REMEMBER_GRAPH_DB": str(folder / "history.db")}
    with (folder / "log").open("wb") as log:
        process = subprocess.Popen(
            command, cwd=folder, env=environment, stdout=log, stderr=log, start_new_session=True
        )
        try:
            url = f"http://127.0.0.1:{port}"
            _wait_until_up(url, process)
            yield url
        finally:
            os.killpg(process.pid, signal.SIGTERM)
            process.wait(60)


def test_the_graph_answers_a_run(server: str) -> None:
    turns = [
        {"speaker": "Ana", "text": "The kiln is booked for Friday.", "id": "1"},
        {"speaker": "Ben", "text": "Then we glaze it on Thursday.", "id": "2"},
    ]
    result = _ask(
        f"{server}/runs/wait",
        {
            "assistant_id": "remember",
            "input": {"turns": turns, "stream": "pottery"},
            "context": {"tenant": "acme", "budget": 50},
        },
    )

    assert result["window"] == ["1", "2"]
    assert (result["tenant"], result["usage"]["budget"]) == ("acme", 50)


def test_the_graph_is_listed(server: str) -> None:
    found = _ask(f"{server}/assistants/search", {})

    assert [one["graph_id"] for one in found] == ["remember"]
