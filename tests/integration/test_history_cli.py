"""The commands for a history that is kept, run as a user runs them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from remember_graph.cli import main

_CHAT = [
    ("Ana", "2024-05-01T10:00:00", "The kiln is booked for Friday, it costs 80 euros."),
    ("Ben", "2024-05-01T10:05:00", "Then we glaze the blue pots on Thursday."),
    ("Cem", "2024-05-02T09:00:00", "My brother lends us the van."),
]


@pytest.fixture
def chat(tmp_path: Path) -> Path:
    path = tmp_path / "pottery.jsonl"
    rows = (json.dumps({"speaker": s, "time": t, "text": x}) for s, t, x in _CHAT)
    path.write_text("\n".join(rows), "utf-8")
    return path


def _run(capsys: pytest.CaptureFixture[str], *arguments: object) -> tuple[int, str, str]:
    code = main([str(argument) for argument in arguments])
    captured = capsys.readouterr()
    return code, captured.out, captured.err


def _json(capsys: pytest.CaptureFixture[str], *arguments: object) -> Any:
    code, out, err = _run(capsys, *arguments, "--json")
    assert code == 0, err
    return json.loads(out)


@pytest.fixture
def db(chat: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Path:
    path = tmp_path / "h.db"
    assert _run(capsys, "ingest", chat, "--db", path, "--embeddings", "none")[0] == 0
    return path


def test_ingest_adds_what_is_new_alone(
    chat: Path, db: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with chat.open("a", encoding="utf-8") as file:
        file.write('\n{"speaker": "Ana", "time": "2024-05-03T10:00:00", "text": "Done."}')

    report = _json(capsys, "ingest", chat, "--db", db, "--embeddings", "none")

    assert report == {
        "stream": "pottery",
        "tenant": "default",
        "added": 1,
        "known": 3,
        "changed": [],
        "without_vector": 0,
        "retired": 0,
    }


def test_streams_lists_each_with_its_turns(db: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert _json(capsys, "streams", "--db", db) == {
        "streams": [{"tenant": "default", "stream": "pottery", "turns": 3}]
    }


def test_recall_finds_the_turn_that_shares_the_words(
    db: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    options = ("--db", db, "--stream", "pottery", "--embeddings", "none", "--k", 1)

    found = _json(capsys, "recall", "What does the kiln cost?", *options)

    assert [turn["text"] for turn in found["turns"]] == [_CHAT[0][2]]


def test_recall_of_something_never_said_finds_nothing(
    db: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    options = ("--db", db, "--stream", "pottery", "--embeddings", "none")

    assert _json(capsys, "recall", "submarine", *options)["turns"] == []


@pytest.mark.parametrize(
    ("options", "left"),
    [
        (("--speaker", "Ana"), ["Ben", "Cem"]),
        (("--since", "2024-05-02"), ["Ana", "Ben"]),
        (("--until", "2024-05-01T10:05:00"), ["Ben", "Cem"]),
    ],
)
def test_forget_removes_what_is_chosen_alone(
    db: Path, capsys: pytest.CaptureFixture[str], options: tuple[str, ...], left: list[str]
) -> None:
    counts = _json(capsys, "forget", "--db", db, "--stream", "pottery", *options)

    exported = _json(capsys, "export", "--db", db, "--stream", "pottery")
    assert counts["turns"] == 1
    assert [turn["speaker"] for turn in exported["turns"]] == left


def test_forget_by_id_removes_that_turn(db: Path, capsys: pytest.CaptureFixture[str]) -> None:
    turns = _json(capsys, "export", "--db", db, "--stream", "pottery")["turns"]

    _json(capsys, "forget", "--db", db, "--stream", "pottery", "--turn", turns[1]["id"])

    left = _json(capsys, "export", "--db", db, "--stream", "pottery")["turns"]
    assert left == [turns[0], turns[2]]


def test_forget_without_a_filter_removes_the_stream(
    db: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    _json(capsys, "forget", "--db", db, "--stream", "pottery")

    assert _json(capsys, "streams", "--db", db) == {"streams": []}
    assert b"kiln" not in db.read_bytes()


def test_an_export_can_be_ingested_again(
    db: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "out.jsonl"
    assert _run(capsys, "export", "--db", db, "--stream", "pottery", "--out", out)[0] == 0
    again = tmp_path / "again.db"
    _json(capsys, "ingest", out, "--db", again, "--stream", "pottery", "--embeddings", "none")

    assert _json(capsys, "export", "--db", again, "--stream", "pottery") == _json(
        capsys, "export", "--db", db, "--stream", "pottery"
    )


def test_reindex_makes_the_vectors_that_are_missing(
    db: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    pytest.importorskip("wordllama", reason="needs a vector model: extra `local`")

    first = _json(capsys, "reindex", "--db", db, "--embeddings", "wordllama")
    second = _json(capsys, "reindex", "--db", db, "--embeddings", "wordllama")

    assert [row["vectors"] for row in (*first["streams"], *second["streams"])] == [3, 0]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("streams", "--db", "missing.db"), "there is no such file"),
        (("recall", "kiln", "--db", "{db}", "--stream", "nope"), "'pottery'"),
        (("recall", " ", "--db", "{db}", "--stream", "pottery"), "`query` must not be empty"),
        (("recall", "x", "--db", "{db}", "--stream", "pottery", "--k", "0"), "--k must be >= 1"),
        (("forget", "--db", "{db}", "--stream", "pottery", "--since", "then"), "`since` must be"),
        (("reindex", "--db", "{db}", "--embeddings", "none"), "--embeddings must name a model"),
    ],
)
def test_a_wrong_request_is_refused_in_one_line(
    db: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    arguments: tuple[str, ...],
    message: str,
) -> None:
    monkeypatch.chdir(tmp_path)
    code, out, err = _run(capsys, *(part.format(db=db) for part in arguments), *_yes(arguments))

    assert (code, out) == (2, "")
    assert len(err.splitlines()) == 1
    assert message in err


def _yes(arguments: tuple[str, ...]) -> tuple[str, ...]:
    return ("--yes",) if arguments[0] == "forget" else ()
