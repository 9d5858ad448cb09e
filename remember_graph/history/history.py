"""The history of every stream: adds turns to the store, keeps an index of each stream in use."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from datetime import UTC, datetime

import numpy as np
from numpy.typing import NDArray

from remember_graph.errors import ModelError
from remember_graph.history import retaining
from remember_graph.history.background import Background
from remember_graph.history.deriving import Deriver
from remember_graph.history.in_memory_store import InMemoryStore
from remember_graph.history.store import (
    Forgotten,
    Namespace,
    Record,
    Retention,
    Selection,
    TurnStore,
    Vector,
)
from remember_graph.history.stream_index import StreamIndex
from remember_graph.history.stream_indexes import StreamIndexes
from remember_graph.protocols import TextEncoder, Vectors
from remember_graph.settings import Settings
from remember_graph.turn_ids import assign_ids
from remember_graph.types import AddReport, Turn

Progress = Callable[[int, int], None]

# Embedding models read a few hundred tokens; a pasted log of a megabyte must not fill the memory.
_EMBEDDED_CHARS = 2_000
_EMBEDDING_BATCH = 1_024
_BACKGROUND_BATCH = 128  # closing waits for the one at hand, and a slow model takes seconds for it
_QUERIES_REMEMBERED = 512  # retrieval and refinement of one window ask for the same vectors


class History:
    """Turn log and indexes.

    Args:
        store: Where turns are kept; default in memory.
        encoder: Makes the vectors; None for lexical search alone.
        settings: Token counter and chunk size.
        embed_in_background: `add` leaves the vectors to a thread and returns at once.
        now: The present time, for retention.
    """

    def __init__(
        self,
        store: TurnStore | None = None,
        *,
        encoder: TextEncoder | None = None,
        settings: Settings | None = None,
        embed_in_background: bool = False,
        now: Callable[[], datetime] = lambda: datetime.now(UTC),
    ) -> None:
        self.store: TurnStore = store or InMemoryStore()
        self.encoder = encoder
        self.settings = settings or Settings()
        self._deriver = Deriver(self.settings.count_tokens)
        self._now = now
        self.background = (
            Background(self._embed_all) if embed_in_background and encoder is not None else None
        )
        self._query_vectors: dict[str, NDArray[np.float32]] = {}
        self._indexes = StreamIndexes(self.store, self._empty_index)

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
        added = bare = 0
        for at in range(0, len(fresh), _EMBEDDING_BATCH):
            records = self._records(fresh[at : at + _EMBEDDING_BATCH])
            added += self.store.append(namespace, records)
            bare += sum(one.derived is not None and one.vector is None for one in records)
            if on_progress is not None:
                on_progress(min(at + _EMBEDDING_BATCH, len(fresh)), len(fresh))
        other = [turn.id for turn in turns if not _says_the_same(first[turn.id], turn)]
        if self.background is not None and bare:
            self.background.ask(namespace)
        return AddReport(
            added=added,
            known=len(turns) - len(fresh) - len(other),
            changed=tuple(dict.fromkeys(other)),
            without_vector=bare if self.encoder else 0,
            retired=self._retire(namespace).turns if added else 0,
        )

    def edit(self, namespace: Namespace, turn: Turn, *, wipe: bool = True) -> bool:
        """Put the turn in the place of the one with its id; whether there was one.

        The old text, its terms and vectors are gone; summaries that rested on it become stale.
        See `TurnStore.edit` for `wipe`.
        """
        (record,) = self._records([replace(turn, edited=True)])
        self.forget_queries()  # window turns are queries, and this may be one of them
        there = self.store.edit(namespace, record, wipe=wipe)
        if there and self.background is not None:
            self.background.ask(namespace)
        return there

    def forget(self, namespace: Namespace, selection: Selection, *, wipe: bool = True) -> Forgotten:
        """Remove turns and all that was made of them; see `TurnStore.forget` for `wipe`."""
        with self._dropping(lambda name: name == namespace):
            return self.store.forget(namespace, selection, wipe=wipe)

    def hide(self, namespace: Namespace, ids: Sequence[str], *, hidden: bool = True) -> int:
        """Leave turns out of searches, or take them in again; how many that changed."""
        self.forget_queries()
        return self.store.hide(namespace, ids, hidden=hidden)

    def forget_tenant(self, tenant: str) -> Forgotten:
        """Remove every stream of a tenant."""
        with self._dropping(lambda name: name.tenant == tenant):
            return self.store.forget_tenant(tenant)

    @contextmanager
    def _dropping(self, is_meant: Callable[[Namespace], bool]) -> Iterator[None]:
        """Whatever becomes of the removal, nothing of what it is about stays in memory."""
        try:
            yield
        finally:
            self._indexes.drop(is_meant)
            self.forget_queries()  # window turns are queries, and may be among the forgotten

    def retain(self, namespace: Namespace, retention: Retention) -> Forgotten:
        """Keep only so much of the stream from now on; what that removed at once.

        Later additions remove what is then past the bounds, without wiping it from the medium
        each time; the next `forget`, `edit` or `retain` does.
        """
        self.store.set_retention(namespace, retention)
        forgotten = Forgotten()
        for selection in retaining.overdue(retention, self._now()):
            forgotten += self.forget(namespace, selection)
        return forgotten

    def _retire(self, namespace: Namespace) -> Forgotten:
        """Remove what an addition has brought past the bounds of the stream's retention."""
        retention = self.store.retention(namespace)
        forgotten = Forgotten()
        most = retaining.most_turns(retention)
        if most is not None and self.store.count(namespace) > most:
            surplus = Selection(all_but_latest=retention.max_turns or 0)
            forgotten += self.forget(namespace, surplus, wipe=False)
        if retention.max_age_s is not None:
            forgotten += self._retire_old(namespace, self._indexes.current(namespace))
        return forgotten

    def _retire_old(self, namespace: Namespace, index: StreamIndex) -> Forgotten:
        oldest_kept = retaining.cutoff(self.store.retention(namespace), self._now())
        with index.lock:
            oldest = index.oldest if oldest_kept else None
        if oldest_kept is None or oldest is None or oldest >= oldest_kept:
            return Forgotten()
        return self.forget(namespace, Selection(until=oldest_kept.isoformat()), wipe=False)

    def _records(self, turns: Sequence[Turn]) -> list[Record]:
        """What is stored of the turns: without vectors where the model fails or is none."""
        messages = [turn for turn in turns if turn.kind == "message"]
        embedded = [] if self.background is not None else messages
        vectors = dict(zip((turn.id for turn in embedded), self._vectors(embedded), strict=False))
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
        """The stream's index, brought up to date with what any process has done and with time."""
        index = self._indexes.current(namespace)
        if self._retire_old(namespace, index).turns:
            index = self._indexes.current(namespace)
        return index

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
        made, total = self._embed_missing(namespace, _EMBEDDING_BATCH, on_progress)
        if made == total:
            self.store.drop_vectors(namespace, keep_model=self.encoder.id)
        return made

    def behind(self, namespace: Namespace) -> int:
        """How many turns have no vector of the present model."""
        if self.encoder is None:
            return 0
        index = self.index(namespace)
        with index.lock:
            return len(index.without_vector)

    def _embed_missing(
        self,
        namespace: Namespace,
        batch_size: int,
        on_progress: Progress | None = None,
        stop: Callable[[], bool] = lambda: False,
    ) -> tuple[int, int]:
        """Make and store the missing vectors; how many were made, of how many.

        Ends early where turns are edited or removed meanwhile: the vectors at hand may be of
        texts that are gone.
        """
        assert self.encoder is not None
        index = self.index(namespace)
        with index.lock:
            missing, generation = index.without_vector, index.generation
            lines = index.lines_at(missing)
        done = 0
        while done < len(missing) and not stop():
            batch = missing[done : done + batch_size]
            vectors = self.encode_documents(lines[done : done + batch_size])
            made = dict(zip(batch, vectors, strict=True))
            if not self.store.add_vectors(namespace, self.encoder.id, made, generation=generation):
                break
            done += len(batch)
            if on_progress is not None:
                on_progress(done, len(missing))
        return done, len(missing)

    def _embed_all(self, namespace: Namespace) -> None:
        """What the background does; anew where turns were edited or removed meanwhile."""
        background = self.background
        while background is not None and not background.stopping:
            done, total = self._embed_missing(
                namespace, _BACKGROUND_BATCH, stop=lambda: background.stopping
            )
            if done == total:
                break

    def close(self) -> None:
        """Close the store; the background thread ends before."""
        if self.background is not None:
            self.background.close()
        self.store.close()


def _says_the_same(one: Turn, other: Turn) -> bool:
    return (one.speaker, one.text) == (other.speaker, other.text)
