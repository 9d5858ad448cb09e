"""Which turns of a log belong to the conversation as its messages now stand.

An agent's messages are not only added to: answers are regenerated, messages replaced or removed,
threads forked from an earlier checkpoint, old messages cut away behind a summary. The log keeps
what was said on every branch. What is on another branch is hidden; what was only cut away stays.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from remember_graph.types import Turn


@dataclass(frozen=True, slots=True)
class Logged:
    """A turn of the log.

    Attributes:
        turn: The turn; `reply_to` names the one said before it on its branch.
        hidden: Whether it is on a branch that was left.
    """

    turn: Turn
    hidden: bool = False


@dataclass(frozen=True, slots=True)
class Changes:
    """What brings a log in line with a conversation.

    Attributes:
        add: New turns, in order.
        edit: Turns whose text is another now.
        hide: Ids of turns that are on a branch that was left.
        show: Ids of hidden turns that are back.
    """

    add: list[Turn] = field(default_factory=list)
    edit: list[Turn] = field(default_factory=list)
    hide: list[str] = field(default_factory=list)
    show: list[str] = field(default_factory=list)


def changes(log: Sequence[Logged], current: Sequence[Turn], before: Sequence[Turn] = ()) -> Changes:
    """What to do to the log of one thread.

    What was forgotten or edited in the log meanwhile stays so, though the messages still say it:
    a turn that is gone and that another one follows was there once.

    Args:
        log: All turns of the thread, in the order of their arrival.
        current: The turns that its messages make now.
        before: The turns that its messages made when they were last brought in, where known.

    Example:
        >>> said = [Logged(Turn("a", "Hi", id="1")), Logged(Turn("b", "Oh", id="2", reply_to="1"))]
        >>> changes(said, [Turn("a", "Hi", id="1"), Turn("b", "Ah", id="3", reply_to="1")]).hide
        ['2']
    """
    by_id = {one.turn.id: one for one in log}
    known = [turn for turn in current if turn.id in by_id]
    last = {turn.id: turn.line for turn in before}
    gone = ({one.turn.reply_to for one in log} | last.keys()) - by_id.keys()
    visible = _cut_away(log, by_id, known[0].id if known else None) | {turn.id for turn in current}
    return Changes(
        add=_linked([one for one in current if one.id not in by_id.keys() | gone], log, visible),
        edit=[
            replace(turn, reply_to=by_id[turn.id].turn.reply_to)
            for turn in known
            if _was_replaced(by_id[turn.id].turn, turn, last.get(turn.id))
        ],
        hide=[one.turn.id for one in log if not one.hidden and one.turn.id not in visible],
        show=[one.turn.id for one in log if one.hidden and one.turn.id in visible],
    )


def _was_replaced(logged: Turn, now: Turn, before: str | None) -> bool:
    """Whether the message says something else now, and it is not the log that was edited."""
    changed = not logged.edited if before is None else before != now.line
    return logged.line != now.line and changed


def _cut_away(log: Sequence[Logged], by_id: Mapping[str, Logged], first: str | None) -> set[str]:
    """The turns before the first one that is still among the messages, on its branch."""
    if first is None:  # all of them were cut away
        return {one.turn.id for one in log if not one.hidden}
    before: set[str] = set()
    at = by_id[first].turn
    while (parent := by_id.get(at.reply_to or "")) is not None and parent.turn.id not in before:
        at = parent.turn
        before.add(at.id)
    # Where the chain is broken (a turn was forgotten, or is from elsewhere), what was visible
    # before stays so.
    oldest = next(place for place, one in enumerate(log) if one.turn.id == at.id)
    return before | {one.turn.id for one in log[:oldest] if not one.hidden}


def _linked(new: list[Turn], log: Sequence[Logged], visible: set[str]) -> list[Turn]:
    """The new turns; the first of a conversation that was cut away whole follows its last turn."""
    if not new or new[0].reply_to is not None:
        return new
    last = next((one.turn.id for one in reversed(log) if one.turn.id in visible), None)
    return [replace(new[0], reply_to=last), *new[1:]]
