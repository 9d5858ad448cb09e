"""Vectors of wordllama: a static model of 16 MB that its wheel carries; English-centred."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from remember_graph.errors import MissingExtraError
from remember_graph.protocols import Vectors

DIMENSION = 256


class WordLlamaEncoder:
    """Unit vectors of static word embeddings, about 8,000 turns a second on two cores.

    Raises:
        MissingExtraError: wordllama is not installed.
    """

    id = f"wordllama/l2_supercat_{DIMENSION}"
    # Of detectors' queries, 9 in 10 reach it with some turn of their own history, and 1 in 10 with
    # some turn of a foreign one of the same length (3 dialogues, 260 turns each).
    unrelated_below = 0.33

    def __init__(self) -> None:
        try:
            import wordllama
        except ImportError as error:
            raise MissingExtraError(
                "wordllama is not installed; run: pip install 'remember-graph[local]'"
            ) from error
        # Without `cache_dir` it looks for its model elsewhere first, then on the network.
        self._model: Any = wordllama.WordLlama.load(
            trunc_dim=DIMENSION,
            cache_dir=Path(wordllama.__file__).parent,
            disable_download=True,
        )

    def encode_documents(self, texts: Sequence[str]) -> Vectors:
        """See `TextEncoder`."""
        vectors = np.zeros((len(texts), DIMENSION), np.float32)
        # Batches are padded to their longest text: neighbours in length share a batch.
        order = sorted(range(len(texts)), key=lambda at: len(texts[at]))
        if order:
            with np.errstate(invalid="ignore"):  # a text without tokens: 0 / 0
                pooled = self._model.embed([texts[at] for at in order], norm=False)
            vectors[order] = np.nan_to_num(pooled)
        lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
        # A text without tokens has no direction: it stays zero and is found by its words.
        return (vectors / np.where(lengths > 0, lengths, 1.0)).astype(np.float32)

    def encode_queries(self, texts: Sequence[str]) -> Vectors:
        """See `TextEncoder`; the model knows no difference between queries and documents."""
        return self.encode_documents(texts)
