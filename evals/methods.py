"""What a memory method is, to the evaluation: from a window and its history to turn ids.

The order of calls: `start_stream` for each new conversation, then for each of its windows
`prepare` once and `build` once per budget. Only `build` is timed. In the first two a method does
what a product would have done before the window came (index the turns, embed them) and what is
not memory building (calling a detection model).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, Protocol

from remember_graph.types import Turn

Detections = Literal["recorded", "local", "model"]


@dataclass(frozen=True, slots=True)
class MemoryCase:
    """One window for which a memory is to be built.

    Attributes:
        window_id: The bench's name of the window.
        history: Every turn before the window; the first turns of the stream.
        history_tokens: What each of them costs.
        window: The turns the memory is for.
        gaps: Recorded detections, in the form of `detections.jsonl`; None where none are used.
        budget: Most tokens of the memory.
    """

    window_id: str
    history: tuple[Turn, ...]
    history_tokens: tuple[int, ...]
    window: tuple[Turn, ...]
    gaps: Sequence[Mapping[str, Any]] | None
    budget: int

    @property
    def cost(self) -> dict[str, int]:
        """Tokens of each history turn, by its id."""
        ids = (turn.id for turn in self.history)
        return dict(zip(ids, self.history_tokens, strict=True))


class MemoryMethod(Protocol):
    """A way to choose history turns; subclass it to inherit hooks that do nothing."""

    @property
    def name(self) -> str:
        """As in `--methods` and in the report."""
        ...

    @property
    def uses_detections(self) -> bool:
        """Whether it goes by the window's gaps, recorded or detected by itself."""
        ...

    def start_stream(self, turns: Sequence[Turn], tokens: Sequence[int]) -> None:
        """A new conversation comes, given whole; every case until the next call is from it.

        A case's history is the turns before its window: those after must not be looked at. Without
        distractors a stream is a dialogue and is given once; with them it may differ by window.
        """
        return None  # a body, so that it is a hook which a method need not have

    def prepare(self, case: MemoryCase) -> None:
        """The next window comes; called once, whatever the number of budgets. Not timed."""
        return None

    def build(self, case: MemoryCase) -> list[str]:
        """Ids of the memory's turns: from the history, none twice, within the budget. Timed."""
        ...
