"""A conversation of 2,000 turns: the log is whole, and the agent's state as without the memory."""

from __future__ import annotations

from typing import Any

import pytest
from langchain.agents import create_agent
from langchain_core.messages import AIMessage, HumanMessage, ToolMessage
from langchain_core.tools import tool
from langgraph.checkpoint.memory import InMemorySaver

from remember_graph import Memory
from remember_graph.integrations.middleware import RememberMiddleware

# Each round is 16 remarks, a question, two calls of a tool and an answer: 20 turns.
_ROUNDS, _REMARKS, _CALLS = 100, 16, 2
_THREAD: Any = {"configurable": {"thread_id": "t"}}


@tool
def box(number: int) -> str:
    """Say what is in a box."""
    return f"Box {number} holds lamp {number * 7}."


def _answers() -> list[AIMessage]:
    """With ids, so that two agents give the same."""
    answers = []
    for number in range(_ROUNDS):
        for step in range(_CALLS):
            id = f"{number}.{step}"
            call = {"name": "box", "args": {"number": number}, "id": f"c{id}"}
            answers.append(AIMessage("", id=f"a{id}", tool_calls=[{**call, "type": "tool_call"}]))
        answers.append(AIMessage(f"Lamp {number * 7} it is.", id=f"a{number}"))
    return answers


def _remarks(number: int) -> list[str]:
    return [f"Shelf {number} has room for {n} boxes." for n in range(_REMARKS)]


def _state(model: Any, middleware: list[Any]) -> dict[str, Any]:
    agent: Any = create_agent(model, [box], middleware=middleware, checkpointer=InMemorySaver())
    for number in range(_ROUNDS):
        said = [*_remarks(number), f"Which lamp is in box {number}?"]
        messages = [HumanMessage(text, id=f"h{number}.{n}") for n, text in enumerate(said)]
        agent.invoke({"messages": messages}, _THREAD, durability="exit")
    return dict(agent.get_state(_THREAD).values)


def _plain(value: Any) -> Any:
    """A state without the ids that are drawn anew for every tool message."""
    fields = [message.model_dump() for message in value]
    return [
        {**one, "id": None} if isinstance(message, ToolMessage) else one
        for message, one in zip(value, fields, strict=True)
    ]


@pytest.fixture(scope="module")
def memory() -> Memory:
    return Memory.open(embeddings="none")


@pytest.fixture(scope="module")
def states(memory: Memory, scripted_model: Any) -> tuple[dict[str, Any], dict[str, Any]]:
    """With the memory and without it."""
    remembering = _state(scripted_model(*_answers()), [RememberMiddleware(memory)])
    return remembering, _state(scripted_model(*_answers()), [])


def test_the_state_is_key_by_key_the_same(states: Any) -> None:
    remembering, plain = states

    assert list(remembering) == list(plain) == ["messages"]
    assert _plain(remembering["messages"]) == _plain(plain["messages"])


def test_the_log_holds_every_turn_once_and_in_order(states: Any, memory: Memory) -> None:
    expected = []
    for number in range(_ROUNDS):
        call = f'[box({{"number": {number}}}) → Box {number} holds lamp {number * 7}.]'
        expected += [
            *(f"user: {remark}" for remark in _remarks(number)),
            f"user: Which lamp is in box {number}?",
            *[f"assistant: {call}"] * _CALLS,
            f"assistant: Lamp {number * 7} it is.",
        ]

    assert len(expected) == 2_000
    assert [turn.line for turn in memory.log("t")] == expected
