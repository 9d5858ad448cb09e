"""The indexes of the streams in use, each brought up to date with its store before it is given."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable

from remember_graph.history.store import Namespace, TurnStore
from remember_graph.history.stream_index import StreamIndex

# Bounds of what stays in memory: many small streams, or a few long ones (with vectors of 256
# numbers 500,000 turns take about a gigabyte).
STREAMS_IN_MEMORY, TURNS_IN_MEMORY = 64, 500_000
_LOCKS = 64
_READ_AT_ONCE = 20_000  # records of a long stream take more memory than its index


class StreamIndexes:
    """Indexes by namespace; those that were used longest ago make room.

    Args:
        store: What they are read from.
        create: Makes an empty index.
    """

    def __init__(self, store: TurnStore, create: Callable[[], StreamIndex]) -> None:
        self._store, self._create = store, create
        self._held: OrderedDict[Namespace, StreamIndex] = OrderedDict()
        self._guard = threading.Lock()
        # A long stream takes seconds to read: only who wants the same one waits for it. Streams
        # share some locks, so that thousands of them need no thousands.
        self._locks = [threading.RLock() for _ in range(_LOCKS)]

    def current(self, namespace: Namespace) -> StreamIndex:
        """The stream's index with everything that any process has committed."""
        with self._lock_of(namespace):
            index = self._held.get(namespace)
            generation = self._store.generation(namespace)
            while True:
                if index is None or index.generation != generation:
                    index = self._create()
                    index.generation = generation
                with index.lock:
                    self._bring_up_to_date(namespace, index)
                generation = self._store.generation(namespace)
                if index.generation == generation:  # nothing was edited while it was read
                    break
            self._keep(namespace, index)
            return index

    def drop(self, is_meant: Callable[[Namespace], bool]) -> None:
        """Hold nothing of these streams any longer."""
        with self._guard:
            meant = [name for name in self._held if is_meant(name)]
        for namespace in meant:
            with self._lock_of(namespace), self._guard:
                self._held.pop(namespace, None)

    def _lock_of(self, namespace: Namespace) -> threading.RLock:
        return self._locks[hash(namespace) % _LOCKS]

    def _keep(self, namespace: Namespace, index: StreamIndex) -> None:
        with self._guard:
            self._held[namespace] = index
            self._held.move_to_end(namespace)
            turns = sum(map(len, self._held.values()))
            while len(self._held) > 1 and (
                len(self._held) > STREAMS_IN_MEMORY or turns > TURNS_IN_MEMORY
            ):
                _, oldest = self._held.popitem(last=False)
                turns -= len(oldest)

    def _bring_up_to_date(self, namespace: Namespace, index: StreamIndex) -> None:
        model = index.encoder_id
        missing = index.without_vector
        if model is not None and missing:
            index.fill_vectors(self._store.vectors(namespace, model, missing))
        while records := self._store.read(
            namespace, index.next_position, vector_model=model, limit=_READ_AT_ONCE
        ):
            index.add(records)
