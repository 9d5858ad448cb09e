"""The time zone of a chat: from the option `--tz`, and into the times of its turns."""

from __future__ import annotations

import re
from collections.abc import Iterable
from datetime import datetime, timedelta, timezone, tzinfo
from zoneinfo import ZoneInfo

from remember_graph.errors import ConfigError

_OFFSET = re.compile(r"(?:UTC|GMT)?([+-])(\d{1,2})(?::?([0-5]\d))?", re.ASCII)
_MAX_OFFSET = timedelta(hours=14)  # the largest in use, Kiribati


def parse_zone(text: str) -> tzinfo:
    """The zone of an IANA name (`Europe/Berlin`) or an offset (`+02:00`).

    Raises:
        ConfigError: The text is neither.

    Example:
        >>> parse_zone("+02:00").utcoffset(None)
        datetime.timedelta(seconds=7200)
    """
    zone = _offset_zone(text) or _named_zone(text)
    if zone is None:
        raise ConfigError(
            f"`--tz` must be an IANA name such as Europe/Berlin or an offset such as +02:00, "
            f"got {text!r}."
        )
    return zone


def _offset_zone(text: str) -> tzinfo | None:
    match = _OFFSET.fullmatch(text.strip())
    if match is None:
        return None
    sign, hours, minutes = match.groups()
    offset = timedelta(hours=int(hours), minutes=int(minutes or 0))
    if offset > _MAX_OFFSET:
        return None
    return timezone(-offset if sign == "-" else offset)


def _named_zone(text: str) -> tzinfo | None:
    try:
        return ZoneInfo("UTC" if text.strip().upper() == "Z" else text.strip())
    except (KeyError, ValueError, OSError):  # no such name, a path, a folder of names
        return None


def is_naive(time: str | None) -> bool:
    """Whether there is a time and it does not say its zone."""
    return time is not None and datetime.fromisoformat(time).tzinfo is None


def place_in_zone(times: Iterable[str | None], zone: tzinfo) -> list[str | None]:
    """The ISO times as they are in a zone: naive ones are local there, others are converted.

    Where a clock was put back, an hour comes twice. A time that would lie before the one
    above it is taken as in the second of these hours.
    """
    placed: list[str | None] = []
    previous: datetime | None = None
    for time in times:
        if time is None:
            placed.append(None)
            continue
        moment = _in_zone(datetime.fromisoformat(time), zone, previous)
        previous = moment
        placed.append(moment.isoformat())
    return placed


def _in_zone(moment: datetime, zone: tzinfo, previous: datetime | None) -> datetime:
    if moment.tzinfo is not None:
        try:
            return moment.astimezone(zone)
        except OverflowError:  # the first and the last day a datetime can hold
            return moment
    first = moment.replace(tzinfo=zone)
    second = first.replace(fold=1)
    hour_comes_twice = (second.utcoffset() or timedelta()) < (first.utcoffset() or timedelta())
    if previous is not None and hour_comes_twice and _instant(first) < _instant(previous):
        return second
    return first


def _instant(moment: datetime) -> float:
    # Not `<` on the datetimes: with the same zone object it compares the clock alone.
    return moment.timestamp()
