"""Which single turns say it best."""

from __future__ import annotations

from collections.abc import Sequence
from typing import cast

import numpy as np
import pytest

from remember_graph.context import Run
from remember_graph.history.history import History
from remember_graph.history.store import Namespace
from remember_graph.model_steps import run
from remember_graph.nodes.detection import new_gap
from remember_graph.nodes.turn_refiner import PaperRefiner, Refine, RememberRefiner
from remember_graph.protocols import TextEncoder, Vectors
from remember_graph.settings import AllocateSettings, Settings
from remember_graph.state import Candidates, Gap, GraphState, Ranking
from remember_graph.types import Turn

_SPACE = Namespace("t", "s")


_DIRECTIONS: dict[str, list[float]] = {"kiln": [0.6, 0.8], "moss": [0, 1], "fern": [1, 0]}


class _Compass:
    """The query "moss" points north, every other one east."""

    id = "compass/2"

    def encode_documents(self, texts: Sequence[str]) -> Vectors:
        return np.array([_DIRECTIONS.get(text.split()[-1], [0, 1]) for text in texts], np.float32)

    def encode_queries(self, texts: Sequence[str]) -> Vectors:
        rows = [[0.0, 1.0] if text == "moss" else [1.0, 0.0] for text in texts]
        return np.array(rows, np.float32)


def _gap(query: str, *anchors: str, id: str = "g1") -> Gap:
    gap = new_gap("w", "relational", missing="", query=query, anchors=list(anchors), salience=1.0)
    return {**gap, "id": id}


def _found(*chunks: list[str], related: Sequence[str] = (), id: str = "g1") -> Candidates:
    scores = [1 / (61 + rank) for rank in range(len(chunks))]
    return {"gap_id": id, "related": list(related), "turn_ids": list(chunks), "scores": scores}


def _rank(
    gaps: list[Gap],
    candidates: list[Candidates],
    *,
    encoder: TextEncoder | None = None,
    preset: str = "paper",
    longest: int = 150,
) -> list[Ranking]:
    """The rankings that the stage writes."""
    settings = Settings(allocate=AllocateSettings(longest_ranking=longest))
    history = History(encoder=encoder, settings=settings)
    turns = [Turn("Ana", text, id=text) for text in ("kiln", "moss", "fern")]
    window = Turn("Kim", "why", id="w")
    history.add(_SPACE, [*turns, window])
    state = {
        "tenant": _SPACE.tenant,
        "stream": _SPACE.stream,
        "window_turns": [window.to_dict()],
        "history_turns": 3,
        "gaps": gaps,
        "candidates": candidates,
    }
    refiner = PaperRefiner(history, settings) if preset == "paper" else RememberRefiner()
    update, _ = run(Refine(history, refiner)(cast("GraphState", state), Run()), None)
    return cast("list[Ranking]", update["rankings"])


_ALL = _found(["kiln", "moss"], ["fern"])


def test_paper_orders_single_turns_by_their_cosine_with_the_query() -> None:
    ranking = _rank([_gap("which")], [_ALL], encoder=_Compass())[0]

    assert ranking["turn_ids"] == ["fern", "kiln", "moss"]
    assert ranking["scores"] == pytest.approx([1, 0.6, 0])


def test_every_gap_of_paper_has_its_own_order() -> None:
    gaps = [_gap("which"), _gap("moss", id="g2")]
    rankings = _rank(gaps, [_ALL, {**_ALL, "gap_id": "g2"}], encoder=_Compass())

    assert [(r["gap_id"], r["turn_ids"]) for r in rankings] == [
        ("g1", ["fern", "kiln", "moss"]),
        ("g2", ["moss", "kiln", "fern"]),
    ]


def test_paper_orders_by_bm25_without_vectors() -> None:
    ranking = _rank([_gap("fern")], [_ALL])[0]

    # ln(1 + 2.5 / 1.5) for a term in one turn of three; every turn has two terms and none repeats
    assert ranking["turn_ids"] == ["fern", "kiln", "moss"]
    assert ranking["scores"] == pytest.approx([np.log(8 / 3), 0, 0])


def test_bm25_is_asked_with_the_anchors_too() -> None:
    assert _rank([_gap("which", "moss")], [_ALL])[0]["turn_ids"][0] == "moss"


def test_paper_ranks_no_turn_outside_the_candidates() -> None:
    ranking = _rank([_gap("which")], [_found(["kiln", "moss"])], encoder=_Compass())[0]

    assert ranking["turn_ids"] == ["kiln", "moss"]


def test_a_turn_in_two_chunks_is_ranked_once() -> None:
    overlapping = _found(["kiln", "moss"], ["moss", "fern"])

    assert _rank([_gap("which")], [overlapping], encoder=_Compass())[0]["turn_ids"] == [
        "fern",
        "kiln",
        "moss",
    ]


def test_turns_of_one_score_keep_the_order_of_the_candidates() -> None:
    ranking = _rank([_gap("nothing")], [_found(["fern"], ["kiln", "moss"])])[0]

    assert ranking["turn_ids"] == ["fern", "kiln", "moss"]


def test_a_ranking_of_paper_is_no_longer_than_the_longest() -> None:
    ranking = _rank([_gap("which")], [_ALL], encoder=_Compass(), longest=2)[0]

    assert ranking["turn_ids"] == ["fern", "kiln"]


@pytest.mark.parametrize("preset", ["paper", "remember"])
def test_the_related_turns_are_handed_on(preset: str) -> None:
    found = _found(["kiln"], ["moss"], related=["moss"])

    assert _rank([_gap("which")], [found], preset=preset)[0]["related"] == ["moss"]


@pytest.mark.parametrize("preset", ["paper", "remember"])
def test_without_candidates_there_is_nothing_to_rank(preset: str) -> None:
    assert _rank([], [], preset=preset, encoder=_Compass()) == []


def test_candidates_without_turns_are_an_empty_ranking() -> None:
    assert _rank([_gap("which")], [_found()])[0]["turn_ids"] == []


def test_remember_keeps_the_order_and_the_scores_of_the_candidates() -> None:
    ranking = _rank([_gap("fern")], [_found(["moss"], ["fern"])], preset="remember")[0]

    assert (ranking["turn_ids"], ranking["scores"]) == (["moss", "fern"], [1 / 61, 1 / 62])
