"""The catch-up text without a model."""

from __future__ import annotations

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from remember_graph.nodes.composer import compose, quote
from remember_graph.settings import SummarizeSettings
from remember_graph.state import Summary
from remember_graph.types import Turn

_WINDOW = [
    Turn("Ana", "We take it.", id="w1"),
    Turn("Ben", "ok", id="w2"),
    Turn("Ana", "Bye", id="w3"),
]
_MEMORY = {
    "m1": Turn("Cleo", "The blue boat is free.", id="m1"),
    "m2": Turn("Cleo", "No.", id="m2"),
}


def _gap(id: str, turn_id: str, *evidence: str) -> Any:
    return {"id": id, "turn_id": turn_id, "evidence": list(evidence)}


def _compose(worth: dict[str, float], *gaps: Any, max_sentences: int = 12) -> Summary:
    return compose(_WINDOW, worth, gaps, _MEMORY, SummarizeSettings(max_sentences=max_sentences))


def test_turns_worth_reporting_are_quoted_in_the_order_of_the_window() -> None:
    summary = _compose({"w1": 0.1, "w3": 0.9})

    assert summary["text"] == "Ana: “We take it.”\nAna: “Bye”"
    assert summary["writer"] == "extractive"


def test_turns_worth_nothing_or_unknown_are_left_out() -> None:
    assert _compose({"w1": 0.0, "w2": -1.0})["sentences"] == []


def test_only_the_worthiest_turns_are_quoted() -> None:
    summary = _compose({"w1": 0.2, "w2": 0.3, "w3": 0.1}, max_sentences=2)

    assert [sentence["cites"] for sentence in summary["sentences"]] == [["w1"], ["w2"]]


def test_of_equally_worthy_turns_the_earlier_ones_are_quoted() -> None:
    summary = _compose({"w1": 1, "w2": 1, "w3": 1}, max_sentences=1)

    assert summary["sentences"][0]["cites"] == ["w1"]


def test_a_turn_is_followed_by_the_best_evidence_of_its_gap() -> None:
    (sentence,) = _compose({"w1": 1}, _gap("g1", "w1", "gone", "m1", "m2"))["sentences"]

    assert sentence["text"] == "Ana: “We take it.”\n    ↳ Cleo: “The blue boat is free.”"
    assert sentence["cites"] == ["w1", "m1"]
    assert sentence["gap_ids"] == ["g1"]
    assert sentence["status"] == "supported"


def test_a_gap_without_evidence_in_memory_is_not_named() -> None:
    (sentence,) = _compose({"w1": 1}, _gap("g1", "w1"), _gap("g2", "w1", "gone"))["sentences"]

    assert sentence["gap_ids"] == []


def test_evidence_that_was_told_before_is_cited_and_not_told_again() -> None:
    summary = _compose({"w1": 1, "w2": 1}, _gap("g1", "w1", "m2"), _gap("g2", "w2", "m2"))

    assert summary["text"].count("“No.”") == 1
    assert summary["sentences"][1]["cites"] == ["w2", "m2"]
    assert summary["sentences"][1]["gap_ids"] == ["g2"]


def test_two_gaps_of_a_turn_with_one_evidence_tell_it_once() -> None:
    (sentence,) = _compose({"w1": 1}, _gap("g1", "w1", "m1"), _gap("g2", "w1", "m1"))["sentences"]

    assert sentence["cites"] == ["w1", "m1"]
    assert sentence["gap_ids"] == ["g1", "g2"]


def test_an_empty_window_has_no_summary() -> None:
    assert compose([], {}, [], {}, SummarizeSettings())["text"] == ""


def test_a_quotation_names_speaker_and_minute() -> None:
    turn = Turn("Ana", "Hi", time="2024-05-01T10:30:59+02:00")

    assert quote(turn, 40) == "Ana (2024-05-01 10:30): “Hi”"


def test_a_quotation_without_a_speaker_has_its_time_behind() -> None:
    assert quote(Turn("", "Hi", time="2024-05-01T10:30:00"), 40) == "“Hi” (2024-05-01 10:30)"


def test_a_long_quotation_is_clipped_at_a_word() -> None:
    assert quote(Turn("", "one two three four"), 9) == "“one two …”"


def test_a_word_longer_than_the_quotation_is_cut() -> None:
    assert quote(Turn("", "x" * 50), 10) == f"“{'x' * 10} …”"


_texts = st.lists(st.sampled_from(["a", "word", " ", "\n", "\u2028", "é", "x" * 30])).map("".join)


@given(_texts)
def test_a_quotation_is_one_line(text: str) -> None:
    assert len(quote(Turn("Ana", text), 40).splitlines()) == 1


def test_a_speaker_of_two_lines_is_quoted_on_one() -> None:
    assert quote(Turn("Ana\nBen", "Hi"), 40) == "Ana Ben: “Hi”"


def test_a_time_of_two_lines_is_quoted_on_one() -> None:
    assert quote(Turn("Ana", "Hi", time="1 May\nnoon"), 40) == "Ana (1 May noon): “Hi”"
