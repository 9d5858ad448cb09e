"""Which turns a `Selection` means."""

from __future__ import annotations

from datetime import UTC, datetime

from remember_graph.errors import ConfigError
from remember_graph.history.store import Selection
from remember_graph.types import Turn


def parse_time(text: str, option: str) -> datetime:
    """An ISO 8601 time; one without a zone is taken as UTC.

    Raises:
        ConfigError: It is none; the message names `option`.
    """
    try:
        time = datetime.fromisoformat(text)
    except ValueError as error:
        raise ConfigError(
            f"`{option}` must be an ISO 8601 time such as 2024-05-01T10:00, got {text!r}"
        ) from error
    return time if time.tzinfo else time.replace(tzinfo=UTC)


def is_selected(turn: Turn, selection: Selection) -> bool:
    """Whether the turn is one of those meant.

    Example:
        >>> is_selected(Turn("Ana", "Hi", time="2024-05-02"), Selection(since="2024-05-01"))
        True
    """
    if selection.ids is not None and turn.id not in selection.ids:
        return False
    if selection.speaker is not None and turn.speaker != selection.speaker:
        return False
    if selection.since is None and selection.until is None:
        return True
    return _is_within(turn, selection)


def _is_within(turn: Turn, selection: Selection) -> bool:
    try:
        at = parse_time(turn.time or "", "time")
    except ConfigError:
        return False  # without a readable time it cannot be said to lie inside
    after = selection.since is None or at >= parse_time(selection.since, "since")
    before = selection.until is None or at < parse_time(selection.until, "until")
    return after and before
