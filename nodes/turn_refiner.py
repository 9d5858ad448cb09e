"""Which single turns say it best?

Reads `candidates` and `gaps`; writes `rankings`. `paper`: the candidate chunks are split into
whole turns and ranked by the cosine of turn and gap query (ReMEMBER, arXiv 2608.09043); without
vectors by BM25. `remember`: the candidates are turns already and keep their order. Without
candidates there is nothing to rank.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol

import numpy as np

from remember_graph.context import Run
from remember_graph.history.history import History
from remember_graph.model_steps import Steps
from remember_graph.nodes.fusion import best_first
from remember_graph.nodes.hybrid_retriever import embed_queries, query_with_anchors
from remember_graph.settings import Settings
from remember_graph.state import Candidates, Gap, GraphState, Ranking
from remember_graph.terms import extract_terms
from remember_graph.view import WindowView, view_of


class Refiner(Protocol):
    """Ranks the single turns of the candidates."""

    def rank(
        self, view: WindowView, gaps: Sequence[Gap], candidates: Sequence[Candidates]
    ) -> list[Ranking]:
        """One ranking per candidates."""


class PaperRefiner:
    """Turns of the candidate chunks by cosine.

    Args:
        history: The streams.
        settings: Length of the rankings, constants of BM25.
    """

    def __init__(self, history: History, settings: Settings) -> None:
        self._history, self._settings = history, settings

    def rank(
        self, view: WindowView, gaps: Sequence[Gap], candidates: Sequence[Candidates]
    ) -> list[Ranking]:
        """See `Refiner`."""
        scores = self._scores(view, gaps)
        limit = self._settings.allocate.longest_ranking
        rankings: list[Ranking] = []
        for row, found in enumerate(candidates):
            ids = dict.fromkeys(id for chunk in found["turn_ids"] for id in chunk)
            at = np.array([view.index.position(id) for id in ids], np.int64)
            order = best_first(scores[row, at], limit)
            rankings.append(
                {
                    "gap_id": found["gap_id"],
                    "related": found["related"],
                    "turn_ids": [view.index.turns[at[place]].id for place in order],
                    "scores": [float(scores[row, at[place]]) for place in order],
                }
            )
        return rankings

    def _scores(self, view: WindowView, gaps: Sequence[Gap]) -> np.ndarray:
        vectors, _ = embed_queries(self._history, view.index, [gap["query"] for gap in gaps])
        if vectors is not None and view.index.embedded(view.history):
            return view.index.cosines(vectors, turns=view.history)
        terms = [extract_terms(query_with_anchors(gap)) for gap in gaps]
        retrieve = self._settings.retrieve
        return view.index.postings.scores(
            terms, turns=view.history, k1=retrieve.bm25_k1, b=retrieve.bm25_b
        )


class RememberRefiner:
    """Candidates that are single turns, in their order."""

    def rank(
        self, view: WindowView, gaps: Sequence[Gap], candidates: Sequence[Candidates]
    ) -> list[Ranking]:
        """See `Refiner`."""
        return [
            {
                "gap_id": found["gap_id"],
                "related": found["related"],
                "turn_ids": [turns[0] for turns in found["turn_ids"]],
                "scores": found["scores"],
            }
            for found in candidates
        ]


class Refine:
    """The stage `refine`.

    Args:
        history: The streams.
        refiner: Ranks the turns.
    """

    def __init__(self, history: History, refiner: Refiner) -> None:
        self._history, self._refiner = history, refiner

    def __call__(self, state: GraphState, run: Run) -> Steps[dict[str, Any]]:
        """The rankings."""
        view = view_of(state, self._history)
        with view.index.lock:
            rankings = self._refiner.rank(view, state["gaps"], state["candidates"])
        return {"rankings": rankings}
        yield  # a stage is a generator, this one asks no model
