"""WhatsApp's `Export chat`: a text file, alone, in a zip or in a folder with its media.

A message begins with a head (date, time, layout of the phone); lines without one belong to the
message above. The file's layout and date order are decided from all its heads, and heads that
do not fit them or the course of time are text of the message above.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime

from remember_graph.errors import ChatFormatError
from remember_graph.integrations.chats.chat import Draft, Unread
from remember_graph.integrations.chats.decode import TextLines, clean_text
from remember_graph.integrations.chats.export_files import ExportFiles, label
from remember_graph.integrations.chats.whatsapp_dates import Order, decide_order, moment_of
from remember_graph.integrations.chats.whatsapp_headers import Stamp, read_head
from remember_graph.integrations.chats.whatsapp_order import quoted_positions
from remember_graph.integrations.chats.whatsapp_phrases import (
    is_deleted,
    is_notice,
    name_attachments,
    take_edit_mark,
    trim,
)
from remember_graph.types import Turn

_CAPS = (40_000, 10_000)  # without and with media, says WhatsApp's FAQ
_CAP_SLACK = 20
_LONGEST_NAME = 100


@dataclass(slots=True)
class _Record:
    """A line with a head, and the lines under it."""

    number: int
    stamp: Stamp
    text_start: int
    lines: list[str]

    @property
    def text(self) -> str:
        return "\n".join([self.lines[0][self.text_start :], *self.lines[1:]])


def read_whatsapp(files: ExportFiles, channel: str | None = None) -> Draft:
    """The messages of a WhatsApp text; a channel means nothing here."""
    name = chat_file(files)
    if name is None:
        raise ChatFormatError(f"{label(files.path)} holds no WhatsApp text (`_chat.txt`).")
    files.plan([name])
    with files.open(name) as stream:
        lines = TextLines(stream, files.head(name))
        records, unread = _split_records(lines)
    notes = list(files.notes)
    notes.extend(lines.notes())
    turns = _read_records(records, unread, notes)
    return Draft(turns, _chat_name(files, name), len(turns) + unread.count, unread, notes=notes)


def chat_file(files: ExportFiles) -> str | None:
    """The one text of an export that can be a chat, or None."""
    if files.kind == "file":
        return next(iter(files.sizes))
    texts = [name for name in files.sizes if name.lower().endswith(".txt")]
    chats = [name for name in texts if name.rsplit("/", 1)[-1] == "_chat.txt"] or texts
    chats = [name for name in chats if not name.startswith("__MACOSX/")]
    return chats[0] if len(chats) == 1 else None


def _chat_name(files: ExportFiles, name: str) -> str:
    if files.kind == "file" and files.name == "_chat":  # unpacked by hand: the folder says whose
        return clean_text(files.path.resolve().parent.name) or files.name
    return files.name


def _split_records(lines: Iterable[str]) -> tuple[list[_Record], Unread]:
    records: list[_Record] = []
    unread = Unread()
    for number, line in enumerate(lines, start=1):
        head = read_head(line)
        if head is not None:
            records.append(_Record(number, *head, [line]))
        elif records:
            records[-1].lines.append(line)
        elif trim(line):
            unread.add(number)
    return records, unread


def _read_records(records: Sequence[_Record], unread: Unread, notes: list[str]) -> list[Turn]:
    layouts = Counter(record.stamp.layout for record in records)
    layout = max(layouts, key=lambda it: layouts[it], default="-")
    order, order_notes = decide_order(
        [(record.number, record.stamp) for record in records if record.stamp.layout == layout]
    )
    notes.extend(order_notes)
    kept = _join_quoted(records, _fitting(records, layout, order), unread, notes)
    if any(abs(len(kept) - cap) <= _CAP_SLACK for cap in _CAPS):
        notes.append(
            f"The export holds {len(kept)} messages, about the most WhatsApp exports: "
            "older ones may be missing."
        )
    return [_turn(record, moment) for record, moment in kept]


def _fitting(
    records: Sequence[_Record], layout: str, order: Order
) -> dict[int, tuple[_Record, datetime]]:
    """By line number the records whose head fits the file's layout, dates and course."""
    dated = [
        (record, moment)
        for record in records
        if record.stamp.layout == layout and (moment := moment_of(record.stamp, order))
    ]
    quoted = quoted_positions([moment for _, moment in dated])
    return {item[0].number: item for position, item in enumerate(dated) if position not in quoted}


def _join_quoted(
    records: Sequence[_Record],
    fitting: dict[int, tuple[_Record, datetime]],
    unread: Unread,
    notes: list[str],
) -> list[tuple[_Record, datetime]]:
    """The fitting records; the lines of the others become text of the one above."""
    kept: list[tuple[_Record, datetime]] = []
    joined = Unread()
    for record in records:
        if record.number in fitting:
            kept.append(fitting[record.number])
        elif kept:
            kept[-1][0].lines.extend(record.lines)
            joined.add(record.number)
        else:
            unread.add(record.number)
    if joined.count:
        more = ", …" if joined.count > len(joined.places) else ""
        notes.append(
            "Lines that look like messages but do not fit the order or form of the file were "
            f"kept as text of the message above: {', '.join(joined.places)}{more}."
        )
    return kept


def _turn(record: _Record, moment: datetime) -> Turn:
    speaker, text = _split_speaker(record.text)
    text, edited = take_edit_mark(text)
    system = not speaker or is_deleted(text) or is_notice(text)
    return Turn(
        speaker=clean_text(speaker),
        text=clean_text(trim(name_attachments(text))),
        time=moment.isoformat(),
        kind="system" if system else "message",
        edited=edited,
    )


def _split_speaker(text: str) -> tuple[str, str]:
    """The name and what follows; no name for the program's own lines, which have no colon."""
    first_line, line_end, more = text.partition("\n")
    name, colon, rest = f"{first_line} ".partition(": ")
    # Ana changed the subject from "Trip: May" to "Trip: June"
    in_quotes = name.count('"') % 2 or name.count("“") > name.count("”")
    speaker = " ".join(trim(trim(name).removeprefix("~")).split())
    if not colon or in_quotes or not 0 < len(speaker) <= _LONGEST_NAME:
        return "", text
    return speaker, rest.removesuffix(" ") + line_end + more
