"""Agents with the memory over every saver of LangGraph, in its strict mode too.

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
import asyncio, json, logging, sys
from langchain.agents import create_agent
from langchain_core.language_models import FakeListChatModel
from langchain_core.messages import HumanMessage
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.checkpoint.sqlite import SqliteSaver
from langgraph.checkpoint.sqlite.aio import AsyncSqliteSaver
from remember_graph import Memory
from remember_graph.integrations.middleware import RememberMiddleware

FOLDER, lines = sys.argv[1], []

class Keep(logging.Handler):
    def emit(self, record):
        lines.append(record.getMessage())

logging.getLogger().addHandler(Keep())
THREAD = {"configurable": {"thread_id": "t"}}
SAID = [HumanMessage("The key is under the mat.", id="1"), HumanMessage("Where is it?", id="2")]


def agent(saver, memory):
    model = FakeListChatModel(responses=["Noted."])
    middleware = [RememberMiddleware(memory, on_error="raise")] if memory else []
    return create_agent(model, middleware=middleware, checkpointer=saver)


def plain(state):
    return {key: [[one.type, one.content] for one in value] for key, value in state.items()}


def run(saver, memory):
    for message in SAID:
        agent(saver, memory).invoke({"messages": [message]}, THREAD)
    return plain(agent(saver, None).get_state(THREAD).values)


async def arun(memory, name):
    async with AsyncSqliteSaver.from_conn_string(f"{FOLDER}/{name}.db") as saver:
        for message in SAID:
            await agent(saver, memory).ainvoke({"messages": [message]}, THREAD)
        return plain((await agent(saver, None).aget_state(THREAD)).values)


def both(run):
    memory = Memory.open(embeddings="none")
    kept = {"with": run(memory, "with"), "without": run(None, "without")}
    return {**kept, "log": [turn.line for turn in memory.log("t")]}


def sqlite(memory, name):
    with SqliteSaver.from_conn_string(f"{FOLDER}/s{name}.db") as saver:
        return run(saver, memory)


result = {
    "memory": both(lambda memory, name: run(InMemorySaver(), memory)),
    "sqlite": both(sqlite),
    "async sqlite": both(lambda memory, name: asyncio.run(arun(memory, name))),
}
print(json.dumps({"runs": result, "log": lines}))
"""


@pytest.fixture(scope="module", params=["true", "false"], ids=["strict", "lenient"])
def runs(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Any:
    """What the savers hold with and without the memory, what it logged, and warnings."""
    run = subprocess.run(
        [sys.executable, "-W", "error", "-c", _SCRIPT, str(tmp_path_factory.mktemp("savers"))],
        env={**os.environ, "LANGGRAPH_STRICT_MSGPACK": request.param},
        cwd=Path(__file__).parent,
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert run.returncode == 0, run.stderr
    return json.loads(run.stdout)


@pytest.mark.parametrize("saver", ["memory", "sqlite", "async sqlite"])
def test_a_saver_holds_what_it_holds_without_the_memory(saver: str, runs: Any) -> None:
    kept = runs["runs"][saver]

    assert kept["with"] == kept["without"]
    assert [type for type, _ in kept["with"]["messages"]] == ["human", "ai", "human", "ai"]


@pytest.mark.parametrize("saver", ["memory", "sqlite", "async sqlite"])
def test_the_log_holds_the_conversation(saver: str, runs: Any) -> None:
    assert runs["runs"][saver]["log"] == [
        "user: The key is under the mat.",
        "assistant: Noted.",
        "user: Where is it?",
        "assistant: Noted.",
    ]


def test_nothing_is_warned_of(runs: Any) -> None:
    assert runs["log"] == []
