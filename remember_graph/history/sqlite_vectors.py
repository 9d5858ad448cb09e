"""Vectors as SQLite holds them: the little-endian numbers of half precision."""

from __future__ import annotations

import numpy as np

from remember_graph.history.store import Vector


def vector_blob(vector: Vector) -> bytes:
    """A vector in half precision: cosines of unit vectors change by less than 0.001."""
    return np.asarray(vector, "<f2").tobytes()


def vector_of(blob: bytes) -> Vector:
    """The vector of a blob."""
    return np.frombuffer(blob, "<f2").astype(np.float32)


def half(blob: bytes) -> bytes:
    """A single-precision vector of schema 1 in half precision."""
    return np.frombuffer(blob, "<f4").astype("<f2").tobytes()
