"""Dialogues of the gap benchmark: `{id, domain, source, turns: [{id, speaker, time, text}]}`."""

from __future__ import annotations

from typing import Any

from remember_graph.errors import ChatFormatError
from remember_graph.integrations.chats.chat import Draft, Unread
from remember_graph.integrations.chats.decode import TextLines, clean_text, parse_json
from remember_graph.integrations.chats.export_files import ExportFiles, label
from remember_graph.integrations.chats.json_messages import has_odd_time, is_message, message_turn
from remember_graph.integrations.chats.jsonl import only_file
from remember_graph.types import Turn


def read_gapbench(files: ExportFiles, channel: str | None = None) -> Draft:
    """The turns of a dialogue; a channel means nothing here."""
    name = only_file(files)
    files.plan([name])
    notes = list(files.notes)
    with files.open(name) as stream:
        lines = TextLines(stream, files.head(name))
        items = _items(lines.read(), files)
    notes.extend(lines.notes())
    turns: list[Turn] = []
    unread, odd_times = Unread("turn"), Unread("time")
    for number, item in enumerate(items, start=1):
        if not is_message(item):
            unread.add(f"no. {number} (no text)")
            continue
        turns.append(message_turn(item))
        if has_odd_time(item):
            odd_times.add(number)
    if odd_times.count:
        notes.append(f"Times in an unknown form, left empty: {odd_times.count}.")
    return Draft(turns, clean_text(files.name), len(items), unread, notes=notes)


def _items(text: str, files: ExportFiles) -> list[Any]:
    try:
        dialogue = parse_json(text.lstrip("\ufeff"))
    except ValueError as error:
        raise ChatFormatError(f"{label(files.path)} is not valid JSON: {error}.") from error
    items = dialogue.get("turns") if isinstance(dialogue, dict) else None
    if not isinstance(items, list):
        raise ChatFormatError(f"{label(files.path)} has no list `turns`, as gapbench dialogues do.")
    return items
