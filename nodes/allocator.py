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
from typing import Any

from remember_graph.history.history import History
from remember_graph.model_steps import Steps
from remember_graph.settings import Settings
from remember_graph.state import Gap, GraphState, MemoryReason, MemoryTurn, Ranking
from remember_graph.view import WindowView, view_of

_EVIDENCE_RANKS = 5  # of a gap's ranking: what stands lower is rarely about the gap


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


class Allocate:
    """The stage `allocate`.

    Args:
        history: The streams.
        settings: Budget, token counter, share of recent turns; the `paper` preset has none.
    """

    def __init__(self, history: History, settings: Settings) -> None:
        self._history, self._settings = history, settings
        self._share = settings.allocate.recent_share if settings.preset == "remember" else 0.0

    def __call__(self, state: GraphState, thread_id: str) -> Steps[dict[str, Any]]:
        """The memory, in the order of the conversation, and the evidence of each gap."""
        view = view_of(state, self._history)
        pooled = [r for r in state["rankings"] if r["gap_id"] is None]
        by_gap = {id: r for r in state["rankings"] if (id := r["gap_id"]) is not None}
        chosen_by = pooled or list(by_gap.values())
        recent = self._recent(view) if self._share else []
        ids = {id for ranking in chosen_by for id in ranking["turn_ids"]} | set(recent)
        cost = {id: int(view.index.tokens[_at(view, id)]) for id in ids}
        picks = allocate(
            [ranking["turn_ids"] for ranking in chosen_by],
            cost,
            budget=self._settings.budget,
            recent=recent,
            recent_share=self._share,
        )
        picks.sort(key=lambda pick: _at(view, pick.turn_id))
        gaps = _with_evidence(state["gaps"], by_gap, {pick.turn_id for pick in picks})
        memory = [_memory_turn(view, pick, cost[pick.turn_id], gaps) for pick in picks]
        used = sum(turn["tokens"] for turn in memory)
        return {
            "memory": memory,
            "gaps": gaps,
            "usage": {**state["usage"], "memory_tokens": used},
            "degraded": [*state["degraded"], *self._shortcomings(view, memory, cost)],
        }
        yield  # a stage is a generator, this one asks no model

    def _recent(self, view: WindowView) -> list[str]:
        """Ids of the turns before the window, the latest first, as far as the budget could reach."""
        ids = []
        left = self._settings.budget
        for at in range(view.history - 1, -1, -1):
            left -= int(view.index.tokens[at])
            ids.append(view.index.turns[at].id)
            if left <= 0:
                break
        return ids

    def _shortcomings(
        self, view: WindowView, memory: Sequence[MemoryTurn], cost: Mapping[str, int]
    ) -> list[str]:
        if memory or not view.history:
            return []
        shortest = int(view.index.tokens[: view.history].min())
        if shortest > self._settings.budget:
            return [
                f"memory: no turn fits the budget of {self._settings.budget} tokens, "
                f"the shortest has {shortest}"
            ]
        return ["memory: nothing in the history answers the window's gaps"]


def _at(view: WindowView, turn_id: str) -> int:
    position = view.index.position(turn_id)
    assert position is not None, turn_id
    return position


def _with_evidence(
    gaps: Sequence[Gap], rankings: Mapping[str, Ranking], in_memory: set[str]
) -> list[Gap]:
    """The gaps, each with the best of its ranking that made it into memory."""
    found: list[Gap] = []
    for gap in gaps:
        ranking = rankings.get(gap["id"])
        best = ranking["turn_ids"][:_EVIDENCE_RANKS] if ranking else []
        found.append({**gap, "evidence": [id for id in best if id in in_memory]})
    return found


def _memory_turn(view: WindowView, pick: Pick, tokens: int, gaps: Sequence[Gap]) -> MemoryTurn:
    turn = view.index.turns[_at(view, pick.turn_id)]
    gap_ids = [gap["id"] for gap in gaps if turn.id in gap["evidence"]]
    reason: MemoryReason = "gap" if gap_ids else "recent" if pick.ranking is None else "fallback"
    return {
        "turn_id": turn.id,
        "speaker": turn.speaker,
        "time": turn.time,
        "text": turn.text,
        "gap_ids": gap_ids,
        "tokens": tokens,
        "reason": reason,
    }
