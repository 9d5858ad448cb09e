"""The language as of each turn, against counting the turns one by one."""

from __future__ import annotations

from collections import Counter

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from remember_graph.history.told_languages import ToldLanguages
from remember_graph.languages import LanguageCounts

_words = st.sampled_from(
    "der die das ist nicht the is und and with this from into oder zzz".split()
)
_turns = st.lists(st.lists(_words, max_size=12), max_size=12)


def _add(told: ToldLanguages, ids: dict[str, int], turns: list[list[str]]) -> None:
    before = len(ids)
    counted = [Counter(turn) for turn in turns]
    terms = [ids.setdefault(word, len(ids)) for turn in counted for word in turn]
    counts = [count for turn in counted for count in turn.values()]
    ends = np.cumsum([len(turn) for turn in counted], dtype=np.int64)
    fresh = list(ids)[before:]
    told.add(fresh, np.array(terms, np.int64), np.array(counts, np.int64), ends)


@given(_turns, _turns)
def test_the_language_as_of_a_turn_is_what_counting_up_to_it_tells(
    one: list[list[str]], other: list[list[str]]
) -> None:
    told, ids = ToldLanguages(), dict[str, int]()
    _add(told, ids, one)
    _add(told, ids, other)

    counts = LanguageCounts()
    assert told.at(0) is None
    for number, turn in enumerate([*one, *other], start=1):
        counts.add(turn)
        assert told.at(number) == counts.language


def test_a_language_is_told_from_the_sixth_of_its_function_words_on() -> None:
    told = ToldLanguages()
    turns = [["the", "and", "with", "this", "from"] * 3, ["into"], ["plan"] * 100]

    _add(told, {}, turns)

    assert [told.at(turn) for turn in range(4)] == [None, None, "en", None]
