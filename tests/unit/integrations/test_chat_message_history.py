"""A stream as a LangChain chat message history."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from langchain_core.language_models.fake_chat_models import FakeListChatModel
from langchain_core.messages import (
    AIMessage,
    AIMessageChunk,
    BaseMessage,
    ChatMessage,
    HumanMessage,
    SystemMessage,
    ToolMessage,
)
from langchain_core.prompts import ChatPromptTemplate, MessagesPlaceholder
from langchain_core.runnables.history import RunnableWithMessageHistory

from remember_graph.errors import ConfigError
from remember_graph.integrations.chat_message_history import RememberChatMessageHistory
from remember_graph.memory import Memory
from remember_graph.types import Turn


@pytest.fixture
def memory() -> Memory:
    return Memory.open(embeddings="none")


@pytest.fixture
def history(memory: Memory) -> RememberChatMessageHistory:
    return RememberChatMessageHistory(memory, "s")


_CALL = {"name": "look", "args": {"in": "the shed", "n": 2}, "id": "c.1", "type": "tool_call"}
_MESSAGES: dict[str, BaseMessage] = {
    "human": HumanMessage("  Hi\n there ", id="1"),
    "named human": HumanMessage("Hi", id="1", name="ana"),
    "ai": AIMessage("Hello!", id="2"),
    "system": SystemMessage("Be kind.", id="3"),
    "calls": AIMessage("Let me look.", id="4", tool_calls=[_CALL, {**_CALL, "id": "c2"}]),
    "calls alone": AIMessage("", id="5", tool_calls=[_CALL]),
    "tool": ToolMessage("A pot.", id="6", tool_call_id="c.1"),
    "named tool": ToolMessage("A pot.", id="6", tool_call_id="c.1", name="look"),
    "like a call": AIMessage('→ look {"a": 1} (c1)', id="7"),
    "empty": AIMessage("", id="8"),
}


@pytest.mark.parametrize("message", _MESSAGES.values(), ids=list(_MESSAGES))
def test_a_message_comes_back_as_it_was(
    history: RememberChatMessageHistory, message: BaseMessage
) -> None:
    history.add_messages([message])

    assert history.messages == [message]


def test_messages_come_back_in_order(history: RememberChatMessageHistory) -> None:
    history.add_messages([HumanMessage("a"), AIMessage("b")])
    history.add_messages([HumanMessage("c")])

    assert [(one.type, one.content) for one in history.messages] == [
        ("human", "a"),
        ("ai", "b"),
        ("human", "c"),
    ]


def test_what_is_said_twice_is_there_twice(history: RememberChatMessageHistory) -> None:
    history.add_messages([HumanMessage("ok"), HumanMessage("ok")])

    assert [one.content for one in history.messages] == ["ok", "ok"]


def test_a_message_with_an_id_that_is_there_adds_nothing(
    history: RememberChatMessageHistory,
) -> None:
    history.add_messages([HumanMessage("ok", id="1"), HumanMessage("ok", id="1")])

    assert history.messages == [HumanMessage("ok", id="1")]


def test_a_streamed_answer_is_an_answer(history: RememberChatMessageHistory) -> None:
    history.add_messages([AIMessageChunk(content="Hello!", id="2")])

    assert history.messages == [AIMessage("Hello!", id="2")]


def test_of_content_in_parts_the_text_comes_back(history: RememberChatMessageHistory) -> None:
    parts: list[Any] = [{"type": "text", "text": "Look:"}, {"type": "image_url", "image_url": {}}]
    history.add_messages([HumanMessage(parts)])

    assert [one.content for one in history.messages] == ["Look: [image]"]


def test_a_message_of_another_type_is_refused(history: RememberChatMessageHistory) -> None:
    with pytest.raises(ConfigError, match=r"must be of type human, ai, tool, system, got 'chat'"):
        history.add_messages([ChatMessage(content="Hi", role="critic")])


def test_turns_of_somebody_else_are_read_as_messages(
    memory: Memory, history: RememberChatMessageHistory
) -> None:
    memory.add("s", [Turn("Ana", "Hi", id="a"), Turn("assistant", "Hello!", id="b")])

    assert history.messages == [
        HumanMessage("Hi", name="Ana", id="a"),
        AIMessage("Hello!", id="b"),
    ]


def test_an_edited_call_is_no_longer_known(
    memory: Memory, history: RememberChatMessageHistory
) -> None:
    history.add_messages([_MESSAGES["calls alone"]])
    (turn,) = memory.log("s")
    memory.edit("s", Turn("assistant", "gone", id=turn.id))

    (message,) = history.messages
    assert isinstance(message, AIMessage)
    assert [call["name"] for call in message.tool_calls] == ["unknown"]


def test_the_messages_can_be_searched(memory: Memory, history: RememberChatMessageHistory) -> None:
    history.add_messages([HumanMessage("The key lies under the pot."), AIMessage("Noted.")])

    found = memory.recall("s", "Where is the key?")["turns"]
    assert [(turn["speaker"], turn["text"]) for turn in found] == [
        ("user", "The key lies under the pot.")
    ]


def test_clearing_forgets_this_conversation_alone(
    memory: Memory, history: RememberChatMessageHistory
) -> None:
    other = RememberChatMessageHistory(memory, "s", tenant="acme")
    for one in (history, other):
        one.add_messages([HumanMessage("Hi")])
    history.clear()

    assert (len(history.messages), len(other.messages)) == (0, 1)


def test_the_async_twins_do_the_same(history: RememberChatMessageHistory) -> None:
    async def run() -> list[BaseMessage]:
        await history.aadd_messages([HumanMessage("Hi", id="1")])
        said = await history.aget_messages()
        await history.aclear()
        return said

    assert asyncio.run(run()) == [HumanMessage("Hi", id="1")]
    assert history.messages == []


@pytest.mark.parametrize("options", [{"stream": ""}, {"stream": "s", "tenant": ""}])
def test_an_empty_name_is_refused(memory: Memory, options: Any) -> None:
    with pytest.raises(ConfigError, match="must be a non-empty str, got ''"):
        RememberChatMessageHistory(memory, **options)


@pytest.mark.filterwarnings("ignore:.*RunnableWithMessageHistory")
def test_a_runnable_with_history_keeps_each_session(memory: Memory) -> None:
    prompt = ChatPromptTemplate.from_messages(
        [MessagesPlaceholder("history"), ("human", "{input}")]
    )
    chain = RunnableWithMessageHistory(
        prompt | FakeListChatModel(responses=["one", "two"]),
        lambda session: RememberChatMessageHistory(memory, session),
        input_messages_key="input",
        history_messages_key="history",
    )
    for text in ("Hi", "And now?"):
        chain.invoke({"input": text}, {"configurable": {"session_id": "s"}})

    assert [turn.line for turn in memory.log("s")] == [
        "user: Hi",
        "assistant: one",
        "user: And now?",
        "assistant: two",
    ]
