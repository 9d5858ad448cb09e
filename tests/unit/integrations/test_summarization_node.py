"""A node before the model: the latest messages, and the earlier turns that they lean on."""

from __future__ import annotations

import asyncio
import warnings
from collections.abc import Iterator
from typing import Any

import pytest
from langchain_core.language_models import FakeListChatModel
from langchain_core.messages import AIMessage, AnyMessage, HumanMessage, SystemMessage, ToolMessage
from langchain_core.messages.utils import count_tokens_approximately
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import MessagesState, StateGraph
from pydantic import BaseModel

from remember_graph import Memory
from remember_graph.errors import ConfigError
from remember_graph.integrations.summarization_node import RememberNode, latest


@pytest.fixture
def memory() -> Iterator[Memory]:
    with Memory.open(embeddings="none") as memory:
        yield memory


def _conversation(size: int = 60) -> list[Any]:
    """The code of the hut, small talk, and the question for it."""
    messages: list[Any] = [
        HumanMessage("The key box of the mountain hut opens with 4711.", id="fact"),
        AIMessage("Noted.", id="noted"),
    ]
    for turn in range(size):
        messages.append(HumanMessage(f"Round {turn} of the parcels is sorted.", id=f"h{turn}"))
        messages.append(AIMessage("Good.", id=f"a{turn}"))
    return [*messages, HumanMessage("How do we open the key box of the hut?", id="ask")]


def _seen(update: dict[str, Any]) -> list[AnyMessage]:
    messages: list[AnyMessage] = update["llm_input_messages"]
    return messages


def _one_each(messages: Any) -> int:
    return len(list(messages))


def test_what_was_cut_away_comes_back_as_quoted_data_before_the_question(memory: Memory) -> None:
    seen = _seen(RememberNode(memory=memory, max_tokens=600).invoke({"messages": _conversation()}))

    assert seen[-1].id == "ask"
    assert "user: The key box of the mountain hut opens with 4711." in seen[-1].text
    assert seen[-1].text.endswith("</earlier_turns>\n\nHow do we open the key box of the hut?")


def test_what_the_model_sees_fits(memory: Memory) -> None:
    for most in (400, 600, 1200):
        node = RememberNode(memory=memory, max_tokens=most)
        seen = _seen(node.invoke({"messages": _conversation()}))
        assert count_tokens_approximately(seen) <= most


def test_a_short_conversation_is_passed_on_as_it_is_and_logged(memory: Memory) -> None:
    said = _conversation(2)

    assert _seen(RememberNode(memory=memory, max_tokens=600).invoke({"messages": said})) == said
    assert len(memory.log("default")) == len(said)


def test_nothing_is_cut_before_the_threshold(memory: Memory) -> None:
    node = RememberNode(memory=memory, max_tokens=600, max_tokens_before_summary=100_000)

    assert _seen(node.invoke({"messages": _conversation()})) == _conversation()


def test_the_states_messages_stay_as_they_are(memory: Memory) -> None:
    said = _conversation()
    RememberNode(memory=memory, max_tokens=600).invoke({"messages": said})

    assert said == _conversation()


def test_the_system_message_is_kept(memory: Memory) -> None:
    said = [SystemMessage("Be kind.", id="s"), *_conversation()]

    assert (
        _seen(RememberNode(memory=memory, max_tokens=600).invoke({"messages": said}))[0] == said[0]
    )


def _call(id: str) -> AIMessage:
    return AIMessage("", id=id, tool_calls=[{"id": f"call-{id}", "name": "look", "args": {}}])


def _result(id: str) -> ToolMessage:
    return ToolMessage("Found.", tool_call_id=f"call-{id}", id=f"result-{id}")


def test_a_call_of_tools_is_never_parted_from_its_results() -> None:
    said: list[Any] = [HumanMessage("a", id="a"), _call("1"), _result("1"), AIMessage("b", id="b")]
    said += [HumanMessage("c", id="c"), _call("2"), _result("2")]
    for most in range(1, 9):
        kept = {message.id for message in latest(said, most, _one_each)}
        assert ("1" in kept) is ("result-1" in kept)
        assert {"c", "2", "result-2"} <= kept


