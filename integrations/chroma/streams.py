"""The vectors of streams in Chroma, checked against the turns of the log."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence

import numpy as np

from remember_graph.history.store import Namespace, Near, Record, Vector
from remember_graph.integrations.chroma.log import ChromaLog, Kind
from remember_graph.integrations.chroma.names import Names, position_of
from remember_graph.integrations.chroma.vectors import ChromaVectors, half
from remember_graph.types import Turn

Turns = Mapping[int, Turn]  # by position

_EQUALS = 16  # asked for beyond `k`, so that most often one search is enough


class StreamVectors:
    """Stores and finds vectors of turns; one whose turn is not in the log is never given out.

    Raises `ChromaError` where Chroma fails, and `HistoryError` where the log does.
    """

    def __init__(self, log: ChromaLog, vectors: ChromaVectors) -> None:
        self._log = log
        self._vectors = vectors
        self._names = Names(log.secret)

    def attach(self, namespace: Namespace, records: Sequence[Record]) -> None:
        """Store the records' vectors for those of their turns that the log holds as they are."""
        for model in sorted({one.vector_model for one in records if one.vector_model is not None}):
            own = {record.turn.id: record for record in records if record.vector_model == model}
            generation, turns = self._log.turns(namespace, ids=list(own))
            vectors = {
                at: vector
                for at, turn in turns.items()
                if (vector := own[turn.id].vector) is not None
                and turn.line == own[turn.id].turn.line
            }
            self.put(namespace, model, generation, turns, vectors)

    def put(
        self,
        namespace: Namespace,
        model: str,
        generation: int,
        turns: Turns,
        vectors: Mapping[int, Vector],
    ) -> None:
        """Store vectors of turns that were read from the log at this generation.

        Those with numbers that half precision cannot hold are left out: Chroma takes no infinity.
        """
        ids = self._names.vectors(namespace, {at: turns[at] for at in vectors})
        by_width: dict[int, dict[str, Vector]] = {}
        for id, at in ids.items():
            vector = half(vectors[at])
            if len(vector) and np.isfinite(vector).all():
                by_width.setdefault(len(vector), {})[id] = vector
        for width, of_width in by_width.items():
            self._put(namespace, Kind(model, width), of_width)
        if self._log.generation(namespace) != generation:
            # Another process edited or forgot meanwhile, and may have looked before these came.
            _, now = self._log.turns(namespace, positions=list(vectors))
            present = self._names.vectors(namespace, now)
            self._remove(namespace, [id for id in ids if id not in present])

    def _put(self, namespace: Namespace, kind: Kind, vectors: Mapping[str, Vector]) -> None:
        owner = self._names.owner(namespace.tenant)
        self._log.note_collection(owner, kind)
        for other in self._kinds(namespace):
            if other.model == kind.model and other.width != kind.width:
                self._vectors.remove(self._collection(namespace, other), list(vectors))
        stream = self._names.stream(namespace)
        self._vectors.put(self._collection(namespace, kind), stream, vectors)

    def get(self, namespace: Namespace, model: str, turns: Turns) -> dict[int, Vector]:
        """The vectors of these turns that are there, by position."""
        ids = self._names.vectors(namespace, turns)
        found: dict[str, Vector] = {}
        for kind in self._kinds(namespace):
            if kind.model == model:
                found |= self._vectors.get(self._collection(namespace, kind), list(ids))
        return {at: found[id] for id, at in ids.items() if id in found}

    def counts(self, namespace: Namespace, turns: Turns) -> dict[str, int]:
        """How many of these turns have a vector of each model that any has one of."""
        ids = list(self._names.vectors(namespace, turns))
        counts: Counter[str] = Counter()
        for kind in self._kinds(namespace):
            there = self._vectors.present(self._collection(namespace, kind), ids)
            counts[kind.model] += len(there)
        return {model: count for model, count in counts.items() if count}

    def nearest(self, namespace: Namespace, model: str, query: Vector, k: int) -> list[Near]:
        """The `k` turns of the stream that are closest; of equals the earlier position first."""
        collection = self._collection(namespace, Kind(model, len(query)))
        stream = self._names.stream(namespace)
        asked = k + _EQUALS if k > 0 else 0
        while asked:
            found = self._vectors.nearest(collection, stream, query, asked)
            near = self._of_turns(namespace, found)
            best = sorted(near, key=lambda one: (-one.cosine, one.position))[:k]
            # Turns that are gone may have taken places, and equals of the last may follow.
            if len(found) < asked or (len(best) == k and found[-1][1] < best[-1].cosine):
                return best
            asked *= 2
        return []

    def _of_turns(self, namespace: Namespace, found: Sequence[tuple[str, float]]) -> list[Near]:
        _, turns = self._log.turns(namespace, positions=[position_of(id) for id, _ in found])
        present = self._names.vectors(namespace, turns)
        return [Near(present[id], cosine) for id, cosine in found if id in present]

    def remove(self, namespace: Namespace, turns: Turns) -> int:
        """Remove the vectors of these turns of every model; how many that were."""
        return self._remove(namespace, list(self._names.vectors(namespace, turns)))

    def _remove(self, namespace: Namespace, ids: Sequence[str]) -> int:
        collections = [self._collection(namespace, kind) for kind in self._kinds(namespace)]
        return sum(self._vectors.remove(name, ids) for name in collections)

    def sweep(self, namespace: Namespace) -> None:
        """Remove what a crash or race left of turns that are gone, and what is empty then."""
        owner, stream = self._names.owner(namespace.tenant), self._names.stream(namespace)
        for kind in self._log.kinds(owner):
            collection = self._collection(namespace, kind)
            held = self._vectors.of_stream(collection, stream)
            _, turns = self._log.turns(namespace)
            present = self._names.vectors(namespace, turns)
            self._vectors.remove(collection, [id for id in held if id not in present])
            if self._vectors.drop(collection, only_empty=True) is not None:
                self._log.drop_collection(owner, kind)

    def remove_others(self, namespace: Namespace, keep_model: str) -> int:
        """Remove the stream's vectors of every other model; how many that were."""
        removed, stream = 0, self._names.stream(namespace)
        for kind in self._kinds(namespace):
            if kind.model != keep_model:
                collection = self._collection(namespace, kind)
                held = self._vectors.of_stream(collection, stream)
                removed += self._vectors.remove(collection, held)
        return removed

    def drop_tenant(self, tenant: str) -> int:
        """Remove all vectors of a tenant; how many that were."""
        owner, dropped = self._names.owner(tenant), 0
        for kind in self._log.kinds(owner):
            dropped += self._vectors.drop(self._names.collection(owner, *kind)) or 0
            self._log.drop_collection(owner, kind)
        return dropped

    def _kinds(self, namespace: Namespace) -> list[Kind]:
        return self._log.kinds(self._names.owner(namespace.tenant))

    def _collection(self, namespace: Namespace, kind: Kind) -> str:
        return self._names.collection(self._names.owner(namespace.tenant), *kind)
