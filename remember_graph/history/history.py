"""The history of every stream: adds turns to the store, keeps an index of each stream in use."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from remember_graph.errors import ModelError
from remember_graph.history.deriving import Deriver
from remember_graph.history.in_memory_store import InMemoryStore
from remember_graph.history.store import Forgotten, Namespace, Record, Selection, TurnStore, Vector
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
        self._deriver = Deriver(self.settings.count_tokens)
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
            added += self.store.append(namespace, self._records(fresh[at : at + _EMBEDDING_BATCH]))
            if on_progress is not None:
                on_progress(min(at + _EMBEDDING_BATCH, len(fresh)), len(fresh))
        other = [turn.id for turn in turns if not _says_the_same(first[turn.id], turn)]
        known = len(turns) - len(fresh) - len(other)
        return AddReport(added=added, known=known, changed=tuple(dict.fromkeys(other)))

    def edit(self, namespace: Namespace, turn: Turn) -> bool:
        """Put the turn in the place of the one with its id; whether there was one.

        The old text, its terms and vectors are gone; summaries that rested on it become stale.
        """
        (record,) = self._records([replace(turn, edited=True)])
        self.forget_queries()  # window turns are queries, and this may be one of them
        return self.store.edit(namespace, record)

    def forget(self, namespace: Namespace, selection: Selection) -> Forgotten:
        """Remove turns and all that was made of them."""
        forgotten = self.store.forget(namespace, selection)
        with self._lock:
            self._indexes.pop(namespace, None)
            self.forget_queries()  # window turns are queries, and may be among the forgotten
        return forgotten

    def _records(self, turns: Sequence[Turn]) -> list[Record]:
        """What is stored of the turns: without vectors where the model fails or is none."""
        messages = [turn for turn in turns if turn.kind == "message"]
        vectors = dict(zip((turn.id for turn in messages), self._vectors(messages), strict=False))
        model = self.encoder.id if self.encoder else None
        return [
            Record(
                turn,
                vectors.get(turn.id),
                model if turn.id in vectors else None,
                self._deriver.make(turn) if turn.kind == "message" else None,
            )
            for turn in turns
        ]

    def _vectors(self, messages: Sequence[Turn]) -> Sequence[Vector]:
        if self.encoder is None or not messages:
            return []
        try:
            return list(self.encode_documents([turn.line for turn in messages]))
        except ModelError:
            return []  # the turns are found by their words; the result says how many lack vectors

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

    def forget_queries(self) -> None:
        """Drop the remembered vectors of queries."""
        self._query_vectors = {}

    def index(self, namespace: Namespace) -> StreamIndex:
        """The stream's index, brought up to date with what any process has done."""
        with self._lock:
            index = self._indexes.pop(namespace, None)
            generation = self.store.generation(namespace)
            while True:
                if index is None or index.generation != generation:
                    index = self._empty_index()
                    index.generation = generation
                with index.lock:
                    self._bring_up_to_date(namespace, index)
                generation = self.store.generation(namespace)
                if index.generation == generation:  # nothing was edited while it was read
                    break
            self._indexes[namespace] = index
            while len(self._indexes) > _STREAMS_IN_MEMORY:
                self._indexes.popitem(last=False)
            return index

    def _bring_up_to_date(self, namespace: Namespace, index: StreamIndex) -> None:
        model = self.encoder.id if self.encoder else None
        missing = index.without_vector
        if model is not None and missing:
            index.fill_vectors(self.store.vectors(namespace, model, missing))
        index.add(self.store.read(namespace, index.next_position, vector_model=model))

    def _empty_index(self) -> StreamIndex:
        retrieve = self.settings.retrieve
        return StreamIndex(
            self._deriver,
            encoder_id=self.encoder.id if self.encoder else None,
            chunk_tokens=retrieve.chunk_tokens,
            chunk_overlap=retrieve.chunk_overlap,
        )

    def reindex(self, namespace: Namespace, *, on_progress: Progress | None = None) -> int:
        """Make the vectors of the present model that are missing; how many that were.

        Each batch is stored when it is made, so that an interrupted run goes on where it stopped.
        The vectors of other models serve who uses those until the last batch is there. It also
        stops where turns are edited or removed meanwhile; calling again goes on.

        Raises:
            ModelError: The model failed; what was made before stays.
        """
        if self.encoder is None:
            return 0
        index = self.index(namespace)
        missing = index.without_vector
        lines = index.lines_at(missing)
        for at in range(0, len(missing), _EMBEDDING_BATCH):
            batch = missing[at : at + _EMBEDDING_BATCH]
            vectors = self.encode_documents(lines[at : at + _EMBEDDING_BATCH])
            made = dict(zip(batch, vectors, strict=True))
            if not self.store.add_vectors(
                namespace, self.encoder.id, made, generation=index.generation
            ):  # somebody edited or removed turns meanwhile: these vectors may be of old texts
                return at
            if on_progress is not None:
                on_progress(at + len(batch), len(missing))
        self.store.drop_vectors(namespace, keep_model=self.encoder.id)
        return len(missing)

    def close(self) -> None:
        """Close the store."""
        self.store.close()


def _says_the_same(one: Turn, other: Turn) -> bool:
    return (one.speaker, one.text) == (other.speaker, other.text)
