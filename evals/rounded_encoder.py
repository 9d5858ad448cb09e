"""An encoder whose document vectors have been through the precision that a store keeps them in."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from remember_graph.protocols import TextEncoder, Vectors


def _half(vectors: Vectors) -> Vectors:
    return vectors.astype(np.float16).astype(np.float32)


def _bytes(vectors: Vectors) -> Vectors:
    """One byte a number: each vector is scaled so that its largest number becomes 127."""
    largest = np.abs(vectors).max(axis=1, keepdims=True, initial=1e-9)
    rounded: Vectors = (np.rint(vectors / largest * 127) * largest / 127).astype(np.float32)
    return rounded


PRECISIONS: dict[str, Callable[[Vectors], Vectors]] = {
    "float32": lambda vectors: vectors,
    "float16": _half,
    "int8": _bytes,
}


class RoundedEncoder:
    """Documents in a stored precision, queries as the model gives them.

    Args:
        encoder: Makes the vectors.
        precision: One of `PRECISIONS`.
    """

    def __init__(self, encoder: TextEncoder, precision: str) -> None:
        self._encoder, self._round = encoder, PRECISIONS[precision]
        self.id = f"{encoder.id} as {precision}"
        # What counts as unrelated is a property of the model, not of the precision.
        self.unrelated_below = getattr(encoder, "unrelated_below", None)

    def encode_documents(self, texts: Sequence[str]) -> Vectors:
        """See `TextEncoder`."""
        return self._round(self._encoder.encode_documents(texts))

    def encode_queries(self, texts: Sequence[str]) -> Vectors:
        """See `TextEncoder`."""
        return self._encoder.encode_queries(texts)
