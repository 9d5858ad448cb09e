"""The conversations of a bench as a product would meet them, each with its windows in order."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from remember_graph.evals.bench_types import Bench, BenchDialogue, BenchWindow
from remember_graph.evals.distractors import (
    Distractors,
    distractors_needed,
    load_distractors,
    with_distractors,
)


@dataclass(frozen=True, slots=True)
class Stream:
    """A conversation, distractors included, and the windows that are looked at in it."""

    conversation: BenchDialogue
    windows: tuple[BenchWindow, ...]


def bench_streams(bench: Bench, history_tokens: int | None = None) -> Iterator[Stream]:
    """The bench's streams, dialogues in the order of their first window.

    Args:
        bench: Where they are from.
        history_tokens: Fewest tokens before each window (see `distractors.py`); windows that need
            the same distractors in front, or none, share a stream.

    Raises:
        BenchFormatError: There are not enough distractors.
    """
    distractors = Distractors() if history_tokens is None else load_distractors(bench.path)
    for name in dict.fromkeys(window.dialogue for window in bench.windows):
        dialogue = bench.dialogues[name]
        windows = sorted(
            (window for window in bench.windows if window.dialogue == name),
            key=lambda window: dialogue.positions[window.first],
        )
        shared: dict[int, list[BenchWindow]] = {}
        for window in windows:
            count = distractors_needed(
                dialogue, distractors, history_tokens or 0, first=window.first
            )
            shared.setdefault(count, []).append(window)
        for count, sharing in shared.items():
            yield Stream(with_distractors(dialogue, distractors, count), tuple(sharing))
