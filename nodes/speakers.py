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
    # In scripts without spaces a name's first term is its first letter, which names nobody.
    firsts = [name[0] if name and len(name[0]) > 1 else None for name in names]
    first_names = Counter(firsts)
    said = [f" {' '.join(extract_terms(text))} " for text in texts]
    named = np.zeros((len(texts), len(speakers)))
    for column, name in enumerate(names):
        ways = {" ".join(name)} if name else set()
        first = firsts[column]
        if first is not None and first_names[first] == 1:
            ways.add(first)
        for row, words in enumerate(said):
            named[row, column] = any(f" {way} " in words for way in ways)
    return named
