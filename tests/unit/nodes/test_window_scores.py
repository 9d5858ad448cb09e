"""How well each turn of the history answers the window as a whole."""

from __future__ import annotations

import math

import numpy as np
import pytest

from remember_graph.history.deriving import Deriver
from remember_graph.history.store import Record
from remember_graph.history.stream_index import StreamIndex
from remember_graph.nodes.window_scores import Floats, score_window
from remember_graph.protocols import Vectors
from remember_graph.settings import RetrieveSettings
from remember_graph.types import Turn
from remember_graph.view import WindowView

_LONG = "one two three four five"


def _view(
    history: list[str], window: list[str], *, vectors: list[list[float]] | None = None
) -> WindowView:
    turns = [Turn("", text, id=str(at)) for at, text in enumerate(history + window)]
    index = StreamIndex(Deriver(lambda _: 100), language=None, encoder_id="test/2")
    for at, turn in enumerate(turns):
        vector = np.array(vectors[at], np.float32) if vectors and at < len(history) else None
        index.add([Record(turn, vector, None if vector is None else "test/2")])
    return WindowView(index, len(history), tuple(turns[len(history) :]), ())


def _score(view: WindowView, *tokens: int, vectors: Vectors | None = None) -> tuple[Floats, Floats]:
    counts = np.array(tokens or [12] * len(view.turns))
    return score_window(view, vectors, counts, RetrieveSettings())


def test_where_nothing_is_shared_a_turn_scores_by_its_distance() -> None:
    single, _ = _score(_view([_LONG, _LONG], ["nothing"]))

    np.testing.assert_allclose(single, [[-math.log(12), -math.log(11)]])


def test_the_pooled_score_of_one_window_turn_grows_with_its_length() -> None:
    _, pooled = _score(_view([_LONG, _LONG], ["nothing"]), 25)

    # 2 · ½ ln 25, less the logarithm of the distance
    np.testing.assert_allclose(pooled, [math.log(25 / 12), math.log(25 / 11)])


def test_the_window_turns_are_pooled_by_a_soft_maximum() -> None:
    _, pooled = _score(_view([_LONG], ["nothing", "at all"]), 16, 25)

    # 2 ln(√16 + √25) - ln 11
    np.testing.assert_allclose(pooled, [2 * math.log(9) - math.log(11)])


def test_a_short_window_turn_does_not_ask() -> None:
    _, pooled = _score(_view([_LONG], ["nothing", "at all"]), 9, 25)

    np.testing.assert_allclose(pooled, [math.log(25 / 11)])


def test_where_every_window_turn_is_short_all_of_them_ask() -> None:
    _, pooled = _score(_view([_LONG], ["nothing", "at all"]), 4, 9)

    np.testing.assert_allclose(pooled, [2 * math.log(5) - math.log(11)])


def test_a_window_turn_of_no_tokens_leaves_the_scores_finite() -> None:
    _, pooled = _score(_view([_LONG], [""]), 0)

    assert np.isfinite(pooled).all()


def test_a_turn_of_four_terms_says_too_little() -> None:
    _, pooled = _score(_view(["one two three four", _LONG], ["nothing"]))

    assert np.isneginf(pooled).tolist() == [True, False]


def test_a_term_said_twice_is_one_of_the_five() -> None:
    _, pooled = _score(_view(["one two three four four"], ["nothing"]))

    assert np.isneginf(pooled).all()


def test_function_words_are_none_of_the_five() -> None:
    turn = Turn("", "the and of to kilns glow", id="0")
    index = StreamIndex(Deriver(lambda _: 100), language="en")
    index.add([Record(turn)])
    _, pooled = _score(WindowView(index, 1, (Turn("", "nothing", id="1"),), (1,)))

    assert np.isneginf(pooled).all()


def test_a_turn_that_says_too_little_still_answers_a_single_window_turn() -> None:
    single, _ = _score(_view(["kiln"], ["kiln"]))

    assert np.isfinite(single).all()


def test_a_turn_that_shares_a_rare_word_wins_over_nearer_ones() -> None:
    history = ["kiln clay glaze oven pots", *["moss fern reed bog heather"] * 3]
    _, pooled = _score(_view(history, ["our kiln broke"]))

    assert pooled.argmax() == 0


def test_a_rare_word_counts_more_than_a_common_one() -> None:
    history = ["kiln fern reed bog clay", *["moss fern reed bog clay"] * 4]
    single, _ = _score(_view(history, ["kiln moss"]))

    assert single[0].argmax() == 0


def test_every_window_turn_has_its_own_row() -> None:
    history = ["kiln clay glaze oven pots", "moss fern reed bog heather"]
    single, _ = _score(_view(history, ["a kiln", "a fern"]))

    assert single.argmax(axis=1).tolist() == [0, 1]


def test_a_turn_whose_vector_is_the_windows_wins_over_nearer_ones() -> None:
    vectors = [[1.0, 0.0], *[[0.0, 1.0]] * 3]
    view = _view([_LONG] * 4, ["nothing"], vectors=vectors)
    _, pooled = _score(view, vectors=np.array([[1, 0]], np.float32))

    assert pooled.argmax() == 0


@pytest.mark.parametrize("text", ["?!", "", "nothing"])
def test_a_window_without_known_terms_leaves_the_order_of_closeness(text: str) -> None:
    _, pooled = _score(_view([_LONG] * 3, [text]), 12)

    assert (np.diff(pooled) > 0).all()


def test_what_comes_after_the_history_is_not_scored() -> None:
    single, pooled = _score(_view([_LONG] * 3, ["nothing", "at all"]))

    assert (single.shape, pooled.shape) == ((2, 3), (3,))
