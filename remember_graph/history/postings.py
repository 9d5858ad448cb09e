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

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from itertools import chain, islice
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from remember_graph.history.growable import GrowableArray
from remember_graph.history.hits import Floats, Hits, Ints, Runs, grouped, joined
from remember_graph.history.matches import Matches
from remember_graph.history.told_languages import ToldLanguages
from remember_graph.languages import is_function_word, stem, stems_of

Idf = Literal["plus_one", "okapi"]

# rank_bm25 replaces a negative idf by this share of the mean idf.
_OKAPI_EPSILON = 0.25
_STEMS_REMEMBERED = 4_096


class Postings:
    """The sparse half of a stream's index.

    Args:
        language: Whose stems and function words apply; `auto` follows the stream's own words.
    """

    def __init__(self, language: str | None = "auto") -> None:
        self._fixed_language = language
        self._told = ToldLanguages()
        # A surface that is looked up for the first time gets the next number.
        self._ids: defaultdict[str, int] = defaultdict()
        self._ids.default_factory = self._ids.__len__
        self._surfaces: list[str] = []
        self._terms = GrowableArray(np.int32)
        self._turns = GrowableArray(np.int32)
        self._counts = GrowableArray(np.int32)
        self._ends = GrowableArray(np.int64)  # postings up to and with turn i
        self._vocabulary_language: str | None = None
        self._stems: dict[str, list[int]] = {}
        self._stem_of = GrowableArray(np.int32)  # per surface the number of its stem
        self._lengths = GrowableArray(np.int64)  # mentions of content terms up to and with turn i
        self._distinct = GrowableArray(np.int32)  # content terms in turn i
        self._found: dict[str, tuple[Ints, Floats]] = {}  # by stem: turns and counts
        self._found_in = 0  # the first so many turns

    def __len__(self) -> int:
        return len(self._ends)

    @property
    def language(self) -> str | None:
        """The language of all turns, None where it cannot be told."""
        return self.language_at(len(self))

    def language_at(self, turns: int) -> str | None:
        """The language whose stems and function words apply to the first turns."""
        return self._told.at(turns) if self._fixed_language == "auto" else self._fixed_language

    def use_language(self, language: str | None) -> None:
        """Fix the language from here on."""
        self._fixed_language = language

    def add(self, terms: Sequence[str]) -> None:
        """Append one turn, given as its terms."""
        counts = Counter(terms)
        self.add_counted([(tuple(counts), tuple(counts.values()))])

    def add_counted(self, turns: Sequence[tuple[Sequence[str], Sequence[int]]]) -> None:
        """Append turns, each given as its distinct terms and how often each occurs."""
        if not turns:
            return
        terms = list(map(self._ids.__getitem__, chain.from_iterable(words for words, _ in turns)))
        counts = np.fromiter(chain.from_iterable(counts for _, counts in turns), np.int32)
        sizes = [len(words) for words, _ in turns]
        ends, before, first = np.cumsum(sizes), len(self._terms), len(self._ends)
        fresh = list(islice(reversed(self._ids), len(self._ids) - len(self._surfaces)))[::-1]
        self._surfaces.extend(fresh)
        self._terms.extend(terms)
        self._counts.extend(counts)
        self._turns.extend(np.repeat(np.arange(first, first + len(turns)), sizes))
        self._ends.extend(before + ends)
        if self._fixed_language == "auto":
            self._told.add(fresh, self._terms.view[before:], counts, ends)

    def truncate(self, turns: int) -> None:
        """Forget all but the first turns (their words stay in the vocabulary).

        Needs a fixed language, since what told it is not kept by turn.
        """
        if self._fixed_language == "auto":
            raise ValueError("postings whose language follows the turns cannot be truncated")
        if turns < len(self):
            self._found = {}
            stop = int(self._ends.view[turns - 1]) if turns else 0
            for by_posting in (self._terms, self._turns, self._counts):
                by_posting.truncate(stop)
            for by_turn in (self._ends, self._lengths, self._distinct):
                by_turn.truncate(turns)

    def forget_searches(self) -> None:
        """Drop what was found for the last queries."""
        self._found = {}

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
        if not turns:
            return np.zeros(0)
        self._refresh_vocabulary(self.language_at(turns))
        ends = self._ends.view[:turns]
        terms = self._terms.view[: ends[-1]]
        stems = self._stem_of.view
        content = stems >= 0
        said = np.bincount(terms, minlength=len(stems))
        frequency = np.bincount(stems[content], said[content], minlength=len(stems))
        idf = np.log1p((turns - frequency + 0.5) / (frequency + 0.5))
        running = np.zeros(len(terms) + 1)
        np.cumsum(np.where(content, idf[stems], 0.0)[terms], out=running[1:])
        total = np.diff(running[ends], prepend=0.0)
        return total / np.maximum(self.content_counts(turns=turns), 1)

    def content_counts(self, *, turns: int) -> Ints:
        """How many distinct content terms each of the first turns has."""
        self._refresh_vocabulary(self.language_at(turns))
        return self._distinct.view[:turns].astype(np.int64)

    def stem_frequencies(self, stems: Sequence[str], *, turns: int) -> Ints:
        """How many of the first turns hold each of these (distinct) stems."""
        self._refresh_vocabulary(self.language_at(turns))
        numbers = {key: number for number, key in enumerate(stems)}
        hits = self._find(numbers, turns, None)
        return np.bincount(hits.term, minlength=len(numbers)).astype(np.int64)

    def _number_terms(
        self, queries: Sequence[Sequence[str]]
    ) -> tuple[dict[str, int], Sequence[Mapping[int, int]]]:
        """The distinct stems of all queries, numbered, and per query how often each is asked."""
        language = self._vocabulary_language
        distinct = dict.fromkeys(chain.from_iterable(queries))
        stems = {t: stem(t, language) for t in distinct if not is_function_word(t, language)}
        asked = dict.fromkeys(key for key in stems.values() if key in self._stems)
        numbers = {key: number for number, key in enumerate(asked)}
        number_of = {term: numbers[key] for term, key in stems.items() if key in numbers}
        weights = [Counter(number_of[t] for t in terms if t in number_of) for terms in queries]
        return numbers, weights

    def _find(self, numbers: dict[str, int], turns: int, runs: Runs | None) -> Hits:
        """Postings of the numbered stems among the first `turns` turns.

        What was found for the same turns is remembered: a window asks several times for the same
        words, by turns and by runs, and needs one scan.
        """
        if self._found_in != turns or len(self._found) > _STEMS_REMEMBERED:
            self._found, self._found_in = {}, turns
        missing = [key for key in numbers if key not in self._found]
        if missing:
            hits = self._scan({key: number for number, key in enumerate(missing)}, turns)
            bounds = np.searchsorted(hits.term, np.arange(len(missing) + 1)).tolist()
            for key, start, stop in zip(missing, bounds, bounds[1:], strict=False):
                self._found[key] = (hits.document[start:stop], hits.count[start:stop])
        hits = joined([self._found[key] for key in numbers])
        return hits if runs is None else hits.in_runs(runs)

    def _scan(self, numbers: dict[str, int], turns: int) -> Hits:
        """The one pass over the postings."""
        short = np.uint16 if len(numbers) < np.iinfo(np.uint16).max else np.uint32
        table = np.zeros(len(self._surfaces), short)  # the number from 1 on, 0: not asked
        for key, number in numbers.items():
            table[self._stems.get(key, [])] = number + 1
        stop = int(self._ends.view[turns - 1]) if turns else 0
        number_of = table[self._terms.view[:stop]]
        at = np.flatnonzero(number_of != 0)
        turn, count = self._turns.view[at].astype(np.int64), self._counts.view[at].astype(float)
        return grouped(number_of[at], turn, count)

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
            hits = self._scan(every, turns)
            hits = hits if runs is None else hits.in_runs(runs)
            present = np.bincount(hits.term)
            present = present[present > 0]
            mean = float(np.log((documents - present + 0.5) / (present + 0.5)).mean())
            rarity = np.where(rarity < 0, _OKAPI_EPSILON * mean, rarity)
        return rarity

    def _refresh_vocabulary(self, language: str | None) -> None:
        """Stem what is new in the vocabulary; all of it where the language is another."""
        if language != self._vocabulary_language:
            self._vocabulary_language = language
            self._stems, self._found = {}, {}
            self._stem_of = GrowableArray(np.int32)
            self._lengths.truncate(0)
            self._distinct.truncate(0)
        known = len(self._stem_of)
        surfaces = self._surfaces[known:]
        words = zip(surfaces, stems_of(surfaces, language), strict=True)
        self._stem_of.extend(
            [
                -1 if is_function_word(surface, language) else self._stem_number(key, number)
                for number, (surface, key) in enumerate(words, start=known)
            ]
        )
        self._extend_lengths()

    def _stem_number(self, key: str, number: int) -> int:
        surfaces = self._stems.setdefault(key, [])
        surfaces.append(number)
        return surfaces[0]  # the first surface stands for its stem

    def _extend_lengths(self) -> None:
        done = len(self._lengths)
        if done == len(self):
            return
        start = int(self._ends.view[done - 1]) if done else 0
        mentions = int(self._lengths.view[done - 1]) if done else 0
        is_content = (self._stem_of.view >= 0)[self._terms.view[start:]]
        ends = np.concatenate(([0], self._ends.view[done:] - start))
        distinct = np.concatenate(([0], np.cumsum(is_content)))[ends]
        lengths = np.concatenate(([0], np.cumsum(self._counts.view[start:] * is_content)))[ends]
        self._distinct.extend(np.diff(distinct))
        self._lengths.extend(mentions + lengths[1:])
