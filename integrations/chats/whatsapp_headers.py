"""The head of a WhatsApp line: `[12.03.24, 10:15:30] ` or `12/03/24, 10:15 - `.

The phone's language decides separators, digits, clock and invisible marks; the file says none
of it. A line is matched in a plain form (ASCII digits, plain spaces, no marks), and the text
behind the head is cut from the line as it stands.
"""

# ruff: noqa: RUF001  phones write heads in other scripts

from __future__ import annotations

import re
import unicodedata
from dataclasses import dataclass
from typing import Literal

MARKS = "\u200b\u200c\u200d\u200e\u200f\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069\ufeff"
"""Characters without a width that WhatsApp and phones put around names, dates and texts."""

_LONGEST_HEAD = 100  # marks included; keeps the work on a line of a megabyte small

_AM = (
    "am",
    "ص",
    "上午",
    "凌晨",
    "清晨",
    "早上",
    "午前",
    "오전",
    "πμ",
    "पूर्वाह्न",
    "قظ",
    "öö",
    "de",
    "sa",
    "pg",
    "pd",
)
_PM = (
    "pm",
    "م",
    "下午",
    "中午",
    "晚上",
    "午後",
    "오후",
    "μμ",
    "अपराह्न",
    "بظ",
    "ös",
    "du",
    "ch",
    "ptg",
    "md",
)
_PLAIN_CLOCK = ("น", "ч", "uhr", "h")  # "10:15 Uhr": a word behind a 24-hour time


def _mark_pattern(words: tuple[str, ...]) -> str:
    # a.m., a. m. and am are one word to every phone
    dotted = (r"\.?\s?".join(map(re.escape, word)) + r"\.?" for word in words)
    return "|".join(sorted(dotted, key=len, reverse=True))


_CLOCK_MARK = _mark_pattern(_AM + _PM + _PLAIN_CLOCK)
_HEAD = re.compile(
    rf"""
    (?P<open>\[)?\s?
    (?P<a>\d{{4}}|\d{{1,2}})\s?(?P<separator>[./-])\s?
    (?P<b>\d{{1,2}})\s?[./-]\s?
    (?P<c>\d{{4}}|\d{{1,2}})\.?
    (?:,\s*|\s+)(?:(?:um|à|às|as|kl|klo|alle|a\ las|в|at)\.?\s+)?
    (?:(?P<before>{_CLOCK_MARK})\s*)?
    (?P<hour>\d{{1,2}})(?:[:.]|\s?h\s?)(?P<minute>\d{{2}})(?:[:.](?P<second>\d{{2}}))?
    (?:\s*(?P<after>{_CLOCK_MARK}))?
    (?(open)\s?\](?:\s|$)|\s+[-–—](?:\s|$))
    """,
    re.VERBOSE | re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class Stamp:
    """The date and time in a line's head; which part is the day is not known yet.

    Attributes:
        layout: `[` for heads in brackets (iOS), `-` for heads with a dash (Android).
        parts: The three numbers of the date as written.
        separator: What is written between them.
        twelve_hours: Whether the clock is written with a mark such as PM.
    """

    layout: Literal["[", "-"]
    parts: tuple[str, str, str]
    separator: str
    hour: int
    minute: int
    second: int
    twelve_hours: bool

    @property
    def date_text(self) -> str:
        """The date as in the file, for messages."""
        return self.separator.join(self.parts)


def read_head(line: str) -> tuple[Stamp, int] | None:
    """The stamp of a line and where the text behind it begins; None for any other line.

    Example:
        >>> stamp, start = read_head("12/03/24, 9:15 PM - Ana: hi")
        >>> stamp.hour, "12/03/24, 9:15 PM - Ana: hi"[start:]
        (21, 'Ana: hi')
    """
    match = _HEAD.match(_plain(line[:_LONGEST_HEAD])) if line else None
    if match is None:
        return None
    mark = match["before"] or match["after"] or ""
    stamp = Stamp(
        layout="[" if match["open"] else "-",
        parts=(match["a"], match["b"], match["c"]),
        separator=match["separator"],
        hour=_hour(int(match["hour"]), mark),
        minute=int(match["minute"]),
        second=int(match["second"] or 0),
        twelve_hours=_half_of_day(mark) is not None,
    )
    if stamp.hour > 23 or stamp.minute > 59 or stamp.second > 59:
        return None
    return stamp, _raw_length(line, match.end())


def _plain(head: str) -> str:
    if head.isascii():
        return head
    return "".join(_plain_character(character) for character in head if character not in MARKS)


def _plain_character(character: str) -> str:
    if character.isdecimal():
        return str(unicodedata.decimal(character))
    if character in "،，":
        return ","
    if character in "［］：．／":  # full width, from East Asian keyboards
        return unicodedata.normalize("NFKC", character)
    return " " if character.isspace() else character


def _raw_length(line: str, plain_length: int) -> int:
    """How much of a line the first characters of its plain form take up."""
    if line[:plain_length].isascii():
        return plain_length
    for index, character in enumerate(line):
        if character in MARKS:
            continue
        plain_length -= 1
        if plain_length == 0:
            return index + 1
    return len(line)


def _half_of_day(mark: str) -> Literal["am", "pm"] | None:
    word = re.sub(r"[.\s]", "", mark).casefold()
    return "am" if word in _AM else "pm" if word in _PM else None


def _hour(hour: int, mark: str) -> int:
    half = _half_of_day(mark)
    if half == "pm" and hour < 12:
        return hour + 12
    return 0 if half == "am" and hour == 12 else hour
