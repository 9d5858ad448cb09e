"""Clients of a vLLM server: the check that it is there, and what goes over the wire."""

from __future__ import annotations

import json
import socket
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest

from remember_graph import Memory, Turn
from remember_graph.chat_models import Message, load_chat_model
from remember_graph.errors import ConfigError, ModelError
from remember_graph.integrations.instructed_embeddings import InstructedEmbeddings
from remember_graph.integrations.vllm import vllm_chat, vllm_embeddings

httpx = pytest.importorskip("httpx")
pytest.importorskip("langchain_openai", reason="the clients are those of extra `openai`")


class _Server(ThreadingHTTPServer):
    """Answers as vLLM does and keeps what it was asked."""

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.asked: list[tuple[str, Any]] = []
        self.health = 200
        self.models: Any = {"data": [{"id": "remember-chat"}]}
        self.answer, self.finish = "Hello.", "stop"

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_address[1]}"

    def bodies(self, path: str) -> list[Any]:
        return [body for asked, body in self.asked if asked == path]


class _Handler(BaseHTTPRequestHandler):
    server: _Server

    def do_GET(self) -> None:
        self.server.asked.append((self.path, self.headers.get("Authorization")))
        status = self.server.health if self.path == "/health" else 200
        self._send(status, self.server.models if self.path == "/v1/models" else {})

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        self.server.asked.append((self.path, body))
        self._send(200, self._chat() if "messages" in body else _vectors(body["input"]))

    def _chat(self) -> dict[str, Any]:
        message = {"role": "assistant", "content": self.server.answer}
        choice = {"index": 0, "message": message, "finish_reason": self.server.finish}
        usage = {"prompt_tokens": 5, "completion_tokens": 2, "total_tokens": 7}
        return {"id": "1", "object": "chat.completion", "choices": [choice], "usage": usage}

    def _send(self, status: int, document: Any) -> None:
        content = json.dumps(document).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)

    def log_message(self, *_: Any) -> None:
        """Not to stderr."""


def _vectors(texts: list[str]) -> dict[str, Any]:
    rows = [{"index": at, "embedding": [1.0, float(len(text))]} for at, text in enumerate(texts)]
    return {"object": "list", "data": rows, "model": "m", "usage": {"prompt_tokens": 1}}


@pytest.fixture
def server() -> Iterator[_Server]:
    with _Server() as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        yield server
        server.shutdown()
        thread.join()


@pytest.fixture
def client() -> Iterator[Any]:
    with httpx.Client() as client:
        yield client


def test_health_and_models_are_asked_and_the_served_model_is_taken(server: _Server) -> None:
    chat = vllm_chat(server.url)

    assert [path for path, _ in server.asked] == ["/health", "/v1/models"]
    assert chat.model_name == "remember-chat"


def test_the_address_may_end_in_v1(server: _Server) -> None:
    assert vllm_chat(f"{server.url}/v1/").openai_api_base == f"{server.url}/v1"


def test_the_key_goes_with_the_check(server: _Server) -> None:
    vllm_chat(server.url, api_key="secret")

    assert server.asked[0] == ("/health", "Bearer secret")


def test_no_server_is_told_with_what_was_tried_and_how_to_start_one() -> None:
    with socket.socket() as free:  # bound and not listening: nobody else can take the port
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
        with pytest.raises(ModelError) as raised:
            vllm_chat(f"http://127.0.0.1:{port}", "Qwen/Qwen3.5-4B")

    line = str(raised.value)
    assert line.startswith(f"no vLLM server is ready: GET http://127.0.0.1:{port}/health gave ")
    assert line.endswith(f"; start one: vllm serve Qwen/Qwen3.5-4B --port {port}")
    assert "\n" not in line


def test_a_server_that_still_loads_its_model_is_told(server: _Server) -> None:
    server.health = 503

    with pytest.raises(ModelError, match="/health gave 503 Service Unavailable; start one"):
        vllm_chat(server.url)


def test_the_command_for_embeddings_has_the_runner() -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        with pytest.raises(ModelError, match=r"vllm serve MODEL --port \d+ --runner pooling$"):
            vllm_embeddings(f"http://127.0.0.1:{free.getsockname()[1]}")


