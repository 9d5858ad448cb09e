"""Which turns of a stream are past what its retention keeps."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime, timedelta

from remember_graph.errors import ConfigError
from remember_graph.history.store import Retention, Selection

# Cutting a long stream reads it once. Letting it grow by a tenth between two cuts keeps that to
# some rows for each turn that is added; a short one is cut at once.
_CUT_AT_ONCE, _SLACK = 1_000, 10


def checked(max_age: timedelta | None, max_turns: int | None) -> Retention:
    """The retention of two bounds.

    Raises:
        ConfigError: A bound is not above zero.
    """
    if max_age is not None and max_age <= timedelta(0):
        raise ConfigError(f"`max_age` must be longer than zero, got {max_age}")
    if max_turns is not None and max_turns < 1:
        raise ConfigError(f"`max_turns` must be >= 1, got {max_turns}")
    return Retention(max_age.total_seconds() if max_age else None, max_turns)


def cutoff(retention: Retention, now: datetime) -> datetime | None:
    """Turns before this time are too old; None where age does not matter."""
    if retention.max_age_s is None:
        return None
    try:
        return now - timedelta(seconds=retention.max_age_s)
    except OverflowError:
        return None  # older than any time there is


def most_turns(retention: Retention) -> int | None:
    """A stream of more turns than this is cut down to `max_turns`."""
    most = retention.max_turns
    return most if most is None or most <= _CUT_AT_ONCE else most + most // _SLACK


def overdue(retention: Retention, now: datetime) -> Iterator[Selection]:
    """What selects the turns that are past the bounds."""
    oldest = cutoff(retention, now)
    if oldest is not None:
        yield Selection(until=oldest.isoformat())
    if retention.max_turns is not None:
        yield Selection(all_but_latest=retention.max_turns)
