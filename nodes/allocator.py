"""Which turns fit the memory?

Reads `rankings` and the window; writes `memory` and each gap's `evidence`. `paper`: gap-balanced
accumulation (ReMEMBER, arXiv 2608.09043): in round d every gap, in turn, gives its next best turn
that is not in memory yet. `remember`: a share of the budget for the turns just before the window,
then turns by the gaps they can be expected to resolve per token; without a model the window's one
ranking instead. What is left goes to recent turns. A turn that does not fit is skipped. Without
history there is nothing to do.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, cast

from remember_graph.context import Run
from remember_graph.history.history import History
from remember_graph.model_steps import Steps
from remember_graph.settings import Settings
from remember_graph.state import Gap, GraphState, MemoryReason, MemoryTurn, Ranking
from remember_graph.view import WindowView, view_of

_SALIENCE_POWER = 2  # measured: a detection of salience s is a real gap about s² of the time
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
    basket = _Basket(cost, budget)
    basket.take_recent(recent, int(budget * recent_share))
    cursors = [iter(ranking) for ranking in rankings]
    waiting = list(range(len(cursors)))
    while waiting:
        for ranking in list(waiting):
            best = next((id for id in cursors[ranking] if basket.has_room_for(id)), None)
            if best is None:
                waiting.remove(ranking)
            else:
                basket.take(best, ranking)
    if recent_share:
        basket.fill_up(recent)
    return basket.picks


def allocate_by_worth(
    rankings: Sequence[Mapping[str, float]],
    importance: Sequence[float],
    cost: Mapping[str, int],
    *,
    budget: int,
    recent: Sequence[str] = (),
    recent_share: float = 0.0,
) -> list[Pick]:
    """The picks by the gaps they can be expected to resolve per token; within the budget.

    Args:
        rankings: Per gap the probability that a turn is its evidence.
        importance: Per gap how much it counts.
        cost: Tokens of every turn named.
        budget: Most tokens of all picks.
        recent: Ids of the turns before the window, the latest first.
        recent_share: Part of the budget that recent turns get before the others.

    Example:
        >>> cost = {"a": 4, "b": 4, "c": 2}
        >>> allocate_by_worth([{"a": 0.6, "c": 0.4}, {"b": 1.0}], [1.0, 0.5], cost, budget=6)
        [Pick(turn_id='c', ranking=0), Pick(turn_id='a', ranking=0)]
    """
    worth: dict[str, float] = {}
    owner: dict[str, tuple[float, int]] = {}
    for number, (ranking, weight) in enumerate(zip(rankings, importance, strict=True)):
        for turn_id, probability in ranking.items():
            share = weight * probability
            worth[turn_id] = worth.get(turn_id, 0.0) + share
            if turn_id not in owner or share > owner[turn_id][0]:
                owner[turn_id] = (share, number)
    basket = _Basket(cost, budget)
    basket.take_recent(recent, int(budget * recent_share))
    for turn_id in sorted(worth, key=lambda id: -worth[id] / max(cost[id], 1)):
        if basket.has_room_for(turn_id):
            basket.take(turn_id, owner[turn_id][1])
    basket.fill_up(recent)
    return basket.picks


class _Basket:
    """Picks under a budget."""

    def __init__(self, cost: Mapping[str, int], budget: int) -> None:
        self.picks: list[Pick] = []
        self._cost, self._left = cost, budget
        self._taken: set[str] = set()

    def has_room_for(self, turn_id: str) -> bool:
        return turn_id not in self._taken and self._cost[turn_id] <= self._left

    def take(self, turn_id: str, ranking: int | None) -> None:
        self._left -= self._cost[turn_id]
        self._taken.add(turn_id)
        self.picks.append(Pick(turn_id, ranking))

    def take_recent(self, recent: Sequence[str], share: int) -> None:
        """A contiguous stretch: what follows a hole in it would mislead."""
        for turn_id in recent:
            share -= self._cost[turn_id]
            if share < 0:
                break
            self.take(turn_id, None)

    def fill_up(self, recent: Sequence[str]) -> None:
        """What is left goes to recent turns that still fit."""
        for turn_id in recent:
            if self.has_room_for(turn_id):
                self.take(turn_id, None)


class Allocate:
    """The stage `allocate`.

    Args:
        history: The streams.
        settings: Budget, token counter, share of recent turns; the `paper` preset has none.
    """

    def __init__(self, history: History, settings: Settings) -> None:
        self._history, self._settings = history, settings

    def __call__(self, state: GraphState, run: Run) -> Steps[dict[str, Any]]:
        """The memory, in the order of the conversation, and the evidence of each gap."""
        view = view_of(state, self._history)
        with view.index.lock:
            return self._allocated(state, view)
        yield  # a stage is a generator, this one asks no model

    def _allocated(self, state: GraphState, view: WindowView) -> dict[str, Any]:
        budget, visible = state["usage"]["budget"], set(state.get("visible") or [])
        state = cast("GraphState", {**state, "rankings": _without(state["rankings"], visible)})
        by_gap = {id: r for r in state["rankings"] if (id := r["gap_id"]) is not None}
        recent = _recent(view, budget, visible) if self._settings.preset == "remember" else []
        ids = {id for ranking in state["rankings"] for id in ranking["turn_ids"]} | set(recent)
        tokens = view.index.tokens[[_at(view, id) for id in ids]].tolist()
        cost = dict(zip(ids, tokens, strict=True))
        picks = self._picks(state, cost, recent)
        picks.sort(key=lambda pick: _at(view, pick.turn_id))
        gaps = _with_evidence(state["gaps"], by_gap, {pick.turn_id for pick in picks})
        memory = [_memory_turn(view, pick, cost[pick.turn_id], gaps) for pick in picks]
        used = sum(turn["tokens"] for turn in memory)
        return {
            "visible": [],
            "memory": memory,
            "gaps": gaps,
            "usage": {**state["usage"], "memory_tokens": used},
            "degraded": [*state["degraded"], *_shortcomings(view, memory, budget, visible)],
        }

    def _picks(
        self, state: GraphState, cost: Mapping[str, int], recent: Sequence[str]
    ) -> list[Pick]:
        budget, shares = state["usage"]["budget"], self._settings.allocate
        rankings = [ranking["turn_ids"] for ranking in state["rankings"]]
        pooled = [r["turn_ids"] for r in state["rankings"] if r["gap_id"] is None]
        if self._settings.preset == "paper":
            return allocate(rankings, cost, budget=budget)
        if pooled or not rankings:
            return allocate(
                pooled,
                cost,
                budget=budget,
                recent=recent,
                recent_share=shares.recent_share_pooled,
            )
        salience = {gap["id"]: gap["salience"] for gap in state["gaps"]}
        return allocate_by_worth(
            [dict(zip(r["turn_ids"], r["scores"], strict=True)) for r in state["rankings"]],
            [salience[r["gap_id"] or ""] ** _SALIENCE_POWER for r in state["rankings"]],
            cost,
            budget=budget,
            recent=recent,
            recent_share=shares.recent_share,
        )


def _without(rankings: Sequence[Ranking], visible: set[str]) -> list[Ranking]:
    """The rankings without the turns that need not be told."""
    if not visible:
        return list(rankings)
    left: list[Ranking] = []
    for ranking in rankings:
        pairs = zip(ranking["turn_ids"], ranking["scores"], strict=True)
        kept = [(id, score) for id, score in pairs if id not in visible]
        ids, scores = [id for id, _ in kept], [score for _, score in kept]
        left.append({**ranking, "turn_ids": ids, "scores": scores})
    return left


def _recent(view: WindowView, budget: int, visible: set[str]) -> list[str]:
    """Ids of the turns before the window, the latest first, as far as the budget reaches."""
    ids = []
    left = budget
    for at in range(view.history - 1, -1, -1):
        if view.index.turns[at].id in visible:
            continue
        left -= int(view.index.tokens[at])
        ids.append(view.index.turns[at].id)
        if left <= 0:
            break
    return ids


def _shortcomings(
    view: WindowView, memory: Sequence[MemoryTurn], budget: int, visible: set[str]
) -> list[str]:
    if memory or visible or not view.history:
        return []
    shortest = int(view.index.tokens[: view.history].min())
    if shortest > budget:
        return [f"memory: no turn fits the budget of {budget} tokens, the shortest has {shortest}"]
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
        usable = in_memory & set(ranking["related"] if ranking else [])
        found.append({**gap, "evidence": [id for id in best if id in usable]})
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
