"""Vectors in the collections of Chroma, by id; each carries the name of its stream.

One collection holds the vectors of one model and width of all streams of a tenant. A collection
for each stream would search a little faster, but costs Chroma five open files and some MB for
every stream that is in use. Tenants are kept apart by Chroma itself, streams by ids that begin
with the stream's name and by a condition that is applied inside the search.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from remember_graph.history.store import Vector
from remember_graph.integrations.chroma.client import Connection

_T = TypeVar("_T")
_STREAM = "stream"

# Of the 30 turns that are closest among 8,000 random vectors of 256 numbers, a search finds 0.62
# with Chroma's 100, 0.95 with 400 and 0.998 with 1,000, in 2 ms; real texts are easier.
_CONFIGURATION = {"hnsw": {"space": "cosine", "ef_search": 1_000}}

# A server refuses requests of more than 40 MB, and a number takes up to 20 bytes of one.
_NUMBERS_AT_ONCE = 1_000_000


class ChromaVectors:
    """The vectors behind one connection. Raises `ChromaError` where Chroma fails."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection
        with connection.translated():
            self._at_once = int(connection.client.get_max_batch_size())

    def put(self, name: str, stream: str, vectors: Mapping[str, Vector]) -> None:
        """Store vectors of one width by id, in a collection that is made where it is not there."""
        width = max((len(vector) for vector in vectors.values()), default=1)
        with self._connection.translated():
            collection = self._connection.client.get_or_create_collection(
                name, configuration=_CONFIGURATION, embedding_function=None
            )
            for ids in self._batches(list(vectors), width):
                collection.upsert(
                    ids=ids,
                    embeddings=np.stack([vectors[id] for id in ids]),
                    metadatas=[{_STREAM: stream}] * len(ids),
                )

    def get(self, name: str, ids: Sequence[str]) -> dict[str, Vector]:
        """Those vectors of these ids that are there."""

        def read(collection: Any) -> dict[str, Vector]:  # noqa: ANN401 - chromadb has no types
            found: dict[str, Vector] = {}
            for batch in self._batches(ids):
                part = collection.get(ids=batch, include=["embeddings"])
                found |= zip(part["ids"], half(part["embeddings"]), strict=True)
            return found

        return self._read(name, read, {})

    def present(self, name: str, ids: Sequence[str]) -> list[str]:
        """Those of these ids that are there."""

        def read(collection: Any) -> list[str]:  # noqa: ANN401
            batches = self._batches(ids)
            return [id for ids in batches for id in collection.get(ids=ids, include=[])["ids"]]

        return self._read(name, read, [])

    def of_stream(self, name: str, stream: str) -> list[str]:
        """The ids of all vectors of a stream."""

        def read(collection: Any) -> list[str]:  # noqa: ANN401
            return list(collection.get(where={_STREAM: stream}, include=[])["ids"])

        return self._read(name, read, [])

    def remove(self, name: str, ids: Sequence[str]) -> int:
        """Remove vectors; how many of them were there."""
        there = self.present(name, ids)

        def delete(collection: Any) -> int:  # noqa: ANN401
            for batch in self._batches(there):
                collection.delete(ids=batch)
            return len(there)

        return self._read(name, delete, 0)

    def drop(self, name: str, *, only_empty: bool = False) -> int | None:
        """Remove a collection with its files; how many vectors it had, None where it stays."""

        def delete(collection: Any) -> int | None:  # noqa: ANN401
            count = int(collection.count())
            if only_empty and count:
                return None
            self._connection.client.delete_collection(name)
            return count

        absent: int | None = 0
        return self._read(name, delete, absent)

    def nearest(self, name: str, stream: str, query: Vector, k: int) -> list[tuple[str, float]]:
        """The ids and cosines of the `k` closest vectors of a stream, best first."""

        def search(collection: Any) -> list[tuple[str, float]]:  # noqa: ANN401
            found = collection.query(
                query_embeddings=[np.asarray(query, np.float32)],
                n_results=k,
                where={_STREAM: stream},
                include=["distances"],
            )
            cosines = (1.0 - float(distance) for distance in found["distances"][0])
            return list(zip(found["ids"][0], cosines, strict=True))

        return self._read(name, search, [])

    def _read(self, name: str, work: Callable[[Any], _T], absent: _T) -> _T:
        """Work on a collection; it is looked up each time, since others may have removed it."""
        client = self._connection.client
        with self._connection.translated():
            try:
                return work(client.get_collection(name, embedding_function=None))
            except self._connection.not_found:
                return absent

    def _batches(self, ids: Sequence[str], width: int = 1) -> Iterator[list[str]]:
        size = max(1, min(self._at_once, _NUMBERS_AT_ONCE // width))
        for at in range(0, len(ids), size):
            yield list(ids[at : at + size])


def half(numbers: Any) -> NDArray[np.float32]:  # noqa: ANN401 - whatever holds numbers
    """In half precision, as the other stores keep them.

    Chroma keeps directions and lengths apart, and gives back 0.99999994 for 1.
    """
    with np.errstate(over="ignore"):
        return np.asarray(numbers, np.float16).astype(np.float32)
