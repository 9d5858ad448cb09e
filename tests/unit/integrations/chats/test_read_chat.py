"""What holds for the chats of all formats."""

import io
import json
import os
import zipfile
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from remember_graph.errors import ChatFormatError, ConfigError, RememberGraphError
from remember_graph.integrations.chats import FORMATS, Chat, read_chat

WHATSAPP = "13/03/24, 10:15 - Ana: hi\n"
MESSAGE = '{"role": "user", "content": "hi"}'

fuzzed = settings(
    max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)


def test_the_formats_are_these() -> None:
    assert FORMATS == ("whatsapp", "slack", "jsonl", "gapbench")


@pytest.mark.parametrize(
    ("content", "format"),
    [
        (WHATSAPP, "whatsapp"),
        ("[13.03.24, 10:15:00] Ana: hi\n", "whatsapp"),
        ("a line of mine\n" + WHATSAPP, "whatsapp"),
        (MESSAGE, "jsonl"),
        ("\ufeff \n" + MESSAGE, "jsonl"),
        (f'{{"broken\n{MESSAGE}', "jsonl"),
        (json.dumps([json.loads(MESSAGE)], indent=1), "jsonl"),
        ('{"speaker": "Ana", "text": "hi"}\n', "jsonl"),
        ('{"messages": [' + MESSAGE + "]}", "jsonl"),
        ('{"turns": [{"id": "1", "speaker": "Ana", "text": "hi"}]}', "gapbench"),
        ('[{"type": "message", "user": "U1", "text": "hi", "ts": "1710238500.1"}]', "slack"),
    ],
)
@pytest.mark.parametrize("encoding", ["utf-8", "utf-16"])
def test_the_format_is_told_by_the_content(
    tmp_path: Path, content: str, format: str, encoding: str
) -> None:
    path = tmp_path / "export.bin"
    path.write_bytes(content.encode(encoding))

    chat = read_chat(path)

    assert chat.format == format
    assert chat.lines.messages == 1


def test_a_chat_is_named_after_its_file(tmp_path: Path) -> None:
    path = tmp_path / "the team.v2.txt"
    path.write_text(WHATSAPP)

    assert read_chat(str(path)).name == "the team.v2"


def test_progress_is_reported_up_to_the_whole_file(tmp_path: Path) -> None:
    path = tmp_path / "chat.txt"
    path.write_text(WHATSAPP * 10_000)
    size = path.stat().st_size
    steps: list[tuple[int, int]] = []

    read_chat(path, on_progress=lambda done, total: steps.append((done, total)))

    assert steps[-1] == (size, size)
    assert steps == sorted(steps)
    assert len(steps) > 1


def test_progress_covers_all_files_of_an_export(tmp_path: Path) -> None:
    record = {"type": "message", "user": "U1", "text": "hi", "ts": "1710238500.1"}
    steps: list[tuple[int, int]] = []
    path = tmp_path / "acme.zip"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("general/2024-03-12.json", json.dumps([record]))
        archive.writestr("random/2024-03-12.json", json.dumps([record]))

    read_chat(path, on_progress=lambda done, total: steps.append((done, total)))

    size = 2 * len(json.dumps([record]))
    assert steps[-1] == (size, size)


@pytest.mark.parametrize("zone", ["Mars/Base", "+25:00", "", "../etc", "+2:99", "Europe"])
def test_a_zone_that_does_not_exist_is_an_error_that_names_the_option(
    tmp_path: Path, zone: str
) -> None:
    path = tmp_path / "chat.txt"
    path.write_text(WHATSAPP)

    with pytest.raises(ConfigError, match=r"`--tz` must be an IANA name"):
        read_chat(path, tz=zone)


@pytest.mark.parametrize(
    ("zone", "time"),
    [
        ("+02:00", "2024-03-13T10:15:00+02:00"),
        ("-0330", "2024-03-13T10:15:00-03:30"),
        ("UTC+2", "2024-03-13T10:15:00+02:00"),
        ("Asia/Kolkata", "2024-03-13T10:15:00+05:30"),
        ("UTC", "2024-03-13T10:15:00+00:00"),
        ("Z", "2024-03-13T10:15:00+00:00"),
    ],
)
def test_a_zone_is_a_name_or_an_offset(tmp_path: Path, zone: str, time: str) -> None:
    path = tmp_path / "chat.txt"
    path.write_text(WHATSAPP)

    assert read_chat(path, tz=zone).turns[0].time == time


def test_an_unknown_format_is_an_error_that_lists_the_known_ones(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="whatsapp, slack, jsonl, gapbench, got 'irc'"):
        read_chat(tmp_path, format="irc")


def test_a_missing_file_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(ChatFormatError, match=r"chat\.txt` cannot be opened: No such file"):
        read_chat(tmp_path / "chat.txt")


@pytest.mark.parametrize("name", ["a\0b", "x" * 5_000])
def test_an_impossible_path_is_an_error(tmp_path: Path, name: str) -> None:
    with pytest.raises(ChatFormatError, match="cannot be opened"):
        read_chat(tmp_path / name)


def test_a_path_that_is_no_file_is_not_waited_for(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")

    with pytest.raises(ChatFormatError, match="neither a file nor a folder"):
        read_chat(tmp_path / "pipe")


def test_a_folder_without_an_export_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "photo.jpg").write_bytes(b"\xff\xd8")

    with pytest.raises(ChatFormatError, match="in no known chat format"):
        read_chat(tmp_path)


@pytest.mark.parametrize(
    "content", [b"", b" \n\t\n", b"\xef\xbb\xbf", b"\xff\xfe", b"\xef\xbb\xbf\n"]
)
@pytest.mark.parametrize("format", ["auto", *FORMATS])
def test_an_empty_file_is_an_error(tmp_path: Path, content: bytes, format: str) -> None:
    path = tmp_path / "chat.txt"
    path.write_bytes(content)

    with pytest.raises(ChatFormatError, match="is empty"):
        read_chat(path, format=format)


