"""Memory stays flat however many streams a history has."""

from __future__ import annotations

import gc
import weakref

import pytest

from remember_graph.history.history import History
from remember_graph.history.store import Namespace
from remember_graph.history.stream_index import StreamIndex
from remember_graph.recall import recall
from remember_graph.types import Turn

_STREAMS = 2_000
_MOST_IN_MEMORY = 64


def _namespace(number: int) -> Namespace:
    return Namespace(f"tenant {number % 7}", f"stream {number}")


@pytest.fixture
def history() -> History:
    """A history of many small streams, none of them looked at yet."""
    history = History()
    for number in range(_STREAMS):
        texts = [f"parcel{number} arrived", f"nobody signed for parcel{number}"]
        turns = [Turn("Ana", text, id=str(at)) for at, text in enumerate(texts)]
        history.add(_namespace(number), turns)
    return history


def _touch_all(history: History) -> weakref.WeakSet[StreamIndex]:
    """Use every stream once; the indexes that are still alive afterwards."""
    indexes: weakref.WeakSet[StreamIndex] = weakref.WeakSet()
    for number in range(_STREAMS):
        indexes.add(history.index(_namespace(number)))
        assert number % 500 or len(indexes) <= _MOST_IN_MEMORY + 1
    gc.collect()
    return indexes


def test_only_the_indexes_of_the_last_streams_stay_in_memory(history: History) -> None:
    assert len(_touch_all(history)) == _MOST_IN_MEMORY


def test_a_second_round_over_all_streams_holds_no_more_than_the_first(history: History) -> None:
    first, second = _touch_all(history), _touch_all(history)

    assert len(second) == _MOST_IN_MEMORY
    assert len(first | second) == _MOST_IN_MEMORY


def test_the_first_stream_still_answers_after_thousands_of_others(history: History) -> None:
    before = recall(history, _namespace(0), "Who signed for parcel0?")
    _touch_all(history)

    assert [turn.text for turn in history.index(_namespace(0)).turns] == [
        "parcel0 arrived",
        "nobody signed for parcel0",
    ]
    assert recall(history, _namespace(0), "Who signed for parcel0?") == before
    assert {turn["turn_id"] for turn in before["turns"]} == {"0", "1"}


def test_a_stream_in_use_keeps_its_index_among_others(history: History) -> None:
    kept = history.index(_namespace(0))
    for number in range(1, 1_000):
        history.index(_namespace(number))
        assert number % 50 or history.index(_namespace(0)) is kept


def test_the_indexes_of_the_latest_streams_are_those_that_stay(history: History) -> None:
    latest = [history.index(_namespace(number)) for number in range(1_000)][-_MOST_IN_MEMORY:]

    for number, index in enumerate(latest, start=1_000 - _MOST_IN_MEMORY):
        assert history.index(_namespace(number)) is index
