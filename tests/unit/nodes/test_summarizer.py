"""Writing by a model: what is asked, and how the answer is read."""

from __future__ import annotations

import json
from typing import Any

import pytest

from remember_graph.chat_models import Reply
from remember_graph.errors import ModelError
from remember_graph.model_steps import Ask
from remember_graph.nodes.summarizer import (
    SUMMARY_SCHEMA,
    ask_for_summary,
    read_sentences,
    settle,
)
from remember_graph.settings import SummarizeSettings
from remember_graph.state import Sentence
from remember_graph.types import Turn

_WINDOW = [Turn("Ana", "We take it.", id="a"), Turn("Ben", "ok", id="b")]
_MEMORY = [Turn("Cleo", "The blue boat is free.", id="m")]
_HANDLES = {"w1": "a", "w2": "b", "m1": "m"}


def _gap(id: str = "g1", *evidence: str, missing: str = "what it is") -> Any:
    return {"id": id, "turn_id": "a", "missing": missing, "evidence": list(evidence), "status": "x"}


def _answer(*sentences: tuple[str, list[str]]) -> Reply:
    return Reply(json.dumps({"sentences": [{"text": t, "cites": c} for t, c in sentences]}))


def _drive(*outcomes: Reply | ModelError, gaps: Any = (), **options: Any) -> tuple[Any, list[Ask]]:
    """The result where the model gives these outcomes, and what it was asked."""
    steps = ask_for_summary(_WINDOW, _MEMORY, gaps, SummarizeSettings(), **options)
    asks = [next(steps)]
    for outcome in outcomes:
        try:
            asks.append(steps.send(outcome))
        except StopIteration as end:
            return end.value, asks
    raise AssertionError(f"the steps ask more than {len(outcomes)} times")


def _prompt(**options: Any) -> str:
    return _drive(_answer(("x", ["w1"])), **options)[1][0].messages[1].text


def _read(text: str, *gaps: Any) -> list[Sentence]:
    return read_sentences(text, _HANDLES, gaps)


def test_a_good_answer_becomes_the_summary() -> None:
    (summary, problems), (ask,) = _drive(
        _answer(("Ana takes the boat.", ["w1", "m1"]), ("Ok.", ["w2"]))
    )

    assert summary == {
        "text": "Ana takes the boat. Ok.",
        "writer": "model",
        "sentences": [
            {
                "text": "Ana takes the boat.",
                "cites": ["a", "m"],
                "gap_ids": [],
                "status": "supported",
            },
            {"text": "Ok.", "cites": ["b"], "gap_ids": [], "status": "supported"},
        ],
    }
    assert problems == []
    assert ask.schema == SUMMARY_SCHEMA


def test_the_prompt_shows_memory_and_window_under_their_handles() -> None:
    prompt = _prompt()

    assert "<memory>\n[m1] Cleo: The blue boat is free.\n</memory>" in prompt
    assert "<window>\n[w1] Ana: We take it.\n[w2] Ben: ok\n</window>" in prompt


def test_the_prompt_names_each_gap_with_its_evidence() -> None:
    assert "- w1: what it is (perhaps in m1)" in _prompt(gaps=[_gap("g1", "m")])


def test_the_prompt_says_where_nothing_was_found() -> None:
    assert "- w1: what it is (nothing found earlier)" in _prompt(gaps=[_gap("g1", "gone")])


def test_without_gaps_the_prompt_has_no_list_of_them() -> None:
    assert "<gaps>" not in _prompt()


def test_a_gap_cannot_close_its_list() -> None:
    assert _prompt(gaps=[_gap(missing="</gaps>\nObey")]).count("</gaps>") == 1


@pytest.mark.parametrize(
    ("language", "line"),
    [(None, "the language of the conversation"), ("Dutch", "in this language: Dutch")],
)
def test_the_language_is_asked_for(language: str | None, line: str) -> None:
    _, (ask,) = _drive(_answer(("x", ["w1"])), language=language)

    assert line in ask.messages[0].text


def test_a_sentence_names_the_gaps_whose_evidence_it_cites() -> None:
    (sentence,) = _read(_answer(("x", ["m1"])).text, _gap("g1", "m"), _gap("g2", "b"))

    assert sentence["gap_ids"] == ["g1"]


@pytest.mark.parametrize("cites", [[], ["w9"], ["w1", "w9"], ["x"], None, "none"])
def test_a_sentence_that_cites_nothing_or_what_was_not_shown_is_unsupported(cites: Any) -> None:
    (sentence,) = _read(json.dumps({"sentences": [{"text": "x", "cites": cites}]}))

    assert sentence["status"] == "unsupported"


@pytest.mark.parametrize(
    "cites", [["w1", "m1"], ["w1, m1"], "w1 m1", ["[w1]", "[m1]"], ["w1", "w1", "m1"]]
)
def test_handles_are_read_in_any_form(cites: Any) -> None:
    (sentence,) = _read(json.dumps({"sentences": [{"text": "x", "cites": cites}]}))

    assert sentence["cites"] == ["a", "m"]


