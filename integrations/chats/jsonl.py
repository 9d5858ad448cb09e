"""Chats as JSON: one message a line, an array of messages, or `{"messages": [...]}`.

Lines are read one by one, so that a log of any length is read in one pass; a line that is no
message is left out and named. An array, and an object over several lines, is read whole.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import chain
from typing import Any

from remember_graph.errors import ChatFormatError
from remember_graph.integrations.chats.chat import Draft, Unread
from remember_graph.integrations.chats.decode import TextLines, clean_text, parse_json
from remember_graph.integrations.chats.export_files import ExportFiles, label
from remember_graph.integrations.chats.json_messages import has_odd_time, is_message, message_turn
from remember_graph.types import Turn

_EDGES = " \t\r\n\x0b\x0c\x00\ufeff\u200b\u2028\u2029\x85\xa0"
_Record = tuple[str, Any]  # where it is, and its JSON value


class _Broken:
    """Stands for a record that is no JSON."""


def read_jsonl(files: ExportFiles, channel: str | None = None) -> Draft:
    """The messages of a JSON or JSON Lines file; a channel means nothing here."""
    name = only_file(files)
    files.plan([name])
    notes = list(files.notes)
    with files.open(name) as stream:
        lines = TextLines(stream, files.head(name))
        turns, count, unread, odd_times = _read_records(_records(lines, files))
    notes.extend(lines.notes())
    if odd_times.count:
        notes.append(
            f"Times in an unknown form, left empty: {odd_times.count} "
            f"(the first in {odd_times.places[0]})."
        )
    return Draft(turns, clean_text(files.name), count, unread, notes=notes)


def only_file(files: ExportFiles) -> str:
    """The name of the export's one file.

    Raises:
        ChatFormatError: It is a folder, or a zip of several.
    """
    if files.kind == "folder" or len(files.sizes) != 1:
        raise ChatFormatError(f"{label(files.path)} is not one file; JSON chats are one file.")
    return next(iter(files.sizes))


def _read_records(records: Iterable[_Record]) -> tuple[list[Turn], int, Unread, Unread]:
    turns: list[Turn] = []
    unread, odd_times = Unread("record"), Unread("time")
    count = 0
    for place, record in records:
        count += 1
        if not is_message(record):
            unread.add(f"{place} ({'no JSON' if record is _Broken else 'no message'})")
            continue
        turns.append(message_turn(record))
        if has_odd_time(record):
            odd_times.add(place)
    return turns, count, unread, odd_times


def _records(lines: TextLines, files: ExportFiles) -> Iterator[_Record]:
    """The records of a file, whichever of the three layouts it has."""
    numbered: Iterator[tuple[int, str]] = (
        (number, text) for number, line in enumerate(lines, start=1) if (text := line.strip(_EDGES))
    )
    first = next(numbered, None)
    if first is None:
        return
    if first[1].startswith("["):
        yield from _whole(_join(first, numbered), files)
        return
    if first[1].startswith("{") and _parsed(first[1]) is _Broken:
        # Either an object over several lines, or a file whose first line is damaged.
        rest = list(numbered)
        whole = _parsed(_join(first, rest))
        if whole is not _Broken:
            yield from _expanded("the file", whole)
            return
        numbered = iter(rest)
    for number, text in chain([first], numbered):
        yield from _expanded(f"line {number}", _parsed(text))


def _join(first: tuple[int, str], rest: Iterable[tuple[int, str]]) -> str:
    return "\n".join(text for _, text in chain([first], rest))


def _whole(text: str, files: ExportFiles) -> Iterator[_Record]:
    try:
        items = parse_json(text)
    except ValueError as error:
        raise ChatFormatError(f"{label(files.path)} is not valid JSON: {error}.") from error
    for number, item in enumerate(items, start=1):
        yield from _expanded(f"item {number}", item)


def _parsed(text: str) -> Any:  # noqa: ANN401  JSON is any value
    try:
        return parse_json(text)
    except ValueError:
        return _Broken


def _expanded(place: str, value: Any) -> Iterator[_Record]:  # noqa: ANN401
    """A record, or the messages of an object that holds a list of them."""
    if isinstance(value, dict) and isinstance(value.get("messages"), list):
        for number, item in enumerate(value["messages"], start=1):
            yield f"{place}, message {number}", item
    else:
        yield place, value
