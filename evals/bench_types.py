"""What a bench holds: dialogues, windows, gaps with their evidence, and what was recorded."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, get_args

from remember_graph.errors import BenchFormatError
from remember_graph.state import GapKind
from remember_graph.types import Turn

KINDS: tuple[str, ...] = get_args(GapKind)
Evidence = tuple[tuple[str, ...], ...]
"""Lists of turn ids; each list is sufficient on its own."""


@dataclass(frozen=True)
class BenchDialogue:
    """A whole conversation, with the bench's own token count of every turn."""

    id: str
    domain: str
    source: str
    turns: tuple[Turn, ...]
    tokens: tuple[int, ...]

    @cached_property
    def positions(self) -> Mapping[str, int]:
        """Where each turn stands, by its id."""
        return {turn.id: at for at, turn in enumerate(self.turns)}


@dataclass(frozen=True, slots=True)
class BenchGap:
    """Something a window leans on, and which earlier turns supply it."""

    id: str
    utterance: tuple[str, ...]
    kind: GapKind
    missing: str
    resolution: str
    evidence: Evidence
    votes: int


@dataclass(frozen=True, slots=True)
class BenchWindow:
    """A stretch of a dialogue, from turn `first` to turn `last`, both included."""

    id: str
    dialogue: str
    domain: str
    first: str
    last: str
    history_tokens: int
    salient: tuple[tuple[str, ...], ...]
    gaps: tuple[BenchGap, ...]


@dataclass(frozen=True, slots=True)
class Bench:
    """A bench folder, read and checked.

    Attributes:
        name: The folder's name.
        path: The folder.
        dialogues: By id.
        windows: In the order of the file.
        detections: What a detector wrote, per window id in the form of `detections.jsonl`;
            None where nothing was recorded.
        selections: Chosen turn ids per detection, per window id; None where not recorded.
    """

    name: str
    path: Path
    dialogues: Mapping[str, BenchDialogue]
    windows: tuple[BenchWindow, ...]
    detections: Mapping[str, list[dict[str, Any]]] | None = None
    selections: Mapping[str, tuple[tuple[str, ...], ...]] | None = None

    def recorded_gaps(self, window_id: str) -> list[dict[str, Any]]:
        """The recorded detections of a window.

        Raises:
            BenchFormatError: None were recorded for it.
        """
        path = self.path / "detections.jsonl"
        if self.detections is None:
            raise BenchFormatError(f"{path}: no such file; recorded detections need it")
        if window_id not in self.detections:
            raise BenchFormatError(f"{path}: no line for window {window_id!r}; each needs one")
        return self.detections[window_id]
