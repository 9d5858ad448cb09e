"""Filling the budget."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from remember_graph.nodes.allocator import Pick, allocate

_turn = st.sampled_from([f"t{number}" for number in range(12)])
_ranking = st.lists(_turn, unique=True, max_size=12)
_rankings = st.lists(_ranking, max_size=4)
_costs = st.fixed_dictionaries({f"t{number}": st.integers(0, 9) for number in range(12)})
_budget = st.integers(1, 60)
_share = st.sampled_from([0.0, 0.25, 0.5, 1.0])


def _ids(picks: list[Pick]) -> list[str]:
    return [pick.turn_id for pick in picks]


def test_rankings_take_turns() -> None:
    picks = allocate([["a", "b"], ["c", "d"]], dict.fromkeys("abcd", 1), budget=3)

    assert picks == [Pick("a", 0), Pick("c", 1), Pick("b", 0)]


def test_a_ranking_passes_over_a_turn_that_is_there_already() -> None:
    assert allocate([["a"], ["a", "b"]], {"a": 1, "b": 1}, budget=9) == [Pick("a", 0), Pick("b", 1)]


def test_a_turn_that_does_not_fit_is_skipped() -> None:
    assert _ids(allocate([["a", "b", "c"]], {"a": 3, "b": 9, "c": 2}, budget=5)) == ["a", "c"]


def test_recent_turns_get_their_share_first() -> None:
    # Share 10 * 0.5 = 5: 2 + 3 fit, one more of 1 does not; then 5 are left for the ranking.
    costs = {"r1": 2, "r2": 3, "r3": 1, "a": 5}

    picks = allocate([["a"]], costs, budget=10, recent=["r1", "r2", "r3"], recent_share=0.5)

    assert picks == [Pick("r1", None), Pick("r2", None), Pick("a", 0)]


def test_the_recent_share_ends_at_the_first_turn_that_would_pass_it() -> None:
    # r1 2, r2 would make 8 > 5; r3 would fit, but stands behind the break; the ranking takes all.
    costs = {"r1": 2, "r2": 6, "r3": 1, "a": 8}

    picks = allocate([["a"]], costs, budget=10, recent=["r1", "r2", "r3"], recent_share=0.5)

    assert picks == [Pick("r1", None), Pick("a", 0)]


def test_what_the_rankings_leave_goes_to_recent_turns() -> None:
    costs = {"r1": 2, "r2": 2, "r3": 2, "a": 2}

    picks = allocate([["a"]], costs, budget=8, recent=["r1", "r2", "r3"], recent_share=0.25)

    assert picks == [Pick("r1", None), Pick("a", 0), Pick("r2", None), Pick("r3", None)]


def test_without_a_share_recent_turns_get_nothing() -> None:
    assert allocate([], {"r": 1}, budget=9, recent=["r"]) == []


def test_nothing_to_pick_from_gives_nothing() -> None:
    assert allocate([[], []], {}, budget=9, recent_share=0.5) == []


@given(_rankings, _costs, _budget, _ranking, _share)
def test_the_costs_never_pass_the_budget(
    rankings: list[list[str]], cost: dict[str, int], budget: int, recent: list[str], share: float
) -> None:
    picks = allocate(rankings, cost, budget=budget, recent=recent, recent_share=share)

    assert sum(cost[id] for id in _ids(picks)) <= budget


@given(_rankings, _costs, _budget, _ranking, _share)
def test_no_turn_is_picked_twice(
    rankings: list[list[str]], cost: dict[str, int], budget: int, recent: list[str], share: float
) -> None:
    ids = _ids(allocate(rankings, cost, budget=budget, recent=recent, recent_share=share))

    assert len(ids) == len(set(ids))


@given(_rankings, _costs, _budget, _ranking, _share)
def test_a_pick_comes_from_the_ranking_it_names(
    rankings: list[list[str]], cost: dict[str, int], budget: int, recent: list[str], share: float
) -> None:
    picks = allocate(rankings, cost, budget=budget, recent=recent, recent_share=share)

    assert all(
        pick.turn_id in (recent if pick.ranking is None else rankings[pick.ranking])
        for pick in picks
    )


@given(_rankings, _costs, _budget)
def test_the_first_round_gives_each_ranking_one_before_any_gets_a_second(
    rankings: list[list[str]], cost: dict[str, int], budget: int
) -> None:
    served = [pick.ranking for pick in allocate(rankings, cost, budget=budget)]
    first_repeat = next((at for at, r in enumerate(served) if r in served[:at]), len(served))

    assert set(served[:first_repeat]) == set(served)
    assert served[:first_repeat] == sorted(set(served), key=lambda ranking: ranking or 0)


@given(_rankings, _costs)
def test_with_room_for_all_the_first_ranking_gets_its_best_turn_first(
    rankings: list[list[str]], cost: dict[str, int]
) -> None:
    picks = allocate(rankings, cost, budget=1_000)
    first = next((ranking for ranking in rankings if ranking), None)

    assert (picks[0].turn_id if picks else None) == (first[0] if first else None)


@given(_rankings, st.integers(1, 12))
def test_at_equal_costs_counts_of_rankings_that_have_more_differ_by_at_most_1(
    rankings: list[list[str]], places: int
) -> None:
    picks = allocate(rankings, {f"t{number}": 1 for number in range(12)}, budget=places)
    taken = set(_ids(picks))
    counts = [
        sum(pick.ranking == number for pick in picks)
        for number, ranking in enumerate(rankings)
        if set(ranking) - taken
    ]

    assert max(counts, default=0) - min(counts, default=0) <= 1


@given(_rankings, _costs, _budget)
def test_nothing_that_is_left_would_still_fit(
    rankings: list[list[str]], cost: dict[str, int], budget: int
) -> None:
    taken = set(_ids(allocate(rankings, cost, budget=budget)))
    left = budget - sum(cost[id] for id in taken)

    assert all(cost[id] > left for ranking in rankings for id in ranking if id not in taken)


@given(_costs, _budget, _ranking, _share)
def test_the_recent_share_is_an_unbroken_stretch_within_it(
    cost: dict[str, int], budget: int, recent: list[str], share: float
) -> None:
    # One ranking whose turns no other list names marks where the share ends.
    picks = allocate(
        [["mark"]], {**cost, "mark": 0}, budget=budget, recent=recent, recent_share=share
    )
    stretch = _ids(picks)[: _ids(picks).index("mark")]

    assert stretch == recent[: len(stretch)]
    assert sum(cost[id] for id in stretch) <= budget * share
