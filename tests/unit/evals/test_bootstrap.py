"""The bootstrap interval of recall."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from remember_graph.evals.bootstrap import recall_interval

_groups = st.lists(
    st.integers(0, 8).flatmap(lambda gaps: st.tuples(st.integers(0, gaps), st.just(gaps))),
    min_size=1,
    max_size=8,
).filter(lambda groups: any(gaps for _, gaps in groups))


def test_one_group_gives_its_recall_twice() -> None:
    assert recall_interval([3], [4]) == (0.75, 0.75)


def test_groups_of_equal_recall_leave_no_room() -> None:
    assert recall_interval([1, 2, 3], [2, 4, 6]) == (0.5, 0.5)


def test_two_groups_reach_from_the_worse_to_the_better() -> None:
    # A quarter of the draws takes the first group twice, a quarter the second twice.
    assert recall_interval([1, 0], [3, 1]) == (0.0, 1 / 3)


def test_groups_without_gaps_change_nothing() -> None:
    assert recall_interval([1, 0, 0], [3, 0, 1]) == recall_interval([1, 0], [3, 1])


def test_many_even_groups_come_near_the_normal_interval() -> None:
    # 100 groups of one gap, half of them hit: standard error 0.05, so 0.5 -+ 0.098.
    low, high = recall_interval([1, 0] * 50, [1] * 100)

    assert low == pytest.approx(0.402, abs=0.02)
    assert high == pytest.approx(0.598, abs=0.02)


def test_no_gap_at_all_is_refused() -> None:
    with pytest.raises(ValueError, match="`gaps` must hold a number above 0"):
        recall_interval([0], [0])


@given(_groups)
def test_the_interval_lies_between_the_worst_and_the_best_group(
    groups: list[tuple[int, int]],
) -> None:
    recalls = [hits / gaps for hits, gaps in groups if gaps]

    low, high = recall_interval(*zip(*groups, strict=True), draws=200)

    assert min(recalls) - 1e-9 <= low <= high <= max(recalls) + 1e-9


@given(_groups)
def test_the_same_hits_give_the_same_interval(groups: list[tuple[int, int]]) -> None:
    hits, gaps = zip(*groups, strict=True)

    assert recall_interval(hits, gaps, draws=200) == recall_interval(hits, gaps, draws=200)
