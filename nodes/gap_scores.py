"""How likely each turn of the history is to hold a gap's evidence: the score of `remember`.

A linear model over measures of a gap and a turn; its weights were fitted as a listwise softmax on
annotated windows, chosen by cross-validation over dialogues, and rounded. In words: evidence lies
near the window (nearer for referents), is said by whom the query names, has content, shares rare
words with the query, its anchors or the gap's own turn, introduces an anchor, and stands among
turns that are about the same. A softmax over the history makes probabilities of the scores.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from remember_graph.history.matches import Matches
from remember_graph.nodes.fusion import standardise
from remember_graph.nodes.speakers import named_speakers
from remember_graph.protocols import Vectors
from remember_graph.settings import RetrieveSettings
from remember_graph.state import Gap
from remember_graph.terms import extract_terms
from remember_graph.view import WindowView

Floats = NDArray[np.float64]

_CLOSE = 0.6  # power law of the distance in tokens from turn to gap
_CLOSE_REFERENTIAL = 0.45  # more of it where a referent is missing
_NAMED = 1.3  # the turn's speaker is named in the query
_CONTENT = 0.55  # mean idf of the turn's terms, standardised
_WINDOW = 0.3  # BM25 of the turn for the whole window, standardised
_CHUNK = 0.25  # best BM25 of the chunks that hold the turn, standardised
_CONTEXT = 0.6  # cosine of the gap's direction with the turn among its neighbours, standardised
_SCENE = 0.25  # the same for the window turns around the gap
_RARE = 0.3  # idf of the rarest term shared with query, anchors or the gap's turn
_PROPER = 0.35  # idf of the rarest capitalised anchor in the turn
_FIRST = 1.25  # the turn holds a rarer anchor than any turn before it: it introduces the thing

_NEAR_TOKENS = 10  # added to every distance, so that the last turn's is not all there is
_UTTERANCE_SHARE = 0.5  # of the gap's own turn in its direction
_SCENE_REACH = 2  # window turns before and after the gap's that make its scene
_WORD = re.compile(r"\w+")


def score_gaps(
    view: WindowView,
    gaps: Sequence[Gap],
    vectors: Vectors | None,
    settings: RetrieveSettings,
) -> Floats:
    """Scores of shape (gaps, history turns).

    Args:
        view: The window and the history before it.
        gaps: What is missing.
        vectors: Unit vectors of `vector_texts`; None for lexical search alone.
        settings: Constants of BM25.
    """
    index, turns = view.index, view.history
    scores = _closeness(view, gaps) + _lexical(view, gaps, settings)
    named = named_speakers([gap["query"] for gap in gaps], index.speakers)
    scores += _NAMED * named[:, index.speaker_numbers(turns)]
    scores += _CONTENT * standardise(index.postings.informativeness(turns=turns))
    if vectors is not None and index.embedded(turns):
        directions = np.vstack(_directions(view, gaps, vectors))
        cosines = standardise(index.context_cosines(directions, turns=turns))
        scores += _CONTEXT * cosines[: len(gaps)] + _SCENE * cosines[len(gaps) :]
    return scores


def probabilities(scores: Floats) -> Floats:
    """Softmax of each row: the share of belief that a turn is the gap's evidence."""
    exponent = np.exp(scores - scores.max(axis=1, keepdims=True))
    share: Floats = exponent / exponent.sum(axis=1, keepdims=True)
    return share


def vector_texts(view: WindowView, gaps: Sequence[Gap]) -> list[str]:
    """What must be embedded for `score_gaps`: queries, anchors, then the window's turns."""
    anchors = [" ".join(gap["anchors"]) or gap["query"] for gap in gaps]
    return [*(gap["query"] for gap in gaps), *anchors, *(turn.line for turn in view.turns)]


