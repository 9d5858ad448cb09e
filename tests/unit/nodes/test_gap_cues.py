"""The words of a gap that was found without a model."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from remember_graph.nodes.gap_cues import Mention, count_back_references, describe_gap
from remember_graph.state import Gap
from remember_graph.types import Turn


def _gap(
    text: str,
    *,
    speaker: str = "Ana",
    language: str | None = "en",
    new: dict[str, float] | None = None,
    said_before: tuple[str, ...] = (),
    place: int = 0,
    max_anchors: int = 8,
) -> Gap:
    """The gap of a turn at a place of a window of Ana and Ben."""
    window = [*(Turn("Ben", "Hm.", id=f"b{number}") for number in range(place + 1))]
    window[place:place] = [Turn(speaker, text, id="a")]
    known = new or {}
    mention = Mention(place, known, frozenset(known), frozenset(said_before), 0.456)
    return describe_gap(mention, window, language, max_anchors)


_CUES = {
    "a back-reference": (
        "As agreed we repaint boats.",
        "relational",
        "What was said, agreed or done earlier about “agreed” and “repaint”, "
        "which Ana points back to?",
        "what “As agreed we repaint boats” points back to",
    ),
    "a new name": (
        "We met Quillon at noon.",
        "referential",
        "Who or what is “Quillon”, which Ana mentions as known?",
        "who or what “Quillon” is",
    ),
    "a person": (
        "Did she sell boats?",
        "referential",
        "Who does Ana mean by “she”, speaking of “sell” and “boats”?",
        "who “she” is in “Did she sell boats”",
    ),
    "a thing": (
        "Did it sink boats?",
        "referential",
        "What does Ana mean by “it”, speaking of “sink” and “boats”?",
        "what “it” is in “Did it sink boats”",
    ),
    "a number": (
        "We sold 250 tickets.",
        "attribute",
        "What does “250 tickets” stand for, and where was it set or explained?",
        "what “250 tickets” stands for in “We sold 250 tickets”",
    ),
    "a continuation": (
        "We paint boats again.",
        "relational",
        "What was the earlier state, plan or decision about “paint” and “boats” "
        "that Ana continues or changes?",
        "the earlier state or plan behind “We paint boats again”",
    ),
    "a possession": (
        "My greenhouse leaks.",
        "attribute",
        "What was said earlier about Ana's “greenhouse”?",
        "what is already known of Ana's “greenhouse”",
    ),
    "a shared possession": (
        "Our greenhouse leaks.",
        "attribute",
        "What was said earlier about the group's “greenhouse”?",
        "what is already known of the group's “greenhouse”",
    ),
    "a definite phrase": (
        "We cleaned the greenhouse.",
        "relational",
        "What was said or decided earlier about “the greenhouse”, which Ana takes as known?",
        "what was said or decided earlier about “the greenhouse”",
    ),
    "nothing": (
        "Repaint boats.",
        "relational",
        "What was said earlier about “Repaint” and “boats”?",
        "what was said before about “Repaint” and “boats”",
    ),
}


@pytest.mark.parametrize("cue", _CUES)
def test_the_cue_gives_the_kind(cue: str) -> None:
    text, kind, _, _ = _CUES[cue]

    assert _gap(text)["kind"] == kind


@pytest.mark.parametrize("cue", _CUES)
def test_the_query_asks_with_the_speaker_and_the_words(cue: str) -> None:
    text, _, query, _ = _CUES[cue]

    assert _gap(text)["query"] == query


@pytest.mark.parametrize("cue", _CUES)
def test_what_is_missing_is_said_in_the_words_of_the_turn(cue: str) -> None:
    text, _, _, missing = _CUES[cue]

    assert _gap(text)["missing"] == missing


def test_the_first_cue_that_applies_names_the_kind() -> None:
    assert _gap("She met Quillon again.")["query"].startswith("Who or what is “Quillon”")


def test_a_gap_starts_with_its_turn_and_nothing_found() -> None:
    gap = _gap("Repaint boats.")

    assert (gap["turn_id"], gap["status"], gap["evidence"]) == ("a", "not_in_history", [])


def test_salience_is_rounded_to_two_places() -> None:
    assert _gap("Repaint boats.")["salience"] == 0.46


def test_a_speaker_without_a_name_is_somebody() -> None:
    assert "which somebody mentions" in _gap("We met Quillon at noon.", speaker="")["query"]


def test_words_that_are_new_to_the_window_are_asked_about_first() -> None:
    gap = _gap("Repaint boats with tar.", new={"tar": 1.0, "boat": 0.5})

    assert gap["anchors"] == ["tar", "boats", "Repaint"]
    assert gap["query"] == "What was said earlier about “boats” and “tar”?"


def test_the_speaker_in_the_window_is_no_new_name() -> None:
    assert "Who or what" not in _gap("We met Ben at noon.")["query"]


def test_a_name_that_the_window_said_before_is_not_new() -> None:
    gap = _gap("We met Quillon at noon.", said_before=("quillon",))

    assert "Who or what" not in gap["query"]


@pytest.mark.parametrize("word", ["Monday", "December", "I"])
def test_a_capitalised_word_of_the_calendar_or_the_pronoun_is_no_name(word: str) -> None:
    assert "Who or what" not in _gap(f"We meet on {word} at noon.")["query"]


@pytest.mark.parametrize(("place", "kind"), [(2, "referential"), (3, "relational")])
def test_it_points_out_of_the_window_only_at_its_start(place: int, kind: str) -> None:
    assert _gap("Did it sink boats?", place=place)["kind"] == kind


def test_a_phrase_that_the_window_said_before_is_not_asked_about() -> None:
    gap = _gap("We cleaned the greenhouse.", said_before=("greenhous",))

    assert gap["query"] == "What was said earlier about “cleaned” and “greenhouse”?"


def test_a_possession_is_asked_about_before_a_definite_phrase() -> None:
    assert "Ana's “greenhouse”" in _gap("Put the shovel in my greenhouse.")["query"]


def test_a_long_sentence_is_clipped_around_the_cue() -> None:
    text = "One two three four five six as agreed a b c d e f g h."

    assert _gap(text)["missing"] == (
        "what “… three four five six as agreed a b c d e f …” points back to"
    )


def test_only_the_sentence_of_the_cue_is_quoted() -> None:
    missing = _gap("Hello there. We paint boats again! Good.")["missing"]

    assert missing == "the earlier state or plan behind “We paint boats again”"


def test_an_attachment_is_not_read_as_the_words_of_the_turn() -> None:
    assert _gap("Repaint boats. [attachment: Kiln 42.jpg]")["anchors"] == ["Repaint", "boats"]


@pytest.mark.parametrize("text", ["We sold 12. Nobody paid.", "Tickets sold: 12, nobody paid."])
def test_a_number_at_the_end_of_a_clause_is_quoted_alone(text: str) -> None:
    assert _gap(text)["anchors"][0] == "12"


@pytest.mark.parametrize(
    ("text", "language", "query"),
    [
        (
            "Er verkauft das Boot wie besprochen am Montag.",
            "de",
            "What was said earlier about “verkauft” and “besprochen”?",
        ),
        ("彼は温室を直した", None, "What was said earlier about “彼は温室を直した”?"),
    ],
)
def test_other_languages_are_asked_about_in_their_own_words(
    text: str, language: str | None, query: str
) -> None:
    gap = _gap(text, language=language)

    assert (gap["kind"], gap["query"]) == ("relational", query)


def test_a_turn_without_words_worth_asking_about_is_a_point() -> None:
    gap = _gap("ok", language=None)

    assert (gap["query"], gap["anchors"]) == ("What was said earlier about this point?", [])


def test_there_are_at_most_max_anchors() -> None:
    gap = _gap("Repaint boats, ladders, shovels, greenhouses.", max_anchors=2)

    assert len(gap["anchors"]) == 2


def test_the_word_of_the_cue_is_the_first_anchor() -> None:
    assert _gap("Yesterday we met Quillon.", max_anchors=1)["anchors"] == ["Quillon"]


def test_back_references_are_counted() -> None:
    assert count_back_references("As agreed, and as we said earlier", "en") == 3


@pytest.mark.parametrize("language", ["de", None])
def test_back_references_are_counted_in_english_alone(language: str | None) -> None:
    assert count_back_references("As agreed", language) == 0


_words = st.sampled_from(
    "as agreed Quillon she it 250 tickets again my greenhouse the shovel still earlier we".split()
)


@given(st.lists(_words, min_size=1, max_size=9).map(" ".join))
def test_a_query_asks_and_quotes_nothing_but_the_turn(text: str) -> None:
    query = _gap(text)["query"]

    assert query.endswith("?")
    assert all(quoted in text.lower() for quoted in re.findall("“(.*?)”", query.lower()))


@given(st.text(max_size=40), st.sampled_from(["en", "de", None]), st.integers(1, 3))
def test_no_text_raises_or_passes_the_number_of_anchors(
    text: str, language: str | None, most: int
) -> None:
    assert len(_gap(text, language=language, max_anchors=most)["anchors"]) <= most
