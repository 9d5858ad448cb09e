"""Which parts of the history may hold what is missing: both searches, and what is related."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, cast

import numpy as np
import pytest

from remember_graph.context import Run
from remember_graph.errors import ModelError
from remember_graph.history.history import History
from remember_graph.history.store import Namespace
from remember_graph.model_steps import run
from remember_graph.nodes.detection import new_gap
from remember_graph.nodes.hybrid_retriever import (
    PaperRetriever,
    RememberRetriever,
    Retrieve,
    related_turns,
)
from remember_graph.protocols import TextEncoder, Vectors
from remember_graph.settings import AllocateSettings, RetrieveSettings, Settings
from remember_graph.state import Candidates, Gap, GraphState
from remember_graph.types import Turn
from remember_graph.view import WindowView

_SPACE = Namespace("t", "s")
_TURNS = ["kiln", "moss", "fern"]  # one chunk each under `_settings`


_DIRECTIONS: dict[str, list[float]] = {"kiln": [0.6, 0.8], "moss": [0, 1], "fern": [1, 0]}


class _Compass:
    """Each history turn has its own vector, and every query points east."""

    id = "compass/2"

    def encode_documents(self, texts: Sequence[str]) -> Vectors:
        return np.array([_DIRECTIONS.get(text.split()[-1], [0, 1]) for text in texts], np.float32)

    def encode_queries(self, texts: Sequence[str]) -> Vectors:
        return np.array([[1.0, 0.0]] * len(texts), np.float32)


class _Demanding(_Compass):
    def __init__(self, unrelated_below: float) -> None:
        self.unrelated_below = unrelated_below


class _ByTurn(_Demanding):
    """The window's second turn points north."""

    def encode_queries(self, texts: Sequence[str]) -> Vectors:
        rows = [[0.0, 1.0] if text == "Kim: why 1" else [1.0, 0.0] for text in texts]
        return np.array(rows, np.float32)


class _Broken(_Compass):
    def encode_queries(self, texts: Sequence[str]) -> Vectors:
        raise ModelError("no connection")


class _Widened(_Compass):
    def encode_queries(self, texts: Sequence[str]) -> Vectors:
        return np.array([[1.0, 0.0, 0.0]] * len(texts), np.float32)


def _settings(preset: Any = "paper", *, longest: int = 150, **retrieve: int) -> Settings:
    """Every turn has four tokens, and so has a chunk."""
    return Settings(
        preset=preset,
        count_tokens=lambda _: 4,
        retrieve=RetrieveSettings(**{"chunk_tokens": 4, "chunk_overlap": 0, **retrieve}),
        allocate=AllocateSettings(longest_ranking=longest),
    )


def _stream(
    texts: Sequence[str],
    settings: Settings,
    encoder: TextEncoder | None = None,
    window: int = 1,
) -> tuple[History, WindowView]:
    """A history of these texts with their words as ids, and a window of `w0`, `w1` and so on."""
    history = History(encoder=encoder, settings=settings)
    turns = [Turn("Ana", text, id=text) for text in texts]
    said = [Turn("Kim", f"why {at}", id=f"w{at}") for at in range(window)]
    history.add(_SPACE, [*turns, *said])
    return history, WindowView(history.index(_SPACE), len(turns), tuple(said), (1,) * len(said))


def _gap(query: str, *anchors: str, id: str = "g1", turn_id: str = "w0") -> Gap:
    gap = new_gap(
        turn_id, "relational", missing="", query=query, anchors=list(anchors), salience=1.0
    )
    return {**gap, "id": id}


def _by_paper(
    *gaps: Gap, encoder: TextEncoder | None = None, **retrieve: int
) -> tuple[list[Candidates], list[str]]:
    settings = _settings(**retrieve)
    history, view = _stream(_TURNS, settings, encoder)
    return PaperRetriever(history, settings).find(view, gaps, by_model=True)


def _by_remember(
    *gaps: Gap,
    by_model: bool,
    encoder: TextEncoder | None = None,
    texts: Sequence[str] = _TURNS,
    longest: int = 150,
) -> tuple[list[Candidates], list[str]]:
    settings = _settings("remember", longest=longest)
    history, view = _stream(texts, settings, encoder, window=2)
    return RememberRetriever(history, settings).find(view, gaps, by_model=by_model)


def test_paper_fuses_the_two_rankings_by_reciprocal_rank() -> None:
    found = _by_paper(_gap("kiln"), encoder=_Compass())[0][0]

    # By words: kiln 1, moss 2, fern 3. By cosine: fern 1 (1.0), kiln 2 (0.6), moss 3 (0).
    assert found["turn_ids"] == [["kiln"], ["fern"], ["moss"]]
    assert found["scores"] == pytest.approx([1 / 61 + 1 / 62, 1 / 61 + 1 / 63, 1 / 62 + 1 / 63])


