"""How fast a store is: what is written to it, read from it, searched in it and removed again."""

from __future__ import annotations

import time
import uuid
from collections.abc import Callable, Iterator
from typing import TypeVar

from remember_graph.evals.speed_rows import Row, SpeedReport, machine, percentiles, row
from remember_graph.evals.speed_stream import synthetic_turns
from remember_graph.history.history import History
from remember_graph.history.opening import open_store
from remember_graph.history.store import Namespace, Selection, TurnStore
from remember_graph.protocols import TextEncoder

_TOKENS = 160_000
_NEAREST = 10

Result = TypeVar("Result")


def measure_store(
    path_or_url: str, encoder: TextEncoder | None, *, tokens: int = _TOKENS
) -> SpeedReport:
    """Rows for one store; what was written to it is forgotten at the end.

    Args:
        path_or_url: As `Memory.open` takes it.
        encoder: Makes the vectors; None measures without.
        tokens: Length of the conversation.
    """
    store = open_store(path_or_url)
    namespace = Namespace(f"bench-{uuid.uuid4()}", "stream")
    try:
        rows = list(_rows(store, namespace, encoder, tokens))
    finally:
        store.forget(namespace, Selection())
        store.close()
    return {"machine": machine(), "rows": rows}


def _rows(
    store: TurnStore, namespace: Namespace, encoder: TextEncoder | None, tokens: int
) -> Iterator[Row]:
    turns = list(synthetic_turns(tokens))
    writer = History(store, encoder=encoder)
    _, seconds = _timed(lambda: writer.add(namespace, turns))
    yield row("ingest", len(turns) / seconds, "turns/s", tokens)
    reader = History(store, encoder=encoder)
    _, seconds = _timed(lambda: reader.index(namespace))
    yield row("cold open", seconds * 1_000, "ms", tokens)
    if encoder is not None:
        model, vectors = encoder.id, list(encoder.encode_queries([turns[0].text]))
        search = percentiles(lambda: store.nearest(namespace, model, vectors, _NEAREST), 15)
        yield row(f"nearest {_NEAREST}, p50", search[0], "ms", tokens)
    one = Selection(ids=(turns[0].id,))
    _, seconds = _timed(lambda: store.forget(namespace, one))
    yield row("forget a turn, its bytes gone", seconds * 1_000, "ms", tokens)


def _timed(call: Callable[[], Result]) -> tuple[Result, float]:
    started = time.perf_counter()
    result = call()
    return result, time.perf_counter() - started
