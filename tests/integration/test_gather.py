"""The memory of a window that somebody else answers."""

from __future__ import annotations

import asyncio

import pytest

from remember_graph import Memory, Settings, Turn

_HISTORY = [
    Turn("Ana", "The kiln in the barn costs 80 euros an evening.", id="1"),
    Turn("Ben", "My sister drives the van on Thursdays.", id="2"),
    Turn("Cem", "I bring the blue glaze.", id="3"),
]
_WINDOW = [Turn("Ana", "Is the kiln in the barn still 80 euros?", id="w")]


@pytest.fixture
def memory() -> Memory:
    memory = Memory.open(embeddings="none", settings=Settings(budget=40))
    memory.add("team", _HISTORY)
    return memory


def test_a_window_that_is_not_in_the_stream_is_answered_from_all_of_it(memory: Memory) -> None:
    found = memory.gather("team", _WINDOW, budget=14)

    assert [turn["turn_id"] for turn in found["memory"]] == ["1"]
    assert found["usage"]["budget"] == 14
    assert len(memory.log("team")) == 3


def test_turns_from_the_windows_first_on_are_no_history(memory: Memory) -> None:
    memory.add("team", [*_WINDOW, Turn("Dora", "The kiln in the barn is mine.", id="later")])
    found = memory.gather("team", _WINDOW)

    assert {turn["turn_id"] for turn in found["memory"]} == {"1", "2", "3"}


def test_without_a_window_the_streams_latest_is_asked_for() -> None:
    memory = Memory.open(embeddings="none", settings=Settings(budget=40, window=12))
    memory.add("team", [*_HISTORY, *_WINDOW])

    assert {turn["turn_id"] for turn in memory.gather("team")["memory"]} == {"1", "2", "3"}


def test_both_twins_give_the_same(memory: Memory) -> None:
    one = memory.gather("team", _WINDOW)
    other = asyncio.run(memory.agather("team", _WINDOW))

    assert other["memory"] == one["memory"]


def test_an_empty_stream_has_no_memory_and_says_so(memory: Memory) -> None:
    found = memory.gather("nobody", _WINDOW)

    assert found["memory"] == []
    assert found["degraded"] == ["history: there is nothing before the window"]


def test_a_window_of_nothing_is_the_streams_own(memory: Memory) -> None:
    assert memory.gather("team", [])["usage"] == memory.gather("team")["usage"]


def test_visible_turns_are_not_given_and_leave_their_room_to_others(memory: Memory) -> None:
    found = memory.gather("team", _WINDOW, budget=14, visible=["1"])

    assert "1" not in {turn["turn_id"] for turn in found["memory"]}
    assert found["memory"] != []


def test_where_all_is_visible_nothing_is_given_and_nothing_is_wrong(memory: Memory) -> None:
    found = memory.gather("team", _WINDOW, visible=["1", "2", "3"])

    assert found["memory"] == []
    assert not [line for line in found["degraded"] if line.startswith("memory:")]
