"""How much of a stream is kept: by age and by number."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path

import hypothesis.strategies as st
import pytest
from hypothesis import given

from remember_graph.errors import ConfigError
from remember_graph.history.history import History
from remember_graph.history.retaining import checked
from remember_graph.history.sqlite_store import SQLiteStore
from remember_graph.history.store import Forgotten, Namespace, Retention
from remember_graph.memory import Memory
from remember_graph.types import AddReport, Turn

_NAMESPACE = Namespace("default", "chat")
_OTHER = Namespace("other", "chat")


class _Clock:
    def __init__(self) -> None:
        self.time = datetime(2024, 5, 10, tzinfo=UTC)

    def __call__(self) -> datetime:
        return self.time


def _turns(*ids: int) -> list[Turn]:
    """One turn a day: turn 1 on the first of May."""
    return [Turn("Ana", f"Day {id}.", f"2024-05-{id:02}T00:00:00Z", str(id)) for id in ids]


def _log(history: History, namespace: Namespace = _NAMESPACE) -> list[str]:
    return [record.turn.id for record in history.store.read(namespace)]


def test_the_latest_turns_are_kept() -> None:
    history = History()
    history.add(_NAMESPACE, _turns(1, 2, 3, 4))

    assert history.retain(_NAMESPACE, Retention(max_turns=3)) == Forgotten(turns=1)
    assert _log(history) == ["2", "3", "4"]


def test_what_an_addition_brings_past_the_number_goes_at_once() -> None:
    history = History()
    history.retain(_NAMESPACE, Retention(max_turns=2))

    assert history.add(_NAMESPACE, _turns(1, 2, 3)) == AddReport(added=3, retired=1)
    assert _log(history) == ["2", "3"]
    assert [turn.id for turn in history.index(_NAMESPACE).turns] == ["2", "3"]


def test_a_long_stream_is_cut_when_it_is_a_tenth_too_long() -> None:
    history = History()
    history.retain(_NAMESPACE, Retention(max_turns=2_000))
    history.add(_NAMESPACE, [Turn("Ana", "Hi", id=str(at)) for at in range(2_200)])
    assert history.store.count(_NAMESPACE) == 2_200

    report = history.add(_NAMESPACE, [Turn("Ana", "Hi", id="last")])

    assert report == AddReport(added=1, retired=201)
    assert _log(history)[0] == "201"


def test_turns_of_the_bounds_age_are_kept_and_older_ones_go() -> None:
    history = History(now=_Clock())
    history.add(_NAMESPACE, _turns(6, 7, 8))

    history.retain(_NAMESPACE, Retention(max_age_s=3 * 86_400))

    assert _log(history) == ["7", "8"]


def test_turns_that_grow_too_old_are_gone_before_the_stream_is_searched() -> None:
    clock = _Clock()
    history = History(now=clock)
    history.retain(_NAMESPACE, Retention(max_age_s=5 * 86_400))
    history.add(_NAMESPACE, _turns(6, 7, 8))
    clock.time += timedelta(days=2, seconds=1)

    assert [turn.id for turn in history.index(_NAMESPACE).turns] == ["8"]
    assert _log(history) == ["8"]


def test_an_export_that_is_too_old_already_is_not_kept() -> None:
    history = History(now=_Clock())
    history.retain(_NAMESPACE, Retention(max_age_s=86_400))

    assert history.add(_NAMESPACE, _turns(1, 2, 9)) == AddReport(added=3, retired=2)
    assert _log(history) == ["9"]


def test_system_turns_have_an_age_too() -> None:
    history = History(now=_Clock())
    history.retain(_NAMESPACE, Retention(max_age_s=86_400))

    history.add(_NAMESPACE, [Turn("", "Ana joined", "2024-01-01", "s", "system"), *_turns(10)])

    assert _log(history) == ["10"]


@pytest.mark.parametrize("time", [None, "", "yesterday"])
def test_a_turn_without_a_readable_time_has_no_age(time: str | None) -> None:
    history = History(now=_Clock())
    history.add(_NAMESPACE, [Turn("Ana", "Hi", time, "0"), *_turns(1)])

    history.retain(_NAMESPACE, Retention(max_age_s=1))

    assert _log(history) == ["0"]


def test_other_streams_are_left_alone() -> None:
    history = History(now=_Clock())
    history.add(_OTHER, _turns(1, 2, 3))
    history.add(_NAMESPACE, _turns(1, 2, 3))

    history.retain(_NAMESPACE, Retention(max_age_s=1, max_turns=1))

    assert _log(history) == []
    assert _log(history, _OTHER) == ["1", "2", "3"]


def test_bounds_can_be_taken_back() -> None:
    history = History()
    history.retain(_NAMESPACE, Retention(max_turns=1))
    history.retain(_NAMESPACE, Retention())

    history.add(_NAMESPACE, _turns(1, 2))

    assert _log(history) == ["1", "2"]


def test_another_process_keeps_to_the_bounds(tmp_path: Path) -> None:
    one = History(SQLiteStore(tmp_path / "h.db"))
    one.retain(_NAMESPACE, Retention(max_turns=1))
    one.close()
    two = History(SQLiteStore(tmp_path / "h.db"))

    two.add(_NAMESPACE, _turns(1, 2))

    assert _log(two) == ["2"]
    two.close()


def test_what_was_retired_by_additions_is_wiped_by_the_next_retain(tmp_path: Path) -> None:
    with Memory.open(tmp_path / "h.db", embeddings="none") as memory:
        memory.retain("chat", max_turns=1)
        memory.add("chat", [Turn("Ana", "Zanzibar"), Turn("Ana", "Hello")])
        memory.retain("chat", max_turns=1)

    assert all(b"Zanzibar" not in path.read_bytes() for path in tmp_path.iterdir())


@given(
    most=st.integers(1, 8),
    batches=st.lists(st.integers(0, 6), max_size=6),
)
def test_a_short_stream_is_never_longer_than_its_bound(most: int, batches: list[int]) -> None:
    history = History()
    history.retain(_NAMESPACE, Retention(max_turns=most))
    ids: list[str] = []
    for size in batches:
        new = [str(len(ids) + at) for at in range(size)]
        history.add(_NAMESPACE, [Turn("Ana", "Hi", id=id) for id in new])
        ids += new
        assert _log(history) == ids[-most:]


@pytest.mark.parametrize(
    ("age", "turns", "message"),
    [
        (timedelta(0), None, r"`max_age` must be longer than zero, got 0:00:00"),
        (timedelta(days=-1), None, r"`max_age` must be longer than zero, got -1 day"),
        (None, 0, r"`max_turns` must be >= 1, got 0"),
    ],
)
def test_a_bound_that_keeps_nothing_is_refused(
    age: timedelta | None, turns: int | None, message: str
) -> None:
    with pytest.raises(ConfigError, match=message):
        checked(age, turns)


def test_an_age_before_all_times_keeps_everything() -> None:
    history = History()
    history.add(_NAMESPACE, _turns(1))

    history.retain(_NAMESPACE, checked(timedelta.max, None))

    assert _log(history) == ["1"]
