"""`forget --whole-tenant` and `retain`, run as a user runs them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from remember_graph.cli import main
from remember_graph.memory import Memory
from remember_graph.types import Turn


@pytest.fixture
def db(tmp_path: Path) -> Path:
    path = tmp_path / "h.db"
    turns = [Turn("Ana", f"Day {day}.", f"2024-05-0{day}T10:00:00Z", str(day)) for day in (1, 2, 3)]
    with Memory.open(path, embeddings="none") as memory:
        for tenant, stream in (("red", "a"), ("red", "b"), ("blue", "a")):
            memory.add(stream, turns, tenant=tenant)
    return path


def _run(capsys: pytest.CaptureFixture[str], *arguments: object) -> tuple[int, str, str]:
    code = main([str(argument) for argument in arguments])
    captured = capsys.readouterr()
    return code, captured.out, captured.err


def _json(capsys: pytest.CaptureFixture[str], *arguments: object) -> Any:
    code, out, err = _run(capsys, *arguments, "--json")
    assert code == 0, err
    return json.loads(out)


def _streams(capsys: pytest.CaptureFixture[str], db: Path) -> list[tuple[str, str, int]]:
    rows = _json(capsys, "streams", "--db", db)["streams"]
    return [(row["tenant"], row["stream"], row["turns"]) for row in rows]


def test_a_whole_tenant_is_forgotten_and_nobody_else(
    db: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    report = _json(capsys, "forget", "--db", db, "--tenant", "red", "--whole-tenant")

    assert report == {"stream": None, "tenant": "red", "turns": 6, "vectors": 0, "summaries": 0}
    assert _streams(capsys, db) == [("blue", "a", 3)]


def test_retain_removes_what_is_past_the_number_now_and_later(
    db: Path, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    stream = ("--db", db, "--tenant", "red", "--stream", "a")
    report = _json(capsys, "retain", *stream, "--max-turns", 2)
    chat = tmp_path / "a.jsonl"
    chat.write_text('{"speaker": "Ben", "text": "One more."}', "utf-8")
    added = _json(capsys, "ingest", chat, *stream, "--embeddings", "none")

    assert report == {"stream": "a", "tenant": "red", "turns": 1, "vectors": 0, "summaries": 0}
    assert (added["added"], added["retired"]) == (1, 1)
    assert _streams(capsys, db) == [("blue", "a", 3), ("red", "a", 2), ("red", "b", 3)]


@pytest.mark.parametrize("age", ["30m", "12h", "90d", "4w"])
def test_retain_takes_an_age(db: Path, capsys: pytest.CaptureFixture[str], age: str) -> None:
    code, out, _ = _run(
        capsys, "retain", "--db", db, "--tenant", "red", "--stream", "a", "--max-age", age, "--yes"
    )

    assert (code, out) == (0, "removed: 3 turns, 0 vectors, 0 summaries\n")


def test_retain_without_a_bound_keeps_everything_again(
    db: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    stream = ("--db", db, "--tenant", "red", "--stream", "a")
    _json(capsys, "retain", *stream, "--max-turns", 1)
    _json(capsys, "retain", *stream)
    with Memory.open(db, embeddings="none") as memory:
        memory.add("a", [Turn("Ben", "One more.")], tenant="red")
        assert len(memory.log("a", tenant="red")) == 2


@pytest.mark.parametrize("command", [("forget", "--whole-tenant"), ("retain", "--max-turns", 1)])
def test_nothing_is_removed_without_a_yes(
    db: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    command: tuple[object, ...],
) -> None:
    monkeypatch.setattr("typer.confirm", lambda question, err: False)
    stream = () if command[0] == "forget" else ("--stream", "a")
    code, out, err = _run(capsys, *command, *stream, "--db", db, "--tenant", "red")

    assert (code, out) == (2, "")
    assert err == "error: nothing was removed: not confirmed (--yes does not ask)\n"
    assert ("red", "a", 3) in _streams(capsys, db)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("forget",), "--stream must be given (or --whole-tenant), got neither"),
        (("forget", "--stream", "a", "--whole-tenant"), "--whole-tenant removes every stream"),
        (("forget", "--whole-tenant", "--speaker", "Ana"), "it takes no --stream and no filter"),
        (("retain", "--stream", "a", "--max-turns", "0"), "--max-turns must be >= 1, got 0"),
        (("retain", "--stream", "a", "--max-age", "1y"), "30m, 12h, 90d or 4w, got '1y'"),
        (("retain", "--stream", "a", "--max-age", "0d"), "30m, 12h, 90d or 4w, got '0d'"),
        (("retain", "--stream", "nope", "--max-turns", "1"), "--stream must name a stream of"),
    ],
)
def test_a_wrong_request_is_refused_in_one_line(
    db: Path, capsys: pytest.CaptureFixture[str], arguments: tuple[str, ...], message: str
) -> None:
    code, out, err = _run(capsys, *arguments, "--db", db, "--tenant", "red", "--yes")

    assert (code, out) == (2, "")
    assert message in err
    assert err.count("\n") == 1
