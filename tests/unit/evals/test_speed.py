"""The speed measurement: its rows, not its figures."""

from __future__ import annotations

from typing import Any

import pytest

from remember_graph.evals import speed
from remember_graph.evals.speed_rows import row
from remember_graph.evals.speed_stream import synthetic_turns


@pytest.fixture
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(speed, "SIZES", (3_000,))
    monkeypatch.setattr(speed, "_REBUILD_TO", 3_000)
    monkeypatch.setattr(speed, "_fresh_process", lambda code, times=3: 2.0)


@pytest.mark.usefixtures("small")
def test_every_row_has_the_keys_of_the_contract() -> None:
    report = speed.measure_speed(None)

    keys = {"name", "history_tokens", "value", "unit", "baseline", "baseline_value", "ratio"}
    assert {frozenset(row) for row in report["rows"]} == {frozenset(keys)}


@pytest.mark.usefixtures("small")
def test_with_vectors_the_baselines_are_measured_too(hash_encoder: Any) -> None:
    rows = speed.measure_speed(hash_encoder)["rows"]

    baselines = {str(row["baseline"]).split(",")[0] for row in rows if row["baseline"]}
    assert {"rebuild per window", "SQLite FTS5", "import langgraph.graph"} < baselines
    assert any("hroma" in name for name in baselines)  # measured, or why it is not


def test_a_ratio_is_the_baseline_over_the_value() -> None:
    made = row("x", 4.0, "ms", 10, "other", 10.0)

    assert made["ratio"] == 2.5


def test_a_baseline_that_is_missing_has_no_ratio() -> None:
    assert row("x", 4.0, "ms", 10, "not installed")["ratio"] is None


def test_the_same_seed_gives_the_same_turns() -> None:
    assert list(synthetic_turns(500)) == list(synthetic_turns(500))
    assert list(synthetic_turns(500)) != list(synthetic_turns(500, seed=8))
