"""One window of one stream, as the stages see it: the window's turns and the history before."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from remember_graph.errors import UnknownTurnError
from remember_graph.history.history import History
from remember_graph.history.selecting import readable_time
from remember_graph.history.store import Namespace
from remember_graph.history.stream_index import StreamIndex
from remember_graph.state import GraphState
from remember_graph.tokens import TokenCounter
from remember_graph.types import Turn, trusted_turn
from remember_graph.window import clip_turn, window_start


@dataclass(frozen=True, slots=True)
class WindowView:
    """A stream cut in two.

    Attributes:
        index: The stream; its first `history` turns are the history.
        history: How many turns come before the window.
        turns: The window; a turn longer than the window is cut with a mark.
        tokens: Of each turn of the window.
    """

    index: StreamIndex
    history: int
    turns: tuple[Turn, ...]
    tokens: tuple[int, ...]

    @property
    def language(self) -> str | None:
        """The language of history and window, where it can be told."""
        # A given window need not be in the stream.
        return self.index.language_at(min(self.history + len(self.turns), len(self.index)))


def cut_view(
    index: StreamIndex,
    size: int,
    count_tokens: TokenCounter,
    *,
    first: str | None = None,
    last: str | None = None,
) -> WindowView:
    """The view of a window.

    Args:
        index: The stream.
        size: About how many tokens, where `first` does not say where the window starts.
        count_tokens: Counts `speaker: text`.
        first: Id of the window's first turn.
        last: Id of the window's last turn; default the stream's last.

    Raises:
        UnknownTurnError: `first` or `last` is not in the stream, or they are in the wrong order.
    """
    with index.lock:  # another thread may be adding turns
        return _cut(index, size, count_tokens, first, last)


def cut_before(
    index: StreamIndex, size: int, count_tokens: TokenCounter, now: datetime
) -> WindowView:
    """The view of the window as it was at a time; a turn without one is as old as that before."""
    with index.lock:
        end = len(index)
        for at in range(len(index) - 1, -1, -1):
            time = readable_time(index.turns[at].time)
            if time is not None and time <= now:
                break
            end = at if time is not None else end
        if not end:
            return WindowView(index, 0, (), ())
        return _cut(index, size, count_tokens, None, index.turns[end - 1].id)


def _cut(
    index: StreamIndex, size: int, count_tokens: TokenCounter, first: str | None, last: str | None
) -> WindowView:
    end = len(index) if last is None else _position(index, "window_last", last) + 1
    if first is not None:
        start = _position(index, "window_first", first)
        if start >= end:
            raise UnknownTurnError(f"`window_first` {first!r} comes after the window's last turn")
        return _view(index, start, index.turns[start:end], count_tokens)
    start = window_start(index.tokens, size, end=end)
    turns = index.turns[start:end]
    if len(turns) == 1:
        turns = [clip_turn(turns[0], size, count_tokens)]
    return _view(index, start, turns, count_tokens)


def given_view(index: StreamIndex, turns: Sequence[Turn], count_tokens: TokenCounter) -> WindowView:
    """The view of a window that is no stretch of the stream.

    History is what comes before the first of its turns that is in the stream; all of the stream
    where none is.
    """
    with index.lock:
        places = [place for turn in turns if (place := index.position(turn.id)) is not None]
        return _view(index, min(places, default=len(index)), turns, count_tokens)


def _view(
    index: StreamIndex, history: int, turns: Sequence[Turn], count_tokens: TokenCounter
) -> WindowView:
    tokens = tuple(count_tokens(turn.line) for turn in turns)
    return WindowView(index, history, tuple(turns), tokens)


def _position(index: StreamIndex, name: str, turn_id: str) -> int:
    position = index.position(turn_id)
    if position is None:
        raise UnknownTurnError(f"`{name}` names the turn {turn_id!r}, which is not in the stream")
    return position


def view_of(state: GraphState, history: History) -> WindowView:
    """The view that the first stage cut, found again by a later one."""
    index = history.index(Namespace(state["tenant"], state["stream"]))
    turns = [trusted_turn(**turn) for turn in state["window_turns"]]
    return _view(index, state["history_turns"], turns, history.settings.count_tokens)