def test_it_begins_with_a_human_message_where_one_fits() -> None:
    said: list[AnyMessage] = [HumanMessage("a"), AIMessage("b"), HumanMessage("c"), AIMessage("d")]

    assert [message.text for message in latest(said, 3, _one_each)] == ["c", "d"]


def test_the_question_stays_in_sight_of_a_long_run_of_tools() -> None:
    said: list[AnyMessage] = [HumanMessage("q", id="q")]
    for step in "12345":
        said += [_call(step), _result(step)]

    kept = [message.id for message in latest(said, 5, _one_each)]
    assert kept == ["q", "4", "result-4", "5", "result-5"]


def test_async_gives_the_same_as_sync(memory: Memory) -> None:
    node = RememberNode(memory=memory, max_tokens=600)
    seen = node.invoke({"messages": _conversation()})

    assert asyncio.run(node.ainvoke({"messages": _conversation()})) == seen


def test_a_state_may_be_a_model_of_pydantic(memory: Memory) -> None:
    class State(BaseModel):
        said: list[Any]

    node = RememberNode(memory=memory, max_tokens=600, input_messages_key="said")

    assert _seen(node.invoke(State(said=_conversation(1)))) == _conversation(1)


def test_it_is_a_node_of_a_graph_and_the_thread_is_the_stream(memory: Memory) -> None:
    class State(MessagesState):
        summarized_messages: list[AnyMessage]
        context: dict[str, Any]

    graph = StateGraph(State)
    graph.add_node(
        "remember",
        RememberNode(memory=memory, max_tokens=600, output_messages_key="summarized_messages"),
    )
    graph.set_entry_point("remember")
    config: Any = {"configurable": {"thread_id": "trip"}}
    asked: Any = {"messages": _conversation()}
    result = graph.compile(checkpointer=InMemorySaver()).invoke(asked, config)

    assert "4711" in result["summarized_messages"][-1].text
    assert result["messages"] == _conversation()
    assert len(memory.log("trip")) == len(_conversation())


@pytest.mark.parametrize("is_async", [False, True])
def test_it_is_the_hook_of_a_prebuilt_agent(memory: Memory, is_async: bool) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # it is deprecated, and many agents are made by it
        from langgraph.prebuilt import create_react_agent

        agent = create_react_agent(
            FakeListChatModel(responses=["With 4711."]),
            [],
            pre_model_hook=RememberNode(memory=memory, max_tokens=600),
            checkpointer=InMemorySaver(),
        )
    config: Any = {"configurable": {"thread_id": "trip"}}
    asked = {"messages": _conversation()}
    result = asyncio.run(agent.ainvoke(asked, config)) if is_async else agent.invoke(asked, config)

    assert [message.text for message in result["messages"][-2:]] == [
        "How do we open the key box of the hut?",
        "With 4711.",
    ]
    assert memory.log("trip")[0].id == "fact"


def test_a_memory_that_fails_is_told_in_the_log_and_the_model_is_asked_all_the_same(
    memory: Memory, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def fail(*_: Any, **__: Any) -> None:
        raise OSError("gone")

    monkeypatch.setattr(memory, "gather", fail)
    seen = _seen(RememberNode(memory=memory, max_tokens=600).invoke({"messages": _conversation()}))

    assert seen[-1].text == "How do we open the key box of the hut?"
    assert "RememberNode: recall: OSError: gone" in caplog.text


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"max_tokens": 200}, "`max_summary_tokens` must be >= 1 and less than `max_tokens`"),
        ({"output_messages_key": "messages"}, "`output_messages_key` must differ"),
        ({"model": FakeListChatModel(responses=[])}, "`model` must be None beside `memory`"),
    ],
)
def test_arguments_that_do_not_fit_are_refused(
    memory: Memory, options: dict[str, Any], said: str
) -> None:
    with pytest.raises(ConfigError, match=said):
        RememberNode(**{"memory": memory, "max_tokens": 600, **options})


def test_a_state_without_messages_is_refused(memory: Memory) -> None:
    with pytest.raises(ConfigError, match="`input_messages_key` 'messages' must name a list"):
        RememberNode(memory=memory, max_tokens=600).invoke({})
