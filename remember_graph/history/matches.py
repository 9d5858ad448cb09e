"""Where the terms of some queries stand, and the scores that can be added up from it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Matches:
    """Where the terms of some queries stand, with what each place is worth.

    Attributes:
        shape: Queries and documents.
        weights: Per query how often it asks each term (by its number).
        rarity: Per term its inverse document frequency.
        bounds: The places of term i are `bounds[i]` to `bounds[i + 1]`.
        document: Per place the document.
        gain: Per place the BM25 of one mention of the term, its rarity included.
    """

    shape: tuple[int, int]
    weights: Sequence[Mapping[int, int]]
    rarity: Floats
    bounds: Ints
    document: Ints
    gain: Floats

    def bm25(self) -> Floats:
        """Okapi BM25, shape (queries, documents); a term asked twice counts twice."""
        scores = np.zeros(self.shape)
        for row, weights in zip(scores, self.weights, strict=True):
            for term, weight in weights.items():
                at = self._places(term)
                row[self.document[at]] += weight * self.gain[at]
        return scores

    def rows(self, start: int, stop: int) -> Matches:
        """The same for some of the queries alone."""
        return replace(self, shape=(stop - start, self.shape[1]), weights=self.weights[start:stop])

    def bm25_of_rare(self, power: float) -> Floats:
        """BM25 with each term once, weighted by (idf / highest possible idf) to a power."""
        scores = np.zeros(self.shape)
        share = (np.maximum(self.rarity, 0.0) / self._highest_rarity()) ** power
        for row, weights in zip(scores, self.weights, strict=True):
            for term in weights:
                at = self._places(term)
                row[self.document[at]] += share[term] * self.gain[at]
        return scores

    def rarest(self) -> Floats:
        """The idf of the rarest term that query and document share, 0 where they share none."""
        scores = np.zeros(self.shape)
        rarity = np.maximum(self.rarity, 0.0)
        for row, weights in zip(scores, self.weights, strict=True):
            for term in sorted(weights, key=rarity.__getitem__):  # a rarer one replaces the others
                row[self.document[self._places(term)]] = rarity[term]
        return scores

    def _places(self, term: int) -> slice:
        return slice(self.bounds[term], self.bounds[term + 1])

    def _highest_rarity(self) -> float:
        return float(np.log1p((self.shape[1] - 0.5) / 1.5)) or 1.0  # of a term in one document
