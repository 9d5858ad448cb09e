"""The layout of a Slack export: whose names it knows, which channels it has.

An export is a folder or zip, perhaps with one folder around it: lists of users and channels,
and for each channel a folder with one JSON file a day. Any of the lists can be missing, and a
channel's folder alone is an export too.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from remember_graph.errors import ChatFormatError, ConfigError
from remember_graph.integrations.chats.decode import TextLines, clean_text, one_line, parse_json
from remember_graph.integrations.chats.export_files import ExportFiles, label
from remember_graph.integrations.chats.slack_text import SlackNames

_DAY_FILE = re.compile(r"\d{4}-\d{2}-\d{2}\.json")
_USER_LISTS = ("users.json", "org_users.json")
_CHANNEL_LISTS = ("channels.json", "groups.json", "dms.json", "mpims.json")


@dataclass(frozen=True, slots=True)
class SlackChannel:
    """A channel and its day files.

    Attributes:
        name: The one shown and asked for.
        aliases: What it can be asked for by, too: its id, its folder.
    """

    name: str
    days: tuple[str, ...]
    aliases: frozenset[str] = field(default_factory=frozenset)

    def is_called(self, name: str) -> bool:
        """Whether a user who says this name means this channel."""
        wanted = name.removeprefix("#").casefold()
        return wanted in {alias.casefold() for alias in (self.name, *self.aliases)}


def is_slack_export(files: ExportFiles) -> bool:
    """Whether the files lie as in a Slack export."""
    lists = {*_USER_LISTS, *_CHANNEL_LISTS}
    return bool(_day_files(files)) or any(_base(name) in lists for name in files.sizes)


def load_json(files: ExportFiles, name: str) -> tuple[Any, int]:
    """The JSON value of a file, and in how many places its bytes could not be decoded.

    Raises:
        ValueError: It is not valid JSON.
    """
    with files.open(name) as stream:
        lines = TextLines(stream, files.head(name))
        # 1710238500.000100 is an id: as a float it would lose its last digits.
        return parse_json(lines.read(), parse_float=str), lines.replaced


def read_names(files: ExportFiles, notes: list[str]) -> SlackNames:
    """The names of users and channels in the export's lists."""
    users = [user for name in _USER_LISTS for user in _list(files, name, notes)]
    channels = [item for name in _CHANNEL_LISTS for item in _list(files, name, notes)]
    return SlackNames(
        users={"USLACKBOT": "Slackbot", **_user_names(users)},
        channels={item["id"]: name for item in channels if (name := display_name(item))},
    )


def find_channels(files: ExportFiles, names: SlackNames, notes: list[str]) -> list[SlackChannel]:
    """The channels that have day files, by name."""
    days: dict[str, list[str]] = defaultdict(list)
    for name in _day_files(files):
        days[name.rpartition("/")[0]].append(name)
    members = {item["id"]: item.get("members") for item in _list(files, "dms.json", notes)}
    bases = Counter(_base(folder) for folder in days)
    channels = []
    for folder, files_of_days in days.items():
        base = clean_text(_base(folder)) or files.name
        name = _direct_name(members.get(base), names) or names.channels.get(base) or base
        if bases[_base(folder)] > 1:
            name = folder
        ids = {id for id, of_id in names.channels.items() if of_id == base}
        channels.append(SlackChannel(name, tuple(sorted(files_of_days)), frozenset({base, *ids})))
    if not channels:
        raise ChatFormatError(
            f"{label(files.path)} holds no Slack channel: no folder with files such as "
            "2024-03-12.json."
        )
    return sorted(channels, key=lambda channel: channel.name)


def named_channel(channels: Iterable[SlackChannel], wanted: str) -> SlackChannel:
    """The channel of a name, with or without `#`.

    Raises:
        ConfigError: There is none.
    """
    found = next((channel for channel in channels if channel.is_called(wanted)), None)
    if found is None:
        there = one_line(", ".join(channel.name for channel in channels))
        raise ConfigError(f"`--stream` must be a channel of the export ({there}), got {wanted!r}.")
    return found


def display_name(profile: Mapping[str, Any]) -> str:
    """The name that Slack shows for a user: display name, real name, handle."""
    inner = profile.get("profile")
    inner = inner if isinstance(inner, dict) else {}
    names = (
        inner.get("display_name"),
        profile.get("display_name"),
        inner.get("real_name"),
        profile.get("real_name"),
        profile.get("name"),
    )
    shown = (clean_text(name).strip() for name in names if isinstance(name, str))
    return next((name for name in shown if name), "")


def _user_names(users: Iterable[Mapping[str, Any]]) -> dict[str, str]:
    shown = {user["id"]: (display_name(user), _handle(user)) for user in users}
    counts = Counter(name for name, _ in shown.values())
    # Two people may show the same name; the handle tells them apart.
    return {
        id: f"{name} ({handle})" if counts[name] > 1 and handle and handle != name else name
        for id, (name, handle) in shown.items()
        if name
    }


def _handle(user: Mapping[str, Any]) -> str:
    handle = user.get("name")
    return clean_text(handle) if isinstance(handle, str) else ""


def _direct_name(members: object, names: SlackNames) -> str:
    if not isinstance(members, list):
        return ""
    return ", ".join(names.users.get(id, id) for id in members if isinstance(id, str))


def _list(files: ExportFiles, wanted: str, notes: list[str]) -> list[dict[str, Any]]:
    """The items with an id of a list at the top of the export; none if there is no such list."""
    found = sorted(
        (name for name in files.sizes if _base(name) == wanted), key=lambda it: it.count("/")
    )
    if not found:
        return []
    try:
        items, _ = load_json(files, found[0])
    except ValueError as error:
        note = f"{wanted} is not valid JSON, names are missing: {one_line(str(error))}."
        notes.extend([note] if note not in notes else [])
        return []
    items = items if isinstance(items, list) else []
    return [item for item in items if isinstance(item, dict) and isinstance(item.get("id"), str)]


def _day_files(files: ExportFiles) -> list[str]:
    if files.kind == "file":  # one day of a channel
        return list(files.sizes)
    return [
        name
        for name in files.sizes
        if _DAY_FILE.fullmatch(_base(name)) and not name.startswith("__MACOSX/")
    ]


def _base(name: str) -> str:
    return name.rpartition("/")[2]
