"""What the middleware is made of, and what it refuses."""

from __future__ import annotations

import re
from typing import Any

import pytest
from langchain.agents import create_agent
from langchain_core.messages import AIMessage

from remember_graph import Turn
from remember_graph.errors import ConfigError
from remember_graph.integrations.middleware import RememberMiddleware


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"stream": ""}, "`stream` must be a non-empty str, a callable of the runtime, or None"),
        ({"tenant": 7}, "`tenant` must be a non-empty str, a callable .* got 7"),
        ({"ingest": "no"}, "`ingest` must be a bool, got 'no'"),
        ({"expose_tool": 1}, "`expose_tool` must be a bool, got 1"),
        ({"on_error": "ignore"}, "`on_error` must be continue or raise, got 'ignore'"),
        ({"name": "a:b"}, "`name` must be of letters, digits, .* got 'a:b'"),
        ({"name": ""}, "`name` must be of letters, digits, .* got ''"),
    ],
)
def test_a_wrong_argument_is_refused_in_one_line(
    memory: Any, options: dict[str, Any], message: str
) -> None:
    with pytest.raises(ConfigError, match=message) as caught:
        RememberMiddleware(memory, **options)

    assert "\n" not in str(caught.value)


def test_what_is_no_memory_is_refused() -> None:
    with pytest.raises(ConfigError, match=r"`memory` must be a Memory .* got str"):
        RememberMiddleware("notes.db")  # type: ignore[arg-type]


def _user(runtime: Any) -> str:
    return "ana"


@pytest.mark.parametrize(
    ("options", "name"),
    [
        ({}, "RememberMiddleware"),
        ({"stream": "notes"}, "RememberMiddleware[stream-notes]"),
        ({"tenant": "acme", "stream": "n_1"}, "RememberMiddleware[stream-n_1][tenant-acme]"),
        ({"tenant": _user}, "RememberMiddleware[tenant-_user]"),
        ({"name": "Mine[2]"}, "Mine[2]"),
    ],
)
def test_the_name_says_whose_memory_it_is(memory: Any, options: dict[str, Any], name: str) -> None:
    assert RememberMiddleware(memory, **options).name == name


@pytest.mark.parametrize(
    "stream",
    ["a:b|c", "ana@example.org", "汉字", "a][tenant-b", "\ud800", "x" * 300, lambda _: "s"],
)
def test_every_name_is_one_that_langgraph_takes(model: Any, memory: Any, stream: Any) -> None:
    middleware = RememberMiddleware(memory, stream=stream)
    agent: Any = create_agent(model, middleware=[middleware])
    agent.invoke({"messages": "Hi."})

    assert re.fullmatch(r"RememberMiddleware\[stream-[A-Za-z0-9_-]{1,40}\]", middleware.name)


def test_names_that_differ_in_odd_characters_only_stay_apart(memory: Any) -> None:
    names = {RememberMiddleware(memory, stream=stream).name for stream in ("a b", "a:b", "a-b")}

    assert len(names) == 3


def test_the_same_memory_twice_needs_names(model: Any, memory: Any) -> None:
    twice = [RememberMiddleware(memory), RememberMiddleware(memory, name="Second")]
    agent: Any = create_agent(model, middleware=twice)
    agent.invoke({"messages": "Hi."})

    assert [turn.line for turn in memory.log("default")] == ["user: Hi.", "assistant: Noted."]
    with pytest.raises(AssertionError, match="duplicate middleware"):
        create_agent(model, middleware=[RememberMiddleware(memory), RememberMiddleware(memory)])


def test_the_model_can_search_the_memory_with_a_tool(
    scripted_model: Any, agent_of: Any, memory: Any
) -> None:
    memory.add("notes", [Turn("Ben", "The oars are in the attic.", id="oars")], tenant="_user")
    call = {"name": "recall", "args": {"query": "oars"}, "id": "c", "type": "tool_call"}
    model = scripted_model(AIMessage("", tool_calls=[call]), "In the attic.")
    agent = agent_of(model, stream="notes", tenant=lambda runtime: "_user", expose_tool=True)
    messages = agent.invoke({"messages": "Hi."})["messages"]

    assert "[oars] Ben: The oars are in the attic." in messages[2].text
    assert messages[3].text == "In the attic."


def test_the_model_gets_no_tool_else(memory: Any) -> None:
    assert list(RememberMiddleware(memory).tools) == []
