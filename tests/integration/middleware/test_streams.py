"""What a user's streams of a run hold: the agent's tokens, and what the memory did."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from typing import Any

import pytest
from langchain.agents.middleware.internal_call_transformer import InternalCallTransformer

from remember_graph import Memory, Turn
from remember_graph.integrations.middleware import RememberMiddleware

_QUESTION = "Where does the spare key of the boathouse hang?"
_GAPS = json.dumps(
    {
        "gaps": [
            {
                "turn": 1,
                "kind": "referential",
                "missing": "where the key hangs",
                "query": "Where does the key of the boathouse hang?",
                "anchors": ["key", "boathouse"],
                "salience": 0.9,
            }
        ]
    }
)
_ANSWER = ["It ", "hangs ", "behind ", "the ", "barrel. "]


@pytest.fixture
def detector(streaming_model: Callable[..., Any]) -> Any:
    return streaming_model(_GAPS)


@pytest.fixture
def agent(streaming_model: Callable[..., Any], agent_of: Any, detector: Any) -> Any:
    memory = Memory.open(model=detector, embeddings="none")
    memory.add("notes", [Turn("user", "The key of the boathouse hangs there.", id="key")])
    return agent_of(streaming_model("It hangs behind the barrel."), memory=memory, stream="notes")


def _tokens(chunks: list[Any]) -> list[str]:
    return [chunk.content for chunk, _ in chunks if chunk.content]


def test_only_the_agents_own_tokens_are_streamed(agent: Any, detector: Any) -> None:
    chunks = list(agent.stream({"messages": _QUESTION}, stream_mode="messages"))

    assert len(detector.requests) == 1
    assert _tokens(chunks) == _ANSWER


def test_only_the_agents_own_tokens_are_streamed_async(agent: Any, detector: Any) -> None:
    async def run() -> list[Any]:
        stream = agent.astream({"messages": _QUESTION}, stream_mode="messages")
        return [chunk async for chunk in stream]

    assert _tokens(asyncio.run(run())) == _ANSWER
    assert len(detector.requests) == 1


def test_the_stream_of_subgraphs_has_no_other_tokens_either(agent: Any) -> None:
    chunks = list(agent.stream({"messages": _QUESTION}, stream_mode="messages", subgraphs=True))

    assert _tokens([chunk for _, chunk in chunks]) == _ANSWER


def test_calls_inside_the_memory_are_kept_out_of_the_newer_streams_too() -> None:
    assert InternalCallTransformer in RememberMiddleware.transformers


def test_what_the_memory_did_is_told_once(agent: Any) -> None:
    (event,) = agent.stream({"messages": _QUESTION}, stream_mode="custom")
    report = event["remember_graph"]

    assert report["middleware"] == "RememberMiddleware[stream-notes]"
    assert report["thread"] == "default"
    assert report["memory"] == ["key"]
    assert report["gaps"][0]["missing"] == "where the key hangs"
    assert json.loads(json.dumps(report)) == report


def test_what_the_memory_did_is_told_once_async(agent: Any) -> None:
    async def run() -> list[Any]:
        return [
            event async for event in agent.astream({"messages": _QUESTION}, stream_mode="custom")
        ]

    (event,) = asyncio.run(run())

    assert event["remember_graph"]["memory"] == ["key"]


def test_a_loop_of_tools_does_not_tell_it_again(
    scripted_model: Callable[..., Any], agent_of: Any, looking: Any
) -> None:
    agent = agent_of(scripted_model(looking("shed"), looking("pier")), stream="notes")

    assert len(list(agent.stream({"messages": _QUESTION}, stream_mode="custom"))) == 1


def test_a_detector_that_fails_is_reported(
    streaming_model: Callable[..., Any], agent_of: Any
) -> None:
    memory = Memory.open(model=streaming_model(OSError("busy")), embeddings="none")
    memory.add("notes", [Turn("user", "The key of the boathouse hangs there.", id="key")])
    agent = agent_of(streaming_model("Yes."), memory=memory, stream="notes")
    chunks = list(agent.stream({"messages": _QUESTION}, stream_mode=["messages", "custom"]))
    (report,) = [chunk["remember_graph"] for mode, chunk in chunks if mode == "custom"]

    assert any("busy" in line for line in report["degraded"])
    assert report["memory"] == ["key"]
    assert _tokens([chunk for mode, chunk in chunks if mode == "messages"]) == ["Yes. "]


def test_a_model_that_stops_in_the_middle_ends_the_run_as_it_does_without_us(
    streaming_model: Callable[..., Any], agent_of: Any, memory: Any
) -> None:
    agent = agent_of(streaming_model(TimeoutError("read timed out")), stream="notes")
    stream = agent.stream({"messages": _QUESTION}, stream_mode="messages")

    assert next(stream)[0].content == "Well,"
    with pytest.raises(TimeoutError, match="read timed out"):
        next(stream)
    assert memory.log("notes")[-1].text == _QUESTION
