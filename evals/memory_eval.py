"""Runs memory methods over a bench's windows and counts the gaps whose evidence they hold.

Budgets are the bench's own token counts, whole turns only. A memory that breaks a rule (a turn
from outside the history, a turn twice, a cost above the budget) is our fault and stops the run.
"""

from __future__ import annotations

import dataclasses
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from remember_graph.errors import ConfigError
from remember_graph.evals.bench_types import Bench, BenchDialogue, BenchWindow
from remember_graph.evals.methods import Detections, MemoryCase, MemoryMethod
from remember_graph.evals.metrics.evidence_recall import recalled
from remember_graph.evals.streams import Stream, bench_streams
from remember_graph.state import GapKind

Progress = Callable[[int, int], None]


@dataclass(frozen=True, slots=True)
class GapResult:
    """Whether one gap was recalled."""

    kind: GapKind
    recalled: bool


@dataclass(frozen=True, slots=True)
class WindowResult:
    """One memory, measured."""

    window: str
    dialogue: str
    domain: str
    gaps: tuple[GapResult, ...]
    memory_tokens: int
    build_ms: float


@dataclass(frozen=True, slots=True)
class MemoryRun:
    """One method at one budget over all windows of a bench.

    Attributes:
        method: Its name.
        detections: What it went by; None where it uses none.
        budget: Most tokens of a memory.
        history_tokens: Fewest tokens of a history that were asked for; None where not asked.
        windows: A result per window.
    """

    method: str
    detections: Detections | None
    budget: int
    history_tokens: int | None
    windows: tuple[WindowResult, ...]


def evaluate_memory(
    bench: Bench,
    methods: Sequence[MemoryMethod],
    *,
    budgets: Sequence[int],
    history_tokens: int | None = None,
    detections: Detections = "recorded",
    on_progress: Progress | None = None,
) -> list[MemoryRun]:
    """A run per method and budget, in this order.

    Args:
        bench: What is measured on.
        methods: What is measured.
        budgets: Most tokens of a memory.
        history_tokens: Fewest tokens of each history; distractors fill up what lacks.
        detections: What methods that use detections go by; where it is `recorded` they find
            them in the case, else they make them.
        on_progress: Called with the number of windows done and of all, over all methods.

    Raises:
        ConfigError: There is no budget, or one below 1.
        BenchFormatError: The bench lacks detections or distractors that are asked for.
        RuntimeError: A memory broke a rule.
    """
    if not budgets or min(budgets) < 1:
        raise ConfigError(f"`budgets` must be one or more numbers >= 1, got {list(budgets)}")
    streams = list(bench_streams(bench, history_tokens))
    total = len(methods) * len(bench.windows)
    runs: list[MemoryRun] = []
    done = 0
    for method in methods:
        used = detections if method.uses_detections else None
        per_window: list[list[WindowResult]] = []
        for results in _over(bench, streams, method, budgets, recorded=used == "recorded"):
            per_window.append(results)
            done += 1
            if on_progress is not None:
                on_progress(done, total)
        runs += [
            MemoryRun(method.name, used, budget, history_tokens, of_budget)
            for budget, of_budget in zip(budgets, zip(*per_window, strict=True), strict=True)
        ]
    return runs


def _over(
    bench: Bench,
    streams: Sequence[Stream],
    method: MemoryMethod,
    budgets: Sequence[int],
    *,
    recorded: bool,
) -> Iterator[list[WindowResult]]:
    """For each window the method's results, one a budget."""
    for stream in streams:
        conversation = stream.conversation
        method.start_stream(conversation.turns, conversation.tokens)
        for window in stream.windows:
            case = _case(bench, conversation, window, max(budgets), recorded=recorded)
            method.prepare(case)
            yield [_measure(method, window, dataclasses.replace(case, budget=b)) for b in budgets]


def _case(
    bench: Bench, stream: BenchDialogue, window: BenchWindow, budget: int, *, recorded: bool
) -> MemoryCase:
    first, last = stream.positions[window.first], stream.positions[window.last]
    return MemoryCase(
        window_id=window.id,
        history=stream.turns[:first],
        history_tokens=stream.tokens[:first],
        window=stream.turns[first : last + 1],
        gaps=bench.recorded_gaps(window.id) if recorded else None,
        budget=budget,
    )


def _measure(method: MemoryMethod, window: BenchWindow, case: MemoryCase) -> WindowResult:
    start = time.perf_counter()
    memory = method.build(case)
    build_ms = (time.perf_counter() - start) * 1_000
    return WindowResult(
        window=window.id,
        dialogue=window.dialogue,
        domain=window.domain,
        gaps=tuple(GapResult(gap.kind, recalled(gap.evidence, memory)) for gap in window.gaps),
        memory_tokens=_checked_cost(method.name, memory, case),
        build_ms=build_ms,
    )


def _checked_cost(method: str, memory: Sequence[str], case: MemoryCase) -> int:
    """Tokens of a memory that keeps the rules."""
    cost = case.cost
    where = f"method {method!r}, window {case.window_id!r}: the memory"
    for turn_id in memory:
        if turn_id not in cost:
            raise RuntimeError(f"{where} holds {turn_id!r}; only turns of the history are allowed")
    if len(set(memory)) != len(memory):
        raise RuntimeError(f"{where} holds a turn twice; each may be there once")
    total = sum(cost[turn_id] for turn_id in memory)
    if total > case.budget:
        raise RuntimeError(f"{where} has {total} tokens; the budget allows {case.budget}")
    return total
