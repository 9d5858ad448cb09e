"""A stream cut in window and history, also while another thread adds to it."""

from __future__ import annotations

import sys
import threading
from collections.abc import Iterator

import pytest

from remember_graph.errors import UnknownTurnError
from remember_graph.history.deriving import Deriver
from remember_graph.history.store import Record
from remember_graph.history.stream_index import StreamIndex
from remember_graph.types import Turn
from remember_graph.view import WindowView, cut_view


def _index(turns: int) -> StreamIndex:
    """Turns of five tokens each."""
    index = StreamIndex(Deriver(lambda _: 5))
    index.add([Record(_turn(number)) for number in range(turns)])
    return index


def _turn(number: int) -> Turn:
    return Turn("Ana", f"word{number % 50} again", id=str(number))


def _cut(index: StreamIndex, size: int = 12, **options: str) -> WindowView:
    return cut_view(index, size, lambda _: 5, **options)


def test_the_window_is_the_latest_turns_that_fit() -> None:
    view = _cut(_index(5))

    assert (view.history, [turn.id for turn in view.turns]) == (3, ["3", "4"])


def test_a_window_has_one_turn_at_least() -> None:
    assert len(_cut(_index(5), 1).turns) == 1


def test_a_window_from_turn_to_turn_is_not_cut_by_size() -> None:
    view = _cut(_index(5), 1, first="1", last="3")

    assert (view.history, [turn.id for turn in view.turns]) == (1, ["1", "2", "3"])


def test_an_empty_stream_has_an_empty_window() -> None:
    view = _cut(_index(0))

    assert (view.history, view.turns) == (0, ())


def test_a_first_turn_that_is_unknown_is_named() -> None:
    with pytest.raises(UnknownTurnError, match="`window_first` names the turn 'x'"):
        _cut(_index(2), first="x")


@pytest.fixture
def hasty_threads() -> Iterator[None]:
    """Threads take turns after a few instructions, so that races show."""
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    yield
    sys.setswitchinterval(before)


@pytest.mark.usefixtures("hasty_threads")
def test_a_stream_is_cut_while_another_thread_adds_to_it() -> None:
    index = _index(10)
    stopped = threading.Event()
    raised: list[Exception] = []

    def cut() -> None:
        while not stopped.is_set() and not raised:
            try:
                _cut(index, 50)
            except Exception as error:
                raised.append(error)

    threads = [threading.Thread(target=cut) for _ in range(2)]
    for thread in threads:
        thread.start()
    for number in range(10, 3_000):
        with index.lock:
            index.add([Record(_turn(number))])
    stopped.set()
    for thread in threads:
        thread.join()

    assert raised == []
