"""Which language a stream is in as of each of its turns, told for many turns at once.

The rule is that of `languages.LanguageCounts`, whose counts are here running sums over the turns.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from remember_graph.history.growable import GrowableArray
from remember_graph.languages import DIFFERENT, ENOUGH, LANGUAGES, SHARE, languages_with

Ints = NDArray[np.integer]


class ToldLanguages:
    """The language that is told once turn i is there, for every turn i."""

    def __init__(self) -> None:
        self._told = GrowableArray(np.int8)  # the number of a language, -1: none
        self._is_of = GrowableArray(np.bool_, len(LANGUAGES))  # per surface: whose function word
        self._is_of_any = GrowableArray(np.bool_)
        self._is_new = GrowableArray(np.bool_)  # per surface: in no turn yet
        self._total = 0
        self._hits = np.zeros(len(LANGUAGES), np.int64)
        self._different = np.zeros(len(LANGUAGES), np.int64)

    def at(self, turns: int) -> str | None:
        """The language of the first turns, None where it cannot be told."""
        told = int(self._told.view[turns - 1]) if turns else -1
        return LANGUAGES[told] if told >= 0 else None

    def add(self, surfaces: Sequence[str], terms: Ints, counts: Ints, ends: Ints) -> None:
        """Go on with more turns.

        Args:
            surfaces: Those that are new in these turns, in the order of their numbers.
            terms: Per posting of these turns the number of its surface.
            counts: Per posting how often the turn holds it.
            ends: How many of these postings come up to and with each turn.
        """
        self._is_of.extend(_languages_of(surfaces))
        self._is_new.extend(np.ones(len(surfaces), bool))
        self._is_of_any.extend(self._is_of.view[len(self._is_of_any) :].any(axis=1))
        at = np.flatnonzero(self._is_of_any.view[terms])
        is_of, upto = self._is_of.view[terms[at]], np.searchsorted(at, ends)
        hits = self._hits + _running(is_of * counts[at, np.newaxis], upto)
        first = np.expand_dims(self._first_of(terms[at]), 1)
        different = self._different + _running(is_of & first, upto)
        totals = self._total + _running(counts[:, np.newaxis], ends)[:, 0]
        self._told.extend(_tell(totals, hits, different))
        if len(ends):
            self._total, self._hits, self._different = int(totals[-1]), hits[-1], different[-1]

    def _first_of(self, terms: Ints) -> NDArray[np.bool_]:
        """Where a surface is said for the first time in the stream."""
        first = np.zeros(len(terms), bool)
        numbers, at = np.unique(terms, return_index=True)
        first[at] = self._is_new.view[numbers]
        self._is_new.view[numbers] = False
        return first


def _languages_of(surfaces: Sequence[str]) -> NDArray[np.bool_]:
    """Of which languages each surface is a function word, shape (surfaces, languages)."""
    table = np.zeros((len(surfaces), len(LANGUAGES)), bool)
    for place, surface in enumerate(surfaces):
        for language in languages_with(surface):
            table[place, LANGUAGES.index(language)] = True
    return table


def _running(values: NDArray[Any], upto: Ints) -> NDArray[np.int64]:
    """Sums of the first `upto` rows, for each of these numbers."""
    start = np.zeros((1, values.shape[1]), np.int64)
    return np.concatenate((start, np.cumsum(values, axis=0)))[upto]


def _tell(totals: Ints, hits: Ints, different: Ints) -> NDArray[np.intp]:
    """Per turn the language with most function words, -1 where no one stands out."""
    varied = np.where(different >= DIFFERENT, hits, 0)
    best = varied.argmax(axis=1)
    enough = varied.max(axis=1) >= np.maximum(ENOUGH, SHARE * totals)
    return np.where(enough, best, -1)
