"""Postings grouped by term, and spread over runs of turns."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from remember_graph.history.hits import Hits, Runs, grouped

_postings = st.lists(st.tuples(st.integers(0, 6), st.integers(1, 4), st.integers(1, 3)))


def _hits(postings: list[tuple[int, int, int]]) -> Hits:
    turns, numbers, counts = np.array(sorted(postings), np.int64).reshape(-1, 3).T
    return grouped(numbers.astype(np.uint16), turns, counts.astype(float))


def _as_dict(hits: Hits) -> dict[tuple[int, int], float]:
    pairs = zip(hits.term.tolist(), hits.document.tolist(), strict=True)
    return dict(zip(pairs, hits.count.tolist(), strict=True))


@given(_postings)
def test_a_term_stands_once_in_a_turn_with_all_its_mentions(
    postings: list[tuple[int, int, int]],
) -> None:
    expected: dict[tuple[int, int], float] = {}
    for turn, number, count in postings:
        expected[number - 1, turn] = expected.get((number - 1, turn), 0) + count

    found = _as_dict(_hits(postings))

    assert found == expected
    assert list(found) == sorted(found)


@given(_postings)
def test_a_run_holds_what_its_turns_hold(postings: list[tuple[int, int, int]]) -> None:
    runs = [(0, 2), (1, 4), (3, 4), (6, 7)]
    expected: dict[tuple[int, int], float] = {}
    for turn, number, count in postings:
        for run, (start, end) in enumerate(runs):
            if start <= turn < end:
                expected[number - 1, run] = expected.get((number - 1, run), 0) + count

    starts, ends = np.array(runs).T
    found = _as_dict(_hits(postings).in_runs(Runs(starts, ends)))

    assert found == expected
    assert list(found) == sorted(found)
