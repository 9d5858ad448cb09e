"""The stage that fills the memory: evidence, reasons, order and shortcomings."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, cast

import pytest

from remember_graph.context import Run
from remember_graph.history.history import History
from remember_graph.history.store import Namespace
from remember_graph.model_steps import run
from remember_graph.nodes.allocator import Allocate
from remember_graph.nodes.detection import new_gap
from remember_graph.settings import AllocateSettings, Settings
from remember_graph.state import Gap, GraphState, Ranking
from remember_graph.types import Turn

_SPACE = Namespace("t", "s")


def _ranking(
    *ids: str, gap_id: str | None = "g1", related: Sequence[str] = (), first: float = 0.5
) -> Ranking:
    """Each turn is half as likely as the one before."""
    scores = [first / 2**rank for rank in range(len(ids))]
    return {"gap_id": gap_id, "related": list(related), "turn_ids": list(ids), "scores": scores}


def _gap(id: str, salience: float = 1.0) -> Gap:
    gap = new_gap("w", "relational", missing="", query="", anchors=[], salience=salience)
    return {**gap, "id": id}


def _allocate(
    *rankings: Ranking,
    budget: int = 1000,
    preset: Any = "remember",
    history: str = "abcdefgh",
    recent_share: float = 0.0,
    saliences: dict[str, float] | None = None,
) -> dict[str, Any]:
    """The update of the stage; each history turn is one letter and costs ten tokens."""
    settings = Settings(
        preset=preset,
        budget=budget,
        count_tokens=lambda _: 10,
        allocate=AllocateSettings(recent_share=recent_share, recent_share_pooled=recent_share),
    )
    log = History(settings=settings)
    window = Turn("Kim", "why", id="w")
    turns = [Turn("Ana", f"text {id}", time="2026-01-01", id=id) for id in history]
    log.add(_SPACE, [*turns, window])
    gaps = saliences or {r["gap_id"]: 1.0 for r in rankings if r["gap_id"] is not None}
    state = {
        "tenant": _SPACE.tenant,
        "stream": _SPACE.stream,
        "window_turns": [window.to_dict()],
        "history_turns": len(turns),
        "gaps": [_gap(id, salience) for id, salience in gaps.items()],
        "rankings": list(rankings),
        "usage": {"memory_tokens": 0, "budget": budget, "window_tokens": 10},
        "degraded": ["before"],
    }
    return run(Allocate(log, settings)(cast("GraphState", state), Run()), None)[0]


def _evidence(*rankings: Ranking, **options: Any) -> list[list[str]]:
    return [gap["evidence"] for gap in _allocate(*rankings, **options)["gaps"]]


def _memory(*rankings: Ranking, **options: Any) -> list[str]:
    return [turn["turn_id"] for turn in _allocate(*rankings, **options)["memory"]]


def _reasons(*rankings: Ranking, **options: Any) -> dict[str, str]:
    return {turn["turn_id"]: turn["reason"] for turn in _allocate(*rankings, **options)["memory"]}


def test_only_related_turns_are_evidence() -> None:
    assert _evidence(_ranking("a", "b", "c", related=["b"])) == [["b"]]


def test_only_turns_that_fit_are_evidence() -> None:
    assert _evidence(_ranking("a", "b", related=["a", "b"]), budget=10) == [["a"]]


def test_evidence_stands_best_first() -> None:
    assert _evidence(_ranking("c", "a", related=["a", "c"])) == [["c", "a"]]


def test_evidence_is_among_the_first_five_of_the_ranking() -> None:
    assert _evidence(_ranking(*"abcdef", related=list("abcdef"))) == [list("abcde")]


def test_a_turn_may_be_the_evidence_of_two_gaps() -> None:
    rankings = [_ranking("a", related=["a"]), _ranking("a", gap_id="g2", related=["a"])]
    update = _allocate(*rankings)

    assert update["memory"][0]["gap_ids"] == ["g1", "g2"]


def test_a_turn_is_no_evidence_of_a_gap_it_is_not_related_to() -> None:
    rankings = [_ranking("a", related=["a"]), _ranking("a", gap_id="g2")]

    assert _evidence(*rankings) == [["a"], []]


def test_a_gap_without_a_ranking_has_no_evidence() -> None:
    assert _evidence(_ranking("a", gap_id=None), saliences={"g1": 1.0}) == [[]]


def test_the_ranking_of_the_window_fills_the_memory_and_a_gaps_own_gives_evidence() -> None:
    rankings = [_ranking("a", "b", related=["a", "b"]), _ranking("b", "c", gap_id=None)]
    update = _allocate(*rankings, budget=20)

    assert [turn["turn_id"] for turn in update["memory"]] == ["b", "c"]
    assert update["gaps"][0]["evidence"] == ["b"]


def test_a_turn_that_is_evidence_is_there_for_a_gap() -> None:
    assert _reasons(_ranking("a", related=["a"]), budget=10) == {"a": "gap"}


def test_a_turn_of_a_ranking_that_is_no_evidence_is_a_fallback() -> None:
    assert _reasons(_ranking("a"), budget=10) == {"a": "fallback"}


def test_a_turn_that_no_ranking_names_is_recent() -> None:
    assert _reasons(_ranking("a"), budget=20) == {"a": "fallback", "h": "recent"}


def test_a_recent_turn_that_is_evidence_is_there_for_a_gap() -> None:
    reasons = _reasons(_ranking("h", related=["h"]), budget=10, recent_share=1.0)

    assert reasons == {"h": "gap"}


def test_the_share_of_the_recent_turns_comes_before_the_rankings() -> None:
    assert _memory(_ranking("a", "b", "c"), budget=40, recent_share=0.5) == ["a", "b", "g", "h"]


def test_the_window_has_the_same_share_of_its_own() -> None:
    memory = _memory(_ranking("a", "b", "c", gap_id=None), budget=40, recent_share=0.5)

    assert memory == ["a", "b", "g", "h"]


def test_a_gap_counts_by_the_square_of_its_salience() -> None:
    # 1.0² · 0.3 for a against 0.5² · 0.9 for b; by salience itself b would win
    rankings = [_ranking("a", first=0.3), _ranking("b", gap_id="g2", first=0.9)]

    assert _memory(*rankings, budget=10, saliences={"g1": 1.0, "g2": 0.5}) == ["a"]


def test_the_memory_stands_in_the_order_of_the_conversation() -> None:
    assert _memory(_ranking("c", "a", "b"), budget=30) == ["a", "b", "c"]


def test_a_memory_turn_holds_what_a_reader_is_shown() -> None:
    assert _allocate(_ranking("a", related=["a"]), budget=10)["memory"] == [
        {
            "turn_id": "a",
            "speaker": "Ana",
            "time": "2026-01-01",
            "text": "text a",
            "gap_ids": ["g1"],
            "tokens": 10,
            "reason": "gap",
        }
    ]


def test_the_tokens_of_the_memory_are_counted_and_the_rest_of_the_usage_is_kept() -> None:
    usage = _allocate(_ranking("a"), budget=25)["usage"]

    assert usage == {"memory_tokens": 20, "budget": 25, "window_tokens": 10}


@pytest.mark.parametrize("preset", ["remember", "paper"])
def test_a_budget_below_every_turn_is_told_with_the_shortest(preset: str) -> None:
    assert _allocate(_ranking("a"), budget=9, preset=preset)["degraded"] == [
        "before",
        "memory: no turn fits the budget of 9 tokens, the shortest has 10",
    ]


def test_a_history_that_answers_nothing_is_told() -> None:
    assert _allocate(preset="paper")["degraded"] == [
        "before",
        "memory: nothing in the history answers the window's gaps",
    ]


def test_a_memory_with_turns_has_no_shortcoming() -> None:
    assert _allocate(_ranking("a"))["degraded"] == ["before"]


@pytest.mark.parametrize("preset", ["remember", "paper"])
def test_without_history_the_memory_is_empty_and_that_is_no_shortcoming(preset: str) -> None:
    update = _allocate(history="", preset=preset)

    assert (update["memory"], update["degraded"]) == ([], ["before"])


def test_without_rankings_remember_keeps_recent_turns() -> None:
    assert _reasons(budget=20, recent_share=0.5) == {"g": "recent", "h": "recent"}


def test_paper_has_no_recent_share() -> None:
    assert _memory(_ranking("a"), preset="paper", recent_share=1.0) == ["a"]


def test_paper_takes_turns_of_the_gaps_in_turn() -> None:
    rankings = [_ranking("a", "b", "c"), _ranking("d", "e", gap_id="g2", first=0.1)]

    assert _memory(*rankings, preset="paper", budget=30) == ["a", "b", "d"]
