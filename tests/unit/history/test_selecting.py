"""Which turns a selection means."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta, timezone

import pytest
from hypothesis import given
from hypothesis import strategies as st

from remember_graph.errors import ConfigError
from remember_graph.history.selecting import parse_time, selector
from remember_graph.history.store import Selection
from remember_graph.types import Turn

_TURN = Turn("Ana", "Hi", "2024-05-01T10:00", "a")
_instants = st.datetimes(
    min_value=datetime(1990, 1, 1), max_value=datetime(2090, 1, 1), timezones=st.just(UTC)
)
_offsets = st.integers(-12 * 60, 14 * 60).map(lambda minutes: timezone(timedelta(minutes=minutes)))


@pytest.mark.parametrize(
    "text",
    [
        "2024-05-01T10:00",
        "2024-05-01 10:00:00",
        "2024-05-01T10:00:00Z",
        "2024-05-01T12:00:00.000+02:00",
        "20240501T100000Z",
    ],
)
def test_a_time_is_read_and_one_without_a_zone_is_utc(text: str) -> None:
    assert parse_time(text, "since") == datetime(2024, 5, 1, 10, tzinfo=UTC)


@pytest.mark.parametrize("text", ["", "yesterday", "2024-13-01", "10:00", "1714557600", "2024-05"])
def test_a_text_that_is_no_time_is_refused_with_the_option(text: str) -> None:
    with pytest.raises(ConfigError, match=r"`until` must be an ISO 8601 time such as 2024.*, got"):
        parse_time(text, "until")


@pytest.mark.parametrize(
    ("selection", "selected"),
    [
        (Selection(), True),
        (Selection(ids=("a",)), True),
        (Selection(ids=("A",)), False),
        (Selection(ids=()), False),
        (Selection(speaker="Ana"), True),
        (Selection(speaker=""), False),
        (Selection(since="2024-05-01T10:00"), True),
        (Selection(since="2024-05-01T10:00:00.000001"), False),
        (Selection(until="2024-05-01T10:00"), False),
        (Selection(until="2024-05-01T12:00:01+02:00"), True),
        (Selection(speaker="Bo", since="2024-05-01"), False),
    ],
)
def test_every_condition_must_hold(selection: Selection, selected: bool) -> None:
    assert selector(selection)(_TURN) is selected


@pytest.mark.parametrize("time", [None, "", "yesterday"])
def test_a_turn_without_a_readable_time_lies_in_no_span(time: str | None) -> None:
    turn = Turn("Ana", "Hi", time, "a")

    assert not selector(Selection(since="1900-01-01"))(turn)
    assert not selector(Selection(until="2999-01-01"))(turn)
    assert selector(Selection(speaker="Ana"))(turn)


def test_the_first_and_last_times_that_can_be_written_are_compared() -> None:
    first, last = "0001-01-01T00:00+14:00", "9999-12-31T23:59-12:00"

    assert selector(Selection(until=last))(Turn("A", "", first))
    assert selector(Selection(since=first))(Turn("A", "", last))


@given(_instants, _instants, _offsets)
def test_a_span_and_its_rest_share_no_turn_and_leave_none_out(
    at: datetime, border: datetime, offset: timezone
) -> None:
    turn = Turn("Ana", "Hi", at.astimezone(offset).isoformat())

    after = selector(Selection(since=border.isoformat()))(turn)
    before = selector(Selection(until=border.isoformat()))(turn)

    assert after is (at >= border)
    assert before is not after
