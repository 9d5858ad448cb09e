"""How likely each turn of the history is to hold a gap's evidence."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from remember_graph.history.deriving import Deriver
from remember_graph.history.store import Record
from remember_graph.history.stream_index import StreamIndex
from remember_graph.nodes.detection import new_gap
from remember_graph.nodes.gap_scores import Floats, probabilities, score_gaps, vector_texts
from remember_graph.protocols import Vectors
from remember_graph.settings import RetrieveSettings
from remember_graph.state import Gap
from remember_graph.types import Turn
from remember_graph.view import WindowView

_Line = tuple[str, str]


def _view(history: list[_Line], *, window: int = 1, vectors: Vectors | None = None) -> WindowView:
    """Turns of one token each; the window is said by Kim and shares no word with the history."""
    lines = [*history, *[("Kim", "why")] * window]
    turns = [Turn(speaker, text, id=str(at)) for at, (speaker, text) in enumerate(lines)]
    index = StreamIndex(Deriver(lambda _: 1), language=None, encoder_id="test/2")
    if vectors is None:
        index.add([Record(turn) for turn in turns])
    else:
        pairs = zip(turns[: len(history)], vectors, strict=True)
        index.add([Record(turn, vector, "test/2") for turn, vector in pairs])
        index.add([Record(turn) for turn in turns[len(history) :]])
    return WindowView(index, len(history), tuple(turns[len(history) :]), (1,) * window)


def _gap(
    view: WindowView,
    query: str = "nothing known",
    *anchors: str,
    kind: str = "relational",
    at: int = 0,
) -> Gap:
    return new_gap(
        view.turns[at].id, kind, missing="", query=query, anchors=list(anchors), salience=1.0
    )


def _scores(view: WindowView, *gaps: Gap, vectors: Vectors | None = None) -> Floats:
    return score_gaps(view, gaps, vectors, RetrieveSettings())


def test_probabilities_are_a_softmax() -> None:
    share = probabilities(np.array([[0.0, math.log(3)]]))

    np.testing.assert_allclose(share, [[0.25, 0.75]])


@given(st.lists(st.lists(st.floats(-1e3, 1e3), min_size=3, max_size=3), min_size=1, max_size=4))
def test_probabilities_of_a_gap_sum_to_one(rows: list[list[float]]) -> None:
    np.testing.assert_allclose(probabilities(np.array(rows)).sum(axis=1), 1)


def test_the_nearer_turn_wins_where_all_else_is_equal() -> None:
    view = _view([("Ana", "same")] * 4)

    assert (np.diff(_scores(view, _gap(view))[0]) > 0).all()


def test_closeness_is_a_power_of_the_tokens_between() -> None:
    view = _view([("Ana", "same")] * 2)

    # from the middle of the turn to the window's start, and ten more: 1.5 + 10 and 0.5 + 10
    expected = [-0.6 * math.log(11.5), -0.6 * math.log(10.5)]
    np.testing.assert_allclose(_scores(view, _gap(view))[0], expected)


def test_the_window_before_the_gap_adds_to_the_distance() -> None:
    view = _view([("Ana", "same")], window=3)

    np.testing.assert_allclose(_scores(view, _gap(view, at=2)), [[-0.6 * math.log(12.5)]])


def test_closeness_weighs_more_where_a_referent_is_missing() -> None:
    view = _view([("Ana", "same")] * 2)

    expected = [-1.05 * math.log(11.5), -1.05 * math.log(10.5)]
    np.testing.assert_allclose(_scores(view, _gap(view, kind="referential"))[0], expected)


def test_a_turn_of_the_named_speaker_is_worth_1_3() -> None:
    # Both lines hold three terms, "ana" and "hello" among them: only the speaker differs.
    view = _view([("Ana", "hello there"), ("Zed", "hello Ana")])
    far, near = _scores(view, _gap(view, "What did Ana say"))[0]

    assert far - near == pytest.approx(1.3 - 0.6 * math.log(11.5 / 10.5))


def test_a_turn_that_introduces_an_anchor_is_worth_1_25() -> None:
    view = _view([("Ana", "mosses"), ("Ana", "tundra"), ("Ana", "tundra")])
    _, first, second = _scores(view, _gap(view, "nothing known", "tundra"))[0]

    assert first - second == pytest.approx(1.25 - 0.6 * math.log(11.5 / 10.5))


def test_an_anchor_no_rarer_than_one_before_it_introduces_nothing() -> None:
    view = _view([("Ana", "moss"), ("Ana", "moss"), ("Ana", "tundra"), ("Ana", "tundra")])
    _, far, near, _ = _scores(view, _gap(view, "nothing known", "moss", "tundra"))[0]

    assert near - far == pytest.approx(0.6 * math.log(12.5 / 11.5))


def test_a_turn_that_introduces_a_rare_anchor_wins_over_nearer_ones() -> None:
    view = _view([("Ana", "moss"), ("Ana", "tundra"), *[("Ana", "moss")] * 3])

    assert _scores(view, _gap(view, "nothing known", "tundra"))[0].argmax() == 1


def test_a_capitalised_anchor_counts_more_than_the_same_in_small_letters() -> None:
    view = _view([("Ana", "tundra"), ("Ana", "mosses")])
    small, large = _scores(view, _gap(view, "nothing", "tundra"), _gap(view, "nothing", "Tundra"))

    # idf of a term in one turn of two: ln(1 + 1.5 / 1.5)
    np.testing.assert_allclose(large - small, [0.35 * math.log(2), 0], atol=1e-12)


def test_a_speakers_name_is_no_proper_anchor() -> None:
    view = _view([("Ana", "tundra"), ("Zed", "mosses")])
    small, large = _scores(view, _gap(view, "nothing", "ana"), _gap(view, "nothing", "Ana"))

    np.testing.assert_allclose(small, large)


def test_a_turn_that_shares_a_rare_word_with_the_query_wins_over_nearer_ones() -> None:
    view = _view([("Ana", "tundra"), *[("Ana", "mosses")] * 3])

    assert _scores(view, _gap(view, "Where is that tundra"))[0].argmax() == 0


def test_a_turn_with_rarer_words_has_more_content() -> None:
    view = _view([("Ana", "heather"), ("Ana", "moss"), ("Ana", "moss")])

    assert _scores(view, _gap(view))[0].argmax() == 0


def test_there_is_a_row_for_every_gap() -> None:
    view = _view([("Ana", "tundra"), ("Ana", "mosses")])

    assert _scores(view, _gap(view, "tundra"), _gap(view, "mosses")).shape == (2, 2)


def test_a_gaps_scores_do_not_depend_on_the_other_gaps() -> None:
    view = _view([("Ana", "tundra"), ("Ana", "mosses")])
    one, other = _gap(view, "tundra", "Tundra"), _gap(view, "mosses", kind="referential")

    np.testing.assert_allclose(_scores(view, one, other)[1], _scores(view, other)[0])


_EAST, _NORTH = [1.0, 0.0], [0.0, 1.0]


def test_a_turn_whose_vector_points_where_the_gap_does_wins_over_nearer_ones() -> None:
    history = np.array([_EAST, *[_NORTH] * 7], np.float32)
    view = _view([("Ana", "same")] * 8, vectors=history)
    asked = np.array([_EAST] * 3, np.float32)

    assert _scores(view, _gap(view), vectors=asked)[0].argmax() == 0


def test_a_stream_that_has_no_vectors_is_scored_by_words_alone() -> None:
    view = _view([("Ana", "tundra"), ("Ana", "mosses")])
    asked = np.array([_EAST] * 3, np.float32)

    np.testing.assert_allclose(_scores(view, _gap(view), vectors=asked), _scores(view, _gap(view)))


def test_queries_then_anchors_then_the_window_are_embedded() -> None:
    view = _view([("Ana", "tundra")], window=2)
    gaps = [_gap(view, "one", "a", "b"), _gap(view, "two")]

    assert vector_texts(view, gaps) == ["one", "two", "a b", "two", "Kim: why", "Kim: why"]


def _missing(view: WindowView, missing: str) -> Gap:
    return {**_gap(view), "missing": missing}


def test_a_rare_word_shared_with_the_query_is_worth_three_tenths_of_its_idf() -> None:
    view = _view([("Ana", "tundra"), ("Ana", "mosses")])
    plain, asked = _scores(view, _gap(view, "nothing"), _gap(view, "tundra"))

    np.testing.assert_allclose(asked - plain, [0.3 * math.log(2), 0], atol=1e-12)


def test_a_chunk_that_answers_what_is_missing_is_worth_a_quarter_a_deviation() -> None:
    turns = [Turn("Ana", text, id=text) for text in ("tundra", "mosses", "why")]
    index = StreamIndex(Deriver(lambda _: 1), language=None, chunk_tokens=1, chunk_overlap=0)
    index.add([Record(turn) for turn in turns])
    view = WindowView(index, 2, (turns[2],), (1,))
    plain, asked = _scores(view, _missing(view, "nothing"), _missing(view, "tundra"))

    np.testing.assert_allclose(asked - plain, [0.25, -0.25], atol=1e-12)


def test_a_turn_that_answers_the_rest_of_the_window_is_worth_three_tenths_a_deviation() -> None:
    view = _view([("Ana", "tundra"), ("Ana", "mosses")], window=2)
    other = WindowView(view.index, 2, (view.turns[0], Turn("Kim", "tundra", id="3")), (1, 1))
    gain = _scores(other, _gap(other)) - _scores(view, _gap(view))

    np.testing.assert_allclose(gain, [[0.3, -0.3]], atol=1e-12)


def _two_with_vectors(*asked: list[float]) -> Floats:
    """Scores of a turn that points east and one that points north, for a window of three."""
    history = np.array([_EAST, _NORTH], np.float32)
    view = _view([("Ana", "same")] * 2, window=3, vectors=history)
    scores: Floats = _scores(view, _gap(view), vectors=np.array(asked, np.float32))[0]
    return scores


def test_the_direction_of_query_and_anchors_is_worth_six_tenths_a_deviation() -> None:
    window = [_NORTH] * 3
    gain = _two_with_vectors(_EAST, _EAST, *window) - _two_with_vectors(_NORTH, _NORTH, *window)

    # from one deviation below the mean to one above
    np.testing.assert_allclose(gain, [1.2, -1.2], atol=1e-4)


def test_the_window_turns_around_the_gap_are_worth_a_quarter_a_deviation() -> None:
    own = [_NORTH] * 3
    gain = _two_with_vectors(*own, _EAST, _EAST) - _two_with_vectors(*own, _NORTH, _NORTH)

    np.testing.assert_allclose(gain, [0.5, -0.5], atol=1e-4)
