"""A bench of two invented dialogues and three windows, small enough to reckon by hand."""

import json
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any

import pytest

from remember_graph.evals.bench import load_bench
from remember_graph.evals.bench_types import Bench

Edit = Callable[[dict[str, Any]], object]
Change = Callable[[Edit], None]


def turn(id: str, speaker: str, text: str, tokens: int) -> dict[str, Any]:
    return {"id": id, "speaker": speaker, "time": None, "text": text, "tokens": tokens}


DIALOGUES = {
    "garden": {
        "id": "garden",
        "domain": "chit-chat",
        "source": "invented",
        "turns": [
            turn("u0", "Ana", "The old gate is green", 10),
            turn("u1", "Ben", "We bought a wheelbarrow", 20),
            turn("u2", "Ana", "It cost forty crowns", 30),
            turn("u3", "Ben", "Is it still there?", 40),
            turn("u4", "Ana", "She borrowed it on Monday", 10),
            turn("u5", "Ben", "Then we wait because of that", 10),
        ],
        "questions": [],
    },
    "office": {
        "id": "office",
        "domain": "workplace",
        "source": "invented",
        "turns": [
            turn("u0", "Cy", "The printer jams on blue paper", 15),
            turn("u1", "Di", "Lunch?", 25),
            turn("u2", "Cy", "I will repair it today", 5),
        ],
        "questions": [],
    },
}


def gap(id: str, utterance: str, kind: str, evidence: list[list[str]]) -> dict[str, Any]:
    return {
        "id": id,
        "utterance": [utterance],
        "kind": kind,
        "missing": "what it is",
        "resolution": "what was said",
        "evidence": evidence,
        "votes": 3,
    }


WINDOWS = [
    {
        "id": "garden-w1",
        "dialogue": "garden",
        "domain": "chit-chat",
        "first": "u5",
        "last": "u5",
        "history_tokens": 110,
        "salient": [["u5"]],
        "gaps": [gap("garden-w1-g0", "u5", "relational", [["u4"]])],
    },
    {
        "id": "office-w0",
        "dialogue": "office",
        "domain": "workplace",
        "first": "u2",
        "last": "u2",
        "history_tokens": 40,
        "salient": [["u2"]],
        "gaps": [gap("office-w0-g0", "u2", "referential", [["u0"]])],
    },
    {
        "id": "garden-w0",
        "dialogue": "garden",
        "domain": "chit-chat",
        "first": "u3",
        "last": "u4",
        "history_tokens": 60,
        "salient": [["u3", "u4"]],
        "gaps": [
            gap("garden-w0-g0", "u3", "referential", [["u0"], ["u1", "u2"]]),
            gap("garden-w0-g1", "u4", "attribute", [["u1", "u2"]]),
        ],
    },
]

DISTRACTORS = {
    "x": {
        "id": "x",
        "domain": "workplace",
        "source": "invented",
        "turns": [turn("u0", "Ed", "Budget first", 100), turn("u1", "Fay", "Agreed", 100)],
        "questions": [],
    },
    "y": {
        "id": "y",
        "domain": "workplace",
        "source": "invented",
        "turns": [turn("u0", "Gil", "Slides next", 50)],
        "questions": [],
    },
}


def detection(turn_id: str, query: str) -> dict[str, Any]:
    return {
        "turn_id": turn_id,
        "kind": "referential",
        "missing": "it",
        "query": query,
        "anchors": ["it"],
        "salience": 0.5,
    }


DETECTIONS = [
    {"window": "garden-w0", "gaps": [detection("u3", "what is still there")]},
    {"window": "garden-w1", "gaps": []},
    {"window": "office-w0", "gaps": [detection("u2", "what is repaired")]},
]


def write_lines(path: Path, rows: Iterable[Any]) -> None:
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")


def write_dialogues(folder: Path, dialogues: Mapping[str, Any]) -> None:
    folder.mkdir()
    for name, dialogue in dialogues.items():
        (folder / f"{name}.json").write_text(json.dumps(dialogue), encoding="utf-8")


@pytest.fixture
def bench_folder(tmp_path: Path) -> Path:
    """The folder of the tiny bench, with everything that is optional."""
    folder = tmp_path / "tiny"
    folder.mkdir()
    write_dialogues(folder / "dialogues", DIALOGUES)
    write_dialogues(folder / "distractors", DISTRACTORS)
    write_lines(folder / "windows.jsonl", WINDOWS)
    write_lines(folder / "detections.jsonl", DETECTIONS)
    write_lines(folder / "selections.jsonl", [{"window": "garden-w0", "gaps": [["u1", "u0"]]}])
    return folder


@pytest.fixture
def bench(bench_folder: Path) -> Bench:
    """The tiny bench, read."""
    return load_bench(bench_folder)


@pytest.fixture
def change_window(bench_folder: Path) -> Change:
    """Rewrites fields of the third window, `garden-w0`; a callable gets the window itself."""

    def change(edit: Edit) -> None:
        windows = json.loads(json.dumps(WINDOWS))
        edit(windows[2])
        write_lines(bench_folder / "windows.jsonl", windows)

    return change


@pytest.fixture
def change_dialogue(bench_folder: Path) -> Change:
    """Rewrites the dialogue `garden`."""

    def change(edit: Edit) -> None:
        dialogue = json.loads(json.dumps(DIALOGUES["garden"]))
        edit(dialogue)
        (bench_folder / "dialogues" / "garden.json").write_text(json.dumps(dialogue))

    return change


@pytest.fixture(scope="session")
def gapbench() -> Bench:
    """The public development bench that lies beside a working checkout."""
    folder = Path(__file__).parents[4] / "shared" / "gapbench"
    if not folder.is_dir():
        pytest.skip(f"the gap benchmark is not beside this checkout ({folder})")
    return load_bench(folder)
