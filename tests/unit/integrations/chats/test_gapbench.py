"""Dialogues of the gap benchmark."""

import json
from pathlib import Path

import pytest

from remember_graph.errors import ChatFormatError
from remember_graph.integrations.chats import LineCount, read_chat

_GAPBENCH = Path(__file__).parents[4] / ".." / "shared" / "gapbench"


def _write(path: Path, turns: object) -> Path:
    path.write_text(json.dumps({"id": "d1", "domain": "x", "source": "y", "turns": turns}))
    return path


def test_turns_keep_their_ids_and_times(tmp_path: Path) -> None:
    turn = {"id": "u0", "speaker": "Ana", "time": None, "text": "hi", "tokens": 3}
    path = _write(tmp_path / "d1.json", [turn, {**turn, "id": "u1", "time": "2024-03-12T10:15:00"}])

    chat = read_chat(path)

    assert (chat.format, chat.name) == ("gapbench", "d1")
    assert [(it.id, it.speaker, it.text, it.time) for it in chat.turns] == [
        ("u0", "Ana", "hi", None),
        ("u1", "Ana", "hi", "2024-03-12T10:15:00"),
    ]


def test_turns_without_text_are_skipped_and_named(tmp_path: Path) -> None:
    turn = {"id": "u0", "speaker": "Ana", "text": "hi"}
    chat = read_chat(_write(tmp_path / "d1.json", [turn, {"id": "u1"}, 3]))

    assert chat.lines == LineCount(records=3, messages=1, system=0, skipped=2)
    assert chat.notes == ("2 turns could not be read: no. 2 (no text), no. 3 (no text).",)


def test_a_time_in_an_unknown_form_is_told(tmp_path: Path) -> None:
    turn = {"id": "u0", "speaker": "Ana", "text": "hi", "time": "soon"}

    chat = read_chat(_write(tmp_path / "d1.json", [turn]))

    assert chat.notes == ("Times in an unknown form, left empty: 1.",)


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("{", "is not valid JSON"),
        ("[]", "has no list `turns`"),
        ('{"turns": 3}', "has no list `turns`"),
        ('{"turns": []}', "holds no message in the format gapbench"),
    ],
)
def test_what_is_no_dialogue_is_an_error(tmp_path: Path, text: str, found: str) -> None:
    path = tmp_path / "d1.json"
    path.write_text(text)

    with pytest.raises(ChatFormatError, match=found):
        read_chat(path, format="gapbench")


def test_each_dialogue_of_the_benchmark_is_read_without_a_loss() -> None:
    paths = sorted(_GAPBENCH.glob("dialogues/*.json"))
    if not paths:
        pytest.skip("the gap benchmark is not beside the repository")
    for path in paths:
        turns = json.loads(path.read_text(encoding="utf-8"))["turns"]
        chat = read_chat(path)
        assert chat.format == "gapbench"
        assert chat.lines == LineCount(records=len(turns), messages=len(turns), system=0)
        assert [turn.id for turn in chat.turns] == [turn["id"] for turn in turns]
