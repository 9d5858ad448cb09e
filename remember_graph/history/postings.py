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
from remember_graph.history.matches import Matches
from remember_graph.languages import LANGUAGES, LanguageCounts, is_function_word, stem

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
        self._languages = GrowableArray(np.int8)  # told by the turns up to turn i, -1: none
        self._ids: dict[str, int] = {}
        self._surfaces: list[str] = []
        self._terms = GrowableArray(np.int32)
        self._turns = GrowableArray(np.int32)
        self._counts = GrowableArray(np.int32)
        self._ends = GrowableArray(np.int64)  # postings up to and with turn i
        self._vocabulary_language: str | None = None
        self._stems: dict[str, list[int]] = {}
        self._stem_of = GrowableArray(np.int64)  # per surface the number of its stem
        self._lengths = GrowableArray(np.int64)  # content terms up to and with turn i

    def __len__(self) -> int:
        return len(self._ends)

    @property
    def language(self) -> str | None:
        """The language of all turns, None where it cannot be told."""
        return self.language_at(len(self))

    def language_at(self, turns: int) -> str | None:
        """The language whose stems and function words apply to the first turns."""
        if self._fixed_language != "auto":
            return self._fixed_language
        told = int(self._languages.view[turns - 1]) if turns else -1
        return LANGUAGES[told] if told >= 0 else None

    def use_language(self, language: str | None) -> None:
        """Fix the language from here on."""
        self._fixed_language = language

    def add(self, terms: Sequence[str]) -> None:
        """Append one turn, given as its terms."""
        counts = Counter(terms)
        self.add_counted([(tuple(counts), tuple(counts.values()))])

    def add_counted(self, turns: Sequence[tuple[Sequence[str], Sequence[int]]]) -> None:
        """Append turns, each given as its distinct terms and how often each occurs."""
        sizes = [len(terms) for terms, _ in turns]
        before, first = len(self._terms), len(self._ends)
        self._terms.extend([self._id(term) for terms, _ in turns for term in terms])
        self._counts.extend([count for _, counts in turns for count in counts])
        self._turns.extend(np.repeat(np.arange(first, first + len(turns)), sizes))
        self._ends.extend(before + np.cumsum(sizes, dtype=np.int64))
        if self._fixed_language == "auto":
            self._languages.extend([self._follow(terms, counts) for terms, counts in turns])

    def _follow(self, terms: Sequence[str], counts: Sequence[int]) -> int:
        """Number of the language that is told once this turn is there, -1 for none."""
        self._seen.add_counted(terms, counts)
        told = self._seen.language
        return -1 if told is None else LANGUAGES.index(told)

    def truncate(self, turns: int) -> None:
        """Forget all but the first turns (their words stay in the vocabulary).

        Needs a fixed language, since what told it is not kept by turn.
        """
        if self._fixed_language == "auto":
            raise ValueError("postings whose language follows the turns cannot be truncated")
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
        """BM25 of every document for every query, shape (queries, documents); see `match`."""
        return self.match(queries, turns=turns, runs=runs, k1=k1, b=b, idf=idf).bm25()

    def match(
        self,
        queries: Sequence[Sequence[str]],
        *,
        turns: int | None = None,
        runs: Runs | None = None,
        k1: float = 1.5,
        b: float = 0.75,
        idf: Idf = "plus_one",
    ) -> Matches:
        """Where the queries' terms stand, found in one scan of the postings.

        Args:
            queries: Terms of each query; a term named twice counts twice.
            turns: Only the first so many turns exist; default all.
            runs: The documents are these runs of turns; default single turns.
            k1: Saturation of the count.
            b: Share of the length normalisation.
            idf: Which inverse document frequency.
        """
        n_turns = len(self) if turns is None else turns
        n_documents = n_turns if runs is None else len(runs)
        self._refresh_vocabulary(self.language_at(n_turns))
        numbers, weights = self._number_terms(queries)
        hits = self._find(numbers, n_turns, runs)
        bounds = np.searchsorted(hits.term, np.arange(len(numbers) + 1))
        rarity = self._rarity(np.diff(bounds), n_turns, runs, idf)
        lengths = self._document_lengths(n_turns, runs)
        average = float(lengths.mean()) if len(lengths) else 1.0
        saturation = hits.count + k1 * (1 - b + b * lengths[hits.document] / (average or 1.0))
        gain = rarity[hits.term] * hits.count * (k1 + 1) / saturation
        return Matches((len(queries), n_documents), weights, rarity, bounds, hits.document, gain)

    def informativeness(self, *, turns: int) -> Floats:
        """Mean idf of the content terms of each of the first turns; 0 for a turn without any."""
        self._refresh_vocabulary(self.language_at(turns))
        stop = int(self._ends.view[turns - 1]) if turns else 0
        stems = self._stem_numbers()[self._terms.view[:stop]]
        content = stems >= 0
        frequency = np.bincount(stems[content], minlength=1)
        idf = np.log1p((turns - frequency + 0.5) / (frequency + 0.5))
        turn = self._turns.view[:stop][content]
        total = np.bincount(turn, idf[stems[content]], minlength=turns)
        return total / np.maximum(self.content_counts(turns=turns), 1)

    def content_counts(self, *, turns: int) -> Ints:
        """How many distinct content terms each of the first turns has."""
        self._refresh_vocabulary(self.language_at(turns))
        stop = int(self._ends.view[turns - 1]) if turns else 0
        content = self._stem_numbers()[self._terms.view[:stop]] >= 0
        return np.bincount(self._turns.view[:stop][content], minlength=turns).astype(np.int64)

    def _stem_numbers(self) -> Ints:
        """Per surface the number of its stem, -1 for a function word."""
        return self._stem_of.view

    def stem_frequencies(self, stems: Sequence[str], *, turns: int) -> Ints:
        """How many of the first turns hold each of these (distinct) stems."""
        self._refresh_vocabulary(self.language_at(turns))
        numbers = {key: number for number, key in enumerate(stems)}
        hits = self._find(numbers, turns, None)
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
            rarity: Floats = np.log1p((documents - frequency + 0.5) / (frequency + 0.5))
            return rarity
        rarity = np.log((documents - frequency + 0.5) / (np.maximum(frequency, 1) + 0.5))
        if documents and (rarity < 0).any():
            every = dict(zip(self._stems, range(len(self._stems)), strict=True))
            hits = self._find(every, turns, runs)
            present = np.bincount(hits.term)
            present = present[present > 0]
            mean = float(np.log((documents - present + 0.5) / (present + 0.5)).mean())
            rarity = np.where(rarity < 0, _OKAPI_EPSILON * mean, rarity)
        return rarity

    def _refresh_vocabulary(self, language: str | None) -> None:
        """Stem what is new in the vocabulary; all of it where the language is another."""
        if language != self._vocabulary_language:
            self._vocabulary_language = language
            self._stems = {}
            self._stem_of, self._lengths = GrowableArray(np.int64), GrowableArray(np.int64)
        fresh = [
            self._stem_number(surface, number)
            for number, surface in enumerate(
                self._surfaces[len(self._stem_of) :], len(self._stem_of)
            )
        ]
        self._stem_of.extend(fresh)
        self._extend_lengths()

    def _stem_number(self, surface: str, number: int) -> int:
        language = self._vocabulary_language
        if is_function_word(surface, language):
            return -1
        surfaces = self._stems.setdefault(stem(surface, language), [])
        surfaces.append(number)
        return surfaces[0]  # the first surface stands for its stem

    def _extend_lengths(self) -> None:
        done = len(self._lengths)
        if done == len(self):
            return
        start = int(self._ends.view[done - 1]) if done else 0
        before = int(self._lengths.view[done - 1]) if done else 0
        terms = self._terms.view[start:]
        keeps = self._stem_of.view >= 0
        running = np.concatenate(([0], np.cumsum(self._counts.view[start:] * keeps[terms])))
        self._lengths.extend(before + running[self._ends.view[done:] - start])


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
