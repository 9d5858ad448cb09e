"""The part of a store that has nothing to do with vectors: its log answers alone."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from typing import Any

from remember_graph.history.store import Namespace, Retention, StoredSummary
from remember_graph.integrations.chroma.log import ChromaLog
from remember_graph.types import Turn


class LogOnly(ABC):
    """Methods of a `TurnStore` that are passed on to the log; see there for what they do."""

    @property
    @abstractmethod
    def _log(self) -> ChromaLog:
        """The log, where it may be used."""

    def known(self, namespace: Namespace, ids: Sequence[str]) -> dict[str, Turn]:
        """See `TurnStore`."""
        return self._log.known(namespace, ids)

    def turns_at(self, namespace: Namespace, positions: Sequence[int]) -> dict[int, Turn]:
        """See `TurnStore`."""
        return self._log.turns_at(namespace, positions)

    def count(self, namespace: Namespace) -> int:
        """See `TurnStore`."""
        return self._log.count(namespace)

    def hide(self, namespace: Namespace, ids: Sequence[str], *, hidden: bool = True) -> int:
        """See `TurnStore`."""
        return self._log.hide(namespace, ids, hidden=hidden)

    def generation(self, namespace: Namespace) -> int:
        """See `TurnStore`."""
        return self._log.generation(namespace)

    def retention(self, namespace: Namespace) -> Retention:
        """See `TurnStore`."""
        return self._log.retention(namespace)

    def set_retention(self, namespace: Namespace, retention: Retention) -> None:
        """See `TurnStore`."""
        self._log.set_retention(namespace, retention)

    def save_summary(
        self, namespace: Namespace, result: Mapping[str, Any], *, generation: int | None = None
    ) -> None:
        """See `TurnStore`."""
        self._log.save_summary(namespace, result, generation=generation)

    def summaries(self, namespace: Namespace) -> list[StoredSummary]:
        """See `TurnStore`."""
        return self._log.summaries(namespace)

    def streams(self) -> list[tuple[Namespace, int]]:
        """See `TurnStore`."""
        return self._log.streams()
