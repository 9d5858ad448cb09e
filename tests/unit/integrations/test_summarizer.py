"""What a summarization middleware removes is in the log, and the text in its place is true."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from langchain.agents import create_agent
from langchain.agents.middleware import SummarizationMiddleware
from langchain_core.language_models import FakeListChatModel
from langchain_core.messages import AIMessage, HumanMessage, SystemMessage
from langgraph.checkpoint.memory import InMemorySaver

from remember_graph import Memory, Settings
from remember_graph.errors import ConfigError, HistoryError
from remember_graph.integrations.middleware import RememberMiddleware
from remember_graph.integrations.summarizer import remember_summarizer

_FACTS = [
    (f"the code of locker {chr(65 + at // 26)}{chr(65 + at % 26)}", str(7001 + 13 * at))
    for at in range(40)
]


@pytest.fixture
def memory() -> Iterator[Memory]:
    with Memory.open(embeddings="none") as memory:
        yield memory


def _conversation() -> list[Any]:
    """600 messages: 300 of a person, every seventh of the first 280 with one of 40 facts."""
    messages: list[Any] = []
    for turn in range(300):
        said = f"Note {turn}: the parcels of round {turn} are sorted, nothing to report."
        if turn % 7 == 0 and turn < 280:
            what, code = _FACTS[turn // 7]
            said = f"Please keep in mind that {what} is {code}."
        messages += [HumanMessage(said, id=f"h{turn}"), AIMessage("Noted.", id=f"a{turn}")]
    return messages


def _run(middleware: list[Any]) -> str:
    """Everything that the agent's state says after the 600 messages and one more."""
    agent = create_agent(
        FakeListChatModel(responses=["Noted."]),
        middleware=middleware,
        checkpointer=InMemorySaver(),
    )
    config: Any = {"configurable": {"thread_id": "depot"}}
    said = _conversation()
    for start in range(0, 600, 60):
        agent.invoke({"messages": said[start : start + 60]}, config)
    result = agent.invoke({"messages": [HumanMessage("Go on.", id="last")]}, config)
    return "\n".join(message.text for message in result["messages"])


def _summarization(**options: Any) -> SummarizationMiddleware:
    model = FakeListChatModel(responses=["They sorted parcels and noted some locker codes."])
    return SummarizationMiddleware(
        model, trigger=("messages", 50), keep=("messages", 10), **options
    )


def test_the_stock_middleware_loses_forty_facts_that_are_found_again_with_ours(
    memory: Memory,
) -> None:
    stock = _run([_summarization()])
    summarizer = remember_summarizer(memory)
    _run([_summarization(summarizer=summarizer, trim_tokens_to_summarize=None)])
    found = [
        any(code in turn["text"] for turn in memory.recall("depot", what, k=5)["turns"])
        for what, code in _FACTS
    ]

    assert sum(code in stock for _, code in _FACTS) == 0
    assert sum(found) == 40


def test_every_removed_message_is_in_the_log(memory: Memory) -> None:
    summarizer = remember_summarizer(memory)
    text = _run([_summarization(summarizer=summarizer, trim_tokens_to_summarize=None)])
    logged = {turn.id for turn in memory.log("depot")}
    removed = {one.id for one in _conversation() if one.id != "h299" and one.text not in text}

    assert removed
    assert removed <= logged


def test_beside_the_memory_middleware_no_later_turn_is_hidden(memory: Memory) -> None:
    summarizer = remember_summarizer(memory)
    _run(
        [
            RememberMiddleware(memory),
            _summarization(summarizer=summarizer, trim_tokens_to_summarize=None),
        ]
    )

    visible = [turn.id for turn in memory.log("depot")]
    assert [id for id in visible if id.startswith("h")] == [f"h{turn}" for turn in range(300)]
    assert visible.count("last") == 1


def test_the_next_stretch_follows_the_one_before(memory: Memory) -> None:
    summarizer = remember_summarizer(memory, stream="s")
    summarizer.invoke([HumanMessage("The hall is booked.", id="1"), AIMessage("Good.", id="2")])
    summarizer.invoke([HumanMessage("The band plays at nine.", id="3")])

    assert [turn.reply_to for turn in memory.log("s")] == [None, "1", "2"]


