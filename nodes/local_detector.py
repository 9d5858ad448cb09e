"""Gap detection without a model: which window turns are worth telling and lean on the past?

A term that the history knows and the window has not introduced is exactly what a reader of the
window alone lacks. A turn's salience is

    3 ln(1 + new) + ln(1 + info) + exp(-place / 2) + 0.5 per back-reference (at most 3)

over its distinct content terms known to the history: `info` sums their idf, `new` the rarity
(idf / highest idf) of those the window did not use before; `place` counts the window's turns
before it, since the first ones continue what is just out of sight. Without history every content
term counts 1. The words of a gap (kind, missing, query) come from `gap_cues`; they ask and never
guess.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

import numpy as np

from remember_graph.languages import content_terms
from remember_graph.model_steps import Steps
from remember_graph.nodes.detection import Detection, number_gaps
from remember_graph.nodes.gap_cues import Mention, count_back_references, describe_gap
from remember_graph.settings import DetectSettings
from remember_graph.state import Gap
from remember_graph.terms import extract_terms
from remember_graph.view import WindowView

_NEW_WEIGHT = 3.0
_BACK_REFERENCE, _MOST_BACK_REFERENCES = 0.5, 3
# Salience as a share: the middle and the slope of a logistic curve over the measured range.
_MIDDLE, _SLOPE = 8.0, 0.4
_LEAST_SALIENCE = 0.1  # below it a turn repeats what the window says itself

Rarity = Mapping[str, tuple[float, float]]
"""Per term known to the history: idf over the highest idf, and idf."""


class LocalDetector:
    """The detector that needs no model.

    Args:
        settings: How many gaps and anchors.
    """

    def __init__(self, settings: DetectSettings) -> None:
        self._settings = settings

    def detect(self, view: WindowView) -> Steps[Detection]:
        """See `GapDetector`; without history there is nothing a turn could lean on."""
        if not view.history:
            return Detection([])
        with view.index.lock:
            return Detection(find_gaps(view, self._settings))
        yield  # a detector is a generator, this one asks no model


def find_gaps(view: WindowView, settings: DetectSettings) -> list[Gap]:
    """The most salient turns as gaps, at most `max_gaps`, in falling salience."""
    language = view.index.language_at(view.history)
    own = [content_terms(extract_terms(turn.line), language) for turn in view.turns]
    rarity = _rarity(view, own)
    mentions = _mentions(view, own, rarity)
    ranked = sorted(mentions, key=lambda mention: -mention.salience)[: settings.max_gaps]
    gaps = [
        describe_gap(mention, view.turns, view.language, settings.max_anchors)
        for mention in ranked
        if mention.salience >= _LEAST_SALIENCE
    ]
    return number_gaps(gaps)


def _rarity(view: WindowView, own: Sequence[Sequence[str]]) -> Rarity:
    terms = list(dict.fromkeys(term for turn in own for term in turn))
    if not terms:
        return {}
    frequency = view.index.postings.stem_frequencies(terms, turns=view.history)
    idf = np.log1p((view.history - frequency + 0.5) / (frequency + 0.5))
    highest = math.log1p((view.history - 0.5) / 1.5)
    return {
        term: (float(value) / highest, float(value))
        for term, value, count in zip(terms, idf, frequency, strict=True)
        if count
    }


def _mentions(view: WindowView, own: Sequence[Sequence[str]], rarity: Rarity) -> list[Mention]:
    """Per window turn what it takes as known, and how salient that is."""
    seen: set[str] = set()
    mentions = []
    for place, (turn, terms) in enumerate(zip(view.turns, own, strict=True)):
        known = [term for term in dict.fromkeys(terms) if term in rarity]
        new = [term for term in known if term not in seen]
        back = min(count_back_references(turn.text, view.language), _MOST_BACK_REFERENCES)
        salience = (
            _NEW_WEIGHT * math.log1p(sum(rarity[term][0] for term in new))
            + math.log1p(sum(rarity[term][1] for term in known))
            + math.exp(-place / 2)
            + _BACK_REFERENCE * back
        )
        mentions.append(
            Mention(
                place=place,
                known={term: rarity[term][0] for term in known},
                new=frozenset(new),
                said_before=frozenset(seen),
                salience=max(
                    1 / (1 + math.exp(-_SLOPE * (salience - _MIDDLE))),
                    _LEAST_SALIENCE if back else 0.0,  # "as agreed" leans on the past in any case
                ),
            )
        )
        seen.update(terms)
    return mentions
