"""Any LangChain `Embeddings` as a `TextEncoder`."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from langchain_core.embeddings import Embeddings

from remember_graph.chat_models import first_line
from remember_graph.errors import ModelError
from remember_graph.protocols import Vectors


class LangChainEncoder:
    """Unit vectors of a LangChain embedding model.

    Args:
        embeddings: The model.
        id: Names model and settings; default its class and its `model` attribute.
    """

    def __init__(self, embeddings: Embeddings, id: str | None = None) -> None:
        self._embeddings = embeddings
        name = getattr(embeddings, "model", None) or getattr(embeddings, "model_name", "")
        self.id = id or f"{type(embeddings).__name__}/{name}".rstrip("/")

    def encode_documents(self, texts: Sequence[str]) -> Vectors:
        """See `TextEncoder`."""
        if not texts:
            return np.zeros((0, 0), np.float32)
        try:
            return _unit(self._embeddings.embed_documents(list(texts)), len(texts))
        except Exception as error:  # every provider raises its own classes
            raise ModelError(f"embedding model {self.id} failed: {first_line(error)}") from error

    def encode_queries(self, texts: Sequence[str]) -> Vectors:
        """See `TextEncoder`; one call a query, since the interface has no batch of queries."""
        if not texts:
            return np.zeros((0, 0), np.float32)
        try:
            return _unit([self._embeddings.embed_query(text) for text in texts], len(texts))
        except Exception as error:
            raise ModelError(f"embedding model {self.id} failed: {first_line(error)}") from error


def _unit(rows: Sequence[Sequence[float]], expected: int) -> Vectors:
    vectors = np.asarray(rows, np.float32)
    if vectors.ndim != 2 or len(vectors) != expected or not np.isfinite(vectors).all():
        raise ValueError(f"expected {expected} finite vectors, got shape {vectors.shape}")
    lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
    return (vectors / np.where(lengths > 0, lengths, 1.0)).astype(np.float32)
