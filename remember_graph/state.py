"""The graph's state and its result, as plain JSON values.

Every value is a str, int, float, bool, None, list or dict, so that a state survives any
checkpointer. No field has a reducer: each run of a stream overwrites all of them.
"""

from __future__ import annotations

from typing import Literal, TypedDict

GapKind = Literal["referential", "attribute", "relational"]
GapStatus = Literal["resolved", "unresolved", "not_in_history"]
MemoryReason = Literal["gap", "recent", "fallback"]


class TurnDict(TypedDict):
    """A `Turn` as plain JSON."""

    speaker: str
    text: str
    time: str | None
    id: str
    kind: Literal["message", "system"]
    reply_to: str | None
    thread: str | None
    edited: bool


class Sentence(TypedDict):
    """One sentence of the summary."""

    text: str
    cites: list[str]
    """Ids of the turns it rests on, in the memory or the window."""
    gap_ids: list[str]
    """The gaps whose evidence it states."""
    status: Literal["supported", "unsupported"]
    """Supported: every id it cites exists in what the writer saw, and it cites one."""


class Summary(TypedDict):
    """The catch-up text."""

    text: str
    writer: Literal["model", "extractive"]
    sentences: list[Sentence]


class MemoryTurn(TypedDict):
    """One history turn that the summarizer sees."""

    turn_id: str
    speaker: str
    time: str | None
    text: str
    gap_ids: list[str]
    tokens: int
    """Cost of `speaker: text` under the configured counter."""
    reason: MemoryReason
    """gap: picked for a gap; recent: just before the window; fallback: the window as query."""


class Gap(TypedDict):
    """Something the window leans on and does not say."""

    id: str
    turn_id: str
    kind: GapKind
    missing: str
    query: str
    anchors: list[str]
    salience: float
    status: GapStatus
    evidence: list[str]
    """Ids of the memory's turns picked for this gap, best first."""


class Usage(TypedDict):
    """What a run cost."""

    memory_tokens: int
    budget: int
    window_tokens: int
    model_calls: int
    input_tokens: int
    output_tokens: int


class CatchUp(TypedDict):
    """The result of one run; the output of the graph, the CLI and the evals."""

    stream: str
    tenant: str
    window: list[str]
    """Ids of the window's turns, in order."""
    summary: Summary
    memory: list[MemoryTurn]
    """In the order of the conversation."""
    gaps: list[Gap]
    usage: Usage
    degraded: list[str]
    """One line for each thing that did not go as it should."""
    timings_ms: dict[str, float]


class Ranking(TypedDict):
    """Turns in order of falling score."""

    gap_id: str | None
    """The gap it serves; None for the whole window's."""
    related: list[str]
    """Those of its turns that are close enough to the gap to be its evidence."""
    turn_ids: list[str]
    scores: list[float]


class Candidates(TypedDict):
    """What retrieval found for one query, best first."""

    gap_id: str | None
    """The gap that asks; None where the window itself is the query."""
    related: list[str]
    """Those of its turns that are close enough to the gap to be its evidence."""
    turn_ids: list[list[str]]
    """Per candidate its turns: a chunk's, or a single one."""
    scores: list[float]


class GraphInput(TypedDict, total=False):
    """What a run is asked: which stream, and optionally which window of it."""

    stream: str
    """Default: the thread id of the run, else `default`."""
    tenant: str
    """Default: `default`."""
    turns: list[TurnDict]
    """Added to the stream first; those that are there already change nothing."""
    window_first: str | None
    """Id of the window's first turn; default: cut by size."""
    window_last: str | None
    """Id of the window's last turn; default: the stream's last. Later turns are not seen."""
    window_given: list[TurnDict]
    """The window itself, where it is no stretch of the stream. Turns from its first one on are
    not history."""
    visible: list[str]
    """Ids of turns that whoever asks has before their eyes; none of them is put into memory."""


class GraphState(CatchUp):
    """Everything the nodes share. The first five are the input's, emptied once they are read."""

    turns: list[TurnDict]
    window_first: str | None
    window_last: str | None
    window_given: list[TurnDict]
    visible: list[str]
    reader: str | None
    """Who will read the summary."""
    window_turns: list[TurnDict]
    history_turns: int
    """How many turns of the stream come before the window."""
    detector: Literal["model", "local"]
    """Who wrote the gaps' queries; decides how `remember` searches."""
    spare_used: bool
    """Whether the run's spare model call is gone."""
    candidates: list[Candidates]
    rankings: list[Ranking]
