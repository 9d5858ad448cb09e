"""What a result says where vectors are missing, with the reason and what helps."""

from __future__ import annotations

from remember_graph.history.history import History
from remember_graph.history.store import Namespace
from remember_graph.history.stream_index import StreamIndex


def missing_vectors(
    history: History, namespace: Namespace, index: StreamIndex, turns: int
) -> list[str]:
    """One line where some of the first `turns` turns cannot be found by vector; else none."""
    if history.encoder is None:
        return ["embeddings: none; the history is searched by words alone"]
    with index.lock:
        missing = turns - index.embedded(turns)
    if not missing:
        return []
    line = (
        f"embeddings: {missing} of {turns} history turns have no vector of "
        f"{history.encoder.id}; those are searched by words alone"
    )
    return [line + "".join(f"; {reason}" for reason in _reasons(history, namespace))]


def _reasons(history: History, namespace: Namespace) -> list[str]:
    reasons = []
    failure = getattr(history.store, "vector_failure", None)
    if failure:
        reasons.append(f"the store of vectors failed: {failure}")
    models = history.store.vector_models(namespace)
    others = sorted(model for model in models if history.encoder and model != history.encoder.id)
    if others:
        reasons.append(f"there are vectors of {', '.join(others)}")
    if history.background is None:
        reasons.append("`remember-graph reindex` makes them")
    elif namespace in history.background.failures:
        reasons.append(f"making them failed: {history.background.failures[namespace]}")
    else:
        reasons.append("they are being made")
    return reasons
