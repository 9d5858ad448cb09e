"""A numpy array that can be appended to: amortised constant time, contiguous for scans."""

from __future__ import annotations

from typing import Any, Generic, TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

Scalar = TypeVar("Scalar", bound=np.generic)


class GrowableArray(Generic[Scalar]):
    """Rows of one dtype; the buffer doubles when it is full.

    Args:
        dtype: Of the elements.
        width: Elements in a row; None for a flat array.
    """

    def __init__(self, dtype: type[Scalar], width: int | None = None) -> None:
        shape = (16,) if width is None else (16, width)
        self._buffer: NDArray[Scalar] = np.zeros(shape, dtype)
        self._size = 0

    def __len__(self) -> int:
        return self._size

    @property
    def view(self) -> NDArray[Scalar]:
        """The rows so far, without a copy; a later `extend` may leave it behind."""
        return self._buffer[: self._size]

    def extend(self, rows: ArrayLike) -> None:
        """Append rows."""
        block: NDArray[Any] = np.asarray(rows, self._buffer.dtype)
        needed = self._size + len(block)
        if needed > len(self._buffer):
            self._buffer = self._enlarged(max(needed, 2 * len(self._buffer)))
        if len(block):
            self._buffer[self._size : needed] = block
        self._size = needed

    def truncate(self, rows: int) -> None:
        """Forget all but the first rows."""
        self._size = min(rows, self._size)

    def _enlarged(self, rows: int) -> NDArray[Scalar]:
        larger = np.zeros((rows, *self._buffer.shape[1:]), self._buffer.dtype)
        larger[: self._size] = self.view
        return larger
