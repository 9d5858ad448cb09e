"""Turns that answer a question asked from outside, by the same signals as the window's turns."""

from __future__ import annotations

from typing import TypedDict

import numpy as np

from remember_graph.errors import ConfigError
from remember_graph.history.history import History
from remember_graph.history.missing_vectors import missing_vectors
from remember_graph.history.store import Namespace
from remember_graph.nodes.fusion import best_first
from remember_graph.nodes.hybrid_retriever import embed_queries
from remember_graph.nodes.window_scores import fuse
from remember_graph.terms import extract_terms
from remember_graph.types import Turn
from remember_graph.view import WindowView


class RecalledTurn(TypedDict):
    """One turn that was found."""

    turn_id: str
    speaker: str
    time: str | None
    text: str
    score: float
    """Sum of four standardised scores; comparable within one answer only."""


class Recalled(TypedDict):
    """What `recall` gives."""

    stream: str
    tenant: str
    query: str
    turns: list[RecalledTurn]
    """Best first."""
    degraded: list[str]


def recall(history: History, namespace: Namespace, query: str, *, k: int = 10) -> Recalled:
    """The `k` turns of the stream that answer the query best.

    A turn is only named where it shares a term with the query, or its vector is as close as the
    encoder says that related texts are.

    Raises:
        ConfigError: The query is empty, or `k` is less than 1.
    """
    _check(query, k)
    index = history.index(namespace)
    with index.lock:
        view = WindowView(index, len(index), (Turn("", query),), (0,))
        lacking = missing_vectors(history, namespace, index, len(index)) if len(index) else []
        vectors, degraded = embed_queries(history, index, [query])
        found: list[RecalledTurn] = []
        if len(index):
            scores = fuse(view, vectors, history.settings.retrieve)[0]
            related = index.postings.match([extract_terms(query)]).rarest()[0] > 0
            floor = getattr(history.encoder, "unrelated_below", None)
            if vectors is not None and floor is not None:
                related |= index.cosines(vectors, turns=len(index))[0] >= floor
            scores = np.where(related, scores, -np.inf)
            best = [at for at in best_first(scores, k).tolist() if related[at]]
            found = [_found(index.turns[at], float(scores[at])) for at in best]
    return {
        "stream": namespace.stream,
        "tenant": namespace.tenant,
        "query": query,
        "turns": found,
        "degraded": [*lacking, *degraded],
    }


def nearest_turns(
    history: History, namespace: Namespace, query: str, *, k: int
) -> list[tuple[Turn, float]]:
    """The `k` turns of the stream whose vectors are closest to the query's, with their cosines.

    Raises:
        ConfigError: There is no embedding model, the query is empty, or `k` is less than 1.
        ModelError: The embedding model failed.
    """
    _check(query, k)
    if history.encoder is None:
        raise ConfigError("`embeddings` must name a model to search by vectors, got none")
    (found,) = history.store.nearest(
        namespace, history.encoder.id, list(history.encode_queries([query])), k
    )
    turns = history.store.turns_at(namespace, [near.position for near in found])
    return [(turns[near.position], near.cosine) for near in found if near.position in turns]


def _check(query: str, k: int) -> None:
    if not query.strip():
        raise ConfigError(f"`query` must not be empty, got {query!r}")
    if k < 1:
        raise ConfigError(f"`k` must be >= 1, got {k}")


def _found(turn: Turn, score: float) -> RecalledTurn:
    return {
        "turn_id": turn.id,
        "speaker": turn.speaker,
        "time": turn.time,
        "text": turn.text,
        "score": score,
    }