def test_the_summary_before_heads_the_new_one(memory: Memory) -> None:
    before = HumanMessage(
        "Here is a summary of the conversation to date:\n\nThe hall was booked.",
        id="0",
        additional_kwargs={"lc_source": "summarization"},
    )

    text = remember_summarizer(memory, stream="s").invoke(
        [before, HumanMessage("The band plays at nine on Friday.", id="1")]
    )

    assert text == "The hall was booked.\nuser: “The band plays at nine on Friday.”"
    assert [turn.id for turn in memory.log("s")] == ["1"]


def test_the_oldest_lines_go_first_and_the_text_says_so(memory: Memory) -> None:
    summarizer = remember_summarizer(memory, stream="s", max_tokens=40)
    before = HumanMessage(
        "\n".join(f"Line {number} of what was told." for number in range(30)),
        additional_kwargs={"lc_source": "summarization"},
    )

    text = summarizer.invoke([before, HumanMessage("The band plays at nine on Friday.", id="1")])

    lines = text.splitlines()
    assert lines[0] == "(More was said before; it is kept in the memory and left out here.)"
    assert lines[-1] == "user: “The band plays at nine on Friday.”"
    assert "Line 0 of what was told." not in lines


@pytest.mark.parametrize("answer", ["", "   ", RuntimeError("the server is down")])
def test_a_blank_or_failed_summary_is_replaced_by_quotations(
    answer: Any, scripted: Callable[..., Any]
) -> None:
    model = scripted(*[answer] * 3)
    with Memory.open(embeddings="none", model=model) as memory:
        text = remember_summarizer(memory, stream="s").invoke(
            [HumanMessage("The hall is booked for Friday, 400 crowns.", id="1")]
        )

    assert text == "user: “The hall is booked for Friday, 400 crowns.”"


def test_the_memorys_model_writes_where_it_can(scripted: Callable[..., Any]) -> None:
    model = scripted(
        '{"gaps": []}', '{"sentences": [{"text": "The hall is booked.", "cites": ["w1"]}]}'
    )
    with Memory.open(embeddings="none", model=model) as memory:
        text = remember_summarizer(memory, stream="s").invoke(
            [HumanMessage("The hall is booked for Friday, 400 crowns.", id="1")]
        )

    assert text == "The hall is booked."


def test_a_stretch_of_small_talk_is_quoted(memory: Memory) -> None:
    text = remember_summarizer(memory, stream="s").invoke([HumanMessage("Hi!", id="1")])

    assert text == "user: “Hi!”"


def test_messages_that_nobody_said_give_a_text_that_says_so(memory: Memory) -> None:
    text = remember_summarizer(memory, stream="s").invoke([SystemMessage("Be kind.", id="1")])

    assert text == "(Nobody has said anything in the messages that were removed.)"


def test_a_long_stretch_is_told_window_by_window() -> None:
    with Memory.open(embeddings="none", settings=Settings(window=20)) as memory:
        text = remember_summarizer(memory, stream="s").invoke(
            [
                HumanMessage(f"The hall of house {n} is booked for Friday.", id=f"{n}")
                for n in range(6)
            ]
        )

    assert all(f"house {number} " in text for number in range(6))


def test_where_the_log_cannot_be_written_the_state_keeps_its_messages(
    memory: Memory, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: Any, **__: Any) -> None:
        raise HistoryError("the disk is full")

    monkeypatch.setattr(memory.history, "add", fail)
    middleware = _summarization(
        summarizer=remember_summarizer(memory, stream="s"), trim_tokens_to_summarize=None
    )
    agent = create_agent(
        FakeListChatModel(responses=["Noted."]),
        middleware=[middleware],
        checkpointer=InMemorySaver(),
    )
    config: Any = {"configurable": {"thread_id": "t"}}
    with pytest.raises(HistoryError, match="the disk is full"):
        agent.invoke({"messages": _conversation()[:60]}, config)

    assert len(agent.get_state(config).values["messages"]) == 60


def test_async_gives_the_same_as_sync(memory: Memory) -> None:
    said: list[Any] = [HumanMessage("The hall is booked for Friday.", id="1")]
    text = remember_summarizer(memory, stream="sync").invoke(said)

    assert asyncio.run(remember_summarizer(memory, stream="async").ainvoke(said)) == text
    assert [turn.id for turn in memory.log("async")] == ["1"]


@pytest.mark.parametrize("max_tokens", [0, -1, True, 1.5])
def test_a_bound_that_is_none_is_refused(memory: Memory, max_tokens: Any) -> None:
    with pytest.raises(ConfigError, match="`max_tokens` must be an int >= 1 or None"):
        remember_summarizer(memory, max_tokens=max_tokens)
