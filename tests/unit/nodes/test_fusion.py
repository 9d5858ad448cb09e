"""Fusing rankings and scores."""

from __future__ import annotations

from random import Random

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from remember_graph.nodes.fusion import best_first, reciprocal_rank_fusion, standardise

_ranking = st.lists(st.sampled_from("abcdef"), unique=True, max_size=6)
_rankings = st.lists(_ranking, max_size=5)
_scores = st.lists(st.integers(-3, 3).map(float), min_size=1, max_size=12)


def test_a_score_is_the_sum_of_the_reciprocal_ranks() -> None:
    fused = reciprocal_rank_fusion([["a", "b"], ["c", "d", "b"]])

    assert dict(fused)["b"] == pytest.approx(1 / (60 + 2) + 1 / (60 + 3))


def test_a_list_that_does_not_hold_an_item_adds_nothing() -> None:
    assert reciprocal_rank_fusion([["a"], []], k=1) == [("a", 1 / 2)]


def test_no_rankings_give_no_scores() -> None:
    assert reciprocal_rank_fusion([]) == []


def test_equal_scores_keep_the_order_of_first_appearance() -> None:
    assert [item for item, _ in reciprocal_rank_fusion([["b"], ["a"]])] == ["b", "a"]


def test_sums_of_the_same_parts_are_equal_scores() -> None:
    # c has the ranks 1, 1, 2, 4 and a has 2, 4, 1, 1.
    fused = reciprocal_rank_fusion(
        [["c", "a"], ["c", "x", "y", "a"], ["a", "c"], ["a", "z", "w", "c"]]
    )

    assert [item for item, _ in fused][:2] == ["c", "a"]
    assert fused[0][1] == fused[1][1]


@given(_rankings)
def test_the_items_are_those_of_the_rankings(rankings: list[list[str]]) -> None:
    fused = [item for item, _ in reciprocal_rank_fusion(rankings)]

    assert sorted(fused) == sorted({item for ranking in rankings for item in ranking})


@given(_rankings, st.randoms(use_true_random=False))
def test_the_order_of_the_rankings_does_not_matter_for_the_scores(
    rankings: list[list[str]], random: Random
) -> None:
    shuffled = list(rankings)
    random.shuffle(shuffled)

    assert dict(reciprocal_rank_fusion(shuffled)) == dict(reciprocal_rank_fusion(rankings))


@given(_rankings, _ranking)
def test_adding_a_ranking_never_lowers_a_score(rankings: list[list[str]], more: list[str]) -> None:
    after = dict(reciprocal_rank_fusion([*rankings, more]))

    assert all(after[item] >= score for item, score in reciprocal_rank_fusion(rankings))


@given(_rankings)
def test_scores_fall(rankings: list[list[str]]) -> None:
    scores = [score for _, score in reciprocal_rank_fusion(rankings)]

    assert scores == sorted(scores, reverse=True)


def test_standard_scores_are_distances_from_the_mean_in_deviations() -> None:
    # Mean 2; deviation sqrt((1 + 0 + 1) / 3).
    deviation = (2 / 3) ** 0.5

    assert standardise(np.array([[1.0, 2.0, 3.0]]))[0] == pytest.approx(
        [-1 / deviation, 0, 1 / deviation]
    )


@given(st.lists(_scores.filter(lambda row: len(set(row)) > 1), min_size=1, max_size=3))
def test_each_row_has_mean_0_and_deviation_1(rows: list[list[float]]) -> None:
    for row in rows:
        standard = standardise(np.array([row, row]))

        assert standard.mean(axis=1) == pytest.approx([0, 0], abs=1e-9)
        assert standard.std(axis=1) == pytest.approx([1, 1])


@given(_scores.filter(lambda row: len(set(row)) > 1), st.integers(1, 9), st.integers(-9, 9))
def test_scale_and_shift_do_not_matter(row: list[float], scale: int, shift: int) -> None:
    scores = np.array([row])

    np.testing.assert_allclose(standardise(scores * scale + shift), standardise(scores), atol=1e-9)


@pytest.mark.parametrize("value", [0.0, 0.1, 1e9 + 0.1, -3.0])
def test_a_row_without_spread_becomes_zeros(value: float) -> None:
    assert standardise(np.full((1, 7), value)).tolist() == [[0.0] * 7]


@pytest.mark.parametrize("shape", [(0, 0), (2, 0), (0, 3)])
def test_no_scores_stay_none(shape: tuple[int, int]) -> None:
    assert standardise(np.zeros(shape)).shape == shape


@given(_scores, st.integers(1, 15))
def test_best_first_is_the_beginning_of_a_full_sort(scores: list[float], limit: int) -> None:
    expected = sorted(range(len(scores)), key=lambda at: (-scores[at], at))[:limit]

    assert best_first(np.array(scores), limit).tolist() == expected


def test_best_first_of_nothing_is_nothing() -> None:
    assert best_first(np.zeros(0), 3).tolist() == []


@pytest.mark.parametrize("limit", [0, -1])
def test_no_places_are_no_positions(limit: int) -> None:
    assert best_first(np.array([1.0, 2.0]), limit).tolist() == []