def test_paper_keeps_top_k_chunks() -> None:
    found = _by_paper(_gap("kiln"), encoder=_Compass(), top_k=2)[0][0]

    assert found["turn_ids"] == [["kiln"], ["fern"]]


def test_paper_fuses_no_more_than_top_k_each_of_a_ranking() -> None:
    found = _by_paper(_gap("kiln"), encoder=_Compass(), top_k_each=1)[0][0]

    assert sorted(found["turn_ids"]) == [["fern"], ["kiln"]]
    assert found["scores"] == pytest.approx([1 / 61, 1 / 61])


def test_paper_searches_by_words_alone_without_an_encoder() -> None:
    found = _by_paper(_gap("fern"))[0][0]

    assert found["turn_ids"] == [["fern"], ["kiln"], ["moss"]]
    assert found["scores"] == pytest.approx([1 / 61, 1 / 62, 1 / 63])


def test_paper_asks_with_the_anchors_too() -> None:
    assert _by_paper(_gap("nothing", "moss"))[0][0]["turn_ids"][0] == ["moss"]


def test_paper_gives_every_gap_its_candidates() -> None:
    found, _ = _by_paper(_gap("fern"), _gap("moss", id="g2"))

    assert [(c["gap_id"], c["turn_ids"][0]) for c in found] == [("g1", ["fern"]), ("g2", ["moss"])]


def test_paper_finds_nothing_where_there_is_no_gap() -> None:
    assert _by_paper(encoder=_Compass()) == ([], [])


def test_a_chunk_of_paper_names_all_turns_it_touches() -> None:
    found = _by_paper(_gap("kiln"), chunk_tokens=8)[0][0]

    assert found["turn_ids"] == [["kiln", "moss"], ["fern"]]


def test_the_related_turns_of_paper_are_among_its_candidates() -> None:
    found = _by_paper(_gap("kiln", "kiln", "fern"), top_k=1)[0][0]

    assert found["related"] == ["kiln"]


def test_paper_falls_back_to_words_where_the_encoder_fails() -> None:
    found, degraded = _by_paper(_gap("fern"), encoder=_Broken())

    assert found[0]["turn_ids"][0] == ["fern"]
    assert degraded == ["retrieval: no connection; searched by words alone"]


def test_vectors_of_another_width_are_not_searched() -> None:
    _, degraded = _by_paper(_gap("fern"), encoder=_Widened())

    assert degraded == [
        "retrieval: the stream's vectors have 2 numbers, those of compass/2 now 3; "
        "searched by words alone"
    ]


def test_remember_ranks_every_turn_for_every_gap_of_a_model() -> None:
    found, _ = _by_remember(_gap("fern", "fern"), _gap("kiln", id="g2"), by_model=True)

    assert [c["gap_id"] for c in found] == ["g1", "g2"]
    assert [sorted(c["turn_ids"]) for c in found] == [[["fern"], ["kiln"], ["moss"]]] * 2


def test_the_scores_of_a_gap_of_a_model_are_probabilities() -> None:
    found, _ = _by_remember(_gap("fern", "fern"), by_model=True)

    assert sum(found[0]["scores"]) == pytest.approx(1)


@pytest.mark.parametrize("by_model", [True, False])
def test_remember_ranks_by_falling_score(by_model: bool) -> None:
    found, _ = _by_remember(_gap("fern", "fern"), by_model=by_model)

    assert found[0]["scores"] == sorted(found[0]["scores"], reverse=True)


def test_a_ranking_of_remember_is_no_longer_than_the_longest() -> None:
    found, _ = _by_remember(_gap("kiln", "kiln"), by_model=True, longest=2)

    assert len(found[0]["turn_ids"]) == 2


def test_the_window_asks_for_local_gaps_and_once_for_all() -> None:
    gaps = [_gap("fern"), _gap("kiln", id="g2", turn_id="w1")]

    assert [c["gap_id"] for c in _by_remember(*gaps, by_model=False)[0]] == ["g1", "g2", None]


@pytest.mark.parametrize("by_model", [True, False])
def test_without_gaps_the_window_alone_asks(by_model: bool) -> None:
    assert [c["gap_id"] for c in _by_remember(by_model=by_model)[0]] == [None]


def test_the_vector_of_a_local_gaps_own_turn_says_what_is_related() -> None:
    gap = _gap("any", turn_id="w1")
    found, _ = _by_remember(gap, by_model=False, encoder=_ByTurn(0.9))

    assert found[0]["related"] == ["moss"]