def _directions(view: WindowView, gaps: Sequence[Gap], vectors: Vectors) -> tuple[Vectors, Vectors]:
    """Where each gap points, and where the window turns around it point."""
    index, count = view.index, len(gaps)
    query = index.directions(vectors[:count], turns=view.history)
    anchors = index.directions(vectors[count : 2 * count], turns=view.history)
    window = vectors[2 * count :]
    places = [_place(view, gap) for gap in gaps]
    utterance = index.directions(window[places], turns=view.history)
    around = np.stack(
        [
            window[max(place - _SCENE_REACH, 0) : place + _SCENE_REACH + 1].mean(axis=0)
            for place in places
        ]
    )
    mixed = query + anchors + _UTTERANCE_SHARE * utterance
    mixed /= np.maximum(np.linalg.norm(mixed, axis=1, keepdims=True), 1e-9)
    return mixed, index.directions(around, turns=view.history)


def _place(view: WindowView, gap: Gap) -> int:
    return next(at for at, turn in enumerate(view.turns) if turn.id == gap["turn_id"])


def _closeness(view: WindowView, gaps: Sequence[Gap]) -> Floats:
    """A power of the tokens between the middle of each turn and the gap's turn, as a logarithm."""
    tokens = view.index.tokens[: view.history].astype(np.float64)
    to_window = np.cumsum(tokens[::-1])[::-1] - tokens / 2
    inside = np.array([sum(view.tokens[: _place(view, gap)]) for gap in gaps], np.float64)
    power = [_CLOSE + (_CLOSE_REFERENTIAL if gap["kind"] == "referential" else 0.0) for gap in gaps]
    distance = to_window + inside[:, np.newaxis] + _NEAR_TOKENS
    closeness: Floats = -np.array(power)[:, np.newaxis] * np.log(distance)
    return closeness


def _lexical(view: WindowView, gaps: Sequence[Gap], settings: RetrieveSettings) -> Floats:
    """What the words say: shared rare words, anchors, the window's words, the chunks around."""
    count, index, turns = len(gaps), view.index, view.history
    anchors = [extract_terms(" ".join(gap["anchors"])) for gap in gaps]
    shared = [extract_terms(f"{gap['query']} {view.turns[_place(view, gap)].line}") for gap in gaps]
    window = extract_terms("\n".join(turn.line for turn in view.turns))
    found = index.postings.match(
        [
            *(words + names for words, names in zip(shared, anchors, strict=True)),
            *(_proper(gap["anchors"], index.speakers) for gap in gaps),
            *anchors,
            window,
        ],
        turns=turns,
        k1=settings.bm25_k1,
        b=settings.bm25_b_turns,
    )
    return (
        _RARE * found.rows(0, count).rarest()
        + _PROPER * found.rows(count, 2 * count).rarest()
        + _FIRST * _introduces(found.rows(2 * count, 3 * count))
        + _WINDOW * standardise(found.rows(3 * count, 3 * count + 1).bm25())
        + _CHUNK * standardise(_in_chunks(view, gaps, settings))
    )


def _introduces(anchors: Matches) -> Floats:
    """1 for a turn that holds a rarer anchor than every turn before it."""
    rarest = anchors.rarest()
    before = np.maximum.accumulate(rarest, axis=1)[:, :-1]
    return (rarest > np.pad(before, ((0, 0), (1, 0)))).astype(np.float64)


def _in_chunks(view: WindowView, gaps: Sequence[Gap], settings: RetrieveSettings) -> Floats:
    asked = [
        extract_terms(f"{gap['query']} {gap['missing']} {' '.join(gap['anchors'])}") for gap in gaps
    ]
    chunks = view.index.chunks(view.history)
    scores = view.index.postings.scores(
        asked, turns=view.history, runs=chunks, k1=settings.bm25_k1, b=settings.bm25_b
    )
    return view.index.best_of_chunks(scores, turns=view.history)


def _proper(anchors: Sequence[str], speakers: Sequence[str]) -> list[str]:
    """Terms of the capitalised anchor words that are no speaker's name."""
    names = {term for speaker in speakers for term in extract_terms(speaker)}
    words = [word for anchor in anchors for word in _WORD.findall(anchor) if word[0].isupper()]
    return [term for term in extract_terms(" ".join(words)) if term not in names]
