"""What a log of turns looks like as items of a LangGraph `BaseStore`, and how they are moved."""

from __future__ import annotations

import base64
import json
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from hashlib import blake2b
from typing import Any

import numpy as np
from langgraph.store.base import BaseStore, GetOp, PutOp, SearchOp

from remember_graph.chat_models import first_line
from remember_graph.errors import HistoryError
from remember_graph.history.store import Derived, Namespace, Record, Vector
from remember_graph.types import Turn

Folder = tuple[str, ...]

_PLAIN = re.compile(r"[A-Za-z0-9_-]{1,80}")
_AT_ONCE = 1_000  # SQLite takes 32,766 parameters in a statement, and an item is five
_FIRST_SEARCH = 1_000


def label(name: str) -> str:
    """The name as a label or key: itself where every store can hold it, else a hash.

    Labels may be neither empty nor hold a dot, PostgreSQL holds no NUL, and its index no long key.

    Example:
        >>> label("thread-1")
        'thread-1'
        >>> label("ana@example.org")
        '~82ce48d394b1f0f36c076402150145ad'
    """
    if _PLAIN.fullmatch(name):
        return name
    data = name.encode("utf-8", "surrogatepass")
    return f"~{blake2b(data, digest_size=16).hexdigest()}"


@dataclass(frozen=True, slots=True)
class Meta:
    """What is noted of a stream.

    Attributes:
        tenant: Whose it is.
        stream: Its name.
        generation: Changes with every edit and removal.
        first: No turn stands before this position.
        next: The position of the next turn.
        count: How many turns there are.
        max_age_s: See `Retention`.
        max_turns: See `Retention`.
    """

    tenant: str
    stream: str
    generation: int
    first: int = 0
    next: int = 0
    count: int = 0
    max_age_s: float | None = None
    max_turns: int | None = None

    @property
    def namespace(self) -> Namespace:
        """Where the stream is."""
        return Namespace(self.tenant, self.stream)

    def to_json(self) -> dict[str, Any]:
        """As JSON."""
        return asdict(self)


@dataclass(frozen=True, slots=True)
class Entry:
    """A turn with its vectors by model."""

    record: Record
    vectors: Mapping[str, Vector]

    def with_vector(self, model: str | None) -> Record:
        """The turn as it is given out, with its vector of one model."""
        vector = None if model is None else self.vectors.get(model)
        return (
            self.record
            if vector is None
            else replace(self.record, vector=vector, vector_model=model)
        )

    def to_json(self) -> dict[str, Any]:
        """As JSON; vectors in half precision."""
        record = self.record
        return {
            "position": record.position,
            "turn": record.turn.to_dict(),
            "hidden": record.hidden,
            "derived": asdict(record.derived) if record.derived else None,
            "vectors": {model: _packed(vector) for model, vector in self.vectors.items()},
        }

    @classmethod
    def from_json(cls, value: Mapping[str, Any]) -> Entry:
        """Back from JSON."""
        derived = value["derived"]
        if derived is not None:
            terms, counts = tuple(derived["terms"]), tuple(derived["counts"])
            derived = Derived(**{**derived, "terms": terms, "counts": counts})
        record = Record(
            Turn.from_dict(value["turn"]),
            derived=derived,
            position=value["position"],
            hidden=value["hidden"],
        )
        vectors = {model: _unpacked(text) for model, text in value["vectors"].items()}
        return cls(record, vectors)


def _packed(vector: Vector) -> str:
    return base64.b64encode(np.asarray(vector, "<f2").tobytes()).decode("ascii")


def _unpacked(text: str) -> Vector:
    return np.frombuffer(base64.b64decode(text), "<f2").astype(np.float32)


def put(folder: Folder, key: str, value: Any) -> PutOp:  # noqa: ANN401 - any JSON
    """What puts JSON into a folder.

    It is put as one text, in which JSON escapes the NUL that PostgreSQL does not hold, and is
    never indexed: the store's own embeddings have no use for it.
    """
    text = json.dumps(value, ensure_ascii=False)
    return PutOp(folder, key, {"json": text}, index=False)


def delete(folder: Folder, key: str) -> PutOp:
    """What removes an item."""
    return PutOp(folder, key, None)


class Items:
    """Reads and writes items in batches.

    Raises `HistoryError` where the store fails.

    Args:
        store: The user's.
    """

    def __init__(self, store: BaseStore) -> None:
        self._store = store

    def get(self, folder: Folder, keys: Sequence[str]) -> dict[str, Any]:
        """The JSON at those of these keys that are there."""
        found: dict[str, Any] = {}
        for at in range(0, len(keys), _AT_ONCE):
            some = keys[at : at + _AT_ONCE]
            items = self._batch([GetOp(folder, key) for key in some])
            found |= {
                key: json.loads(item.value["json"])
                for key, item in zip(some, items, strict=True)
                if item is not None
            }
        return found

    def all_under(self, folder: Folder) -> list[Any]:
        """The JSON of every item in a folder and those below it.

        Pages of a store that sorts by time of change may overlap; a larger page never does.
        """
        limit = _FIRST_SEARCH
        while True:
            (items,) = self._batch([SearchOp(folder, limit=limit)])
            if len(items) < limit:
                break
            limit *= 4
        # Some stores compare the text of a prefix, in which one label may begin like another.
        own = [item for item in items if item.namespace[: len(folder)] == folder]
        return [json.loads(item.value["json"]) for item in own]

    def write(self, changes: Iterable[PutOp]) -> None:
        """Put and remove, in this order where it takes several batches."""
        changes = list(changes)
        for at in range(0, len(changes), _AT_ONCE):
            self._batch(changes[at : at + _AT_ONCE])

    def _batch(self, operations: Sequence[GetOp | PutOp | SearchOp]) -> list[Any]:
        try:
            return list(self._store.batch(operations))
        except Exception as error:  # every store raises its own classes
            reason = f"{type(error).__name__}: {first_line(error)}"
            raise HistoryError(f"the LangGraph store failed: {reason}") from error
