"""Which format a chat is in, told by its content: names of files lie."""

from __future__ import annotations

import re
from typing import Any

from remember_graph.errors import ChatFormatError
from remember_graph.integrations.chats.decode import (
    TextLines,
    is_binary,
    parse_json,
    sniff_encoding,
)
from remember_graph.integrations.chats.export_files import ExportFiles, label
from remember_graph.integrations.chats.json_messages import has_speaker, is_message
from remember_graph.integrations.chats.slack_export import is_slack_export
from remember_graph.integrations.chats.whatsapp import chat_file
from remember_graph.integrations.chats.whatsapp_headers import MARKS, read_head

_BLANK = re.compile(rf"[\s\x00{MARKS}]*")
_LOOK_AT = 50  # records: the first ones may be damaged


def refuse_unreadable(files: ExportFiles) -> None:
    """Raises when the one file of an export is empty or no text."""
    if files.kind == "folder" or len(files.sizes) != 1:
        return
    head = files.head(next(iter(files.sizes)))
    if is_binary(head):
        raise ChatFormatError(f"{label(files.path)} is not text: it holds binary data.")
    if _BLANK.fullmatch(head.decode(sniff_encoding(head), "replace")):
        raise ChatFormatError(f"{label(files.path)} is empty.")


def sniff_format(files: ExportFiles) -> str | None:
    """The name of the format, or None if it is none that can be read."""
    if files.kind != "file" and is_slack_export(files):
        return "slack"
    if files.kind != "folder" and len(files.sizes) == 1:
        return _file_format(files, next(iter(files.sizes)))
    return "whatsapp" if chat_file(files) else None


def _file_format(files: ExportFiles, name: str) -> str | None:
    head = files.head(name)
    text = head.decode(sniff_encoding(head), "replace").lstrip(f" \t\r\n{MARKS}")
    if text.startswith(("{", "[")):
        found = _json_format(files, name, head)
        if found:
            return found
    # Also `[12.03.24, 10:15:00] Ana: …` begins with a bracket.
    return "whatsapp" if any(read_head(line) for line in text.splitlines()) else None


def _json_format(files: ExportFiles, name: str, head: bytes) -> str | None:
    """The format of the first records that are JSON, or of the file as one JSON value."""
    values = []
    with files.open(name) as stream:
        lines = TextLines(stream, head)
        texts = []
        for line in lines:
            texts.append(line)
            value = _value(line)
            values += [value] if isinstance(value, dict | list) else []
            if len(texts) >= _LOOK_AT or values:
                break
        found = next(filter(None, map(_value_format, values)), None)
        if found:
            return found
        return _value_format(_value("\n".join([*texts, lines.read()])))


def _value(text: str) -> Any:  # noqa: ANN401  JSON is any value
    try:
        return parse_json(text.strip(f" \t\r\n\x00{MARKS}"))
    except ValueError:
        return None


def _value_format(value: object) -> str | None:
    if value == []:
        return "jsonl"  # nothing in it, and the reader says so
    if isinstance(value, list):
        return next(filter(None, map(_record_format, value[:_LOOK_AT])), None)
    if isinstance(value, dict):
        if isinstance(value.get("turns"), list):
            return "gapbench"
        if isinstance(value.get("messages"), list):
            return "jsonl"
    return _record_format(value)


def _record_format(record: object) -> str | None:
    if not isinstance(record, dict):
        return None
    if record.get("type") == "message" and isinstance(record.get("ts"), str):
        return "slack"  # one day of a channel
    return "jsonl" if is_message(record) and has_speaker(record) else None
