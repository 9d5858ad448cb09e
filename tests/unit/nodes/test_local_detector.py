"""Gap detection without a model: which turns are gaps, and how salient."""

from __future__ import annotations

import math

import pytest

from remember_graph.history.deriving import Deriver
from remember_graph.history.store import Record
from remember_graph.history.stream_index import StreamIndex
from remember_graph.model_steps import run
from remember_graph.nodes.local_detector import LocalDetector, find_gaps
from remember_graph.settings import DetectSettings
from remember_graph.state import Gap
from remember_graph.types import Turn
from remember_graph.view import WindowView

# Enough function words to tell the language, and no content.
_ENGLISH = "the and of to in it is was for on with that we you"


def _view(history: list[str], window: list[str], language: str | None = None) -> WindowView:
    """Turns without a speaker, so that a line is its text."""
    turns = [Turn("", text, id=str(number)) for number, text in enumerate(history + window)]
    index = StreamIndex(Deriver(lambda _: 5), language=language)
    index.add([Record(turn) for turn in turns])
    return WindowView(index, len(history), tuple(turns[len(history) :]), ())


def _gaps(view: WindowView, **settings: int) -> list[Gap]:
    return find_gaps(view, DetectSettings(**settings))


def _share(salience: float) -> float:
    return round(1 / (1 + math.exp(-0.4 * (salience - 8))), 2)


def test_a_rare_term_that_the_window_did_not_introduce_makes_a_turn_salient() -> None:
    view = _view(["apple pear", "apple plum"], ["pear fig"])

    # pear stands in 1 of 2 turns: idf ln(1 + 1.5 / 1.5) = ln 2, the highest there is: rarity 1.
    # 3 ln(1 + 1) + ln(1 + ln 2) + exp(0) = 2.079 + 0.527 + 1
    assert [gap["salience"] for gap in _gaps(view)] == [_share(3.606)] == [0.15]


def test_salience_adds_up_over_distinct_terms() -> None:
    view = _view(["apple pear", "apple plum"], ["pear apple plum pear"])

    # apple: idf ln(1 + 0.5 / 2.5) = 0.1823, rarity 0.1823 / 0.6931 = 0.263
    # 3 ln(1 + 1 + 1 + 0.263) + ln(1 + 0.6931 + 0.6931 + 0.1823) + 1 = 3.548 + 0.943 + 1
    assert _gaps(view)[0]["salience"] == _share(5.491) == 0.27


def test_a_later_turn_is_less_salient_by_its_place_alone() -> None:
    history = ["apple pear", "plum lime"]
    view = _view(history, ["apple pear", "plum lime"])

    # each: 3 ln 3 + ln(1 + 2 ln 2) = 3.296 + 0.870, then exp(0) and exp(-1/2)
    assert [gap["salience"] for gap in _gaps(view)] == [_share(5.166), _share(4.772)]


def test_a_turn_that_repeats_what_the_window_says_is_no_gap() -> None:
    view = _view(["apple pear", "apple plum"], ["pear apple", "apple pear"])

    assert [gap["turn_id"] for gap in _gaps(view)] == ["2"]


def test_a_back_reference_adds_a_half() -> None:
    history = [_ENGLISH, "kiln"]
    plain, back = (_view(history, [text], "en") for text in ("a kiln", "as planned a kiln"))

    # kiln: 3 ln 2 + ln(1 + ln 2) + 1 = 3.606, then 0.5 more; "planned" is unknown to the history
    assert _gaps(plain)[0]["salience"] == _share(3.606)
    assert _gaps(back)[0]["salience"] == _share(4.106) == 0.17


def test_back_references_count_three_at_most() -> None:
    words = "as planned, as promised, as discussed, as agreed, a kiln"
    view = _view([_ENGLISH, "kiln"], [words], "en")

    assert _gaps(view)[0]["salience"] == _share(3.606 + 1.5) == 0.24


def test_a_turn_that_points_back_is_kept_however_little_it_says() -> None:
    view = _view([_ENGLISH, "kiln"], ["hello", "as agreed"], "en")

    # exp(-1/2) + 0.5 = 1.107 would be a share of 0.06
    assert [(gap["turn_id"], gap["salience"]) for gap in _gaps(view)] == [("3", 0.1)]


def test_a_turn_that_takes_nothing_as_known_is_no_gap() -> None:
    assert _gaps(_view(["apple pear"], ["hello"])) == []


def test_without_history_there_are_no_gaps() -> None:
    steps = LocalDetector(DetectSettings()).detect(_view([], ["as agreed, the kiln"], "en"))

    assert run(steps, None)[0].gaps == []


def test_the_detector_finds_the_gaps_of_the_window_without_a_model() -> None:
    view = _view(["apple pear", "apple plum"], ["pear fig"])
    detection, spent = run(LocalDetector(DetectSettings()).detect(view), None)

    assert detection.gaps == _gaps(view)
    assert (detection.by_model, spent.calls) == (False, 0)


def test_the_most_salient_turn_is_the_first_gap() -> None:
    view = _view(["apple pear plum", "lime date"], ["lime", "apple pear plum date"])

    assert [(gap["id"], gap["turn_id"]) for gap in _gaps(view)] == [("g1", "3"), ("g2", "2")]


def test_there_are_at_most_max_gaps_and_the_most_salient_stay() -> None:
    view = _view(["apple pear plum", "lime date"], ["lime", "apple pear plum date"])

    assert [gap["turn_id"] for gap in _gaps(view, max_gaps=1)] == ["3"]


def test_what_comes_after_the_history_is_not_known_to_it() -> None:
    assert _gaps(_view(["apple"], ["pear", "pear"])) == []


def test_terms_are_compared_by_their_stems() -> None:
    view = _view([_ENGLISH, "kilns"], ["kiln"], "en")

    assert [gap["turn_id"] for gap in _gaps(view)] == ["2"]


@pytest.mark.parametrize(
    ("history", "window", "language"),
    [
        (["Das Gewächshaus ist undicht", "Morgen regnet es"], "Gewächshaus repariert", "de"),
        (["温室が壊れた", "明日は雨"], "温室を修理した", None),
        (["Теплица протекает", "Завтра дождь"], "Теплица готова", None),
    ],
)
def test_gaps_are_found_in_other_languages(
    history: list[str], window: str, language: str | None
) -> None:
    view = _view(history, [window], language)

    assert [(gap["turn_id"], gap["kind"]) for gap in _gaps(view)] == [("2", "relational")]


def test_a_window_without_a_single_term_has_no_gaps() -> None:
    assert _gaps(_view(["apple"], ["?!", ""])) == []
