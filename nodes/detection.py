"""What gap detection yields, and the protocol of whoever detects."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Protocol, get_args

from remember_graph.model_steps import Steps
from remember_graph.state import Gap, GapKind
from remember_graph.view import WindowView

KINDS: tuple[str, ...] = get_args(GapKind)


@dataclass(frozen=True, slots=True)
class Detection:
    """What a detector found.

    Attributes:
        gaps: Numbered `g1`, `g2`, … by falling salience.
        degraded: What did not go as it should.
        spare_used: Whether the run's spare model call is gone.
        by_model: Whether a model wrote the queries.
    """

    gaps: list[Gap]
    degraded: list[str] = field(default_factory=list)
    spare_used: bool = False
    by_model: bool = False


class GapDetector(Protocol):
    """Finds the gaps of a window."""

    def detect(self, view: WindowView) -> Steps[Detection]:
        """The steps to a detection; a detector that asks no model yields nothing."""


def number_gaps(gaps: Sequence[Gap]) -> list[Gap]:
    """The gaps with the ids `g1`, `g2` and so on."""
    return [{**gap, "id": f"g{number}"} for number, gap in enumerate(gaps, start=1)]


def new_gap(
    turn_id: str, kind: str, *, missing: str, query: str, anchors: list[str], salience: float
) -> Gap:
    """A gap that nothing was looked up for yet."""
    return {
        "id": "",
        "turn_id": turn_id,
        "kind": kind,  # type: ignore[typeddict-item]  # checked by the callers against KINDS
        "missing": missing,
        "query": query,
        "anchors": anchors,
        "salience": salience,
        "status": "not_in_history",
        "evidence": [],
    }
