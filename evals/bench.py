"""Reads a bench folder: dialogues, windows with annotated gaps, and what was recorded for them.

The format: `dialogues/<id>.json`, `windows.jsonl` and, where they are there, `detections.jsonl`
and `selections.jsonl` (see `recordings.py`) and `distractors/` (see `distractors.py`). Every
field that is used is checked while it is read: a bench that loads can be evaluated.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import cast

from remember_graph.errors import BenchFormatError
from remember_graph.evals.bench_types import KINDS, Bench, BenchDialogue, BenchGap, BenchWindow
from remember_graph.evals.json_source import JsonObject, read_lines, read_object
from remember_graph.evals.recordings import load_detections, load_selections
from remember_graph.state import GapKind
from remember_graph.types import Turn


def load_bench(path: Path | str) -> Bench:
    """The bench of a folder.

    Raises:
        BenchFormatError: A part is missing or not in the format.
    """
    path = Path(path)
    if not path.is_dir():
        raise BenchFormatError(f"{path}: no such folder; a bench is a folder with windows.jsonl")
    dialogues = {dialogue.id: dialogue for dialogue in load_dialogues(path / "dialogues")}
    windows = _load_windows(path / "windows.jsonl", dialogues)
    turns_of = {window.id: _window_turns(window, dialogues) for window in windows}
    return Bench(
        name=path.resolve().name,
        path=path,
        dialogues=dialogues,
        windows=windows,
        detections=load_detections(path / "detections.jsonl", turns_of),
        selections=load_selections(path / "selections.jsonl", turns_of),
    )


def load_dialogues(folder: Path) -> list[BenchDialogue]:
    """The dialogues of a folder, in the order of the file names."""
    if not folder.is_dir():
        raise BenchFormatError(f"{folder}: no such folder; it holds one JSON file a dialogue")
    seen: dict[str, Path] = {}
    dialogues = []
    for path in sorted(folder.glob("*.json")):
        dialogue = _dialogue(read_object(path))
        if dialogue.id in seen:
            raise BenchFormatError(
                f"{path}: the id {dialogue.id!r} is that of {seen[dialogue.id].name} too; "
                "ids must be unique"
            )
        seen[dialogue.id] = path
        dialogues.append(dialogue)
    return dialogues


def _dialogue(source: JsonObject) -> BenchDialogue:
    turns, tokens = [], []
    known: set[str] = set()
    for item in source.objects("turns"):
        turn = Turn(
            speaker=item.text("speaker"),
            text=item.text("text"),
            time=item.text("time", default="") or None,
            id=item.name("id"),
        )
        if turn.id in known:
            raise item.error(f"`id` {turn.id!r} is there twice; ids must be unique in a dialogue")
        known.add(turn.id)
        turns.append(turn)
        tokens.append(item.count("tokens"))
    return BenchDialogue(
        id=source.name("id"),
        domain=source.text("domain"),
        source=source.text("source", default=""),
        turns=tuple(turns),
        tokens=tuple(tokens),
    )


def _load_windows(path: Path, dialogues: Mapping[str, BenchDialogue]) -> tuple[BenchWindow, ...]:
    windows: dict[str, BenchWindow] = {}
    for line in read_lines(path):
        window = _window(line, dialogues)
        if window.id in windows:
            raise line.error(f"`id` {window.id!r} is there twice; ids must be unique")
        windows[window.id] = window
    if not windows:
        raise BenchFormatError(f"{path}: no windows; at least one line is needed")
    if not any(window.gaps for window in windows.values()):
        raise BenchFormatError(f"{path}: no window has a gap; recall needs at least one")
    return tuple(windows.values())


def _window(source: JsonObject, dialogues: Mapping[str, BenchDialogue]) -> BenchWindow:
    name = source.text("dialogue")
    if name not in dialogues:
        raise source.error(f"`dialogue` {name!r} is unknown; there is no such id in dialogues/")
    dialogue = dialogues[name]
    first, last = source.text("first"), source.text("last")
    start, end = _position(source, dialogue, "first"), _position(source, dialogue, "last")
    if end < start:
        raise source.error(f"`last` {last!r} is before `first` {first!r}; it must not be")
    inside = {turn.id for turn in dialogue.turns[start : end + 1]}
    salient = source.text_lists("salient")
    _check_all(source, "salient", (id for ids in salient for id in ids), inside, "in the window")
    before = {turn.id for turn in dialogue.turns[:start]}
    return BenchWindow(
        id=source.name("id"),
        dialogue=name,
        domain=source.text("domain", default=dialogue.domain),
        first=first,
        last=last,
        history_tokens=source.count("history_tokens", default=sum(dialogue.tokens[:start])),
        salient=salient,
        gaps=tuple(_gap(item, before, inside) for item in source.objects("gaps")),
    )


def _position(source: JsonObject, dialogue: BenchDialogue, key: str) -> int:
    position = dialogue.positions.get(source.text(key))
    if position is None:
        raise source.error(f"`{key}` {source.text(key)!r} is not a turn of {dialogue.id!r}")
    return position


def _gap(source: JsonObject, before: set[str], inside: set[str]) -> BenchGap:
    utterance, evidence = source.texts("utterance"), source.text_lists("evidence")
    _check_all(source, "utterance", utterance, inside, "in the window")
    if not evidence or not all(evidence):
        raise source.error("`evidence` must be a list of lists with at least one turn id each")
    ids = (id for alternative in evidence for id in alternative)
    _check_all(source, "evidence", ids, before, "before the window")
    return BenchGap(
        id=source.text("id", default=""),
        utterance=utterance,
        kind=cast("GapKind", source.choice("kind", KINDS)),
        missing=source.text("missing", default=""),
        resolution=source.text("resolution", default=""),
        evidence=evidence,
        votes=source.count("votes", default=0),
    )


def _check_all(
    source: JsonObject, key: str, ids: Iterable[str], allowed: set[str], where: str
) -> None:
    for id in ids:
        if id not in allowed:
            raise source.error(f"`{key}` names {id!r}, which is not a turn {where}")


def _window_turns(window: BenchWindow, dialogues: Mapping[str, BenchDialogue]) -> set[str]:
    dialogue = dialogues[window.dialogue]
    start, end = dialogue.positions[window.first], dialogue.positions[window.last]
    return {turn.id for turn in dialogue.turns[start : end + 1]}
