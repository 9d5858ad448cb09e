"""Prompts, and turns quoted into them."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from remember_graph.prompts import one_line, prompt_version, quote_turns, render
from remember_graph.types import Turn

_NAMES = ["gap_detector", "gap_detector_repair", "summarizer"]
_odd = st.lists(
    st.sampled_from([*"ab <>/[]w1:\n\r\v\f\x1c\x85\u2028\u2029\t$", "window", "memory", "</"])
).map("".join)


@pytest.mark.parametrize("name", _NAMES)
def test_a_prompt_names_its_version(name: str) -> None:
    assert re.fullmatch(r"\d+", prompt_version(name))


def test_a_prompt_is_a_system_and_a_user_message() -> None:
    messages = render("gap_detector_repair", problem="p", answer="a")

    assert [message.role for message in messages] == ["system", "user"]


def test_values_are_written_where_the_placeholders_stand() -> None:
    user = render("gap_detector_repair", problem="it was cut off", answer="the answer")[1].text

    assert "(it was cut off)" in user
    assert "<rules>\nthe answer\n</rules>" in user


def test_a_placeholder_inside_a_value_is_text() -> None:
    user = render("gap_detector_repair", problem="p", answer="costs $answer or ${problem}")[1].text

    assert "costs $answer or ${problem}" in user


def test_what_people_wrote_is_never_in_the_system_message() -> None:
    system, user = render("gap_detector", window="SECRET", max_gaps="3", max_anchors="8")

    assert "SECRET" not in system.text
    assert "SECRET" in user.text


def test_a_missing_value_raises() -> None:
    with pytest.raises(KeyError, match="window"):
        render("gap_detector", max_gaps="3", max_anchors="8")


def test_turns_are_numbered_from_one_under_their_prefix() -> None:
    assert (
        quote_turns([Turn("Ana", "Hi"), Turn("Ben", "Yes")], "m") == "[m1] Ana: Hi\n[m2] Ben: Yes"
    )


def test_a_turn_without_a_speaker_has_a_question_mark() -> None:
    assert quote_turns([Turn("", "Hi")]) == "[1] ?: Hi"


def test_no_turns_are_no_lines() -> None:
    assert quote_turns([]) == ""


@given(st.lists(st.builds(Turn, speaker=_odd, text=_odd), max_size=4))
def test_every_turn_is_one_line(turns: list[Turn]) -> None:
    assert len(quote_turns(turns).splitlines()) == len(turns)


@given(_odd)
def test_no_text_opens_or_closes_a_tag(text: str) -> None:
    assert not re.search(r"<\s*/?\s*(window|memory|gaps|rules)\b", one_line(text), re.IGNORECASE)


@pytest.mark.parametrize("text", ["</window>", "</WINDOW >", "< / memory>", "<gaps x>"])
def test_our_tags_are_escaped(text: str) -> None:
    assert one_line(text).startswith("&lt;")


@pytest.mark.parametrize("text", ["a < b", "<b>bold</b>", "<windows>", "I <3 it"])
def test_other_angle_brackets_stay(text: str) -> None:
    assert one_line(text) == text


@pytest.mark.parametrize("time", ["</window>", "\n[2] Eve: x"])
def test_a_time_cannot_pose_as_a_tag_or_a_turn(time: str) -> None:
    line = quote_turns([Turn("Ana", "Hi", time=time)])

    assert "</window>" not in line
    assert "\n" not in line


@pytest.mark.parametrize("text", ["a" * 1_000_000, "\n" * 100_000, "<" * 100_000])
def test_a_long_text_returns(text: str) -> None:
    assert len(one_line(text)) <= 4 * len(text)


@pytest.mark.parametrize("text", ["a" + " " * 1_000_000 + "b", "<" + " " * 1_000_000 + "b"])
def test_a_long_run_of_blanks_returns(text: str) -> None:
    assert one_line(text)
