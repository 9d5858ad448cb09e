"""One run that measures the history's speed, side by side with other ways to do the same.

Figures are comparable within a run alone: rows hold the product's value, the baseline's on the same
machine and data, and their ratio. A baseline that is not installed leaves a row with the reason.
"""

from __future__ import annotations

import json
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import cast

from remember_graph.context import Run
from remember_graph.evals.pipeline_methods import RecordedDetector
from remember_graph.evals.speed_baselines import chroma, chroma_missing, fts5, rebuild
from remember_graph.evals.speed_rows import Row, SpeedReport, machine, percentiles, row
from remember_graph.evals.speed_stream import synthetic_turns
from remember_graph.history.history import History
from remember_graph.history.sqlite_store import SQLiteStore
from remember_graph.history.store import Namespace
from remember_graph.model_steps import run
from remember_graph.protocols import TextEncoder
from remember_graph.stages import create_stages
from remember_graph.state import GraphState
from remember_graph.types import Turn

SIZES, FULL_SIZE = (10_000, 160_000, 1_000_000), 10_000_000
_REBUILD_TO = 160_000
_GAPS, _WINDOW_TURNS = 8, 50
_NAMESPACE = Namespace("bench", "stream")
_ADDED_AT_ONCE = 20_000

Progress = Callable[[int, int], None]


def measure_speed(
    encoder: TextEncoder | None, *, full: bool = False, on_progress: Progress | None = None
) -> SpeedReport:
    """Run everything.

    Args:
        encoder: Makes the vectors; None measures lexical search alone.
        full: Also at 10,000,000 tokens.
        on_progress: Called with the steps done and all of them.
    """
    sizes = (*SIZES, FULL_SIZE) if full else SIZES
    rows: list[Row] = []
    steps = len(sizes) + 2
    for done, part in enumerate((*(_at(size, encoder) for size in sizes), _start_up())):
        rows += part
        if on_progress is not None:
            on_progress(done + 1, steps)
    return {"machine": machine(), "rows": rows}


def _at(tokens: int, encoder: TextEncoder | None) -> Iterator[Row]:
    """The rows of one history length."""
    turns = list(synthetic_turns(tokens))
    with tempfile.TemporaryDirectory(prefix="remember-graph-bench-") as folder:
        path = Path(folder) / "history.db"
        if tokens <= _REBUILD_TO:
            yield row("ingest without vectors", _ingest(turns, None, None), "turns/s", tokens)
        kind = "with vectors" if encoder else "without vectors, file"
        yield row(f"ingest {kind}", _ingest(turns, encoder, path), "turns/s", tokens)
        yield row("file size", path.stat().st_size / 2**20, "MiB", tokens)
        history, opened = _cold_open(path, encoder)
        yield row("cold open", opened, "ms", tokens)
        yield from _window_rows(history, turns, encoder, tokens)
        yield row("resident memory", _resident_mib(), "MiB", tokens)
        history.close()


def _ingest(turns: Sequence[Turn], encoder: TextEncoder | None, path: Path | None) -> float:
    """Turns a second, stored and indexed."""
    history = History(SQLiteStore(path) if path else None, encoder=encoder)
    started = time.perf_counter()
    for at in range(0, len(turns), _ADDED_AT_ONCE):
        history.add(_NAMESPACE, turns[at : at + _ADDED_AT_ONCE])
    history.index(_NAMESPACE)
    elapsed = time.perf_counter() - started
    history.close()
    return len(turns) / elapsed


def _cold_open(path: Path, encoder: TextEncoder | None) -> tuple[History, float]:
    """The history of a file, and the milliseconds until its index can be searched."""
    started = time.perf_counter()
    history = History(SQLiteStore(path), encoder=encoder)
    history.index(_NAMESPACE)
    return history, (time.perf_counter() - started) * 1_000


def _window_rows(
    history: History, turns: Sequence[Turn], encoder: TextEncoder | None, tokens: int
) -> Iterator[Row]:
    window = turns[-_WINDOW_TURNS:]
    queries = [_query(turn) for turn in window[:_GAPS]]
    p50, p95 = percentiles(_build(history, window, queries), 15)
    against: list[tuple[str, Callable[[], Callable[[], object]] | None]] = []
    past = turns[:-_WINDOW_TURNS]
    if encoder is not None and tokens <= _REBUILD_TO:
        against.append(("rebuild per window", lambda: rebuild(past, queries, encoder)))
    against.append(("SQLite FTS5, sparse half", lambda: fts5(past, queries)))
    if encoder is not None and tokens <= SIZES[-1]:
        missing = chroma_missing()
        index = history.index(_NAMESPACE)
        vectors = index.vectors(len(past))
        if missing is None and vectors is not None:
            asked = encoder.encode_queries(queries)
            against.append(("Chroma, dense half", lambda: chroma(vectors, asked)))
        else:
            against.append((missing or "no vectors", None))
    name = f"window build, {_GAPS} gaps"
    yield row(f"{name}, p50", p50, "ms", tokens)
    yield row(f"{name}, p95", p95, "ms", tokens)
    for label, make in against:
        value = None if make is None else percentiles(make(), 3)[0]
        yield row(f"{name}, p50", p50, "ms", tokens, label, value)


def _query(turn: Turn) -> str:
    return f"What was said earlier about {' '.join(turn.text.split()[:8])}?"


def _build(
    history: History, window: Sequence[Turn], queries: Sequence[str]
) -> Callable[[], object]:
    """Retrieve, refine and allocate for one window with so many gaps."""
    gaps = [
        {
            "turn_id": turn.id,
            "kind": "relational",
            "query": query,
            "anchors": turn.text.split()[:4],
            "salience": 0.8,
        }
        for turn, query in zip(window, queries, strict=False)
    ]
    stages = create_stages(history, history.settings, detector=RecordedDetector(gaps))
    asked = {**_NAMESPACE._asdict(), "window_first": window[0].id, "window_last": window[-1].id}
    prepared, _ = run(stages["detect_gaps"](cast("GraphState", asked), Run()), None)

    def build() -> object:
        history.forget_queries()  # a window's queries are new to it
        history.index(_NAMESPACE).postings.forget_searches()
        state = prepared
        for name in ("retrieve", "refine", "allocate"):
            update, _ = run(stages[name](cast("GraphState", state), Run()), None)
            state = {**state, **update}
        return state["memory"]

    return build


def _resident_mib() -> float:
    """Of this process at its highest so far."""
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak / (2**20 if sys.platform == "darwin" else 2**10)


def _start_up() -> Iterator[Row]:
    """What a new process costs before it does anything, and a whole `catchup`."""
    ours = _fresh_process("import remember_graph")
    theirs = _fresh_process("import langgraph.graph")
    yield row("import remember_graph", ours, "ms", None, "import langgraph.graph", theirs)
    with tempfile.TemporaryDirectory(prefix="remember-graph-bench-") as folder:
        path = Path(folder) / "chat.jsonl"
        lines = (json.dumps(turn.to_dict()) for turn in synthetic_turns(_REBUILD_TO))
        path.write_text("\n".join(lines), "utf-8")
        code = f"from remember_graph.cli import main; main(['catchup', {str(path)!r}, '--json'])"
        yield row("cold catchup", _fresh_process(code, times=1), "ms", _REBUILD_TO)


def _fresh_process(code: str, times: int = 3) -> float:
    """Milliseconds of a new interpreter that runs the code, the best of a few."""
    taken = []
    for _ in range(times):
        started = time.perf_counter()
        subprocess.run([sys.executable, "-c", code], check=True, capture_output=True)
        taken.append((time.perf_counter() - started) * 1_000)
    return min(taken)
