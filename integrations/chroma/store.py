"""A turn log in SQLite whose vectors lie in Chroma, in this process or on a server.

The log is the truth and there is no transaction over both. Whatever is written goes so that a
crash leaves turns without vectors, which are found as missing and made again, and never a vector
that is taken for another text: its id holds a digest of the turn's line.

Chroma gets ids, vectors and hashes keyed with a secret of the log, never a text or a name. A vector
that was removed is found no more at once, but its numbers stay on the disk, as far as could be seen
with Chroma 1.5: in `chroma.sqlite3` until later writes or `chroma vacuum` overwrite them, in the
index files for good, since Chroma keeps those even of a collection that is deleted. To be rid of
them, close the store, delete Chroma's folder and run `remember-graph reindex`, which makes the
vectors of the turns that are left.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Self

from remember_graph.history.nearest import nearest
from remember_graph.history.selecting import chosen
from remember_graph.history.store import (
    Forgotten,
    Namespace,
    Near,
    Record,
    Selection,
    Vector,
)
from remember_graph.integrations.chroma.client import ChromaError
from remember_graph.integrations.chroma.log import ChromaLog
from remember_graph.integrations.chroma.log_only import LogOnly
from remember_graph.integrations.chroma.opening import OpenChroma, open_embedded, open_over_http
from remember_graph.integrations.chroma.streams import StreamVectors
from remember_graph.integrations.chroma.url import DEFAULT_LOG, FolderUrl, parse_url
from remember_graph.integrations.chroma.vectors import ChromaVectors

# Chroma's graph misses some of many equal vectors, as those of "ok" and "thanks" in a chat. So
# many turns are read in about a tenth of a second.
_EXACT_TO = 2_000


def open_chroma(url: str) -> ChromaStore:
    """The store that a `chroma:///…`, `chroma+http://…` or `chroma+https://…` URL names.

    Raises:
        ConfigError: The URL is of another form.
        MissingExtraError: chromadb is not installed.
        HistoryError: The store cannot be opened.
    """
    place = parse_url(url)
    if isinstance(place, FolderUrl):
        return ChromaStore.embedded(place.folder)
    return ChromaStore.over_http(place.host, place.port, ssl=place.ssl, log=place.log)


class ChromaStore(LogOnly):
    """A store with its vectors in Chroma; see `TurnStore` for what the methods do.

    Made by `embedded` or `over_http`. Where Chroma fails, turns are added, read and retired all
    the same, without vectors; what is about vectors, or must not leave any behind, raises.

    Attributes:
        vector_failure: Why vectors could not be written or read the last time; None where they
            could.
    """

    def __init__(self, opened: OpenChroma) -> None:
        self.vector_failure: str | None = None
        self._opened = opened
        self._writing = threading.RLock()  # the log and Chroma change in one order
        try:
            self._vectors = StreamVectors(opened.log, ChromaVectors(opened.connection))
        except BaseException:
            opened.close()
            raise

    @classmethod
    def embedded(cls, folder: str | Path) -> Self:
        """Chroma in this process; one process at a time, since two would corrupt its files.

        A `chroma run` over the same files goes unnoticed: start it when the store is closed.

        Args:
            folder: Made where it is not there; holds `chroma/`, `turns.db` and `chroma.lock`.

        Raises:
            MissingExtraError: chromadb is not installed.
            HistoryError: The folder cannot be used, or somebody uses it.
        """
        return cls(open_embedded(Path(folder)))

    @classmethod
    def over_http(
        cls,
        host: str,
        port: int = 8000,
        *,
        log: str | Path = DEFAULT_LOG,
        ssl: bool = False,
        headers: Mapping[str, str] | None = None,
    ) -> Self:
        """A Chroma server, which any number of processes may use.

        Args:
            host: Where `chroma run` listens.
            port: Its port.
            log: The SQLite file of the turns; its folder must be there. Its vectors are found
                again through the same file alone.
            ssl: Whether to speak HTTPS.
            headers: Sent with every request, such as a token for a proxy.

        Raises:
            MissingExtraError: chromadb is not installed.
            HistoryError: The server does not answer or the log cannot be opened.
        """
        return cls(open_over_http(host, port, log=Path(log), ssl=ssl, headers=headers))

    @property
    def _log(self) -> ChromaLog:
        return self._opened.log

    @contextmanager
    def _degrading(self, *, raises: bool = False) -> Iterator[None]:
        """What Chroma fails to do inside is noted, and raised where that is said."""
        try:
            yield
            self.vector_failure = None
        except ChromaError as error:
            self.vector_failure = str(error)
            if raises:
                raise

    def append(self, namespace: Namespace, records: Sequence[Record]) -> int:
        """See `TurnStore`; the turns are added also where Chroma fails."""
        log = self._log
        there = log.known(namespace, [record.turn.id for record in records])
        added = log.append(namespace, [_bare(record) for record in records])
        fresh: dict[str, Record] = {}
        for record in records:
            if record.turn.id not in there:
                fresh.setdefault(record.turn.id, record)
        self._attach(namespace, list(fresh.values()))
        return added

    def _attach(self, namespace: Namespace, records: Sequence[Record]) -> None:
        with_vector = [record for record in records if record.vector is not None]
        if with_vector:
            with self._writing, self._degrading():
                self._vectors.attach(namespace, with_vector)

    def read(
        self,
        namespace: Namespace,
        start: int = 0,
        *,
        vector_model: str | None = None,
        limit: int | None = None,
    ) -> list[Record]:
        """See `TurnStore`; where Chroma fails the records come without vectors."""
        records = self._log.read(namespace, start, limit=limit)
        if vector_model is None or not records:
            return records
        turns = {record.position: record.turn for record in records}
        vectors: dict[int, Vector] = {}
        with self._degrading():
            vectors = self._vectors.get(namespace, vector_model, turns)
        return [
            replace(record, vector=vectors[record.position], vector_model=vector_model)
            if record.position in vectors
            else record
            for record in records
        ]

    def add_vectors(
        self,
        namespace: Namespace,
        model: str,
        vectors: Mapping[int, Vector],
        *,
        generation: int | None = None,
    ) -> bool:
        """See `TurnStore`."""
        log = self._log
        with self._writing, self._degrading(raises=True):
            now, turns = log.turns(namespace, positions=list(vectors))
            if generation not in (None, now):
                return False
            if turns:
                there = {at: vectors[at] for at in turns}
                self._vectors.put(namespace, model, now, turns, there)
            return generation in (None, log.generation(namespace))

    def vectors(
        self, namespace: Namespace, model: str, positions: Sequence[int] | None = None
    ) -> dict[int, Vector]:
        """See `TurnStore`; none where Chroma fails."""
        _, turns = self._log.turns(namespace, positions=positions)
        with self._degrading():
            return self._vectors.get(namespace, model, turns)
        return {}

    def vector_models(self, namespace: Namespace) -> dict[str, int]:
        """See `TurnStore`; none where Chroma fails."""
        _, turns = self._log.turns(namespace)
        with self._degrading():
            return self._vectors.counts(namespace, turns)
        return {}

    def nearest(
        self, namespace: Namespace, model: str, queries: Sequence[Vector], k: int
    ) -> list[list[Near]]:
        """See `TurnStore`; in long streams by an approximate search, which may miss some."""
        if self._log.count(namespace) <= _EXACT_TO:
            with self._degrading(raises=True):
                _, turns = self._log.turns(namespace)
                return nearest(self._vectors.get(namespace, model, turns), queries, k)
        with self._degrading(raises=True):
            return [self._vectors.nearest(namespace, model, query, k) for query in queries]

    def drop_vectors(self, namespace: Namespace, *, keep_model: str) -> int:
        """See `TurnStore`."""
        log = self._log
        with self._writing, self._degrading(raises=True):
            removed = self._vectors.remove_others(namespace, keep_model)
            return removed + log.drop_vectors(namespace, keep_model=keep_model)

    def edit(self, namespace: Namespace, record: Record, *, wipe: bool = True) -> bool:
        """See `TurnStore`; nothing is edited where Chroma fails to remove the old vectors."""
        log = self._log
        with self._writing:
            _, turns = log.turns(namespace, ids=[record.turn.id])
            with self._degrading(raises=wipe):
                self._vectors.remove(namespace, turns)
            there = log.edit(namespace, _bare(record), wipe=wipe)
            if wipe:
                self._sweep(namespace)
            if there:
                self._attach(namespace, [record])
        return there

    def forget(self, namespace: Namespace, selection: Selection, *, wipe: bool = True) -> Forgotten:
        """See `TurnStore`; nothing is forgotten where Chroma fails to remove the vectors.

        Without `wipe` the turns go also then, and their vectors with the next call with it.
        """
        log = self._log
        with self._writing:
            _, turns = log.turns(namespace)
            positions = list(turns)
            gone = {positions[at]: None for at in chosen(selection, list(turns.values()))}
            removed = 0
            with self._degrading(raises=wipe):
                meant = {at: turn for at, turn in turns.items() if at in gone}
                removed = self._vectors.remove(namespace, meant)
            forgotten = log.forget(namespace, selection, wipe=wipe)
            if wipe:
                self._sweep(namespace)
        return forgotten + Forgotten(vectors=removed)

    def _sweep(self, namespace: Namespace) -> None:
        """Nothing of what another process wrote meanwhile, or a crash left, stays in Chroma."""
        with self._degrading(raises=True):
            self._vectors.sweep(namespace)

    def forget_tenant(self, tenant: str) -> Forgotten:
        """See `TurnStore`; nothing is forgotten where Chroma fails to remove the vectors."""
        log = self._log
        with self._writing, self._degrading(raises=True):
            removed = self._vectors.drop_tenant(tenant)
            forgotten = log.forget_tenant(tenant)
            # What another process wrote before it could see that the streams are gone.
            self._vectors.drop_tenant(tenant)
        return forgotten + Forgotten(vectors=removed)

    def close(self) -> None:
        """See `TurnStore`."""
        if self._opened.is_ours:
            with self._writing:
                self._opened.close()


def _bare(record: Record) -> Record:
    return replace(record, vector=None, vector_model=None)
