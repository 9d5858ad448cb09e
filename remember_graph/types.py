"""The values of the public API: a turn, and what adding turns reports."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Literal, cast

from remember_graph.errors import ConfigError
from remember_graph.state import TurnDict

TurnKind = Literal["message", "system"]

_TEXTS = {
    "speaker": "a str",
    "text": "a str",
    "id": "a str",
    "time": "a str or None",
    "reply_to": "a str or None",
    "thread": "a str or None",
}


def well_formed(text: str, errors: str = "backslashreplace") -> str:
    """The text without lone surrogates, which neither databases nor checkpointers can hold.

    Args:
        text: Any str.
        errors: `backslashreplace` keeps different names different; `replace` reads better.
    """
    if text.isascii():
        return text
    return text.encode("utf-8", errors).decode("utf-8")


@dataclass(frozen=True, slots=True)
class Turn:
    """One utterance of a conversation.

    Attributes:
        speaker: Who said it, as shown to a reader; may be empty.
        text: What was said, verbatim.
        time: ISO 8601; with an offset where the zone is known, without where it is not;
            None where there is no time. A `datetime` is turned into its ISO form.
        id: Unique in its stream. Empty: given on adding, from speaker, time and text.
        kind: `system` for lines of the chat program itself ("Ana joined").
        reply_to: The id of the turn this one answers, where the source says so.
        thread: The reply thread inside the stream, where the source has threads.
        edited: Whether the source marks the text as edited.

    Example:
        >>> Turn("Ana", "We take the blue one.", id="7").line
        'Ana: We take the blue one.'
    """

    speaker: str
    text: str
    time: str | None = None
    id: str = ""
    kind: TurnKind = "message"
    reply_to: str | None = None
    thread: str | None = None
    edited: bool = False

    def __post_init__(self) -> None:
        if isinstance(self.time, datetime):
            object.__setattr__(self, "time", self.time.isoformat())
        for name, allowed in _TEXTS.items():
            value = getattr(self, name)
            if isinstance(value, str):
                if not value.isascii():
                    errors = "replace" if name in ("speaker", "text") else "backslashreplace"
                    object.__setattr__(self, name, well_formed(value, errors))
            elif value is not None or "None" not in allowed:
                raise ConfigError(f"`{name}` of a turn must be {allowed}, got {value!r}")
        if self.kind not in ("message", "system"):
            raise ConfigError(f"`kind` of a turn must be message or system, got {self.kind!r}")

    @property
    def line(self) -> str:
        """The turn as it is counted, indexed and shown: `speaker: text`."""
        return f"{self.speaker}: {self.text}" if self.speaker else self.text

    def to_dict(self) -> TurnDict:
        """The turn as plain JSON."""
        return cast("TurnDict", dataclasses.asdict(self))

    @classmethod
    def from_dict(cls, value: Mapping[str, Any]) -> Turn:
        """The turn of a mapping; keys that are not fields are ignored."""
        for name in ("speaker", "text"):
            if name not in value:
                raise ConfigError(f"`{name}` of a turn is missing, got {sorted(value)}")
        return cls(**{key: item for key, item in value.items() if key in _FIELDS})


_FIELDS = frozenset(field.name for field in dataclasses.fields(Turn))


def trusted_turn(
    speaker: str,
    text: str,
    time: str | None,
    id: str,
    kind: TurnKind,
    reply_to: str | None,
    thread: str | None,
    edited: bool,
) -> Turn:
    """A turn of values that a turn had before (a store reads thousands of them): no check."""
    turn = object.__new__(Turn)
    put = object.__setattr__
    put(turn, "speaker", speaker)
    put(turn, "text", text)
    put(turn, "time", time)
    put(turn, "id", id)
    put(turn, "kind", kind)
    put(turn, "reply_to", reply_to)
    put(turn, "thread", thread)
    put(turn, "edited", edited)
    return turn


@dataclass(frozen=True, slots=True)
class AddReport:
    """What became of the turns of one `add`.

    Attributes:
        added: How many turns are new.
        known: How many were there already, word for word; nothing changed for them.
        changed: Ids that are there with another text; the log keeps the first text.
        without_vector: How many of the new ones have no vector yet: it is being made in the
            background, or the embedding model failed. They are found by their words.
        retired: How many turns the stream's retention then removed.
    """

    added: int = 0
    known: int = 0
    changed: tuple[str, ...] = ()
    without_vector: int = 0
    retired: int = 0
