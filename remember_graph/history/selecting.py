"""Which turns a `Selection` means."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import UTC, datetime

from remember_graph.errors import ConfigError
from remember_graph.history.store import Selection
from remember_graph.types import Turn


def parse_time(text: str, option: str) -> datetime:
    """An ISO 8601 time; one without a zone is taken as UTC.

    Raises:
        ConfigError: It is none; the message names `option`.
    """
    time = readable_time(text)
    if time is None:
        raise ConfigError(
            f"`{option}` must be an ISO 8601 time such as 2024-05-01T10:00, got {text!r}"
        )
    return time


def readable_time(text: str | None) -> datetime | None:
    """The time of a turn, in UTC where it names no zone; None where it has none."""
    try:
        time = datetime.fromisoformat(text or "")
    except ValueError:
        return None
    return time if time.tzinfo else time.replace(tzinfo=UTC)


def chosen(selection: Selection, turns: Sequence[Turn]) -> list[int]:
    """Which of a stream's turns, in the order of its log, are selected.

    Example:
        >>> chosen(Selection(speaker="Ana", all_but_latest=1), [Turn("Ana", "a"), Turn("Ana", "b")])
        [0]
    """
    is_selected = selector(selection)
    places = [at for at, turn in enumerate(turns) if is_selected(turn)]
    return places[: max(len(places) - selection.all_but_latest, 0)]


def selector(selection: Selection) -> Callable[[Turn], bool]:
    """A test for whether a turn is one of those meant, made once for all turns of a stream.

    Example:
        >>> selector(Selection(since="2024-05-01"))(Turn("Ana", "Hi", time="2024-05-02"))
        True
    """
    ids = None if selection.ids is None else frozenset(selection.ids)
    since = None if selection.since is None else parse_time(selection.since, "since")
    until = None if selection.until is None else parse_time(selection.until, "until")

    def is_selected(turn: Turn) -> bool:
        if ids is not None and turn.id not in ids:
            return False
        if selection.speaker is not None and turn.speaker != selection.speaker:
            return False
        return _is_within(turn, since, until)

    return is_selected


def _is_within(turn: Turn, since: datetime | None, until: datetime | None) -> bool:
    if since is None and until is None:
        return True
    at = readable_time(turn.time)
    if at is None:
        return False  # without a readable time it cannot be said to lie inside
    return (since is None or at >= since) and (until is None or at < until)