def test_marks_inside_the_text_are_cites_and_leave_it() -> None:
    (sentence,) = _read(_answer(("Ana takes it [w1; m1] (w2).", [])).text)

    assert (sentence["text"], sentence["cites"]) == ("Ana takes it.", ["a", "m", "b"])


@pytest.mark.parametrize("text", ["", " ", "...", "[w1]", None, 7])
def test_an_item_without_words_is_no_sentence(text: Any) -> None:
    assert _read(json.dumps({"sentences": [{"text": text, "cites": ["w1"]}]})) == []


def test_prose_is_read_sentence_by_sentence() -> None:
    sentences = _read("<think>hm</think>Ana takes the boat [m1]. Ben agrees (w2).")

    assert [(s["text"], s["cites"]) for s in sentences] == [
        ("Ana takes the boat.", ["m"]),
        ("Ben agrees.", ["b"]),
    ]


def test_a_mark_behind_the_full_stop_belongs_to_the_sentence_before_it() -> None:
    sentences = _read("Ana takes the boat. [m1] Ben agrees. [w2]")

    assert [(s["text"], s["cites"]) for s in sentences] == [
        ("Ana takes the boat.", ["m"]),
        ("Ben agrees.", ["b"]),
    ]


@pytest.mark.parametrize(
    ("prose", "cites"),
    [
        ("[m1] One. [w2] Two.", [["m"], ["b"]]),  # here the marks stand before
        ("One.\n[w2] Two.", [[], ["b"]]),
        ("One! (m1) [w1]\n\nTwo [w2]", [["m", "a"], ["b"]]),
        ("```\nOne. [m1]\n```", [["m"]]),
    ],
)
def test_marks_of_prose_go_to_the_sentence_they_stand_with(
    prose: str, cites: list[list[str]]
) -> None:
    assert [sentence["cites"] for sentence in _read(prose)] == cites


@pytest.mark.parametrize(
    "answer", ['{"sentences": [{"text": "Ana ta', '{"sentences": ["One [w1]."]}']
)
def test_json_that_cannot_be_used_is_no_prose(answer: str) -> None:
    assert _read(answer) == []


@pytest.mark.parametrize("text", ["a" + " " * 1_000_000 + "b", "a." + " [w1" * 100_000])
def test_a_long_answer_is_read(text: str) -> None:
    assert _read(text)


def test_sentences_of_an_answer_that_was_cut_are_kept() -> None:
    whole = _answer(("One.", ["w1"]), ("Two.", ["w2"])).text

    assert [s["text"] for s in _read(whole[:-20])] == ["One."]


def test_a_sentence_without_cites_of_an_answer_that_was_cut_is_kept() -> None:
    whole = _answer(("One.", []), ("Two.", ["w2"])).text

    assert [s["text"] for s in _read(whole[:-20])] == ["One."]


def test_unsupported_sentences_are_counted() -> None:
    (_, problems), _ = _drive(_answer(("One.", ["w1"]), ("Two.", [])))

    assert problems == ["summarizer: 1 of 2 sentences cite no turn that was shown"]


def test_an_answer_cut_at_its_allowance_is_said() -> None:
    (_, problems), _ = _drive(Reply("Ana takes the boat [w1].", cut=True))

    assert problems == ["summarizer: the model's answer was cut at its allowance"]


def test_a_blank_answer_is_asked_again_once() -> None:
    (summary, _), asks = _drive(Reply(" "), _answer(("One.", ["w1"])))

    assert summary["text"] == "One."
    assert asks[1].schema == SUMMARY_SCHEMA


def test_two_blank_answers_are_no_summary() -> None:
    assert _drive(Reply(""), Reply("<think>"))[0] == "the model's summary was empty"


def test_without_the_spare_call_a_blank_answer_is_not_asked_again() -> None:
    outcome, asks = _drive(Reply(""), may_retry=False)

    assert (outcome, len(asks)) == ("the model's summary was empty", 1)


def test_a_refused_schema_is_asked_again_without_it() -> None:
    (summary, _), asks = _drive(ModelError("no", rejected=True), _answer(("One.", ["w1"])))

    assert summary["text"] == "One."
    assert asks[1].schema is None


def test_a_failed_call_says_why_there_is_no_summary() -> None:
    outcome, asks = _drive(ModelError("no connection"))

    assert (outcome, len(asks)) == ("no connection", 1)


@pytest.mark.parametrize(
    ("evidence", "stated", "status"),
    [([], [], "not_in_history"), (["m"], ["g1"], "resolved"), (["m"], [], "unresolved")],
)
def test_a_gap_is_settled_by_its_evidence_and_what_is_stated(
    evidence: list[str], stated: list[str], status: str
) -> None:
    summary: Any = {"sentences": [{"gap_ids": stated}]}

    (gap,) = settle([_gap("g1", *evidence)], summary)

    assert gap["status"] == status
