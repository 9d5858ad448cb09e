"""Where turns are kept: the protocol, and the store that lives and dies with the process.

The log of verbatim turns is the only truth. A store holds for each namespace (tenant, stream)
the turns in the order of their arrival, numbered from 0, and beside each turn its vector with
the id of the model it came from. Indexes are caches that are fed from here.
"""

from __future__ import annotations

import threading
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from remember_graph.types import Turn


class Namespace(NamedTuple):
    """Whose conversation: nothing is ever searched across namespaces."""

    tenant: str
    stream: str


@dataclass(frozen=True, slots=True)
class Record:
    """A turn as it is stored."""

    turn: Turn
    vector: NDArray[np.float32] | None = None
    vector_model: str | None = None


class TurnStore(Protocol):
    """A log of turns per namespace. Raises `HistoryError` where it cannot be read or written."""

    def known(self, namespace: Namespace, ids: Sequence[str]) -> dict[str, Turn]:
        """The turns of these ids that are there."""

    def append(self, namespace: Namespace, records: Sequence[Record]) -> int:
        """Append the records whose id is new, all or none; how many that were."""

    def read(self, namespace: Namespace, start: int = 0) -> list[Record]:
        """The records from position `start` on, in order."""

    def streams(self) -> list[tuple[Namespace, int]]:
        """Every namespace with its number of turns."""

    def close(self) -> None:
        """Release what is held; the store cannot be used afterwards."""


class InMemoryStore:
    """A store in a dict, for one process."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._records: dict[Namespace, dict[str, Record]] = {}

    def known(self, namespace: Namespace, ids: Sequence[str]) -> dict[str, Turn]:
        """See `TurnStore`."""
        with self._lock:
            held = self._records.get(namespace, {})
            return {id: held[id].turn for id in ids if id in held}

    def append(self, namespace: Namespace, records: Sequence[Record]) -> int:
        """See `TurnStore`."""
        with self._lock:
            held = self._records.get(namespace, {})
            fresh: dict[str, Record] = {}
            for record in records:
                if record.turn.id not in held:
                    fresh.setdefault(record.turn.id, record)
            self._records.setdefault(namespace, held).update(fresh)
            return len(fresh)

    def read(self, namespace: Namespace, start: int = 0) -> list[Record]:
        """See `TurnStore`."""
        with self._lock:
            held = self._records.get(namespace, {})
            return list(held.values())[start:] if start < len(held) else []

    def streams(self) -> list[tuple[Namespace, int]]:
        """See `TurnStore`."""
        with self._lock:
            return [(namespace, len(held)) for namespace, held in self._records.items()]

    def close(self) -> None:
        """Nothing is held outside the process."""
