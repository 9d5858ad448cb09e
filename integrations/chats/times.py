"""Times of JSON exports in the shapes they come in, as ISO 8601."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta
from email.utils import parsedate_to_datetime

_NUMBER = re.compile(r"\d{9,19}(?:\.\d+)?", re.ASCII)
# Smaller numbers are no dates (they would be before 1973) but seconds of a recording and such.
_FIRST_EPOCH = 100_000_000
_UNITS = ((10**17, 10**9), (10**14, 10**6), (10**11, 10**3), (_FIRST_EPOCH, 1))
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def iso_time(value: object) -> str | None:
    """The ISO form of a time, or None when it is none that is known here.

    Epoch numbers (seconds to nanoseconds, also as text) are in UTC; a text without a zone
    stays without one.

    Example:
        >>> iso_time(1710238500)
        '2024-03-12T10:15:00+00:00'
        >>> iso_time("2024-03-12 10:15")
        '2024-03-12T10:15:00'
    """
    if isinstance(value, bool):
        return None
    if isinstance(value, int | float):
        return _epoch_time(value)
    if not isinstance(value, str):
        return None
    text = value.strip()
    if _NUMBER.fullmatch(text):
        return _epoch_time(float(text))
    return _iso_text(text) or _mail_time(text)


def _epoch_time(value: float) -> str | None:
    for least, per_second in _UNITS:
        if value >= least:
            try:
                microseconds = round(value * 1_000_000 / per_second)
                return (_EPOCH + timedelta(microseconds=microseconds)).isoformat()
            except (OverflowError, ValueError):  # infinity, or after the year 9999
                return None
    return None


def _iso_text(text: str) -> str | None:
    try:
        return datetime.fromisoformat(text.replace("/", "-")).isoformat()
    except ValueError:
        return None


def _mail_time(text: str) -> str | None:
    try:
        return parsedate_to_datetime(text).isoformat()
    except (ValueError, TypeError, IndexError, OverflowError):
        return None
