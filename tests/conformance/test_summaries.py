"""Summaries are kept until a turn they rest on changes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from remember_graph.history.store import Namespace, TurnStore

if TYPE_CHECKING:  # the tests run as modules that cannot import each other
    from tests.conformance.conftest import Log

NAMESPACE = Namespace("default", "chat")


def _catch_up(*, cites: str = "", window: str = "", memory: str = "") -> dict[str, Any]:
    """What a store looks at in a `CatchUp`; each letter is the id of a turn."""
    return {
        "summary": {"sentences": [{"cites": [id]} for id in cites]},
        "window": list(window),
        "memory": [{"turn_id": id} for id in memory],
    }


_RESTING = [_catch_up(cites="a"), _catch_up(window="ba"), _catch_up(memory="ca")]


def test_a_summary_comes_back_as_it_was(store: TurnStore, log: Log) -> None:
    log.fill("ab")
    result = {
        **_catch_up(window="ab"),
        "stream": "\u4e09 \0 x",
        "degraded": [],
        "usage": {"n": 1.5},
    }
    store.save_summary(NAMESPACE, result)

    (summary,) = store.summaries(NAMESPACE)
    assert (summary.result, summary.stale) == (result, None)
    assert summary.created.endswith("+00:00")


def test_a_kept_summary_does_not_follow_what_its_caller_does_with_the_result(
    store: TurnStore,
    log: Log,
) -> None:
    log.fill("a")
    result = _catch_up(window="a")
    store.save_summary(NAMESPACE, result)
    result["window"].append("other")

    assert store.summaries(NAMESPACE)[0].result == _catch_up(window="a")


def test_the_latest_20_summaries_are_kept_the_latest_first(store: TurnStore, log: Log) -> None:
    log.fill("a")
    for number in range(25):
        store.save_summary(NAMESPACE, {**_catch_up(window="a"), "number": number})

    results = [summary.result or {} for summary in store.summaries(NAMESPACE)]
    assert [result["number"] for result in results] == list(range(24, 4, -1))


def test_20_summaries_are_kept_of_each_stream(store: TurnStore, log: Log) -> None:
    other = Namespace("default", "other")
    for namespace in (NAMESPACE, other):
        log.fill("a", namespace)
    for _ in range(21):
        store.save_summary(NAMESPACE, _catch_up(window="a"))
        store.save_summary(other, _catch_up(window="a"))

    assert (len(store.summaries(NAMESPACE)), len(store.summaries(other))) == (20, 20)


def test_a_summary_of_a_stream_that_is_not_there_is_not_kept(store: TurnStore) -> None:
    store.save_summary(NAMESPACE, _catch_up())

    assert store.summaries(NAMESPACE) == []
    assert store.streams() == []


@pytest.mark.parametrize("result", _RESTING, ids=["cites", "window", "memory"])
def test_a_summary_is_stale_once_a_turn_it_rests_on_is_edited(
    store: TurnStore, log: Log, result: dict[str, Any]
) -> None:
    log.fill("abcz")
    store.save_summary(NAMESPACE, result)
    log.edit("z", "new")
    before = store.summaries(NAMESPACE)[0]
    log.edit("a", "new")
    after = store.summaries(NAMESPACE)[0]

    assert (before.result, before.stale) == (result, None)
    assert (after.result, after.stale) == (None, "turn a was edited")
    assert after.created == before.created


@pytest.mark.parametrize("result", _RESTING, ids=["cites", "window", "memory"])
def test_a_summary_is_stale_once_a_turn_it_rests_on_is_forgotten(
    store: TurnStore, log: Log, result: dict[str, Any]
) -> None:
    log.fill("abcz")
    store.save_summary(NAMESPACE, result)

    assert log.forget("z").summaries == 0
    assert log.forget("a").summaries == 1
    (summary,) = store.summaries(NAMESPACE)
    assert (summary.result, summary.stale) == (None, "turn a was forgotten")


def test_a_stale_summary_keeps_its_first_reason_and_is_not_counted_again(
    store: TurnStore, log: Log
) -> None:
    log.fill("ab")
    store.save_summary(NAMESPACE, _catch_up(window="ab"))
    log.edit("b", "new")

    assert log.forget("ab").summaries == 0
    assert store.summaries(NAMESPACE)[0].stale == "turn b was edited"


def test_a_summary_whose_turn_was_forgotten_while_it_was_written_is_not_kept(
    store: TurnStore,
    log: Log,
) -> None:
    log.fill("ab")
    log.forget("a")
    store.save_summary(NAMESPACE, _catch_up(window="ab"))

    assert store.summaries(NAMESPACE) == []


def test_the_reason_names_the_first_of_many_turns(store: TurnStore, log: Log) -> None:
    ids = [f"{number:04}" for number in range(1_000)]
    log.fill(reversed(ids))
    store.save_summary(NAMESPACE, {**_catch_up(), "window": ids})
    log.forget(ids)

    assert store.summaries(NAMESPACE)[0].stale == "turn 0000 was forgotten"


def test_a_summary_of_another_generation_is_not_kept(store: TurnStore, log: Log) -> None:
    log.fill("ab")
    generation = store.generation(NAMESPACE)
    store.save_summary(NAMESPACE, _catch_up(window="a"), generation=generation)
    log.edit("b", "new")
    store.save_summary(NAMESPACE, _catch_up(cites="a"), generation=generation)

    assert [kept.result for kept in store.summaries(NAMESPACE)] == [_catch_up(window="a")]


def test_a_summary_that_rests_on_nothing_stays(store: TurnStore, log: Log) -> None:
    log.fill("ab")
    store.save_summary(NAMESPACE, _catch_up())
    log.forget("ab")

    assert [kept.stale for kept in store.summaries(NAMESPACE)] == [None]
