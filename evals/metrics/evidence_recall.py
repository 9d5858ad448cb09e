"""How much of the annotated evidence does a memory hold?

A gap is recalled when the memory holds every turn of at least one of its evidence lists, each of
which is sufficient on its own. Turns count whole and by id: no judge, no text comparison. With no
gaps there is nothing to recall, and no score.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class EvidenceRecall:
    """A score and why it is what it is.

    Attributes:
        score: Share of the gaps that are recalled; None where there are no gaps.
        reason: One line for a reader.
    """

    score: float | None
    reason: str


def recalled(evidence: Iterable[Iterable[str]], memory_ids: Collection[str]) -> bool:
    """Whether the memory holds every turn of at least one list of evidence.

    Example:
        >>> recalled([["u1", "u2"], ["u7"]], {"u1", "u7"})
        True
        >>> recalled([["u1", "u2"]], {"u1"})
        False
    """
    held = set(memory_ids)
    return any(held.issuperset(alternative) for alternative in evidence)


def evidence_recall(
    gaps: Mapping[str, Sequence[Sequence[str]]], memory_ids: Collection[str]
) -> EvidenceRecall:
    """The share of gaps that a memory recalls, and what it lacks for the others.

    Args:
        gaps: Per gap id its lists of evidence.
        memory_ids: Ids of the memory's turns.

    Example:
        >>> evidence_recall({"g0": [["u1"]], "g1": [["u2", "u3"]]}, ["u1", "u2"])
        EvidenceRecall(score=0.5, reason='1 of 2 gaps recalled; g1 lacks u3')
    """
    if not gaps:
        return EvidenceRecall(None, "no gaps")
    held = set(memory_ids)
    lacking = {id: _least_lacking(evidence, held) for id, evidence in gaps.items()}
    hits = sum(not ids for ids in lacking.values())
    reason = [f"{hits} of {len(gaps)} gaps recalled"]
    reason += [f"{id} lacks {', '.join(ids)}" for id, ids in lacking.items() if ids]
    return EvidenceRecall(hits / len(gaps), "; ".join(reason))


def _least_lacking(evidence: Sequence[Sequence[str]], held: set[str]) -> list[str]:
    """What the alternative that is nearest to being held still lacks."""
    lacking = [[id for id in alternative if id not in held] for alternative in evidence]
    return min(lacking, key=len)
