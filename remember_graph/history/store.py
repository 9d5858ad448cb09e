"""Where turns are kept: the protocol and its values.

The log of verbatim turns is the only truth. A store holds for each namespace (tenant, stream) the
turns in the order of their arrival, each at a position that no other turn ever gets; beside them
what can be made of them again: terms and token counts, vectors by model, summaries. Nothing is
read or searched across namespaces.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from remember_graph.types import Turn

Vector = NDArray[np.float32]


class Namespace(NamedTuple):
    """Whose conversation: nothing is ever searched across namespaces."""

    tenant: str
    stream: str


@dataclass(frozen=True, slots=True)
class Derived:
    """What indexing a turn needs and only its text decides.

    Attributes:
        tokens: Cost of `speaker: text`.
        terms: Its distinct terms.
        counts: How often each occurs.
        by: Names the counter and the release of the term extraction; values of another are stale.
    """

    tokens: int
    terms: tuple[str, ...]
    counts: tuple[int, ...]
    by: str


@dataclass(frozen=True, slots=True)
class Record:
    """A turn as it is stored.

    Attributes:
        turn: The turn.
        vector: Its vector under `vector_model`.
        vector_model: Id of the model.
        derived: Terms and tokens, where they were kept.
        position: Its place in the log; given by the store.
        hidden: Whether it is kept in the log and left out of every search; see `hide`.
    """

    turn: Turn
    vector: Vector | None = None
    vector_model: str | None = None
    derived: Derived | None = None
    position: int = -1
    hidden: bool = False


@dataclass(frozen=True, slots=True)
class Selection:
    """Which turns of a stream; all of them where nothing is said.

    Attributes:
        ids: Only these turns.
        speaker: Only turns of this speaker.
        since: Only turns at this time (ISO 8601) or later; a turn without a time is not selected.
        until: Only turns before this time.
        all_but_latest: Of the turns that the rest selects, all but so many at the end of the log.
    """

    ids: tuple[str, ...] | None = None
    speaker: str | None = None
    since: str | None = None
    until: str | None = None
    all_but_latest: int = 0

    @property
    def is_everything(self) -> bool:
        """Whether it selects the whole stream."""
        return self == Selection()


@dataclass(frozen=True, slots=True)
class Forgotten:
    """What was removed, by layer.

    Attributes:
        turns: Turns of the log, with their terms.
        vectors: Vectors of any model.
        summaries: Summaries that rested on one of the turns; their text is gone.
    """

    turns: int = 0
    vectors: int = 0
    summaries: int = 0

    def __add__(self, other: Forgotten) -> Forgotten:
        return Forgotten(
            self.turns + other.turns,
            self.vectors + other.vectors,
            self.summaries + other.summaries,
        )


@dataclass(frozen=True, slots=True)
class Retention:
    """How much of a stream is kept; None is no bound.

    Attributes:
        max_age_s: Turns whose time lies further back than so many seconds go. A turn without a
            time has no age.
        max_turns: Only so many turns stay, the latest of the log.
    """

    max_age_s: float | None = None
    max_turns: int | None = None


class Near(NamedTuple):
    """A turn that is close to a query."""

    position: int
    cosine: float


@dataclass(frozen=True, slots=True)
class StoredSummary:
    """A catch-up that was kept.

    Attributes:
        created: When, ISO 8601 in UTC.
        result: The `CatchUp`; None where it is stale, since it quotes what must be gone.
        stale: Why it no longer holds; None where it does.
    """

    created: str
    result: Mapping[str, Any] | None
    stale: str | None


class TurnStore(Protocol):
    """A log of turns per namespace. Raises `HistoryError` where it cannot be read or written."""

    def known(self, namespace: Namespace, ids: Sequence[str]) -> dict[str, Turn]:
        """The turns of these ids that are there."""

    def append(self, namespace: Namespace, records: Sequence[Record]) -> int:
        """Append the records whose id is new, all or none; how many that were."""

    def read(
        self,
        namespace: Namespace,
        start: int = 0,
        *,
        vector_model: str | None = None,
        limit: int | None = None,
    ) -> list[Record]:
        """The records from position `start` on, in order, with their vectors of one model.

        At most `limit` of them; hidden ones are among them.
        """

    def turns_at(self, namespace: Namespace, positions: Sequence[int]) -> dict[int, Turn]:
        """The turns at those of these positions that hold one."""

    def count(self, namespace: Namespace) -> int:
        """How many turns the stream has."""

    def generation(self, namespace: Namespace) -> int:
        """A number that changes with every edit and removal; 0 where there is no such stream."""

    def add_vectors(
        self,
        namespace: Namespace,
        model: str,
        vectors: Mapping[int, Vector],
        *,
        generation: int | None = None,
    ) -> bool:
        """Store vectors by position; those of positions that are gone are dropped.

        Nothing is stored, and False returned, where the stream is of another generation: its
        texts may no longer be those that the vectors were made of.
        """

    def vectors(
        self, namespace: Namespace, model: str, positions: Sequence[int] | None = None
    ) -> dict[int, Vector]:
        """Those vectors of these positions that are there; None asks for all of the stream."""

    def vector_models(self, namespace: Namespace) -> dict[str, int]:
        """How many vectors the stream has of each model."""

    def nearest(
        self, namespace: Namespace, model: str, queries: Sequence[Vector], k: int
    ) -> list[list[Near]]:
        """Per query the `k` turns of the stream with the closest vectors, best first."""

    def drop_vectors(self, namespace: Namespace, *, keep_model: str) -> int:
        """Remove the vectors of every other model; how many that were."""

    def edit(self, namespace: Namespace, record: Record, *, wipe: bool = True) -> bool:
        """Put the record in the place of the turn of its id; whether there was one.

        The old text, its terms and vectors are gone; summaries that rested on it become stale.
        Without `wipe` its bytes may stay on the medium until the next call with it.
        """

    def hide(self, namespace: Namespace, ids: Sequence[str], *, hidden: bool = True) -> int:
        """Leave turns out of searches, or take them in again; how many that changed.

        They stay in the log: it is for what was said on a branch of a conversation that was left.
        """

    def forget(self, namespace: Namespace, selection: Selection, *, wipe: bool = True) -> Forgotten:
        """Remove turns and all that was made of them, in one transaction.

        Without `wipe` their bytes may stay on the medium until the next call with it.
        """

    def forget_tenant(self, tenant: str) -> Forgotten:
        """Remove every stream of a tenant, in one transaction."""

    def retention(self, namespace: Namespace) -> Retention:
        """How much of the stream is to be kept."""

    def set_retention(self, namespace: Namespace, retention: Retention) -> None:
        """Note how much is to be kept, in a stream that is made where it is not there.

        Nothing is removed by this; the note goes when the whole stream is forgotten.
        """

    def save_summary(
        self, namespace: Namespace, result: Mapping[str, Any], *, generation: int | None = None
    ) -> None:
        """Keep a `CatchUp` of the stream; the oldest beyond the last 20 go.

        It is not kept where a turn it rests on is gone, or where the stream is of another
        generation: it may then quote what must be gone.
        """

    def summaries(self, namespace: Namespace) -> list[StoredSummary]:
        """The kept ones, the latest first."""

    def streams(self) -> list[tuple[Namespace, int]]:
        """Every namespace with its number of turns."""

    def close(self) -> None:
        """Release what is held; the store cannot be used afterwards."""


SUMMARIES_KEPT = 20


def turns_of(result: Mapping[str, Any]) -> set[str]:
    """Ids of all turns whose text a `CatchUp` holds or rests on."""
    cited = {id for sentence in result["summary"]["sentences"] for id in sentence["cites"]}
    return cited | set(result["window"]) | {turn["turn_id"] for turn in result["memory"]}
