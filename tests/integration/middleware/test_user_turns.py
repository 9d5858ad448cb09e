"""The memory is recalled once for each message of a person, whatever happens in between."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest
from langchain.agents import create_agent
from langchain.agents.middleware import HumanInTheLoopMiddleware
from langchain_core.messages import HumanMessage
from langchain_core.tools import tool
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.checkpoint.sqlite import SqliteSaver
from langgraph.types import Command

from remember_graph import Memory
from remember_graph.integrations.middleware import RememberMiddleware

_QUESTION = "Where does the spare key of the boathouse hang?"
_THREAD: Any = {"configurable": {"thread_id": "t"}}
_APPROVED: Any = Command(resume={"decisions": [{"type": "approve"}]})


def _shown(model: Any) -> list[bool]:
    return ["behind the blue barrel" in question for question in model.questions()]


def test_a_loop_of_tools_recalls_once(
    scripted_model: Any, looking: Any, agent_of: Any, memory: Any
) -> None:
    model = scripted_model(looking("shed"), looking("pier"), "It hangs in the boathouse.")
    agent_of(model, stream="notes").invoke({"messages": _QUESTION})

    assert len(memory.windows) == 1
    assert _shown(model) == [True, True, True]


def test_an_async_loop_of_tools_recalls_once(
    scripted_model: Any, looking: Any, agent_of: Any, memory: Any
) -> None:
    model = scripted_model(looking("shed"), looking("pier"), "It hangs in the boathouse.")
    asyncio.run(agent_of(model, stream="notes").ainvoke({"messages": _QUESTION}))

    assert len(memory.windows) == 1
    assert _shown(model) == [True, True, True]


def test_the_next_message_of_the_user_recalls_anew(model: Any, agent_of: Any, memory: Any) -> None:
    agent = agent_of(model, stream="notes", checkpointer=InMemorySaver())
    for _ in range(3):
        agent.invoke({"messages": _QUESTION}, _THREAD)

    assert len(memory.windows) == 3


def test_the_same_message_with_another_text_recalls_anew(
    model: Any, agent_of: Any, memory: Any
) -> None:
    agent = agent_of(model, stream="notes", ingest=False, checkpointer=InMemorySaver())
    for text in (_QUESTION, "And the oars of the boathouse?"):
        agent.invoke({"messages": [HumanMessage(text, id="same")]}, _THREAD)

    assert len(memory.windows) == 2


def test_what_is_forgotten_in_the_middle_of_a_users_turn_is_not_shown_again(
    scripted_model: Any, looking: Any, agent_of: Any, memory: Any
) -> None:
    model = scripted_model(looking("shed"), "Gone.")
    agent = agent_of(
        model, stream="notes", checkpointer=InMemorySaver(), agent={"interrupt_before": ["tools"]}
    )
    agent.invoke({"messages": _QUESTION}, _THREAD)
    memory.forget("notes", ids=["key"])
    agent.invoke(None, _THREAD)

    assert _shown(model) == [True, False]


@tool("look")
def _look(place: str) -> str:
    """Look at a place."""
    return f"Nothing at {place}."


def _approving(model: Any, memory: Memory, saver: Any) -> Any:
    people = HumanInTheLoopMiddleware(interrupt_on={"look": True})
    middleware = [RememberMiddleware(memory, stream="notes"), people]
    return create_agent(model, [_look], middleware=middleware, checkpointer=saver)


def test_a_run_that_waited_for_a_person_shows_the_same_memory(
    scripted_model: Any, looking: Any, memory: Any
) -> None:
    model = scripted_model(looking("shed"), "It hangs in the boathouse.")
    agent = _approving(model, memory, InMemorySaver())
    waiting = agent.invoke({"messages": _QUESTION}, _THREAD)
    result = agent.invoke(_APPROVED, _THREAD)

    assert "__interrupt__" in waiting
    assert result["messages"][-1].text == "It hangs in the boathouse."
    assert len(memory.windows) == 1
    assert _shown(model) == [True, True]


def test_another_process_that_resumes_recalls_again(
    scripted_model: Any, looking: Any, memory: Any, tmp_path: Path
) -> None:
    model = scripted_model(looking("shed"), "It hangs in the boathouse.")
    with SqliteSaver.from_conn_string(str(tmp_path / "a.db")) as saver:
        _approving(model, memory, saver).invoke({"messages": _QUESTION}, _THREAD)
    with SqliteSaver.from_conn_string(str(tmp_path / "a.db")) as saver:  # as new as its middleware
        _approving(model, memory, saver).invoke(_APPROVED, _THREAD)

    assert len(memory.windows) == 2
    assert _shown(model) == [True, True]
    assert [turn.text for turn in memory.log("notes")][2:] == [
        _QUESTION,
        '[look({"place": "shed"}) → Nothing at shed.]',
        "It hangs in the boathouse.",
    ]


@pytest.mark.parametrize("where", [["tools"], ["model"]])
def test_a_run_that_is_interrupted_before_a_node_is_logged_whole(
    scripted_model: Any, looking: Any, agent_of: Any, memory: Any, where: list[str]
) -> None:
    model = scripted_model(looking("shed"), "It hangs in the boathouse.")
    agent = agent_of(
        model, stream="notes", checkpointer=InMemorySaver(), agent={"interrupt_before": where}
    )
    agent.invoke({"messages": _QUESTION}, _THREAD)
    while agent.get_state(_THREAD).next:
        agent.invoke(None, _THREAD)

    assert [turn.text for turn in memory.log("notes")][2:] == [
        _QUESTION,
        '[look({"place": "shed"}) → Nothing at shed.]',
        "It hangs in the boathouse.",
    ]
    assert len(memory.windows) == 1


def test_parallel_calls_of_tools_are_one_turn(
    scripted_model: Any, looking: Any, agent_of: Any, memory: Any
) -> None:
    model = scripted_model(looking("shed", "pier"), "Not there.")
    agent_of(model, stream="notes").invoke({"messages": _QUESTION})

    assert memory.log("notes")[3].text == (
        '[look({"place": "shed"}) → Nothing at shed.]\n[look({"place": "pier"}) → Nothing at pier.]'
    )
