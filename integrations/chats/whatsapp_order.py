"""Which lines that look like messages are quoted inside another message.

People paste parts of chats and write dates of plans into messages. Such a line has the head of
a message, but a time that does not fit between its neighbours.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from datetime import datetime, timedelta

_SLACK = timedelta(days=1)  # messages that were sent without a network arrive late
# Longer runs are no quotations but another chat appended to the file, or a clock set anew.
_LONGEST_QUOTE = 20


def quoted_positions(moments: Sequence[datetime]) -> set[int]:
    """The positions whose time lies far before or far after its neighbours' times.

    The longest run of positions whose times never go back is the chat; what is not in it and
    is more than a day away from what is around it is a quotation.
    """
    chat = _longest_forward(moments)
    quoted: set[int] = set()
    for before, after in zip([None, *chat], [*chat, None], strict=True):
        start = 0 if before is None else before + 1
        end = len(moments) if after is None else after
        earliest = datetime.min if before is None else moments[before] - _SLACK
        latest = datetime.max if after is None else moments[after] + _SLACK
        strays = {at for at in range(start, end) if not earliest <= moments[at] <= latest}
        if len(strays) <= _LONGEST_QUOTE:
            quoted |= strays
    return quoted


def _longest_forward(moments: Sequence[datetime]) -> list[int]:
    """Positions of a longest subsequence that never goes back in time.

    It is searched from the end: of two that are equally long, the one that keeps the earlier
    lines of the file is found. What goes back is the quotation.
    """
    ends: list[float] = []  # ends[n]: the latest time, negated, that n + 1 positions begin with
    at_end: list[int] = []
    following: dict[int, int] = {}
    for position in range(len(moments) - 1, -1, -1):
        seconds = -(moments[position] - datetime.min).total_seconds()
        length = bisect_right(ends, seconds)
        if length:
            following[position] = at_end[length - 1]
        ends[length : length + 1] = [seconds]
        at_end[length : length + 1] = [position]
    chain = at_end[-1:]
    while chain and chain[-1] in following:
        chain.append(following[chain[-1]])
    return chain
