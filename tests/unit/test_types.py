"""Turns."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from typing import Any, cast

import pytest
from hypothesis import given
from hypothesis import strategies as st

from remember_graph.errors import ConfigError
from remember_graph.types import Turn, well_formed


def test_the_line_of_a_turn_is_speaker_and_text() -> None:
    assert Turn("Ana", "Hi").line == "Ana: Hi"


def test_the_line_of_a_turn_without_a_speaker_is_its_text() -> None:
    assert Turn("", "Ana joined").line == "Ana joined"


def test_a_datetime_becomes_its_iso_form() -> None:
    time = cast(Any, datetime(2024, 5, 1, 10, 30, tzinfo=UTC))

    assert Turn("Ana", "Hi", time=time).time == "2024-05-01T10:30:00+00:00"


_turns = st.builds(
    Turn,
    speaker=st.text(),
    text=st.text(),
    time=st.none() | st.text(),
    id=st.text(),
    kind=st.sampled_from(["message", "system"]),
    reply_to=st.none() | st.text(),
    thread=st.none() | st.text(),
    edited=st.booleans(),
)


@given(_turns)
def test_a_turn_survives_a_trip_through_json(turn: Turn) -> None:
    assert Turn.from_dict(json.loads(json.dumps(turn.to_dict()))) == turn


def test_keys_that_are_not_fields_are_ignored() -> None:
    assert Turn.from_dict({"speaker": "Ana", "text": "Hi", "mood": 1}) == Turn("Ana", "Hi")


@pytest.mark.parametrize("name", ["speaker", "text", "id"])
@pytest.mark.parametrize("value", [None, 7, b"x", ["x"]])
def test_a_turn_says_which_of_its_texts_is_no_str(name: str, value: object) -> None:
    fields: dict[str, Any] = {"speaker": "Ana", "text": "Hi", name: value}

    with pytest.raises(ConfigError, match=f"`{name}` of a turn must be a str, got"):
        Turn(**fields)


@pytest.mark.parametrize("name", ["time", "reply_to", "thread"])
def test_a_turn_says_which_of_its_optional_texts_is_no_str(name: str) -> None:
    fields: dict[str, Any] = {"speaker": "Ana", "text": "Hi", name: 7}

    with pytest.raises(ConfigError, match=f"`{name}` of a turn must be"):
        Turn(**fields)


def test_a_turn_says_which_kinds_there_are() -> None:
    with pytest.raises(ConfigError, match="must be message or system, got 'note'"):
        Turn("Ana", "Hi", kind=cast(Any, "note"))


def test_a_mapping_without_a_text_says_what_is_missing() -> None:
    with pytest.raises(ConfigError, match="`text` of a turn"):
        Turn.from_dict({"speaker": "Ana"})


@pytest.mark.parametrize("name", ["speaker", "text", "id"])
def test_a_lone_surrogate_is_replaced(name: str) -> None:
    fields: dict[str, Any] = {"speaker": "Ana", "text": "Hi", name: "a\ud800b"}

    assert getattr(Turn(**fields), name).encode("utf-8")


@pytest.mark.parametrize("name", ["time", "reply_to", "thread"])
def test_a_lone_surrogate_is_replaced_in_every_other_text_too(name: str) -> None:
    fields: dict[str, Any] = {"speaker": "Ana", "text": "Hi", name: "a\ud800b"}

    assert getattr(Turn(**fields), name).encode("utf-8")


def test_different_broken_ids_stay_different() -> None:
    assert Turn("", "", id="\ud800").id != Turn("", "", id="\ud801").id


@given(st.text())
def test_a_text_that_is_well_formed_stays_as_it_is(text: str) -> None:
    assert well_formed(text) == text