def test_a_model_that_is_not_served_is_told_with_those_that_are(server: _Server) -> None:
    with pytest.raises(ModelError, match=r"'other' is not served at .* names remember-chat"):
        vllm_chat(server.url, "other")


@pytest.mark.parametrize("models", [{}, {"data": []}, {"data": [{}]}, [1], "x"])
def test_a_list_of_models_that_is_none_is_told(server: _Server, models: Any) -> None:
    server.models = models

    with pytest.raises(ModelError, match="names none"):
        vllm_chat(server.url)


@pytest.mark.parametrize("address", ["", "127.0.0.1:8000", "ftp://a", "http://", "http://a:b"])
def test_an_address_that_is_none_is_refused(address: str) -> None:
    with pytest.raises(ConfigError, match=r"`base_url` must be http\(s\)://HOST:PORT"):
        vllm_chat(address)


def test_without_the_check_the_model_must_be_named() -> None:
    with pytest.raises(ConfigError, match="`model` must be given with `check=False`"):
        vllm_chat(check=False)


def test_thinking_is_off_and_the_answer_has_an_allowance(server: _Server, client: Any) -> None:
    vllm_chat(server.url, http_client=client).invoke("Hi")

    (body,) = server.bodies("/v1/chat/completions")
    assert body["chat_template_kwargs"] == {"enable_thinking": False}
    assert body.get("max_tokens", body.get("max_completion_tokens")) == 1024
    assert body["temperature"] == 0


def test_options_go_before_the_ones_set_here(server: _Server, client: Any) -> None:
    chat = vllm_chat(
        server.url,
        max_tokens=7,
        extra_body={"chat_template_kwargs": {"enable_thinking": True}, "seed": 3},
        http_client=client,
    )
    chat.invoke("Hi")

    (body,) = server.bodies("/v1/chat/completions")
    assert body.get("max_tokens", body.get("max_completion_tokens")) == 7
    assert body["chat_template_kwargs"] == {"enable_thinking": True}
    assert body["seed"] == 3


def test_a_schema_goes_as_a_response_format_and_thinking_stays_off(
    server: _Server, client: Any
) -> None:
    model = load_chat_model(vllm_chat(server.url, http_client=client))
    assert model is not None
    model.call((Message("user", "Hi"),), max_tokens=20, schema={"type": "object"})

    (body,) = server.bodies("/v1/chat/completions")
    assert body["response_format"] == {
        "type": "json_schema",
        "json_schema": {"name": "answer", "schema": {"type": "object"}},
    }
    assert body["chat_template_kwargs"] == {"enable_thinking": False}


def test_an_answer_that_ends_at_its_allowance_is_read_as_cut(server: _Server, client: Any) -> None:
    server.answer, server.finish = '{"gaps": [', "length"
    model = load_chat_model(vllm_chat(server.url, http_client=client))
    assert model is not None

    reply = model.call((Message("user", "Hi"),), max_tokens=5, schema={"type": "object"})
    assert (reply.text, reply.cut) == ('{"gaps": [', True)


def test_texts_are_embedded_as_they_are(server: _Server, client: Any) -> None:
    embeddings = vllm_embeddings(server.url, http_client=client)

    assert embeddings.embed_documents(["one", "three"]) == [[1.0, 3.0], [1.0, 5.0]]
    (body,) = server.bodies("/v1/embeddings")
    assert body["input"] == ["one", "three"]


def test_a_memory_sends_plain_documents_and_instructed_queries(
    server: _Server, client: Any
) -> None:
    base = vllm_embeddings(server.url, http_client=client)
    with Memory.open(embeddings=InstructedEmbeddings(base, task="Find it")) as memory:
        memory.add("trip", [Turn("Ana", "The blue boat.", id="1")])
        memory.nearest("trip", "Which boat?", k=1)

    sent = [body["input"] for body in server.bodies("/v1/embeddings")]
    assert sent == [["Ana: The blue boat."], ["Instruct: Find it\nQuery:Which boat?"]]
