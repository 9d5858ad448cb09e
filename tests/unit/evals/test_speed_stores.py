"""What a store's speed is measured by, and that nothing of it stays."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from remember_graph.cli import main
from remember_graph.evals import speed_stores
from remember_graph.evals.speed_stores import measure_store
from remember_graph.evals.speed_stream import synthetic_turns
from remember_graph.history.sqlite_store import SQLiteStore


def test_each_row_is_a_positive_figure_and_nothing_stays(tmp_path: Path, hash_encoder: Any) -> None:
    path = tmp_path / "h.db"
    rows = measure_store(str(path), hash_encoder, tokens=500)["rows"]

    assert [row["name"] for row in rows] == [
        "ingest",
        "cold open",
        "nearest 10, p50",
        "forget a turn, its bytes gone",
    ]
    assert all(row["value"] is not None and row["value"] > 0 for row in rows)
    store = SQLiteStore(path)
    assert store.streams() == []
    store.close()


def test_without_vectors_nothing_is_searched_by_them(tmp_path: Path) -> None:
    rows = measure_store(str(tmp_path / "h.db"), None, tokens=200)["rows"]

    assert len(rows) == 3


def test_the_command_prints_the_rows_of_a_store(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(speed_stores, "synthetic_turns", lambda _: synthetic_turns(200))
    code = main(["bench", "--db", str(tmp_path / "h.db"), "--embeddings", "none", "--json"])

    assert code == 0
    assert [row["unit"] for row in json.loads(capsys.readouterr().out)["rows"]] == [
        "turns/s",
        "ms",
        "ms",
    ]


def test_a_store_and_a_long_history_are_not_measured_together(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert main(["bench", "--db", "h.db", "--full"]) == 2
    assert "--full" in capsys.readouterr().err
