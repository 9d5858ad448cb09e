"""Which turn holds which term how often, and Okapi BM25 over turns and over runs of turns.

Postings are kept in the order of the turns (three flat arrays: term, turn, count), so adding a
turn appends and touches nothing else. A query marks its terms in one table over the vocabulary
and scans the postings once, vectorised; statistics (document frequency, average length) are those
of the first `n` turns, exactly as if the later turns were not there. Scores of a run of turns (a
chunk) come from the same postings: a chunk's count of a term is the sum over its turns.

Formula: Robertson and Zaragoza 2009; `okapi` is `rank_bm25.BM25Okapi` to the letter, `plus_one`
is Lucene's idf, ln(1 + (N - n + 0.5) / (n + 0.5)), which stays above zero however small N is.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from remember_graph.history.growable import GrowableArray
from remember_graph.languages import FUNCTION_WORDS, LanguageCounts, is_function_word, stem

Idf = Literal["plus_one", "okapi"]
Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

# rank_bm25 replaces a negative idf by this share of the mean idf.
_OKAPI_EPSILON = 0.25


@dataclass(frozen=True, slots=True)
class Runs:
    """Runs of consecutive turns: run i holds the turns `starts[i]` to `ends[i]` - 1."""

    starts: Ints
    ends: Ints

    def __len__(self) -> int:
        return len(self.starts)


@dataclass(frozen=True, slots=True)
class _Hits:
    """The postings of the queried terms: term number, document, count; sorted by term, document."""

    term: Ints
    document: Ints
    count: NDArray[np.float64]


class Postings:
    """The sparse half of a stream's index.

    Args:
        language: Whose stems and function words apply; `auto` follows the stream's own words.
    """

    def __init__(self, language: str | None = "auto") -> None:
        self._fixed_language = language
        self._seen = LanguageCounts()
        self._ids: dict[str, int] = {}
        self._surfaces: list[str] = []
        self._terms = GrowableArray(np.int32)
        self._turns = GrowableArray(np.int32)
        self._counts = GrowableArray(np.int32)
        self._ends = GrowableArray(np.int64)  # postings up to and with turn i
        self._vocabulary_language: str | None = None
        self._stems: dict[str, list[int]] = {}
        self._stemmed = 0
        self._lengths = GrowableArray(np.int64)  # content terms up to and with turn i

    def __len__(self) -> int:
        return len(self._ends)

    @property
    def language(self) -> str | None:
        """The language whose stems and function words are in force."""
        return self._seen.language if self._fixed_language == "auto" else self._fixed_language

    def add(self, terms: Sequence[str]) -> None:
        """Append one turn, given as its terms."""
        counts = Counter(terms)
        self._terms.extend([self._id(term) for term in counts])
        self._turns.extend(np.full(len(counts), len(self._ends)))
        self._counts.extend(list(counts.values()))
        self._ends.extend([len(self._terms)])
        self._seen.add(terms)

    def truncate(self, turns: int) -> None:
        """Forget all but the first turns (their words stay in the vocabulary)."""
        if turns < len(self):
            stop = int(self._ends.view[turns - 1]) if turns else 0
            for postings in (self._terms, self._turns, self._counts):
                postings.truncate(stop)
            self._ends.truncate(turns)
            self._lengths.truncate(turns)

    def _id(self, surface: str) -> int:
        known = self._ids.setdefault(surface, len(self._surfaces))
        if known == len(self._surfaces):
            self._surfaces.append(surface)
        return known

    def scores(
        self,
        queries: Sequence[Sequence[str]],
        *,
        turns: int | None = None,
        runs: Runs | None = None,
        k1: float = 1.5,
        b: float = 0.75,
        idf: Idf = "plus_one",
    ) -> Floats:
        """BM25 of every document for every query.

        Args:
            queries: Terms of each query; a term named twice counts twice.
            turns: Only the first so many turns exist; default all.
            runs: The documents are these runs of turns; default single turns.
            k1: Saturation of the count.
            b: Share of the length normalisation.
            idf: Which inverse document frequency.

        Returns:
            Shape (queries, documents).
        """
        self._refresh_vocabulary()
        n_turns = len(self) if turns is None else turns
        n_documents = n_turns if runs is None else len(runs)
        result = np.zeros((len(queries), n_documents))
        numbers, weights = self._number_terms(queries)
        if not n_documents or not numbers:
            return result
        hits = self._find(numbers, n_turns, runs)
        lengths = self._document_lengths(n_turns, runs)
        average = float(lengths.mean()) or 1.0
        saturation = hits.count + k1 * (1 - b + b * lengths[hits.document] / average)
        value = hits.count * (k1 + 1) / saturation
        bounds = np.searchsorted(hits.term, np.arange(len(numbers) + 1))
        rarity = self._rarity(np.diff(bounds), n_turns, runs, idf)
        for query, counts in enumerate(weights):
            for number, weight in counts.items():
                block = slice(bounds[number], bounds[number + 1])
                result[query, hits.document[block]] += weight * rarity[number] * value[block]
        return result

    def stem_frequencies(self, stems: Sequence[str], *, turns: int | None = None) -> Ints:
        """How many of the first `turns` turns hold each of these (distinct) stems."""
        self._refresh_vocabulary()
        numbers = {key: number for number, key in enumerate(stems)}
        hits = self._find(numbers, len(self) if turns is None else turns, None)
        return np.bincount(hits.term, minlength=len(numbers)).astype(np.int64)

    def _number_terms(
        self, queries: Sequence[Sequence[str]]
    ) -> tuple[dict[str, int], list[dict[int, int]]]:
        """The distinct stems of all queries, numbered, and per query how often each is asked."""
        language = self._vocabulary_language
        numbers: dict[str, int] = {}
        weights: list[dict[int, int]] = []
        for terms in queries:
            asked = Counter(
                stem(term, language) for term in terms if not is_function_word(term, language)
            )
            weights.append(
                {
                    numbers.setdefault(key, len(numbers)): count
                    for key, count in asked.items()
                    if key in self._stems
                }
            )
        return numbers, weights

    def _find(self, numbers: dict[str, int], turns: int, runs: Runs | None) -> _Hits:
        """The one scan: postings of the numbered stems among the first `turns` turns."""
        table = np.full(len(self._surfaces) + 1, -1, np.int32)
        for key, number in numbers.items():
            table[self._stems.get(key, [])] = number
        stop = int(self._ends.view[turns - 1]) if turns else 0
        number_of = table[self._terms.view[:stop]]
        at = np.flatnonzero(number_of >= 0)
        term = number_of[at].astype(np.int64)
        turn = self._turns.view[at].astype(np.int64)
        count = self._counts.view[at].astype(np.float64)
        if runs is not None:
            term, turn, count = _spread(term, turn, count, runs)
        return _merged(term, turn, count, turns if runs is None else len(runs))

    def _document_lengths(self, turns: int, runs: Runs | None) -> NDArray[np.float64]:
        until = np.concatenate(([0], self._lengths.view[:turns]))
        if runs is None:
            return np.diff(until).astype(np.float64)
        return (until[runs.ends] - until[runs.starts]).astype(np.float64)

    def _rarity(
        self, frequency: Ints, turns: int, runs: Runs | None, idf: Idf
    ) -> NDArray[np.float64]:
        documents = turns if runs is None else len(runs)
        if idf == "plus_one":
            return np.log1p((documents - frequency + 0.5) / (frequency + 0.5))
        rarity = np.log((documents - frequency + 0.5) / (np.maximum(frequency, 1) + 0.5))
        if (rarity < 0).any():
            every = dict(zip(self._stems, range(len(self._stems)), strict=True))
            hits = self._find(every, turns, runs)
            present = np.bincount(hits.term)
            present = present[present > 0]
            mean = float(np.log((documents - present + 0.5) / (present + 0.5)).mean())
            rarity = np.where(rarity < 0, _OKAPI_EPSILON * mean, rarity)
        return rarity

    def _refresh_vocabulary(self) -> None:
        """Stem what is new in the vocabulary; all of it where the language has become known."""
        if self.language != self._vocabulary_language:
            self._vocabulary_language = self.language
            self._stems, self._stemmed = {}, 0
            self._lengths = GrowableArray(np.int64)
        for number in range(self._stemmed, len(self._surfaces)):
            surface = self._surfaces[number]
            if not is_function_word(surface, self._vocabulary_language):
                key = stem(surface, self._vocabulary_language)
                self._stems.setdefault(key, []).append(number)
        self._stemmed = len(self._surfaces)
        self._extend_lengths()

    def _extend_lengths(self) -> None:
        done = len(self._lengths)
        if done == len(self):
            return
        start = int(self._ends.view[done - 1]) if done else 0
        before = int(self._lengths.view[done - 1]) if done else 0
        terms = self._terms.view[start:]
        keeps = np.ones(len(self._surfaces), bool)
        for word in self._function_word_ids():
            keeps[word] = False
        running = np.concatenate(([0], np.cumsum(self._counts.view[start:] * keeps[terms])))
        self._lengths.extend(before + running[self._ends.view[done:] - start])

    def _function_word_ids(self) -> list[int]:
        words = FUNCTION_WORDS.get(self._vocabulary_language or "", frozenset())
        return [self._ids[word] for word in words if word in self._ids]


def _spread(
    term: Ints, turn: Ints, count: NDArray[np.float64], runs: Runs
) -> tuple[Ints, Ints, NDArray[np.float64]]:
    """Each posting once for every run that holds its turn (runs overlap, both bounds rise)."""
    first = np.searchsorted(runs.ends, turn, side="right")
    last = np.searchsorted(runs.starts, turn, side="right")
    copies = np.maximum(last - first, 0)
    offset = np.arange(int(copies.sum())) - np.repeat(np.cumsum(copies) - copies, copies)
    return (
        np.repeat(term, copies),
        np.repeat(first, copies) + offset,
        np.repeat(count, copies),
    )


def _merged(term: Ints, document: Ints, count: NDArray[np.float64], documents: int) -> _Hits:
    """Sorted by term and document; several surfaces of one stem in a document become one."""
    key = term * documents + document
    order = np.argsort(key, kind="stable")
    key = key[order]
    if not len(key):
        return _Hits(term, document, count)
    starts = np.flatnonzero(np.concatenate(([True], key[1:] != key[:-1])))
    first = order[starts]
    return _Hits(term[first], document[first], np.add.reduceat(count[order], starts))
