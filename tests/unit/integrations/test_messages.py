"""LangChain messages as turns."""

from __future__ import annotations

from typing import Any

import pytest
from langchain_core.messages import (
    AIMessage,
    BaseMessage,
    HumanMessage,
    RemoveMessage,
    SystemMessage,
    ToolMessage,
)

from remember_graph.integrations.messages import clipped, text_of, turns_of
from remember_graph.types import Turn


def _call(id: str, name: str = "search", **arguments: Any) -> dict[str, Any]:
    return {"id": id, "name": name, "args": arguments, "type": "tool_call"}


def test_people_and_the_model_speak_in_turn() -> None:
    said = [HumanMessage("Hi", id="1", name="Ana"), AIMessage("Hello!", id="2")]

    assert turns_of(said, thread="t") == [
        Turn("Ana", "Hi", id="1", thread="t"),
        Turn("assistant", "Hello!", id="2", reply_to="1", thread="t"),
    ]


@pytest.mark.parametrize(
    "message",
    [
        SystemMessage("Be brief.", id="1"),
        HumanMessage("Summary", id="1", additional_kwargs={"lc_source": "summarization"}),
        AIMessage("Notes", id="1", additional_kwargs={"lc_source": "remember_graph"}),
        HumanMessage("", id="1"),
        HumanMessage([], id="1"),
        AIMessage("  ", id="1"),
        RemoveMessage(id="1"),
        ToolMessage("orphan", tool_call_id="x", id="1"),
    ],
)
def test_what_nobody_said_is_no_turn(message: BaseMessage) -> None:
    after = HumanMessage("Hi", id="2")

    assert turns_of([message, after]) == [Turn("user", "Hi", id="2")]


def test_a_tool_call_and_its_result_are_one_turn() -> None:
    said = [
        AIMessage("Let me look.", id="1", tool_calls=[_call("c", query="kiln")]),
        ToolMessage("It costs 80 euros.", tool_call_id="c", id="2"),
    ]

    assert turns_of(said) == [
        Turn("assistant", 'Let me look.\n[search({"query": "kiln"}) → It costs 80 euros.]', id="1")
    ]


def test_parallel_calls_keep_their_own_results_and_a_missing_one_is_named() -> None:
    said = [
        AIMessage("", id="1", tool_calls=[_call("a", x=1), _call("b", x=2), _call("c", x=3)]),
        ToolMessage("two", tool_call_id="b", id="2"),
        ToolMessage("", tool_call_id="c", id="3"),
        HumanMessage("And?", id="4"),
    ]

    assert turns_of(said)[0].text == (
        '[search({"x": 1}) → no result]\n[search({"x": 2}) → two]\n[search({"x": 3}) → nothing]'
    )


def test_a_huge_result_is_cut_with_a_mark() -> None:
    text = clipped("a" * 5_000 + "end")

    assert text == "a" * 1_700 + " […3003 characters left out…] " + "a" * 297 + "end"


@pytest.mark.parametrize(
    ("content", "text"),
    [
        (" Hi ", "Hi"),
        (None, ""),
        ([], ""),
        (["One", {"type": "text", "text": "two"}], "One two"),
        ([{"type": "image_url", "image_url": {"url": "data:…"}}], "[image]"),
        ([{"type": "input_file", "file_id": "f"}], "[file]"),
        ([{"type": "text", "text": None}, {"type": "reasoning", "reasoning": "Hm"}, 3], ""),
    ],
)
def test_content_of_every_shape_is_read(content: Any, text: str) -> None:
    assert text_of(content) == text


def test_messages_without_an_id_get_the_same_one_on_every_look() -> None:
    said = [HumanMessage("ok"), AIMessage("ok"), HumanMessage("ok")]
    ids = [turn.id for turn in turns_of(said)]

    assert len(set(ids)) == 3
    assert ids == [turn.id for turn in turns_of([*said, AIMessage("more")])][:3]


def test_arguments_that_are_no_json_are_written_out() -> None:
    said = AIMessage("", id="1", tool_calls=[_call("c", when={1})])

    turns = turns_of([said, ToolMessage("Yes", tool_call_id="c")])

    assert turns[0].text == '[search({"when": "{1}"}) → Yes]'


def test_a_call_at_the_end_waits_for_all_its_results() -> None:
    call = AIMessage("", id="2", tool_calls=[_call("a"), _call("b")])
    said = [HumanMessage("Hi", id="1"), call, ToolMessage("one", tool_call_id="a")]

    assert [turn.id for turn in turns_of(said)] == ["1"]
    assert len(turns_of([*said, ToolMessage("two", tool_call_id="b")])) == 2
