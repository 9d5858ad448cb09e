"""What lies beside the turns in a LangGraph `BaseStore`: vectors, retention, summaries."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

from remember_graph.history.nearest import nearest
from remember_graph.history.store import (
    SUMMARIES_KEPT,
    Namespace,
    Near,
    Retention,
    StoredSummary,
    Vector,
    turns_of,
)
from remember_graph.integrations.base_store_items import Items
from remember_graph.integrations.base_store_streams import Streams


class Beside(ABC):
    """The methods of a `TurnStore` that leave the turns alone; see there for what they do."""

    _items: Items

    @abstractmethod
    def _open(self) -> AbstractContextManager[Streams]:
        """The streams, held as long as they are used."""

    def add_vectors(
        self,
        namespace: Namespace,
        model: str,
        vectors: Mapping[int, Vector],
        *,
        generation: int | None = None,
    ) -> bool:
        """See `TurnStore`."""
        with self._open() as streams:
            meta = streams.meta(namespace)
            if generation not in (None, meta.generation if meta else 0):
                return False
            there = streams.at(namespace, list(vectors))
            changed = [
                replace(one, vectors={**one.vectors, model: vectors[at]})
                for at, one in there.items()
            ]
            self._items.write(streams.turn_puts(namespace, changed))
            return True

    def vectors(
        self, namespace: Namespace, model: str, positions: Sequence[int] | None = None
    ) -> dict[int, Vector]:
        """See `TurnStore`."""
        with self._open() as streams:
            wanted = (
                streams.entries(namespace)
                if positions is None
                else streams.at(namespace, positions).values()
            )
            return {
                one.record.position: one.vectors[model] for one in wanted if model in one.vectors
            }

    def vector_models(self, namespace: Namespace) -> dict[str, int]:
        """See `TurnStore`."""
        with self._open() as streams:
            entries = streams.entries(namespace)
            return dict(Counter(model for one in entries for model in one.vectors))

    def nearest(
        self, namespace: Namespace, model: str, queries: Sequence[Vector], k: int
    ) -> list[list[Near]]:
        """See `TurnStore`."""
        return nearest(self.vectors(namespace, model), queries, k)

    def drop_vectors(self, namespace: Namespace, *, keep_model: str) -> int:
        """See `TurnStore`."""
        with self._open() as streams:
            others = [
                one for one in streams.entries(namespace) if one.vectors.keys() - {keep_model}
            ]
            kept = [
                replace(one, vectors={m: v for m, v in one.vectors.items() if m == keep_model})
                for one in others
            ]
            self._items.write(streams.turn_puts(namespace, kept))
            return sum(len(one.vectors.keys() - {keep_model}) for one in others)

    def retention(self, namespace: Namespace) -> Retention:
        """See `TurnStore`."""
        with self._open() as streams:
            meta = streams.meta(namespace)
            return Retention(meta.max_age_s, meta.max_turns) if meta else Retention()

    def set_retention(self, namespace: Namespace, retention: Retention) -> None:
        """See `TurnStore`."""
        with self._open() as streams:
            meta = replace(
                streams.made(namespace),
                max_age_s=retention.max_age_s,
                max_turns=retention.max_turns,
            )
            self._items.write([streams.note(meta)])

    def save_summary(
        self, namespace: Namespace, result: Mapping[str, Any], *, generation: int | None = None
    ) -> None:
        """See `TurnStore`."""
        with self._open() as streams:
            meta, rests_on = streams.meta(namespace), turns_of(result)
            changed = generation not in (None, meta.generation if meta else 0)
            there = streams.by_id(namespace, list(rests_on))
            if meta is None or changed or not rests_on <= there.keys():
                return  # a turn was edited or forgotten while the summary was written
            created = datetime.now(UTC).isoformat()
            kept: dict[str, Any] = {"created": created, "result": dict(result), "stale": None}
            kept["rests_on"] = sorted(rests_on)
            summaries = [kept, *streams.summaries(namespace)][:SUMMARIES_KEPT]
            self._items.write([streams.summaries_put(namespace, summaries)])

    def summaries(self, namespace: Namespace) -> list[StoredSummary]:
        """See `TurnStore`."""
        with self._open() as streams:
            return [
                StoredSummary(one["created"], one["result"], one["stale"])
                for one in streams.summaries(namespace)
            ]
