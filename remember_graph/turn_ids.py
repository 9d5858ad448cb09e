"""Ids for turns that came without one: the same turn gets the same id on every reading.

An id is a hash of speaker, time and text; turns that say the same at the same time are told
apart by their place among their equals. A longer export of the same chat begins with the
turns of the shorter one, so it gives those the same ids and adding it again adds only the rest.
"""

from __future__ import annotations

import hashlib
import json
import unicodedata
from collections import Counter
from collections.abc import Iterable
from dataclasses import replace

from remember_graph.types import Turn

_HEX_DIGITS = 16  # 64 bits: a clash is expected only among billions of turns of one stream


def assign_ids(turns: Iterable[Turn]) -> list[Turn]:
    """The turns in their order, each with an id; a turn that has one keeps it.

    Example:
        >>> first, second = assign_ids([Turn("Ana", "ok"), Turn("Ana", "ok")])
        >>> second.id == first.id + "-2"
        True
    """
    occurrences: Counter[str] = Counter()
    named = []
    for turn in turns:
        if turn.id:
            named.append(turn)
            continue
        digest = _content_hash(turn)
        occurrences[digest] += 1
        suffix = f"-{occurrences[digest]}" if occurrences[digest] > 1 else ""
        named.append(replace(turn, id=f"t{digest}{suffix}"))
    return named


def _content_hash(turn: Turn) -> str:
    # A JSON list keeps ("ab", "c") and ("a", "bc") apart, and no time apart from an empty one;
    # its ASCII form can be encoded whatever the text holds. NFC: a file that was copied over
    # another system may hold the same letters in decomposed form.
    fields = [_nfc(turn.speaker), turn.time, _nfc(turn.text)]
    return hashlib.sha256(json.dumps(fields).encode("ascii")).hexdigest()[:_HEX_DIGITS]


def _nfc(text: str) -> str:
    return unicodedata.normalize("NFC", text)
