"""Slack's workspace export: the messages of one of its channels.

A message is known by `ts`, a decimal number that is kept as text. Records of a channel are put
in the order of `ts` (day files are not sorted, and a thread's replies lie in the days they were
written on), and a reply that was also sent to the channel is one turn.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from decimal import Decimal
from typing import Any

from remember_graph.errors import ChatFormatError
from remember_graph.integrations.chats.chat import Draft, Unread
from remember_graph.integrations.chats.decode import clean_text, replaced_notes
from remember_graph.integrations.chats.export_files import ExportFiles
from remember_graph.integrations.chats.slack_export import (
    SlackChannel,
    display_name,
    find_channels,
    load_json,
    named_channel,
    read_names,
)
from remember_graph.integrations.chats.slack_text import SlackNames, message_text
from remember_graph.types import Turn

_TS = re.compile(r"\d{1,11}(\.\d{1,9})?", re.ASCII)
_SYSTEM = re.compile(
    r"(channel|group|mpim)_\w+|(un)?pinned_item|bot_(add|remove|enable|disable)"
    r"|tombstone|reminder_add|sh_room_\w+|huddle_thread|ekm_access_denied"
)
_BROADCAST = "thread_broadcast"


@dataclass(slots=True)
class _Day:
    """The records of a day file, or why there are none."""

    records: list[Any] = field(default_factory=list)
    broken: str | None = None
    replaced: int = 0


def read_slack(files: ExportFiles, channel: str | None = None) -> Draft:
    """The messages of a channel; without a name, of the one with the most."""
    notes = list(files.notes)
    names = read_names(files, notes)
    channels = find_channels(files, names, notes)
    wanted = [named_channel(channels, channel)] if channel else channels
    files.plan([day for each in wanted for day in each.days])
    chosen, days = _largest(files, wanted)
    others = [each.name for each in wanted if each is not chosen]
    if others:
        notes.append(
            f"Read the channel {chosen.name}, which has the most messages; "
            f"--stream chooses another: {', '.join(others)}."
        )
    return _draft(chosen, days, names, notes)


def _largest(
    files: ExportFiles, channels: Sequence[SlackChannel]
) -> tuple[SlackChannel, list[_Day]]:
    """The channel with the most messages, the first of several; one is held at a time."""
    best, best_days, most = channels[0], list[_Day](), -1
    for each in channels:
        days = [_read_day(files, name) for name in each.days]
        count = sum(_is_message(record) for day in days for record in day.records)
        if count > most:
            best, best_days, most = each, days, count
    return best, best_days


def _read_day(files: ExportFiles, name: str) -> _Day:
    try:
        records, replaced = load_json(files, name)
    except ChatFormatError:
        raise
    except ValueError:
        return _Day(broken=name)
    return _Day(records, replaced=replaced) if isinstance(records, list) else _Day(broken=name)


def _is_message(record: object) -> bool:
    return isinstance(record, dict) and not _is_system(record)


def _is_system(record: Mapping[str, Any]) -> bool:
    return _SYSTEM.fullmatch(str(record.get("subtype"))) is not None


def _draft(
    channel: SlackChannel, days: Iterable[_Day], names: SlackNames, notes: list[str]
) -> Draft:
    unread = Unread("record")
    dated: list[tuple[Decimal, dict[str, Any]]] = []
    replaced = count = 0
    for day, name in zip(days, channel.days, strict=True):
        replaced += day.replaced
        count += len(day.records) + (day.broken is not None)  # a broken file counts as one
        if day.broken is not None:
            unread.add(f"{name} (no JSON list)")
        for number, record in enumerate(day.records, start=1):
            ts = _ts(record)
            if ts is None:
                unread.add(f"{name} no. {number} (no ts)")
            else:
                dated.append((Decimal(ts), record))
    notes.extend(replaced_notes(replaced))
    dated.sort(key=lambda item: item[0])
    records, repeated = _without_broadcasts([record for _, record in dated])
    turns = [_turn(record, names) for record in records]
    return Draft(turns, clean_text(channel.name), count, unread, repeated, notes)


def _ts(record: object) -> str | None:
    """The record's `ts` as text; numbers in the JSON come as text or int already."""
    ts = str(record.get("ts")) if isinstance(record, dict) else ""
    return ts if _TS.fullmatch(ts) else None


def _without_broadcasts(records: Sequence[dict[str, Any]]) -> tuple[list[dict[str, Any]], int]:
    """The records but for broadcasts of replies that are there as well, and how many these are."""
    replies = {_reply_key(record) for record in records if record.get("subtype") != _BROADCAST}
    kept = [
        record
        for record in records
        if record.get("subtype") != _BROADCAST or _reply_key(record) not in replies
    ]
    return kept, len(records) - len(kept)


def _reply_key(record: Mapping[str, Any]) -> tuple[str, ...]:
    return tuple(str(record.get(key)) for key in ("thread_ts", "user", "text"))


def _turn(record: Mapping[str, Any], names: SlackNames) -> Turn:
    ts = str(record["ts"])
    comment = record.get("comment")
    if record.get("subtype") == "file_comment" and isinstance(comment, dict):
        record = {**record, "user": comment.get("user"), "text": comment.get("comment")}
    thread = _thread(record)
    system = _is_system(record)
    return Turn(
        speaker="" if system else clean_text(_speaker(record, names)),
        text=clean_text(message_text(record, names)),
        time=_time(ts),
        id=ts,
        kind="system" if system else "message",
        reply_to=thread if thread != ts else None,
        thread=thread,
        edited=isinstance(record.get("edited"), dict),
    )


def _thread(record: Mapping[str, Any]) -> str | None:
    thread = str(record.get("thread_ts"))
    return thread if _TS.fullmatch(thread) else None


def _time(ts: str) -> str | None:
    # Whole seconds: what is behind the point only makes `ts` unique.
    try:
        return datetime.fromtimestamp(int(Decimal(ts)), UTC).isoformat()
    except (OverflowError, ValueError, OSError):
        return None


def _speaker(record: Mapping[str, Any], names: SlackNames) -> str:
    """The name to show; bots say it themselves or have none, exports of some years lack ids."""
    profiles = (record.get("user_profile"), record.get("bot_profile"))
    told = (display_name(profile) for profile in profiles if isinstance(profile, dict))
    user, bot = record.get("user"), record.get("bot_id")
    candidates = (
        record.get("username") if record.get("subtype") == "bot_message" or not user else None,
        names.users.get(user) if isinstance(user, str) else None,
        *told,
        record.get("username"),
        user,
        names.users.get(bot) if isinstance(bot, str) else None,
        bot,
    )
    return next((name for name in candidates if isinstance(name, str) and name.strip()), "")
