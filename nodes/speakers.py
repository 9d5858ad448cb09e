"""Which speakers a text names: by their whole name, or by a first name that is nobody else's."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from remember_graph.terms import extract_terms


def named_speakers(texts: Sequence[str], speakers: Sequence[str]) -> NDArray[np.float64]:
    """1 where a text names a speaker, else 0; shape (texts, speakers).

    Example:
        >>> named_speakers(["What did Ana propose?"], ["Ana Ruiz", "Ben"]).tolist()
        [[1.0, 0.0]]
    """
    names = [tuple(extract_terms(speaker)) for speaker in speakers]
    first_names = Counter(name[0] for name in names if name)
    said = [f" {' '.join(extract_terms(text))} " for text in texts]
    named = np.zeros((len(texts), len(speakers)))
    for column, name in enumerate(names):
        ways = {" ".join(name)} if name else set()
        if name and first_names[name[0]] == 1:
            ways.add(name[0])
        for row, words in enumerate(said):
            named[row, column] = any(f" {way} " in words for way in ways)
    return named
