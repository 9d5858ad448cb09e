"""The services a pipeline is built from; anything with these methods fits."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

Vectors = NDArray[np.float32]


class TextEncoder(Protocol):
    """An embedding model, seen as two matrices."""

    @property
    def id(self) -> str:
        """Names model and settings; vectors of different ids are never compared."""

    def encode_documents(self, texts: Sequence[str]) -> Vectors:
        """Unit vectors of shape (texts, dimension); raises `ModelError`."""

    def encode_queries(self, texts: Sequence[str]) -> Vectors:
        """Unit vectors of shape (texts, dimension); raises `ModelError`."""
