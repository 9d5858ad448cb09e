"""Gap detection by a model: what is asked, and how the answer is read."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from remember_graph.chat_models import Reply
from remember_graph.errors import ModelError
from remember_graph.model_steps import Ask
from remember_graph.nodes.detection import Detection
from remember_graph.nodes.model_gaps import GAPS_SCHEMA, ask_for_gaps
from remember_graph.settings import DetectSettings
from remember_graph.types import Turn

_WINDOW = [Turn("Ana", "We take it.", id="a"), Turn("Ben", "She agrees.", id="b")]


def _item(**changes: Any) -> dict[str, Any]:
    return {
        "turn": 1,
        "kind": "referential",
        "missing": "what it is",
        "query": "What does Ana take?",
        "anchors": ["take"],
        "salience": 0.5,
        **changes,
    }


def _drive(
    *outcomes: Reply | ModelError | list[dict[str, Any]],
    window: list[Turn] = _WINDOW,
    may_repair: bool = True,
    **settings: int,
) -> tuple[Detection | str, list[Ask]]:
    """The result where the model gives these outcomes, and what it was asked."""
    steps = ask_for_gaps(window, DetectSettings(**settings), may_repair=may_repair)
    asks = [next(steps)]
    for outcome in outcomes:
        reply = Reply(json.dumps({"gaps": outcome})) if isinstance(outcome, list) else outcome
        try:
            asks.append(steps.send(reply))
        except StopIteration as end:
            return end.value, asks
    raise AssertionError(f"the steps ask more than {len(outcomes)} times")


def _detect(*outcomes: Any, **options: Any) -> Detection:
    detection, _ = _drive(*outcomes, **options)
    assert isinstance(detection, Detection), detection
    return detection


def test_a_usable_answer_becomes_gaps() -> None:
    assert _detect([_item()]).gaps == [
        {
            "id": "g1",
            "turn_id": "a",
            "kind": "referential",
            "missing": "what it is",
            "query": "What does Ana take?",
            "anchors": ["take"],
            "salience": 0.5,
            "status": "not_in_history",
            "evidence": [],
        }
    ]


def test_a_usable_answer_is_not_degraded() -> None:
    assert _detect([_item()]).degraded == []


def test_the_first_question_shows_the_window_and_asks_for_the_schema() -> None:
    _, (ask,) = _drive([_item()], max_output_tokens=99)

    assert "[1] Ana: We take it.\n[2] Ben: She agrees." in ask.messages[1].text
    assert (ask.max_tokens, ask.schema) == (99, GAPS_SCHEMA)


def test_an_answer_that_there_are_none_is_a_detection_without_gaps() -> None:
    detection = _detect([])

    assert (detection.gaps, detection.degraded, detection.by_model) == ([], [], True)


def test_gaps_are_numbered_by_falling_salience() -> None:
    gaps = _detect([_item(salience=0.2), _item(turn=2, salience=0.9)]).gaps

    assert [(gap["id"], gap["turn_id"]) for gap in gaps] == [("g1", "b"), ("g2", "a")]


def test_gaps_above_the_allowed_number_are_dropped_and_counted() -> None:
    detection = _detect([_item(), _item(), _item()], max_gaps=2)

    assert len(detection.gaps) == 2
    assert "1 with no place in the list" in detection.degraded[0]


@pytest.mark.parametrize("turn", [2, "2", "[2]", "w2", "[w2]", 2.0, " 2 "])
def test_a_turn_may_be_named_by_its_number(turn: object) -> None:
    assert _detect([_item(turn=turn)]).gaps[0]["turn_id"] == "b"


def test_a_turn_may_be_named_by_its_id() -> None:
    assert _detect([_item(turn="b")]).gaps[0]["turn_id"] == "b"


def test_a_number_is_the_one_that_the_model_saw_and_not_an_id() -> None:
    window = [Turn("Ana", "x", id="3"), Turn("Ana", "y", id="4"), Turn("Ana", "z", id="5")]

    assert _detect([_item(turn=3)], window=window).gaps[0]["turn_id"] == "5"


def test_a_number_that_no_turn_was_shown_under_is_an_id() -> None:
    window = [Turn("Ana", "x", id="30"), Turn("Ana", "y", id="40")]

    assert _detect([_item(turn=40)], window=window).gaps[0]["turn_id"] == "40"


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"turn": 3}, "an unknown turn"),
        ({"turn": 0}, "an unknown turn"),
        ({"turn": None}, "an unknown turn"),
        ({"turn": True}, "an unknown turn"),
        ({"turn": 1.5}, "an unknown turn"),
        ({"turn": ["a"]}, "an unknown turn"),
        ({"query": " "}, "an empty query"),
        ({"query": None}, "an empty query"),
        ({"kind": "causal"}, "an unknown kind"),
        ({"kind": None}, "an unknown kind"),
    ],
)
def test_an_item_that_cannot_be_used_is_dropped_and_counted(
    changes: dict[str, Any], reason: str
) -> None:
    detection = _detect([_item(**changes), _item()])

    assert len(detection.gaps) == 1
    assert f"1 with {reason}" in detection.degraded[0]


def test_an_answer_of_unusable_items_says_why_there_are_no_gaps() -> None:
    outcome, _ = _drive([_item(kind="x"), _item(turn=9)])

    assert isinstance(outcome, str)
    assert "1 with an unknown kind, 1 with an unknown turn" in outcome


@pytest.mark.parametrize(
    ("salience", "read"),
    [(2, 1.0), (-1, 0.0), (1, 1.0), (None, 0.5), ("high", 0.5), (True, 0.5), (float("nan"), 0.5)],
)
def test_a_salience_is_brought_between_0_and_1(salience: object, read: float) -> None:
    assert _detect([_item(salience=salience)]).gaps[0]["salience"] == read


def test_a_salience_of_400_digits_is_1() -> None:
    assert _detect([_item(salience=10**400)]).gaps[0]["salience"] == 1.0


def test_a_kind_is_read_whatever_its_case() -> None:
    assert _detect([_item(kind=" Relational ")]).gaps[0]["kind"] == "relational"


def test_anchors_that_are_no_texts_are_left_out() -> None:
    gaps = _detect([_item(anchors=["one", 2, "", None, "two", "three"])], max_anchors=2).gaps

    assert gaps[0]["anchors"] == ["one", "two"]


def test_an_answer_cut_at_its_allowance_is_degraded() -> None:
    reply = Reply(json.dumps({"gaps": [_item()]})[:-1], cut=True)

    assert "detector: the model's answer was cut at its allowance" in _detect(reply).degraded


def test_an_unreadable_answer_is_repaired_once() -> None:
    outcome, asks = _drive(Reply("the gap is in turn one"), [_item()])

    assert isinstance(outcome, Detection)
    assert outcome.spare_used
    assert "the gap is in turn one" in asks[1].messages[1].text


def test_two_unreadable_answers_say_so() -> None:
    outcome, asks = _drive(Reply("hm"), Reply("hm"))

    assert outcome == "the model's answer could not be read as a list of gaps"
    assert len(asks) == 2


def test_without_the_spare_call_nothing_is_repaired() -> None:
    outcome, asks = _drive(Reply("hm"), may_repair=False)

    assert isinstance(outcome, str)
    assert len(asks) == 1


def test_a_refused_schema_is_asked_again_without_it() -> None:
    outcome, asks = _drive(ModelError("no schemas here", rejected=True), [_item()])

    assert isinstance(outcome, Detection)
    assert outcome.spare_used
    assert asks[1].schema is None
    assert asks[1].messages == asks[0].messages


def test_an_unreadable_answer_after_a_refusal_is_not_repaired() -> None:
    _, asks = _drive(ModelError("no schemas here", rejected=True), Reply("hm"))

    assert len(asks) == 2


def test_a_failed_call_is_not_asked_again() -> None:
    assert _drive(ModelError("no connection")) == ("no connection", _drive(ModelError("x"))[1])


def test_a_failed_repair_says_why() -> None:
    outcome, _ = _drive(Reply("hm"), ModelError("no connection"))

    assert outcome == "no connection"


_values = st.recursive(
    st.none() | st.booleans() | st.integers(-9, 9) | st.floats() | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=2) | st.dictionaries(st.text(max_size=2), inner, max_size=2)
    ),
    max_leaves=3,
)
_fields = st.sampled_from(["turn", "kind", "missing", "query", "anchors", "salience"])


@given(st.dictionaries(_fields, _values, max_size=3))
def test_no_value_in_an_item_raises(changes: dict[str, Any]) -> None:
    outcome, _ = _drive([_item(**changes)])

    assert isinstance(outcome, Detection | str)
