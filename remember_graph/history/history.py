"""The history of every stream: adds turns to the store, keeps an index of each stream in use."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

from remember_graph.errors import ModelError
from remember_graph.history.store import InMemoryStore, Namespace, Record, TurnStore
from remember_graph.history.stream_index import StreamIndex
from remember_graph.protocols import TextEncoder, Vectors
from remember_graph.settings import Settings
from remember_graph.turn_ids import assign_ids
from remember_graph.types import AddReport, Turn

Progress = Callable[[int, int], None]

_STREAMS_IN_MEMORY = 64
# Embedding models read a few hundred tokens; a pasted log of a megabyte must not fill the memory.
_EMBEDDED_CHARS = 2_000
_EMBEDDING_BATCH = 1_024
_QUERIES_REMEMBERED = 512  # retrieval and refinement of one window ask for the same vectors


class History:
    """Turn log and indexes.

    Args:
        store: Where turns are kept; default in memory.
        encoder: Makes the vectors; None for lexical search alone.
        settings: Token counter and chunk size.
    """

    def __init__(
        self,
        store: TurnStore | None = None,
        *,
        encoder: TextEncoder | None = None,
        settings: Settings | None = None,
    ) -> None:
        self.store: TurnStore = store or InMemoryStore()
        self.encoder = encoder
        self.settings = settings or Settings()
        self._lock = threading.RLock()
        self._query_vectors: dict[str, NDArray[np.float32]] = {}
        self._indexes: OrderedDict[Namespace, StreamIndex] = OrderedDict()

    def add(
        self, namespace: Namespace, turns: Sequence[Turn], *, on_progress: Progress | None = None
    ) -> AddReport:
        """Append the turns that are new; turns without an id are given one (see `turn_ids`).

        Args:
            namespace: Whose conversation.
            turns: In the order of the conversation.
            on_progress: Called with the number of turns done and the number of all new ones.

        Raises:
            HistoryError: The store cannot be written; nothing of the batch at hand was added.
        """
        turns = assign_ids(turns)
        there = self.store.known(namespace, [turn.id for turn in turns])
        first: dict[str, Turn] = dict(there)
        for turn in turns:
            first.setdefault(turn.id, turn)
        fresh = [turn for id, turn in first.items() if id not in there]
        added = 0
        for at in range(0, len(fresh), _EMBEDDING_BATCH):
            added += self.store.append(namespace, self._embed(fresh[at : at + _EMBEDDING_BATCH]))
            if on_progress is not None:
                on_progress(min(at + _EMBEDDING_BATCH, len(fresh)), len(fresh))
        other = [turn.id for turn in turns if not _says_the_same(first[turn.id], turn)]
        known = len(turns) - len(fresh) - len(other)
        return AddReport(added=added, known=known, changed=tuple(dict.fromkeys(other)))

    def _embed(self, turns: Sequence[Turn]) -> list[Record]:
        """The turns with their vectors; without, where the model fails: they are found by words."""
        messages = [turn for turn in turns if turn.kind == "message"]
        if self.encoder is None or not messages:
            return [Record(turn) for turn in turns]
        try:
            vectors = self.encode_documents([turn.line for turn in messages])
        except ModelError:
            return [Record(turn) for turn in turns]
        of = {turn.id: vector for turn, vector in zip(messages, vectors, strict=True)}
        model = self.encoder.id
        return [Record(t, of[t.id], model) if t.id in of else Record(t) for t in turns]

    def encode_documents(self, lines: Sequence[str]) -> Vectors:
        """Vectors of texts that may be of any length."""
        assert self.encoder is not None
        return self.encoder.encode_documents([line[:_EMBEDDED_CHARS] for line in lines])

    def encode_queries(self, texts: Sequence[str]) -> Vectors:
        """Vectors of queries that may be of any length; those of the last ones are remembered."""
        assert self.encoder is not None
        texts = [text[:_EMBEDDED_CHARS] for text in texts]
        known = self._query_vectors
        fresh = [text for text in dict.fromkeys(texts) if text not in known]
        if fresh:
            made = dict(zip(fresh, self.encoder.encode_queries(fresh), strict=True))
            kept = known if len(known) + len(fresh) <= _QUERIES_REMEMBERED else {}
            # A new dict each time: another thread may still be reading the one before.
            self._query_vectors = {**kept, **made}
            known = {**known, **made}
        if not texts:
            return self.encoder.encode_queries([])
        return np.stack([known[text] for text in texts])

    def index(self, namespace: Namespace) -> StreamIndex:
        """The stream's index, brought up to date with what any process has added."""
        with self._lock:
            index = self._indexes.pop(namespace, None)
            if index is None:
                index = self._empty_index()
            with index.lock:
                index.add(self.store.read(namespace, index.records_read))
            self._indexes[namespace] = index
            while len(self._indexes) > _STREAMS_IN_MEMORY:
                self._indexes.popitem(last=False)
            return index

    def _empty_index(self) -> StreamIndex:
        retrieve = self.settings.retrieve
        return StreamIndex(
            self.settings.count_tokens,
            encoder_id=self.encoder.id if self.encoder else None,
            chunk_tokens=retrieve.chunk_tokens,
            chunk_overlap=retrieve.chunk_overlap,
        )

    def close(self) -> None:
        """Close the store."""
        self.store.close()


def _says_the_same(one: Turn, other: Turn) -> bool:
    return (one.speaker, one.text) == (other.speaker, other.text)
