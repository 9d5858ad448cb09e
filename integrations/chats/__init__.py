"""Chat exports as turns: WhatsApp text, Slack exports, JSON messages, gapbench dialogues."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from remember_graph.errors import ChatFormatError, ConfigError
from remember_graph.integrations.chats.chat import Chat, Draft, LineCount, finish_chat
from remember_graph.integrations.chats.export_files import (
    ExportFiles,
    Progress,
    label,
    open_export,
)
from remember_graph.integrations.chats.gapbench import read_gapbench
from remember_graph.integrations.chats.jsonl import read_jsonl
from remember_graph.integrations.chats.slack import read_slack
from remember_graph.integrations.chats.sniff import refuse_unreadable, sniff_format
from remember_graph.integrations.chats.whatsapp import read_whatsapp
from remember_graph.integrations.chats.zones import parse_zone

__all__ = ["FORMATS", "Chat", "LineCount", "read_chat"]


@dataclass(frozen=True, slots=True)
class _Reader:
    """How a format is read, and what it looks like to a person."""

    read: Callable[[ExportFiles, str | None], Draft]
    looks_like: str


_READERS = {
    "whatsapp": _Reader(read_whatsapp, "lines such as `12/03/24, 10:15 - Ana: Hello`"),
    "slack": _Reader(read_slack, "a folder or zip with files such as general/2024-03-12.json"),
    "jsonl": _Reader(read_jsonl, 'JSON such as {"role": "user", "content": "Hello"}'),
    "gapbench": _Reader(read_gapbench, 'one JSON object {"id": ..., "turns": [...]}'),
}

FORMATS: tuple[str, ...] = tuple(_READERS)
"""The names of the formats that can be read."""


def read_chat(
    path: str | os.PathLike[str],
    *,
    format: str = "auto",
    tz: str | None = None,
    channel: str | None = None,
    on_progress: Progress | None = None,
) -> Chat:
    """The conversation of a chat export.

    Args:
        path: A file, a folder or a zip.
        format: One of `FORMATS`, or `auto` to tell it by the content.
        tz: The zone of the times, an IANA name or an offset. Times without a zone are taken
            as local there, others are converted.
        channel: Which channel of an export with several; formats without channels ignore it.
        on_progress: Called with the bytes read so far and the bytes to be read.

    Raises:
        ChatFormatError: There is no chat at the path, or none in this format.
        ConfigError: The format, the zone or the channel does not exist.

    Example:
        >>> from pathlib import Path
        >>> from tempfile import TemporaryDirectory
        >>> with TemporaryDirectory() as folder:
        ...     path = Path(folder) / "chat.jsonl"
        ...     written = path.write_text('{"speaker": "Ana", "text": "The hall is booked."}')
        ...     read_chat(path).turns[0].line
        'Ana: The hall is booked.'
    """
    if format != "auto" and format not in _READERS:
        raise ConfigError(
            f"`--format` must be auto or one of {', '.join(FORMATS)}, got {format!r}."
        )
    zone = None if tz is None else parse_zone(tz)
    with open_export(Path(path), on_progress) as files:
        refuse_unreadable(files)
        known = sniff_format(files) if format == "auto" else format
        if known is None:
            raise _unknown_format(files)
        draft = _READERS[known].read(files, channel)
    chat = finish_chat(draft, format=known, zone=zone)
    if not chat.lines.messages:
        raise ChatFormatError(
            f"{label(Path(path))} holds no message in the format {known} "
            f"(expected: {_READERS[known].looks_like}); other records: {chat.lines.records}."
        )
    return chat


def _unknown_format(files: ExportFiles) -> ChatFormatError:
    known = "; ".join(f"{name}: {reader.looks_like}" for name, reader in _READERS.items())
    return ChatFormatError(f"{label(files.path)} is in no known chat format ({known}).")