@pytest.mark.parametrize("format", ["auto", *FORMATS])
def test_binary_data_is_an_error(tmp_path: Path, format: str) -> None:
    path = tmp_path / "chat.txt"
    path.write_bytes(b"\x89PNG\r\n\x1a\n" + bytes(range(256)))

    with pytest.raises(ChatFormatError, match="is not text"):
        read_chat(path, format=format)


def test_a_file_in_no_known_format_is_an_error_that_shows_the_known_ones(tmp_path: Path) -> None:
    path = tmp_path / "notes.txt"
    path.write_text("milk and bread\n")

    with pytest.raises(ChatFormatError, match=r"whatsapp: lines such as .*slack: .*jsonl: "):
        read_chat(path)


@pytest.mark.parametrize("content", [b"PK\x03\x04 and no more", b"no zip at all"])
def test_a_broken_zip_is_an_error(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "export.zip"
    path.write_bytes(content)

    with pytest.raises(ChatFormatError, match="is not a zip that can be read"):
        read_chat(path)


def test_damaged_data_inside_a_zip_is_an_error_that_names_the_entry(tmp_path: Path) -> None:
    held = io.BytesIO()
    with zipfile.ZipFile(held, "w") as archive:
        archive.writestr("_chat.txt", WHATSAPP)
    path = tmp_path / "export.zip"
    path.write_bytes(held.getvalue().replace(b"Ana: hi", b"Ana: ho"))

    with pytest.raises(ChatFormatError, match=r"cannot be read in `_chat\.txt`: Bad CRC-32"):
        read_chat(path, format="whatsapp")


def test_a_message_of_an_error_is_one_line_whatever_the_file_is_called(tmp_path: Path) -> None:
    with pytest.raises(ChatFormatError) as caught:
        read_chat(tmp_path / "a\nb\x1b[31m")

    assert "a b?[31m" in str(caught.value)


def _check(path: Path) -> None:
    """Reads a file in every format: each gives a chat that accounts for all, or our own error."""
    for format in ("auto", *FORMATS):
        for zone in (None, "Europe/Berlin"):
            try:
                chat = read_chat(path, format=format, tz=zone)
            except RememberGraphError as error:
                message = str(error)
            else:
                message = ""
                _check_account(chat)
            assert message.encode().count(b"\n") == 0


def _check_account(chat: Chat) -> None:
    lines = chat.lines
    assert lines.messages + lines.system + lines.skipped == lines.records
    assert lines.repeated <= lines.skipped
    assert lines.messages + lines.system == len(chat.turns)
    assert len({turn.id for turn in chat.turns}) == len(chat.turns)
    assert all(turn.id for turn in chat.turns)
    shown = [chat.name, *chat.notes, *(json.dumps(turn.to_dict()) for turn in chat.turns)]
    assert all("\n" not in text for text in shown)
    for turn in chat.turns:
        f"{turn.id}{turn.line}{turn.thread}{turn.reply_to}".encode()


@fuzzed
@given(data=st.binary(max_size=300))
def test_no_bytes_break_a_reader(tmp_path: Path, data: bytes) -> None:
    path = tmp_path / "chat.txt"
    path.write_bytes(data)
    _check(path)


_heads = st.builds(
    lambda day, month, year, hour, sep, text: f"{day}{sep}{month}{sep}{year}, {hour}:15 - {text}",
    st.integers(0, 40),
    st.integers(0, 14),
    st.sampled_from([24, 2024, 1999, 3]),
    st.integers(0, 25),
    st.sampled_from("/.-"),
    st.text(max_size=12) | st.sampled_from(["Ana: hi", "Ana left", "Ana: <Media omitted>"]),
)


@fuzzed
@given(lines=st.lists(_heads | st.text(max_size=12), max_size=12))
def test_no_text_breaks_a_reader(tmp_path: Path, lines: list[str]) -> None:
    path = tmp_path / "chat.txt"
    path.write_bytes("\n".join(lines).encode("utf-8", "surrogatepass"))
    _check(path)


_KEYS = [
    "role", "content", "text", "speaker", "name", "from", "user", "time",
    "ts", "type", "messages", "turns", "id", "tool_calls", "function", "arguments",
    "blocks", "elements", "attachments", "files", "thread_ts", "subtype", "comment", "edited",
    "message", "author", "user_profile", "bot_id", "profile", "members",
]  # fmt: skip
_json: st.SearchStrategy[Any] = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(_KEYS), inner, max_size=5)
    ),
    max_leaves=20,
)


@fuzzed
@given(value=_json)
def test_no_json_value_breaks_a_reader(tmp_path: Path, value: object) -> None:
    path = tmp_path / "chat.json"
    path.write_text(json.dumps(value))
    _check(path)


@fuzzed
@given(
    records=st.lists(
        st.dictionaries(st.sampled_from(_KEYS), _json, max_size=5).map(
            lambda record: {"ts": "1710238500.1", **record}
        ),
        max_size=3,
    ),
    users=_json,
    directs=st.lists(st.dictionaries(st.sampled_from(_KEYS), _json, max_size=3), max_size=2),
)
def test_no_slack_export_breaks_a_reader(
    tmp_path: Path, records: list[dict[str, Any]], users: object, directs: list[dict[str, Any]]
) -> None:
    path = tmp_path / "export.zip"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("users.json", json.dumps(users))
        archive.writestr("dms.json", json.dumps(directs))
        archive.writestr("general/2024-03-12.json", json.dumps(records))
    _check(path)
