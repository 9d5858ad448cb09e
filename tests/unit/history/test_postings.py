"""Incremental BM25 against `rank_bm25` and against an index that saw less."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from numpy.typing import NDArray
from rank_bm25 import BM25Okapi

from remember_graph.history.hits import Runs
from remember_graph.history.postings import Postings

_words = st.sampled_from(["ab", "cd", "ef", "gh", "ij", "kl"])
_document = st.lists(_words, max_size=7)
_corpus = st.lists(_document, min_size=1, max_size=9).filter(any)
_query = st.lists(st.sampled_from(["ab", "cd", "ef", "gh", "ij", "kl", "unseen"]), max_size=5)
_english = st.lists(
    st.lists(st.sampled_from(["meeting", "meetings", "met", "the", "is", "plan", "plans"])),
    min_size=1,
    max_size=8,
)


def _postings(documents: list[list[str]], language: str | None = None) -> Postings:
    postings = Postings(language)
    for document in documents:
        postings.add(document)
    return postings


@st.composite
def _runs(draw: st.DrawFn, turns: int) -> Runs:
    """Runs that may overlap and leave turns out; both bounds rise."""
    positions = st.lists(st.integers(0, turns), min_size=1, max_size=6, unique=True).map(sorted)
    starts, ends = draw(positions), draw(positions)
    pairs = [(start, end) for start, end in zip(starts, ends, strict=False) if start < end]
    assume(pairs)
    return Runs(np.array([s for s, _ in pairs]), np.array([e for _, e in pairs]))


def _oracle(
    documents: list[list[str]], query: list[str], k1: float = 1.5, b: float = 0.75
) -> NDArray[np.float64]:
    scores: Any = BM25Okapi(documents, k1=k1, b=b).get_scores(query)
    return np.asarray(scores, np.float64)


@given(_corpus, _query, st.sampled_from([0.5, 1.5, 2.0]), st.sampled_from([0.0, 0.3, 0.9]))
def test_okapi_scores_of_turns_are_those_of_rank_bm25(
    corpus: list[list[str]], query: list[str], k1: float, b: float
) -> None:
    scores = _postings(corpus).scores([query], k1=k1, b=b, idf="okapi")

    np.testing.assert_allclose(scores[0], _oracle(corpus, query, k1, b), atol=1e-6)


@given(st.data(), _corpus, _query)
def test_okapi_scores_of_runs_are_those_of_rank_bm25_over_their_joined_turns(
    data: st.DataObject, corpus: list[list[str]], query: list[str]
) -> None:
    runs = data.draw(_runs(len(corpus)))
    joined = [
        [term for turn in corpus[start:end] for term in turn]
        for start, end in zip(runs.starts, runs.ends, strict=True)
    ]
    assume(any(joined))

    scores = _postings(corpus).scores([query], runs=runs, idf="okapi")

    np.testing.assert_allclose(scores[0], _oracle(joined, query), atol=1e-6)


@given(_corpus, _query, st.data())
def test_okapi_scores_of_a_prefix_are_those_of_rank_bm25_over_the_prefix(
    corpus: list[list[str]], query: list[str], data: st.DataObject
) -> None:
    turns = data.draw(st.integers(1, len(corpus)))
    assume(any(corpus[:turns]))

    scores = _postings(corpus).scores([query], turns=turns, idf="okapi")

    np.testing.assert_allclose(scores[0], _oracle(corpus[:turns], query), atol=1e-6)


@given(_corpus, _corpus, _query, st.data())
def test_okapi_scores_after_truncating_and_adding_are_those_of_rank_bm25(
    corpus: list[list[str]], more: list[list[str]], query: list[str], data: st.DataObject
) -> None:
    kept = data.draw(st.integers(0, len(corpus)))
    postings = _postings(corpus)
    if data.draw(st.booleans()):
        postings.scores([query])  # what was cached for the longer index must go
    postings.truncate(kept)
    for document in more:
        postings.add(document)

    scores = postings.scores([query], idf="okapi")

    np.testing.assert_allclose(scores[0], _oracle([*corpus[:kept], *more], query), atol=1e-6)


@given(
    _english, st.data(), st.sampled_from(["en", "de", None]), st.sampled_from(["plus_one", "okapi"])
)
def test_scores_as_of_a_turn_are_those_of_an_index_that_saw_no_more(
    corpus: list[list[str]], data: st.DataObject, language: str | None, idf: Any
) -> None:
    turns = data.draw(st.integers(1, len(corpus)))
    queries = [["meeting", "the", "plan"], ["plan", "plan", "unseen"]]

    later = _postings(corpus, language).scores(queries, turns=turns, idf=idf)
    then = _postings(corpus[:turns], language).scores(queries, idf=idf)

    np.testing.assert_allclose(later, then, atol=1e-12)


def test_a_language_told_by_later_turns_does_not_change_earlier_scores() -> None:
    corpus = [["the", "meetings", "ab"], ["is", "plan"], ["the", "and", "with", "this"] * 5]

    later = _postings(corpus, "auto").scores([["the", "meeting"]], turns=2)
    then = _postings(corpus[:2], "auto").scores([["the", "meeting"]])

    np.testing.assert_allclose(later, then)


def test_postings_that_follow_the_language_are_not_truncated() -> None:
    with pytest.raises(ValueError, match="cannot be truncated"):
        _postings([["zzz"]], "auto").truncate(0)


def test_a_score_is_what_the_formula_gives() -> None:
    # N = 2, n = 1: idf = ln(1 + 1.5 / 1.5) = ln 2; average length (2 + 4) / 2 = 3.
    # count 2, length 4: 2 * 2.5 / (2 + 1.5 * (0.25 + 0.75 * 4 / 3)) = 5 / 3.875
    scores = _postings([["cd", "ef"], ["ab", "ab", "cd", "ef"]]).scores([["ab"]])

    assert scores[0] == pytest.approx([0.0, math.log(2) * 5 / 3.875])


def test_a_term_named_twice_counts_twice() -> None:
    postings = _postings([["ab"], ["cd"]])

    once, twice = postings.scores([["ab"], ["ab", "ab"]])

    assert twice == pytest.approx(2 * once)


@pytest.mark.parametrize("documents", [1, 2, 3])
def test_a_term_of_every_document_of_a_small_corpus_scores_above_zero(documents: int) -> None:
    assert (_postings([["ab", "cd"]] * documents).scores([["ab"]]) > 0).all()


@given(_corpus, _query)
def test_a_document_with_a_query_term_scores_above_all_without(
    corpus: list[list[str]], query: list[str]
) -> None:
    scores = _postings(corpus).scores([query])[0]
    has_one = np.array([bool(set(document) & set(query)) for document in corpus])

    assert (scores[has_one] > 0).all()
    assert (scores[~has_one] == 0).all()


@given(_english, _english)
def test_scores_asked_in_between_change_no_later_scores(
    corpus: list[list[str]], more: list[list[str]]
) -> None:
    asked = _postings(corpus, "en")
    asked.scores([["meeting"]])
    for document in more:
        asked.add(document)

    np.testing.assert_array_equal(
        asked.scores([["meeting", "plan"]]),
        _postings(corpus + more, "en").scores([["meeting", "plan"]]),
    )


@given(_english, _english, st.data())
def test_what_an_earlier_search_found_changes_no_later_one(
    corpus: list[list[str]], more: list[list[str]], data: st.DataObject
) -> None:
    asked = _postings(corpus, "en")
    asked.scores([["meeting", "met"]])
    for document in more:
        asked.add(document)
    turns = data.draw(st.integers(0, len(corpus) + len(more)))

    np.testing.assert_array_equal(
        asked.scores([["plan", "meeting"]], turns=turns),
        _postings((corpus + more)[:turns], "en").scores([["plan", "meeting"]]),
    )


def test_forms_of_a_word_match_once_the_language_is_known() -> None:
    postings = _postings([["meetings"], ["zzz"]], "auto")
    before = postings.scores([["meeting"]])
    postings.add(["the", "and", "with", "this", "from", "into"] * 2)

    assert before.tolist() == [[0.0, 0.0]]
    assert postings.scores([["meeting"]])[0, 0] > 0


def test_function_words_of_the_language_score_nothing_and_have_no_length() -> None:
    with_words = _postings([["the", "plan", "is", "the"], ["trip"]], "en")
    without = _postings([["plan"], ["trip"]], "en")

    np.testing.assert_allclose(
        with_words.scores([["the", "plan"]]), without.scores([["plan"]]), atol=1e-12
    )


@pytest.mark.parametrize("idf", ["plus_one", "okapi"])
@pytest.mark.parametrize("turns", [None, 0])
def test_an_empty_history_gives_no_scores(turns: int | None, idf: Any) -> None:
    postings = _postings([] if turns is None else [["ab"]])

    assert postings.scores([["ab"], ["cd"]], turns=turns, idf=idf).shape == (2, 0)


def test_no_queries_give_no_rows() -> None:
    assert _postings([["ab"]]).scores([]).shape == (0, 1)


def test_documents_without_terms_score_zero() -> None:
    assert _postings([[], []]).scores([["ab"]], idf="okapi").tolist() == [[0.0, 0.0]]
