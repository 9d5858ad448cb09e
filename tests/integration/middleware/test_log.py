"""What of a conversation is in the log, whatever is done to its messages."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from langchain.agents import create_agent
from langchain.agents.middleware import SummarizationMiddleware
from langchain_core.language_models import FakeListChatModel
from langchain_core.messages import AIMessage, HumanMessage, RemoveMessage, ToolMessage
from langgraph.checkpoint.memory import InMemorySaver

from remember_graph import Memory
from remember_graph.history.store import Namespace
from remember_graph.integrations.middleware import RememberMiddleware

_KEY = "The spare key of the boathouse hangs behind the blue barrel."
_QUESTION = "Where does the spare key of the boathouse hang?"
_THREAD: Any = {"configurable": {"thread_id": "t"}}


def _lines(memory: Memory, stream: str = "t") -> list[str]:
    """The turns that a search finds, in order."""
    return [turn.line for turn in memory.history.index(Namespace("default", stream)).turns]


def _summarizing() -> SummarizationMiddleware:
    summarizer = FakeListChatModel(responses=["They spoke of the weather."])
    return SummarizationMiddleware(summarizer, trigger=("messages", 8), keep=("messages", 4))


@pytest.mark.parametrize("last", [False, True], ids=["before", "after"])
def test_what_a_summary_replaced_is_logged_and_shown_when_it_is_asked_for(
    model: Any, memory: Any, last: bool
) -> None:
    middleware: list[Any] = [RememberMiddleware(memory), _summarizing()]
    agent: Any = create_agent(
        model, middleware=middleware[:: -1 if last else 1], checkpointer=InMemorySaver()
    )
    remarks = [f"Remark {n} on the weather by the lake." for n in range(40)]
    for text in (_KEY, *remarks, _QUESTION):
        agent.invoke({"messages": text}, _THREAD)
    messages = agent.get_state(_THREAD).values["messages"]
    spoken = [turn.text for turn in memory.log("t") if turn.speaker == "user"]

    assert len(messages) <= 8
    assert _KEY not in [message.text for message in messages]
    assert spoken == [_KEY, *remarks, _QUESTION]
    assert len(memory.log("t")) == 2 * 42
    assert f"user: {_KEY}\n" in model.questions()[-1]


def test_a_summary_is_no_turn(model: Any, agent_of: Any, memory: Any) -> None:
    agent = agent_of(model, _summarizing(), checkpointer=InMemorySaver())
    for n in range(10):
        agent.invoke({"messages": f"Remark {n}."}, _THREAD)
    messages = agent.get_state(_THREAD).values["messages"]

    assert "They spoke of the weather." in messages[0].text
    assert not any("They spoke" in turn.text for turn in memory.log("t"))


def _forked(agent: Any) -> tuple[Any, Any]:
    """The configs of the states after the first answer and at the end."""
    agent.invoke({"messages": "We meet at the mill."}, _THREAD)
    first = agent.get_state(_THREAD).config
    agent.invoke({"messages": "The password is heron."}, _THREAD)
    return first, agent.get_state(_THREAD).config


def test_a_branch_that_was_left_is_not_recalled(model: Any, agent_of: Any, memory: Any) -> None:
    agent = agent_of(model, checkpointer=InMemorySaver())
    first, _ = _forked(agent)
    agent.invoke({"messages": "The password is otter."}, first)

    assert _lines(memory) == [
        "user: We meet at the mill.",
        "assistant: Noted.",
        "user: The password is otter.",
        "assistant: Noted.",
    ]
    assert "heron" in str(memory.log("t"))


def test_a_branch_that_is_come_back_to_is_recalled_again(
    model: Any, agent_of: Any, memory: Any
) -> None:
    agent = agent_of(model, checkpointer=InMemorySaver())
    first, last = _forked(agent)
    agent.invoke({"messages": "The password is otter."}, first)
    agent.invoke({"messages": "Which password?"}, last)

    assert "user: The password is heron." in _lines(memory)
    assert "user: The password is otter." not in _lines(memory)


def test_a_state_from_the_history_with_an_update_is_a_branch_of_its_own(
    model: Any, agent_of: Any, memory: Any
) -> None:
    agent = agent_of(model, checkpointer=InMemorySaver())
    _forked(agent)
    before = next(
        state
        for state in agent.get_state_history(_THREAD)
        if len(state.values["messages"]) == 2 and not state.next
    )
    config = agent.update_state(
        before.config, {"messages": [HumanMessage("The password is newt.", id="n")]}
    )
    agent.invoke({"messages": "Which password?"}, config)

    assert [line for line in _lines(memory) if "password is" in line] == [
        "user: The password is newt."
    ]


def test_a_message_that_was_removed_is_not_recalled(model: Any, agent_of: Any, memory: Any) -> None:
    agent = agent_of(model, checkpointer=InMemorySaver())
    agent.invoke({"messages": [HumanMessage("We meet at the mill.", id="1")]}, _THREAD)
    agent.invoke({"messages": [HumanMessage("The password is heron.", id="2")]}, _THREAD)
    agent.invoke({"messages": [RemoveMessage("2"), HumanMessage("Well?", id="3")]}, _THREAD)

    assert "user: The password is heron." not in _lines(memory)
    assert "user: We meet at the mill." in _lines(memory)


def test_an_answer_that_was_given_anew_takes_the_place_of_the_first(
    scripted_model: Any, agent_of: Any, memory: Any
) -> None:
    agent = agent_of(scripted_model("Heron.", "Otter."), checkpointer=InMemorySaver())
    agent.invoke({"messages": "Give me a password."}, _THREAD)
    asked = next(
        state for state in agent.get_state_history(_THREAD) if len(state.values["messages"]) == 1
    )
    agent.invoke(None, asked.config)

    assert _lines(memory) == ["user: Give me a password.", "assistant: Otter."]


def test_threads_and_tenants_stay_apart(scripted_model: Any, agent_of: Any, memory: Any) -> None:
    model = scripted_model()
    agent = agent_of(
        model,
        tenant=lambda runtime: runtime.context["user"],
        checkpointer=InMemorySaver(),
        agent={"context_schema": dict},
    )
    said = {("ana", "1"): "heron", ("ana", "2"): "otter", ("ben", "3"): "newt"}
    for (user, thread), word in said.items():
        config: Any = {"configurable": {"thread_id": thread}}
        agent.invoke({"messages": f"The password is {word}."}, config, context={"user": user})

    for (user, thread), word in said.items():
        lines = [turn.line for turn in memory.log(thread, tenant=user)]
        assert lines == [f"user: The password is {word}.", "assistant: Noted."]


def test_a_stream_of_several_threads_recalls_across_them(
    model: Any, agent_of: Any, memory: Any
) -> None:
    agent = agent_of(model, stream="all", checkpointer=InMemorySaver())
    agent.invoke({"messages": _KEY}, {"configurable": {"thread_id": "1"}})
    agent.invoke({"messages": _QUESTION}, {"configurable": {"thread_id": "2"}})

    assert f"user: {_KEY}\n" in model.questions()[1]
    assert [turn.thread for turn in memory.log("all")] == ["1", "1", "2", "2"]


def test_nothing_is_logged_where_somebody_else_fills_the_log(
    model: Any, agent_of: Any, memory: Any
) -> None:
    agent_of(model, stream="notes", ingest=False).invoke({"messages": _QUESTION})

    assert [turn.id for turn in memory.log("notes")] == ["key", "good"]
    assert "behind the blue barrel" in model.questions()[0]


def test_messages_are_in_the_log_before_the_model_is_asked(
    scripted_model: Any, agent_of: Any, memory: Any
) -> None:
    agent = agent_of(scripted_model(OSError("429 Too Many Requests")))
    with pytest.raises(OSError, match="429"):
        agent.invoke({"messages": _QUESTION})

    assert [turn.text for turn in memory.log("default")] == [_QUESTION]


def test_async_runs_at_the_same_time_log_each_their_own(
    model: Any, agent_of: Any, memory: Any
) -> None:
    agent = agent_of(model, checkpointer=InMemorySaver())

    async def talk(thread: str) -> None:
        for n in range(5):
            config: Any = {"configurable": {"thread_id": thread}}
            await agent.ainvoke({"messages": f"Remark {n} of {thread}."}, config)

    async def all_talk() -> None:
        await asyncio.gather(*(talk(f"t{n}") for n in range(8)))

    asyncio.run(all_talk())
    for thread in (f"t{n}" for n in range(8)):
        said = [turn.text for turn in memory.log(thread) if turn.speaker == "user"]
        assert said == [f"Remark {n} of {thread}." for n in range(5)]


def test_a_list_of_parts_an_image_and_nothing_are_logged_as_what_they_say(
    model: Any, agent_of: Any, memory: Any
) -> None:
    parts: list[Any] = [
        {"type": "text", "text": "Look:"},
        {"type": "image_url", "image_url": {"url": "data:image/png;base64,AAAA"}},
    ]
    empty = HumanMessage("")
    empty.content = None  # type: ignore[assignment]
    agent_of(model).invoke({"messages": [HumanMessage(parts), AIMessage("A barrel."), empty]})

    assert [turn.text for turn in memory.log("default")] == [
        "Look: [image]",
        "A barrel.",
        "Noted.",
    ]


def test_an_empty_answer_is_no_turn(scripted_model: Any, agent_of: Any, memory: Any) -> None:
    agent_of(scripted_model(AIMessage(""))).invoke({"messages": "Hi."})

    assert [turn.text for turn in memory.log("default")] == ["Hi."]


def test_a_call_of_a_tool_without_a_result_is_logged_when_somebody_goes_on(
    model: Any, agent_of: Any, memory: Any, looking: Any
) -> None:
    calling = looking("shed", "pier")
    half = ToolMessage("Nothing.", tool_call_id="call shed")
    agent_of(model).invoke({"messages": [HumanMessage("Hi."), calling, half, HumanMessage("So?")]})

    assert memory.log("default")[1].text == (
        '[look({"place": "shed"}) → Nothing.]\n[look({"place": "pier"}) → no result]'
    )
