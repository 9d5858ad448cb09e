"""How well each turn of the history answers the window as a whole: the score without a model.

Every window turn is a query; for each the history's turns are scored four ways (cosine and BM25 of
the turn, best cosine and best BM25 of the chunks that hold it), standardised and added. A soft
maximum pools the window's turns, so that a turn that answers one of them well counts, and a prior
for closeness is added. Constants were chosen by cross-validation over dialogues and rounded.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from remember_graph.nodes.fusion import standardise
from remember_graph.protocols import Vectors
from remember_graph.settings import RetrieveSettings
from remember_graph.terms import extract_terms
from remember_graph.view import WindowView

Floats = NDArray[np.float64]

# Of turn cosine, turn BM25, chunk cosine, chunk BM25; scaled so that they sum to 4.
_WEIGHTS = np.array([1.0, 1.0, 1.5, 2.0]) * 4 / 5.5
_RARITY_POWER = 3.0  # in chunks a shared term counts by its rarity, or long turns match everything
_TEMPERATURE = 2.0
_NEAR_TURNS = 10  # added to every distance
_SHORTEST_QUERY = 10  # tokens; shorter window turns say too little to ask with
_FEWEST_TERMS = 5  # distinct content terms of a history turn that can answer anything


def score_window(
    view: WindowView, vectors: Vectors | None, tokens: NDArray[np.int64], settings: RetrieveSettings
) -> tuple[Floats, Floats]:
    """For each history turn its score for each window turn, and one for all of them.

    Args:
        view: The window and the history before it.
        vectors: Unit vectors of the window's turns; None for lexical search alone.
        tokens: Of the window's turns.
        settings: Constants of BM25.

    Returns:
        Shapes (window turns, history turns) and (history turns,); the latter is -inf for turns
        that say too little.
    """
    fused = fuse(view, vectors, settings)
    closeness = -np.log(np.arange(view.history, 0, -1) + _NEAR_TURNS)
    asking = tokens >= _SHORTEST_QUERY
    if not asking.any():
        asking = np.ones(len(tokens), bool)
    asked = (
        fused[asking] / _TEMPERATURE + 0.5 * np.log(np.maximum(tokens[asking], 1))[:, np.newaxis]
    )
    highest = asked.max(axis=0)
    pooled = _TEMPERATURE * (highest + np.log(np.exp(asked - highest).sum(axis=0)))
    terms = view.index.postings.content_counts(turns=view.history)
    return fused + closeness, np.where(terms < _FEWEST_TERMS, -np.inf, pooled + closeness)


def fuse(view: WindowView, vectors: Vectors | None, settings: RetrieveSettings) -> Floats:
    """The four standardised scores, weighted and added: shape (window turns, history turns)."""
    index, turns, k1 = view.index, view.history, settings.bm25_k1
    queries = [extract_terms(turn.line) for turn in view.turns]
    singles = index.postings.match(queries, turns=turns, k1=k1, b=settings.bm25_b_turns)
    chunks = index.postings.match(
        queries, turns=turns, runs=index.chunks(turns), k1=k1, b=settings.bm25_b
    )
    bm25 = standardise(singles.bm25_of_rare(0.0))
    chunk_bm25 = standardise(index.best_of_chunks(chunks.bm25_of_rare(_RARITY_POWER), turns=turns))
    fused: Floats = _WEIGHTS[1] * bm25 + _WEIGHTS[3] * chunk_bm25
    if vectors is not None:
        cosine = index.cosines(vectors, turns=turns)
        chunk_cosine = index.best_of_chunks(index.chunk_cosines(cosine, turns=turns), turns=turns)
        fused += _WEIGHTS[0] * standardise(cosine) + _WEIGHTS[2] * standardise(chunk_cosine)
    return fused
