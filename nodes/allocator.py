"""Which turns fit the memory?

Reads `rankings` and the window; writes `memory`. Gap-balanced accumulation (ReMEMBER, arXiv
2608.09043): in round d every gap, in turn, gives its next best turn that is not in memory yet,
so that no gap takes it all. The `remember` preset first gives a share of the budget to the turns
just before the window and, once the rankings are used up, what is left as well. A turn that does
not fit is skipped. With no history there is nothing to do.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Pick:
    """One turn for the memory.

    Attributes:
        turn_id: The turn.
        ranking: Which ranking gave it; None for a turn that is there for being recent.
    """

    turn_id: str
    ranking: int | None


def allocate(
    rankings: Sequence[Sequence[str]],
    cost: Mapping[str, int],
    *,
    budget: int,
    recent: Sequence[str] = (),
    recent_share: float = 0.0,
) -> list[Pick]:
    """The picks, in the order they were made; their costs never add up to more than the budget.

    Args:
        rankings: Turn ids per gap, best first.
        cost: Tokens of every turn named.
        budget: Most tokens of all picks.
        recent: Ids of the turns before the window, the latest first.
        recent_share: Part of the budget that recent turns get before the rankings.

    Example:
        >>> allocate([["a", "b"], ["a", "c"]], {"a": 4, "b": 4, "c": 4}, budget=8)
        [Pick(turn_id='a', ranking=0), Pick(turn_id='c', ranking=1)]
    """
    picks: list[Pick] = []
    taken: set[str] = set()
    left = budget

    def take(turn_id: str, ranking: int | None) -> None:
        nonlocal left
        left -= cost[turn_id]
        taken.add(turn_id)
        picks.append(Pick(turn_id, ranking))

    share = int(budget * recent_share)
    for turn_id in recent:  # a contiguous stretch: what follows a gap in it would mislead
        if budget - left + cost[turn_id] > share:
            break
        take(turn_id, None)
    cursors = [iter(ranking) for ranking in rankings]
    waiting = list(range(len(cursors)))
    while waiting:
        for ranking in list(waiting):
            fitting = (t for t in cursors[ranking] if t not in taken and cost[t] <= left)
            best = next(fitting, None)
            if best is None:
                waiting.remove(ranking)
            else:
                take(best, ranking)
    if recent_share:
        for turn_id in recent:
            if turn_id not in taken and cost[turn_id] <= left:
                take(turn_id, None)
    return picks
