"""Conversations of a checkpointer come into the memory."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest
from langchain.agents import create_agent
from langchain_core.language_models.fake_chat_models import FakeListChatModel
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage
from langgraph.checkpoint.base import BaseCheckpointSaver
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import StateGraph
from typing_extensions import TypedDict

from remember_graph.errors import ConfigError
from remember_graph.integrations.checkpoints import ImportReport, import_threads
from remember_graph.memory import Memory


@pytest.fixture(params=["memory", "sqlite"])
def saver(request: pytest.FixtureRequest) -> Iterator[BaseCheckpointSaver[Any]]:
    if request.param == "memory":
        yield InMemorySaver()
        return
    sqlite = pytest.importorskip("langgraph.checkpoint.sqlite", reason="needs the SQLite saver")
    with sqlite.SqliteSaver.from_conn_string(":memory:") as saver:
        yield saver


@pytest.fixture
def memory() -> Memory:
    return Memory.open(embeddings="none")


def _chat(saver: BaseCheckpointSaver[Any], thread: str, *texts: str) -> None:
    """An agent that answers `ok` to each of the texts."""
    agent = create_agent(FakeListChatModel(responses=["ok"]), checkpointer=saver)
    for text in texts:
        agent.invoke({"messages": [HumanMessage(text)]}, {"configurable": {"thread_id": thread}})


class _Odd(TypedDict):
    value: Any
    messages: Any


def _state(saver: BaseCheckpointSaver[Any], thread: str, **state: Any) -> None:
    graph = StateGraph(_Odd)
    graph.add_node("same", lambda state: {"value": state.get("value")})
    graph.set_entry_point("same")
    compiled = graph.compile(checkpointer=saver)
    compiled.invoke(state, {"configurable": {"thread_id": thread}})  # type: ignore[call-overload]


def _lines(memory: Memory, stream: str, tenant: str = "default") -> list[str]:
    return [turn.line for turn in memory.log(stream, tenant=tenant)]


def test_each_thread_becomes_a_stream_with_all_it_says(
    memory: Memory, saver: BaseCheckpointSaver[Any]
) -> None:
    _chat(saver, "one", "Hi", "And now?")
    _chat(saver, "two", "Hello")

    assert import_threads(memory, saver) == ImportReport(threads=2, turns=6)
    assert _lines(memory, "one") == ["user: Hi", "assistant: ok", "user: And now?", "assistant: ok"]
    assert _lines(memory, "two") == ["user: Hello", "assistant: ok"]


def test_doing_it_again_adds_what_is_new(memory: Memory, saver: BaseCheckpointSaver[Any]) -> None:
    _chat(saver, "one", "Hi")
    import_threads(memory, saver)
    again = import_threads(memory, saver)
    _chat(saver, "one", "More")

    assert again == ImportReport(threads=1, turns=0)
    assert import_threads(memory, saver) == ImportReport(threads=1, turns=2)


def test_an_empty_saver_gives_nothing(memory: Memory, saver: BaseCheckpointSaver[Any]) -> None:
    assert import_threads(memory, saver) == ImportReport()


def test_a_thread_without_messages_is_skipped_with_the_reason(
    memory: Memory, saver: BaseCheckpointSaver[Any]
) -> None:
    _state(saver, "bare", value=1)
    _state(saver, "texts", messages=["Hi"])

    assert import_threads(memory, saver).skipped == {
        "bare": "its state has no messages under 'messages'",
        "texts": "what its state has under 'messages' are no LangChain messages",
    }


def test_messages_may_lie_elsewhere(memory: Memory, saver: BaseCheckpointSaver[Any]) -> None:
    said: list[BaseMessage] = [HumanMessage("Hi", id="1"), AIMessage("Oh", id="2")]
    _state(saver, "one", value=said)

    assert import_threads(memory, saver, messages_key="value").turns == 2
    assert _lines(memory, "one") == ["user: Hi", "assistant: Oh"]


def test_streams_may_be_named_otherwise_and_belong_to_a_tenant(
    memory: Memory, saver: BaseCheckpointSaver[Any]
) -> None:
    _chat(saver, "one", "Hi")
    import_threads(memory, saver, tenant="acme", stream="thread {}".format)

    assert _lines(memory, "thread one", "acme") == ["user: Hi", "assistant: ok"]


def test_threads_of_one_stream_stay_apart(memory: Memory, saver: BaseCheckpointSaver[Any]) -> None:
    _chat(saver, "one", "Hi")
    _chat(saver, "two", "Hello")
    import_threads(memory, saver, stream=lambda _: "all")

    threads = [turn.thread for turn in memory.log("all")]
    assert threads == ["one", "one", "two", "two"]


@pytest.mark.parametrize("make", [lambda _: "", lambda _: 7])
def test_a_thread_that_is_given_no_name_is_an_error(
    memory: Memory, saver: BaseCheckpointSaver[Any], make: Callable[[str], Any]
) -> None:
    _chat(saver, "one", "Hi")

    with pytest.raises(ConfigError, match="`stream` must give a non-empty str for 'one'"):
        import_threads(memory, saver, stream=make)


def test_an_empty_tenant_is_refused(memory: Memory, saver: BaseCheckpointSaver[Any]) -> None:
    with pytest.raises(ConfigError, match="`tenant` must be a non-empty str"):
        import_threads(memory, saver, tenant="")


def test_an_agent_with_the_middleware_goes_on(
    memory: Memory, saver: BaseCheckpointSaver[Any]
) -> None:
    from remember_graph.integrations.middleware import RememberMiddleware

    _chat(saver, "one", "Hi")
    import_threads(memory, saver)
    agent = create_agent(
        FakeListChatModel(responses=["yes"]),
        middleware=[RememberMiddleware(memory)],
        checkpointer=saver,
    )
    agent.invoke({"messages": [HumanMessage("More")]}, {"configurable": {"thread_id": "one"}})

    assert _lines(memory, "one") == ["user: Hi", "assistant: ok", "user: More", "assistant: yes"]
