"""An encoder that embeds each document once, however many methods and streams ask for it."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from remember_graph.protocols import TextEncoder, Vectors


class CachedEncoder:
    """Vectors of documents by their text; queries are always embedded, for their time counts.

    Wrap the encoder of an evaluation once: methods then share what they have in common, and
    distractors are not embedded again for every window.

    Args:
        encoder: Makes the vectors.
    """

    def __init__(self, encoder: TextEncoder) -> None:
        self._encoder = encoder
        self._vectors: dict[str, Vectors] = {}

    @property
    def id(self) -> str:
        """That of the encoder within."""
        return self._encoder.id

    def encode_documents(self, texts: Sequence[str]) -> Vectors:
        """See `TextEncoder`."""
        if not texts:
            return self._encoder.encode_documents(texts)
        new = [text for text in dict.fromkeys(texts) if text not in self._vectors]
        if new:
            self._vectors.update(zip(new, self._encoder.encode_documents(new), strict=True))
        return np.stack([self._vectors[text] for text in texts])

    def encode_queries(self, texts: Sequence[str]) -> Vectors:
        """See `TextEncoder`."""
        return self._encoder.encode_queries(texts)
