"""A synthetic conversation for measuring speed: the same turns from the same seed.

Words are drawn from a Zipf vocabulary (frequency falls with rank), turn lengths from those of real
chats: most turns are short and a few are long.
"""

from __future__ import annotations

import random
from collections.abc import Iterator

from remember_graph.tokens import count_tokens
from remember_graph.types import Turn

# Words a turn: deciles of 11,000 turns of two-person chats and of meetings.
_LENGTHS = (2, 4, 6, 8, 11, 14, 18, 24, 33, 60)
_VOCABULARY = 30_000
_SPEAKERS = ("Ana", "Ben", "Cem", "Dora", "Eli")
_SYLLABLES = "ba be bi bo ka ke ki ko la le li lo ma me mi mo na ne ni no ra re ri ro ta te".split()


def _words(rng: random.Random) -> list[str]:
    """Different pronounceable words; frequent ones are short, as in languages."""
    words: dict[str, None] = {}
    while len(words) < _VOCABULARY:
        syllables = 1 + min(4, len(words) // 60 + 1) if len(words) < 300 else rng.randint(2, 4)
        words["".join(rng.choices(_SYLLABLES, k=syllables))] = None
    return list(words)


def synthetic_turns(tokens: int, seed: int = 7) -> Iterator[Turn]:
    """Turns until they cost at least so many tokens."""
    rng = random.Random(seed)
    words = _words(rng)
    weights = [1 / (rank + 2.7) for rank in range(len(words))]
    total, number = 0, 0
    while total < tokens:
        for text in _texts(rng, words, weights):
            turn = Turn(rng.choice(_SPEAKERS), text, id=f"u{number}")
            number += 1
            total += count_tokens(turn.line)
            yield turn
            if total >= tokens:
                return


def _texts(rng: random.Random, words: list[str], weights: list[float]) -> list[str]:
    """A hundred texts: drawing words one by one would take longer than what is measured."""
    lengths = rng.choices(_LENGTHS, k=100)
    drawn = iter(rng.choices(words, weights, k=sum(lengths)))
    return [" ".join(next(drawn) for _ in range(length)) for length in lengths]
