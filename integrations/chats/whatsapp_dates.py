"""Which number of a WhatsApp date is the day: decided once for the whole file.

In this order: a number above 12 cannot be a month; a chat runs forward in time; a chat covers
the shorter of two possible spans; the custom of the region that writes dates this way.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import date, datetime, time
from itertools import groupby, pairwise
from typing import Literal

from remember_graph.integrations.chats.whatsapp_headers import Stamp

Order = Literal["day first", "month first", "year first"]

_FIRST_YEAR, _LAST_YEAR = 2009, 2099  # WhatsApp began in 2009
_ENOUGH_DATES = 3  # fewer say nothing about the span of a chat
_Parts = tuple[str, str, str]


@dataclass(frozen=True, slots=True)
class _Reading:
    """What the dates of a file look like in one order."""

    order: Order
    impossible: tuple[int, ...]
    backward: tuple[int, ...]
    span: int

    @property
    def faults(self) -> tuple[int, int]:
        return len(self.impossible), len(self.backward)


def moment_of(stamp: Stamp, order: Order) -> datetime | None:
    """The local time of a stamp, or None if it is no date in this order."""
    day = _date(stamp.parts, order)
    return (
        None if day is None else datetime.combine(day, time(stamp.hour, stamp.minute, stamp.second))
    )


def decide_order(stamps: Sequence[tuple[int, Stamp]]) -> tuple[Order, list[str]]:
    """The order of day, month and year, with a sentence that says on what evidence.

    Args:
        stamps: Each with the number of its line.
    """
    dates = [(number, stamp) for number, stamp in stamps if len(stamp.parts[0]) < 4]
    if not dates:
        return "year first", []
    # Many messages of a day in a row are one piece of evidence.
    runs = [next(run) for _, run in groupby(dates, key=lambda item: item[1].parts)]
    readings = [_read_as(order, runs) for order in ("day first", "month first")]
    fewest = min(reading.faults for reading in readings)
    if fewest > (0, 0) and all(len(stamp.parts[2]) < 4 for _, stamp in runs):
        rare = _read_as("year first", runs)  # 24/03/12: only when nothing else makes sense
        if rare.faults < fewest:
            return rare.order, [_evidence(rare, readings, dict(runs))]
    best = [reading for reading in readings if reading.faults == fewest]
    if len(best) == 1:
        return best[0].order, [_evidence(best[0], readings, dict(runs))]
    return _guess(best, runs)


def _read_as(order: Order, runs: Iterable[tuple[int, Stamp]]) -> _Reading:
    dated = [(number, _date(stamp.parts, order)) for number, stamp in runs]
    valid = [(number, day) for number, day in dated if day is not None]
    days = [day for _, day in valid]
    return _Reading(
        order,
        impossible=tuple(number for number, day in dated if day is None),
        backward=tuple(number for (_, one), (number, other) in pairwise(valid) if other < one),
        span=(max(days) - min(days)).days if len(set(days)) >= _ENOUGH_DATES else 0,
    )


def _date(parts: _Parts, order: Order) -> date | None:
    a, b, c = parts
    if len(a) == 4 or order == "year first":
        year, month, day = a, b, c
    elif order == "month first":
        month, day, year = a, b, c
    else:
        day, month, year = a, b, c
    full_year = int(year) if len(year) == 4 else 2000 + int(year)
    if not _FIRST_YEAR <= full_year <= _LAST_YEAR:
        return None
    try:
        return date(full_year, int(month), int(day))
    except ValueError:
        return None


def _evidence(best: _Reading, readings: Sequence[_Reading], stamps: dict[int, Stamp]) -> str:
    """Why the best reading is better than the next one."""
    others = [other for other in readings if other is not best]
    second = min(others, key=lambda reading: reading.faults)
    decided = f"Dates are read {best.order}"
    impossible = sorted(set(second.impossible) - set(best.impossible))
    if impossible:
        return f"{decided}: line {impossible[0]} has {stamps[impossible[0]].date_text}."
    line = min(set(second.backward) - set(best.backward))
    return f"{decided}: read {second.order}, line {line} would go back in time."


def _guess(best: Sequence[_Reading], runs: Sequence[tuple[int, Stamp]]) -> tuple[Order, list[str]]:
    """One of the readings that have the same faults, and a warning."""
    orders = [reading.order for reading in best]
    if len({_days(runs, order) for order in orders}) == 1:  # 05.05.05 and nothing else
        return orders[0], []
    shortest = min(reading.span for reading in best)
    closest = [reading.order for reading in best if reading.span == shortest]
    if len(closest) == 1:
        return closest[0], [
            f"Dates are guessed to be {closest[0]}: that way they lie closest together; "
            "no date in the file proves it."
        ]
    order = _custom(runs[0][1], closest)
    return order, [f"Dates are guessed to be {order}: no date in the file tells."]


def _days(runs: Iterable[tuple[int, Stamp]], order: Order) -> tuple[date | None, ...]:
    return tuple(_date(stamp.parts, order) for _, stamp in runs)


def _custom(stamp: Stamp, orders: Sequence[Order]) -> Order:
    # Only the United States write 3/4/24, 9:15 PM: no zeros in front, a short year, slashes.
    a, b, c = stamp.parts
    american = stamp.separator == "/" and stamp.twelve_hours and len(c) == 2
    if american and min(len(a), len(b)) == 1 and "month first" in orders:
        return "month first"
    return orders[0]
