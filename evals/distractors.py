"""Longer histories: turns of other conversations, put in front of a bench dialogue.

The rule: the turns of the distractor dialogues stand in one line, in the order of their file
names. From its start as many are taken as are needed so that they and the window's own history
have at least the tokens asked for; they come before the dialogue's first turn. It is applied per
window: every history is about as long as asked, and longer only where its own turns already are.
"""

from __future__ import annotations

import dataclasses
from bisect import bisect_left
from itertools import accumulate
from pathlib import Path

from remember_graph.errors import BenchFormatError
from remember_graph.evals.bench import load_dialogues
from remember_graph.evals.bench_types import BenchDialogue
from remember_graph.types import Turn


@dataclasses.dataclass(frozen=True, slots=True)
class Distractors:
    """The turns of all distractor dialogues in one line.

    Attributes:
        turns: Their ids are `<distractor>/<turn id>`: turn ids repeat between dialogues.
        tokens: Of each turn.
        running: Tokens of the turns up to and with each.
    """

    turns: tuple[Turn, ...] = ()
    tokens: tuple[int, ...] = ()
    running: tuple[int, ...] = ()


def load_distractors(bench: Path) -> Distractors:
    """The distractors of a bench folder; none where it has no folder for them.

    Raises:
        BenchFormatError: A file is not in the format.
    """
    folder = bench / "distractors"
    return line_up(load_dialogues(folder)) if folder.exists() else Distractors()


def line_up(dialogues: list[BenchDialogue]) -> Distractors:
    """The turns of these dialogues, one dialogue after the other."""
    tokens = tuple(count for dialogue in dialogues for count in dialogue.tokens)
    return Distractors(
        turns=tuple(
            dataclasses.replace(turn, id=f"{dialogue.id}/{turn.id}")
            for dialogue in dialogues
            for turn in dialogue.turns
        ),
        tokens=tokens,
        running=tuple(accumulate(tokens)),
    )


def with_distractors(
    dialogue: BenchDialogue, distractors: Distractors, count: int
) -> BenchDialogue:
    """The dialogue behind the first `count` distractor turns."""
    if not count:
        return dialogue
    return dataclasses.replace(
        dialogue,
        turns=(*distractors.turns[:count], *dialogue.turns),
        tokens=(*distractors.tokens[:count], *dialogue.tokens),
    )


def distractors_needed(
    dialogue: BenchDialogue, distractors: Distractors, minimum_tokens: int, *, first: str
) -> int:
    """How many distractor turns make the history before turn `first` long enough.

    Raises:
        BenchFormatError: All distractors together are not enough.
    """
    own = sum(dialogue.tokens[: dialogue.positions[first]])
    missing = minimum_tokens - own
    if missing <= 0:
        return 0
    there = distractors.running[-1] if distractors.running else 0
    if there < missing:
        raise BenchFormatError(
            f"{dialogue.id}: a history of {minimum_tokens} tokens before {first!r} was asked for; "
            f"its own {own} and the {there} of all distractors make {own + there}, the most allowed"
        )
    return bisect_left(distractors.running, missing) + 1
