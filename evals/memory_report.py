"""The report of a memory evaluation: plain JSON, counted from the runs.

Recall is gaps recalled over all gaps. Its interval is bootstrapped over dialogues. Kinds and
domains without a gap are left out. `build_ms` has the median and the 95th percentile over windows.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import TypedDict

import numpy as np

from remember_graph.evals.bench_types import KINDS
from remember_graph.evals.bootstrap import recall_interval
from remember_graph.evals.memory_eval import GapResult, MemoryRun, WindowResult

_RECALL_DIGITS, _MS_DIGITS, _TOKEN_DIGITS = 4, 3, 1


class PartReport(TypedDict):
    """Recall over some of the gaps."""

    n: int
    recall: float


class BuildTime(TypedDict):
    """Milliseconds from the window to its memory, history indexed, no model call inside."""

    p50: float
    p95: float


class RunReport(TypedDict):
    """One method at one budget."""

    method: str
    detections: str | None
    """None for methods that use none."""
    budget: int
    history_tokens: int | None
    """None where no length was asked for."""
    n: int
    """Gaps."""
    recall: float
    ci95: list[float]
    by_kind: dict[str, PartReport]
    by_domain: dict[str, PartReport]
    memory_tokens_mean: float
    build_ms: BuildTime


class MemoryReport(TypedDict):
    """What `eval memory --json` prints."""

    bench: str
    embeddings: str | None
    """None where no method had an embedding model."""
    runs: list[RunReport]


def report(bench: str, embeddings: str | None, runs: Iterable[MemoryRun]) -> MemoryReport:
    """The report of runs on one bench, in their order.

    Args:
        bench: The bench's name.
        embeddings: Names the embedding model.
        runs: What `evaluate_memory` returned.
    """
    return {"bench": bench, "embeddings": embeddings, "runs": [_run(run) for run in runs]}


def _run(run: MemoryRun) -> RunReport:
    whole = _part([gap for window in run.windows for gap in window.gaps])
    build_ms = [window.build_ms for window in run.windows]
    return {
        "method": run.method,
        "detections": run.detections,
        "budget": run.budget,
        "history_tokens": run.history_tokens,
        "n": whole["n"],
        "recall": whole["recall"],
        "ci95": _interval(run.windows),
        "by_kind": _parts(run.windows, lambda _, gap: gap.kind, KINDS),
        "by_domain": _parts(
            run.windows,
            lambda window, _: window.domain,
            sorted({window.domain for window in run.windows}),
        ),
        "memory_tokens_mean": round(
            float(np.mean([window.memory_tokens for window in run.windows])), _TOKEN_DIGITS
        ),
        "build_ms": {
            "p50": round(float(np.percentile(build_ms, 50)), _MS_DIGITS),
            "p95": round(float(np.percentile(build_ms, 95)), _MS_DIGITS),
        },
    }


def _part(gaps: Sequence[GapResult]) -> PartReport:
    hits = sum(gap.recalled for gap in gaps)
    return {"n": len(gaps), "recall": round(hits / len(gaps), _RECALL_DIGITS)}


def _parts(
    windows: Sequence[WindowResult],
    name_of: Callable[[WindowResult, GapResult], str],
    names: Iterable[str],
) -> dict[str, PartReport]:
    """Recall by the name that each gap has, names without a gap left out."""
    grouped: dict[str, list[GapResult]] = {name: [] for name in names}
    for window in windows:
        for gap in window.gaps:
            grouped[name_of(window, gap)].append(gap)
    return {name: _part(gaps) for name, gaps in grouped.items() if gaps}


def _interval(windows: Sequence[WindowResult]) -> list[float]:
    hits: dict[str, int] = {}
    gaps: dict[str, int] = {}
    for window in windows:
        recalled = sum(gap.recalled for gap in window.gaps)
        hits[window.dialogue] = hits.get(window.dialogue, 0) + recalled
        gaps[window.dialogue] = gaps.get(window.dialogue, 0) + len(window.gaps)
    bounds = recall_interval(list(hits.values()), list(gaps.values()))
    return [round(bound, _RECALL_DIGITS) for bound in bounds]
