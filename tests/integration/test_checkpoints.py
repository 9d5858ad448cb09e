"""The state of every step comes back from a checkpointer as it went in, in the strict mode too.

LangGraph reads `LANGGRAPH_STRICT_MSGPACK` when it is imported, so the runs have their own process.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

_SCRIPT = """
import json, logging, sys
from langchain_core.language_models import FakeListChatModel
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.checkpoint.sqlite import SqliteSaver
from remember_graph import Settings, Turn, build_graph
from remember_graph.state import GraphState

FOLDER = sys.argv[1]
lines = []

class Keep(logging.Handler):
    def emit(self, record):
        lines.append(record.getMessage())

logging.getLogger().addHandler(Keep())

GAPS = json.dumps({"gaps": [{"turn": 1, "kind": "referential", "missing": "who she is",
    "query": "Who owns the boat?", "anchors": ["boat"], "salience": 0.9}]})
SUMMARY = json.dumps({"sentences": [{"text": "The boat comes.", "cites": ["w1", "m1"]}]})
TURNS = [Turn("Ana", f"The plan number {n} is about the boat \\U0001f6a4 of Cleo.",
    time="2024-05-01T10:00:00", id=f"t{n}").to_dict() for n in range(30)]


class Hash:
    id, dimension = "hash/8", 8

    def encode_documents(self, texts):
        import numpy as np, zlib
        return np.stack([np.random.default_rng(zlib.crc32(t.encode())).standard_normal(8)
            for t in texts]).astype(np.float32)

    encode_queries = encode_documents


def steps(saver, reopened, preset, by_model):
    model = FakeListChatModel(responses=[GAPS, SUMMARY]) if by_model else None
    graph = build_graph(model=model, embeddings=Hash(), checkpointer=saver,
        settings=Settings(preset=preset, budget=200, window=60))
    config = {"configurable": {"thread_id": f"{preset} {by_model}"}}
    sent = list(graph.stream({"turns": TURNS}, config, stream_mode="values",
        output_keys=list(GraphState.__annotations__)))
    other = build_graph(embeddings=Hash(), checkpointer=reopened())
    kept = [state.values for state in reversed(list(other.get_state_history(config)))]
    return {"sent": sent, "kept": kept[-len(sent):], "all_kept": len(kept)}


memory = InMemorySaver()
result = {}
with SqliteSaver.from_conn_string(FOLDER + "/states.db") as sqlite:
    for preset in ("remember", "paper"):
        for by_model in (False, True):
            name = f"{preset} {'model' if by_model else 'local'}"
            result["memory " + name] = steps(memory, lambda: memory, preset, by_model)
            with SqliteSaver.from_conn_string(FOLDER + "/states.db") as again:
                result["sqlite " + name] = steps(sqlite, lambda: again, preset, by_model)
print(json.dumps({"runs": result, "log": lines}))
"""
_RUNS = [
    f"{saver} {preset} {detector}"
    for saver in ("memory", "sqlite")
    for preset in ("remember", "paper")
    for detector in ("local", "model")
]


@pytest.fixture(scope="module")
def strict_runs(tmp_path_factory: pytest.TempPathFactory) -> Any:
    """What was sent to the savers, what came back, and what was logged, in the strict mode."""
    run = subprocess.run(
        [sys.executable, "-W", "error", "-c", _SCRIPT, str(tmp_path_factory.mktemp("states"))],
        env={**os.environ, "LANGGRAPH_STRICT_MSGPACK": "true"},
        cwd=Path(__file__).parent,
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert run.returncode == 0, run.stderr
    return json.loads(run.stdout)


@pytest.mark.parametrize("name", _RUNS)
def test_every_state_comes_back_as_it_was(name: str, strict_runs: Any) -> None:
    run = strict_runs["runs"][name]

    assert run["kept"] == run["sent"]


@pytest.mark.parametrize("name", _RUNS)
def test_the_state_of_every_step_is_kept(name: str, strict_runs: Any) -> None:
    # The one that was asked, and one after each of the five stages; before them the bare input.
    assert len(strict_runs["runs"][name]["sent"]) == 6
    assert strict_runs["runs"][name]["all_kept"] == 7


def test_the_states_hold_what_is_easily_lost(strict_runs: Any) -> None:
    last = strict_runs["runs"]["sqlite remember model"]["kept"][-1]

    assert last["candidates"]
    assert last["rankings"][0]["scores"]
    assert last["memory"]
    assert last["summary"]["writer"] == "model"


def test_no_type_is_deserialised_that_is_not_registered(strict_runs: Any) -> None:
    assert [line for line in strict_runs["log"] if "unregistered" in line.lower()] == []