def test_the_ranking_of_the_window_is_related_to_no_gap() -> None:
    texts = ["kiln clay glaze oven pots", "moss fern reed bog heather"]
    pooled = _by_remember(_gap("kiln", "kiln"), by_model=False, texts=texts)[0][-1]

    assert pooled["related"] == []


def test_turns_that_say_too_little_are_not_in_the_ranking_of_the_window() -> None:
    texts = ["kiln", "moss fern reed bog heather"]
    pooled = _by_remember(by_model=False, texts=texts)[0][-1]

    assert pooled["turn_ids"] == [["moss fern reed bog heather"]]


def test_related_turns_stand_in_the_order_of_their_ranking() -> None:
    found = _by_remember(_gap("fern", "fern", "kiln"), by_model=True)[0][0]

    order = [id for (id,) in found["turn_ids"] if id != "moss"]
    assert found["related"] == order


@pytest.mark.parametrize("by_model", [True, False])
def test_remember_falls_back_to_words_where_the_encoder_fails(by_model: bool) -> None:
    _, degraded = _by_remember(_gap("fern"), by_model=by_model, encoder=_Broken())

    assert degraded == ["retrieval: no connection; searched by words alone"]


def _related(
    *anchors: str, encoder: TextEncoder | None = None, texts: Sequence[str] = _TURNS
) -> list[str]:
    history, view = _stream(texts, _settings(), encoder)
    vectors = None if encoder is None else history.encode_queries(["any"])
    mask = related_turns(view, [_gap("any", *anchors)], vectors, encoder)[0]
    return [turn.id for turn, is_related in zip(view.index.turns, mask, strict=False) if is_related]


def test_without_vectors_the_turns_that_share_a_rare_anchor_are_related() -> None:
    assert _related("moss") == ["moss"]


def test_an_encoder_that_does_not_say_what_is_unrelated_leaves_it_to_the_anchors() -> None:
    assert _related("moss", encoder=_Compass()) == ["moss"]


def test_an_encoder_that_says_what_is_unrelated_relates_what_is_above() -> None:
    assert _related(encoder=_Demanding(0.5)) == ["kiln", "fern"]


def test_a_cosine_at_the_floor_is_related() -> None:
    assert _related(encoder=_Demanding(1.0)) == ["fern"]


def test_where_a_turn_is_close_those_that_share_an_anchor_are_related_too() -> None:
    assert _related("moss", encoder=_Demanding(0.9)) == ["moss", "fern"]


def test_where_no_turn_is_close_an_anchor_relates_nothing() -> None:
    assert _related("moss", encoder=_Demanding(1.1)) == []


def test_a_gap_without_anchors_is_related_to_nothing_by_words() -> None:
    assert _related() == []


def test_a_speakers_name_is_no_anchor() -> None:
    assert _related("Kim", texts=["kiln", "ask Kim"]) == []


@pytest.mark.parametrize(("sharing", "related"), [(4, 4), (5, 0)])
def test_an_anchor_in_half_of_the_turns_relates_nothing(sharing: int, related: int) -> None:
    # Of ten turns the highest idf is ln(1 + 9.5 / 1.5) = 1.99, four tenths of it are 0.80;
    # in four turns an idf is ln(1 + 6.5 / 4.5) = 0.89, in five ln(1 + 5.5 / 5.5) = 0.69.
    texts = [f"{'moss' if at < sharing else 'reed'} {at}" for at in range(10)]

    assert len(_related("moss", texts=texts)) == related


def _stage(texts: Sequence[str], preset: Any = "remember") -> dict[str, Any]:
    settings = _settings(preset)
    history, view = _stream(texts, settings)
    paper, remember = PaperRetriever(history, settings), RememberRetriever(history, settings)
    state = {
        "tenant": _SPACE.tenant,
        "stream": _SPACE.stream,
        "window_turns": [turn.to_dict() for turn in view.turns],
        "history_turns": view.history,
        "gaps": [_gap("kiln")],
        "detector": "local",
        "degraded": ["before"],
    }
    stage = Retrieve(history, paper if preset == "paper" else remember)
    return run(stage(cast("GraphState", state), Run()), None)[0]


@pytest.mark.parametrize("preset", ["remember", "paper"])
def test_without_history_there_are_no_candidates(preset: str) -> None:
    assert _stage([], preset) == {"candidates": []}


def test_the_stage_keeps_what_was_degraded_before() -> None:
    assert _stage(_TURNS)["degraded"] == ["before"]


def test_the_stage_asks_with_the_window_where_the_detector_is_local() -> None:
    assert [c["gap_id"] for c in _stage(_TURNS)["candidates"]] == ["g1", None]
