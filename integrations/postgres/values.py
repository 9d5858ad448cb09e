"""Values as PostgreSQL holds them: any text, and vectors in half precision.

PostgreSQL refuses a NUL in a text. Texts are therefore escaped on their way in and unescaped on
their way out, one to one, so that what was equal stays equal and what was different stays so.
"""

from __future__ import annotations

import struct
from typing import Any

import numpy as np

from remember_graph.history.store import Vector
from remember_graph.integrations.postgres.driver import psycopg

_MARK = "\x01"
_MARKED_NUL, _MARKED_MARK = f"{_MARK}0", f"{_MARK}1"
_HEADER = struct.Struct(">HH")  # the width, and a number that is not used


def escaped(text: str) -> str:
    r"""The text without NUL.

    Example:
        >>> escaped("a\0b")
        'a\x010b'
    """
    return text.replace(_MARK, _MARKED_MARK).replace("\0", _MARKED_NUL)


def unescaped(text: str) -> str:
    r"""The text that was escaped.

    Example:
        >>> unescaped(escaped("\1\0"))
        '\x01\x00'
    """
    return text.replace(_MARKED_NUL, "\0").replace(_MARKED_MARK, _MARK)


class _TextDumper(psycopg.adapt.Dumper):
    # Without an oid the server takes the type from where the parameter stands.
    def dump(self, obj: str) -> bytes:
        return escaped(obj).encode()


class _TextLoader(psycopg.adapt.Loader):
    def load(self, data: psycopg.abc.Buffer) -> str:
        text = str(data, "utf-8")
        return unescaped(text) if _MARK in text else text


class _BinaryTextLoader(_TextLoader):
    format = psycopg.pq.Format.BINARY


class Packed(bytes):
    """The bytes of a vector in the binary format of pgvector."""


class _PackedDumper(psycopg.adapt.Dumper):
    format = psycopg.pq.Format.BINARY

    def dump(self, obj: Packed) -> bytes:
        return obj


def packed_half(vector: Vector) -> Packed:
    """A vector as a parameter of type `halfvec`."""
    return _packed(np.asarray(vector, ">f2"))


def packed_single(vector: Vector) -> Packed:
    """A vector as a parameter of type `vector`."""
    return _packed(np.asarray(vector, ">f4"))


def _packed(numbers: np.ndarray[Any, np.dtype[Any]]) -> Packed:
    return Packed(_HEADER.pack(len(numbers), 0) + numbers.tobytes())


def unpacked_half(value: bytes) -> Vector:
    """The vector of a `halfvec` that was read in the binary format."""
    return np.frombuffer(value, ">f2", offset=_HEADER.size).astype(np.float32)


def adapters() -> psycopg.adapt.AdaptersMap:
    """How a connection writes and reads these values."""
    made = psycopg.adapt.AdaptersMap(psycopg.adapters)
    made.register_dumper(str, _TextDumper)
    made.register_dumper(Packed, _PackedDumper)
    made.register_loader("text", _TextLoader)
    made.register_loader("text", _BinaryTextLoader)
    return made
