"""Records as rows of SQL tables, and back."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from remember_graph.history.store import Derived, Record
from remember_graph.types import Turn, trusted_turn

TURN = "turn_id, speaker, text, time, kind, reply_to, thread, edited"
DERIVED = "tokens, terms, counts, derived_by"

# Terms hold no spaces, so a text of them joined by spaces is the shortest form that is read fast.
_SEPARATOR = " "


def turn_row(record: Record) -> tuple[Any, ...]:
    """The values of `TURN` and `DERIVED`."""
    turn, derived = record.turn, record.derived
    texts = (turn.id, turn.speaker, turn.text, turn.time, turn.kind, turn.reply_to, turn.thread)
    if derived is None:
        return (*texts, int(turn.edited), None, None, None, None)
    counts = None if set(derived.counts) <= {1} else np.array(derived.counts, "<u4").tobytes()
    return (
        *texts,
        int(turn.edited),
        derived.tokens,
        _SEPARATOR.join(derived.terms),
        counts,
        derived.by,
    )


def turn_of(row: Sequence[Any]) -> Turn:
    """The turn of a row that begins with the values of `TURN`."""
    id, speaker, text, time, kind, reply_to, thread, edited = row[:8]
    return trusted_turn(speaker, text, time, id, kind, reply_to, thread, bool(edited))


def derived_of(row: Sequence[Any]) -> Derived | None:
    """What was derived, of a row that goes on with the values of `DERIVED`."""
    tokens, terms, counts, by = row[8:12]
    if by is None:
        return None
    words = tuple(terms.split(_SEPARATOR)) if terms else ()
    number = (1,) * len(words) if counts is None else tuple(np.frombuffer(counts, "<u4").tolist())
    return Derived(tokens, words, number, by)
