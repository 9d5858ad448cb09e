"""What models once wrote about a bench's windows, recorded so that retrieval needs no model.

Both files are optional. Lines for windows that are not in `windows.jsonl` are passed over, so
that a bench may be cut to a few windows.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from pathlib import Path
from typing import Any

from remember_graph.evals.bench_types import KINDS
from remember_graph.evals.json_source import JsonObject, read_lines

TurnsOf = Mapping[str, Collection[str]]
"""Per window id the ids of its turns."""


def load_detections(path: Path, turns_of: TurnsOf) -> dict[str, list[dict[str, Any]]] | None:
    """What a detector wrote, per window, as it stands in the file; None where there is no file.

    Raises:
        BenchFormatError: A line is not in the format.
    """
    if not path.exists():
        return None
    return {
        name: [_detection(gap, turns_of[name]) for gap in line.objects("gaps")]
        for name, line in _lines_of(path, turns_of)
    }


def load_selections(path: Path, turns_of: TurnsOf) -> dict[str, tuple[tuple[str, ...], ...]] | None:
    """The turns chosen for each detection, per window; None where there is no file.

    Raises:
        BenchFormatError: A line is not in the format.
    """
    if not path.exists():
        return None
    return {name: line.text_lists("gaps") for name, line in _lines_of(path, turns_of)}


def _lines_of(path: Path, turns_of: TurnsOf) -> Iterator[tuple[str, JsonObject]]:
    seen: set[str] = set()
    for line in read_lines(path):
        name = line.name("window")
        if name in seen:
            raise line.error(f"`window` {name!r} is there twice; one line a window is allowed")
        seen.add(name)
        if name in turns_of:
            yield name, line


def _detection(gap: JsonObject, window: Collection[str]) -> dict[str, Any]:
    gap.text("query")
    gap.text("missing", default="")
    gap.choice("kind", KINDS)
    gap.texts("anchors")
    gap.number("salience", default=0.0)
    if gap.text("turn_id") not in window:
        raise gap.error(f"`turn_id` {gap.text('turn_id')!r} is not a turn of the window")
    return dict(gap.fields)
