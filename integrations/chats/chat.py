"""A chat as it was read: its turns, and an account of what the export held.

Every reader hands over a `Draft`: turns with the times and ids that the export has. What is the
same for all formats happens here: ids, repeated records, the zone, the account.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from datetime import tzinfo

from remember_graph.integrations.chats.decode import one_line
from remember_graph.integrations.chats.zones import is_naive, place_in_zone
from remember_graph.turn_ids import assign_ids
from remember_graph.types import Turn

_PLACES_SHOWN = 5


@dataclass(frozen=True, slots=True)
class LineCount:
    """What became of the records of an export: `messages + system + skipped == records`.

    Attributes:
        records: How many the export holds; a message over several lines is one.
        messages: How many became turns of people.
        system: How many became turns of the chat program.
        skipped: How many gave no turn: unreadable, or the repetition of another.
        repeated: How many of the skipped are word for word in the export already.
    """

    records: int
    messages: int
    system: int
    skipped: int = 0
    repeated: int = 0


@dataclass(frozen=True, slots=True)
class Chat:
    """One conversation of an export.

    Attributes:
        turns: In conversation order, each with an id that is unique among them.
        format: The name of the format it was read as.
        name: The channel's name, or the file's name without its ending.
        notes: Decisions and doubts of the reader, one sentence each.
        lines: What became of the records of the export.
    """

    turns: tuple[Turn, ...]
    format: str
    name: str
    notes: tuple[str, ...] = ()
    lines: LineCount = LineCount(0, 0, 0)


@dataclass(slots=True)
class Unread:
    """The records of which no turn could be made, and where they are."""

    what: str = "line"
    count: int = 0
    places: list[str] = field(default_factory=list)

    def add(self, place: object) -> None:
        """Counts a record; only the first few places are kept."""
        self.count += 1
        if len(self.places) < _PLACES_SHOWN:
            self.places.append(str(place))

    def notes(self) -> list[str]:
        """One sentence, or none when all was read."""
        if not self.count:
            return []
        more = ", …" if self.count > len(self.places) else ""
        noun = self.what if self.count == 1 else f"{self.what}s"
        return [f"{self.count} {noun} could not be read: {', '.join(self.places)}{more}."]


@dataclass(frozen=True, slots=True)
class Draft:
    """What a reader found, before ids and zone.

    Attributes:
        turns: One for each record that could be read; without an id where there is none.
        name: The chat's name.
        records: How many records the reader came across, counted one by one.
        unread: Those of which it could make no turn.
        repeated: Those that it left out because another record says the same.
        notes: One sentence for each decision or doubt.
    """

    turns: Sequence[Turn]
    name: str
    records: int
    unread: Unread
    repeated: int = 0
    notes: Sequence[str] = ()


def finish_chat(draft: Draft, *, format: str, zone: tzinfo | None) -> Chat:
    """The chat of a draft, in a zone if one is given."""
    # Ids come before the zone: reading again with another `--tz` must not add all turns anew.
    turns, repeated, id_notes = _settle_ids(assign_ids(draft.turns))
    zone_notes = []
    if zone is not None:
        times = place_in_zone((turn.time for turn in turns), zone)
        turns = [replace(turn, time=time) for turn, time in zip(turns, times, strict=True)]
    elif any(is_naive(turn.time) for turn in turns):
        zone_notes = ["Times have no zone; pass --tz to say which."]
    system = sum(turn.kind == "system" for turn in turns)
    lines = LineCount(
        records=draft.records,
        messages=len(turns) - system,
        system=system,
        skipped=draft.unread.count + draft.repeated + repeated,
        repeated=draft.repeated + repeated,
    )
    notes = (*draft.notes, *draft.unread.notes(), *id_notes, *zone_notes)
    return Chat(
        tuple(turns),
        format=format,
        name=draft.name,
        notes=tuple(map(one_line, notes)),  # they name channels and files of the export
        lines=lines,
    )


def _settle_ids(turns: Sequence[Turn]) -> tuple[list[Turn], int, list[str]]:
    """The turns with unique ids, how many were repetitions, and what to say about it.

    A turn with an id that was used before is a repetition when speaker, time and text are the
    same, else it gets `<id>#2`. In order, so that a longer export settles them alike.
    """
    settled: dict[str, Turn] = {}
    repeated: list[str] = []
    renamed: list[str] = []
    for turn in turns:
        id, occurrence = turn.id, 1
        while id in settled and not _say_the_same(settled[id], turn):
            occurrence += 1
            id = f"{turn.id}#{occurrence}"
        if id in settled:
            repeated.append(turn.id)
            continue
        if occurrence > 1:
            renamed.append(turn.id)
        settled[id] = turn if id == turn.id else replace(turn, id=id)
    return list(settled.values()), len(repeated), _id_notes(repeated, renamed)


def _say_the_same(one: Turn, other: Turn) -> bool:
    return (one.speaker, one.time, one.text) == (other.speaker, other.time, other.text)


def _id_notes(repeated: Sequence[str], renamed: Sequence[str]) -> list[str]:
    notes = []
    if repeated:
        notes.append(
            f"Records with the id and content of an earlier one, left out: {_some(repeated)}."
        )
    if renamed:
        notes.append(
            f"Ids used again for other content; the later ones got #2 and so on: {_some(renamed)}."
        )
    return notes


def _some(ids: Sequence[str]) -> str:
    shown = list(dict.fromkeys(ids))[:_PLACES_SHOWN]
    more = ", …" if len(ids) > len(shown) else ""
    return f"{len(ids)} ({', '.join(shown)}{more})"
