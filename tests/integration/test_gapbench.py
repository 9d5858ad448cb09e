"""The numbers that were promised on the public gap benchmark: recall at 1,024 tokens of memory."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import pytest

from remember_graph.encoders import load_encoder
from remember_graph.evals.bench import load_bench
from remember_graph.evals.bench_types import Bench
from remember_graph.evals.memory_eval import evaluate_memory
from remember_graph.evals.memory_methods import create_methods
from remember_graph.evals.memory_report import RunReport, report
from remember_graph.protocols import TextEncoder


@pytest.fixture(scope="module")
def bench(shared: Path) -> Bench:
    """The development bench."""
    return load_bench(shared / "gapbench")


@pytest.fixture(scope="module")
def encoder() -> TextEncoder:
    """The embedded default."""
    pytest.importorskip("wordllama")
    encoder = load_encoder("wordllama")
    assert encoder is not None
    return encoder


@pytest.fixture(scope="module")
def recorded(bench: Bench, encoder: TextEncoder) -> Mapping[str, RunReport]:
    """Per method its run with the recorded detections of a strong model."""
    methods = create_methods(["recent", "hybrid", "paper", "remember"], encoder, "recorded")
    runs = evaluate_memory(bench, methods, budgets=[1024])
    return {run["method"]: run for run in report("gapbench", encoder.id, runs)["runs"]}


@pytest.fixture(scope="module")
def local(bench: Bench, encoder: TextEncoder) -> RunReport:
    """`remember` with the local detector: no model at all."""
    methods = create_methods(["remember"], encoder, "local")
    runs = evaluate_memory(bench, methods, budgets=[1024], detections="local")
    return report("gapbench", encoder.id, runs)["runs"][0]


def test_every_gap_is_counted(recorded: Mapping[str, RunReport]) -> None:
    assert {run["n"] for run in recorded.values()} == {214}


def test_remember_recalls_what_was_promised(recorded: Mapping[str, RunReport]) -> None:
    assert recorded["remember"]["recall"] >= 0.62


def test_paper_recalls_what_was_promised(recorded: Mapping[str, RunReport]) -> None:
    assert recorded["paper"]["recall"] >= 0.33


def test_the_hybrid_baseline_is_what_it_was_measured_to_be(
    recorded: Mapping[str, RunReport],
) -> None:
    assert recorded["hybrid"]["recall"] == pytest.approx(0.18, abs=0.06)


def test_the_recent_baseline_is_what_it_was_measured_to_be(
    recorded: Mapping[str, RunReport],
) -> None:
    assert recorded["recent"]["recall"] == pytest.approx(0.48, abs=0.06)


def test_without_any_model_remember_recalls_what_was_promised(local: RunReport) -> None:
    assert local["recall"] >= 0.54


def test_no_memory_is_above_its_budget(recorded: Mapping[str, RunReport]) -> None:
    assert all(run["memory_tokens_mean"] <= 1024 for run in recorded.values())
