"""Gap detection by a chat model: the question, and a lenient reading of the answer.

One call on the window alone (ReMEMBER, arXiv 2608.09043, "gap detection"). An answer that cannot
be read, or a server that refuses the schema, is asked again once. Items that name an unknown
turn, have no query or an unknown kind, or pass the allowed number are dropped and counted.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from remember_graph.chat_models import Message, Reply
from remember_graph.errors import ModelError
from remember_graph.lenient_json import find_items
from remember_graph.model_steps import Ask, Outcome, Steps
from remember_graph.nodes.detection import KINDS, Detection, new_gap, number_gaps
from remember_graph.prompts import one_line, quote_turns, render
from remember_graph.settings import DetectSettings
from remember_graph.state import Gap
from remember_graph.types import Turn

_REPAIRED_CHARS = 6_000  # of a broken answer: enough for every gap that is kept
_QUERY_CHARS, _PHRASE_CHARS = 500, 240

GAPS_SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {
        "gaps": {
            "type": "array",
            "items": {
                "type": "object",
                "properties": {
                    "turn": {"type": "integer"},
                    "kind": {"type": "string", "enum": list(KINDS)},
                    "missing": {"type": "string"},
                    "query": {"type": "string"},
                    "anchors": {"type": "array", "items": {"type": "string"}},
                    "salience": {"type": "number"},
                },
                "required": ["turn", "kind", "missing", "query", "anchors", "salience"],
                "additionalProperties": False,
            },
        }
    },
    "required": ["gaps"],
    "additionalProperties": False,
}


@dataclass(slots=True)
class _Dropped:
    """Items of a model's answer that could not be used, by reason."""

    counts: dict[str, int] = field(default_factory=dict)

    def add(self, reason: str, number: int = 1) -> None:
        if number:
            self.counts[reason] = self.counts.get(reason, 0) + number

    def line(self) -> list[str]:
        if not self.counts:
            return []
        reasons = ", ".join(f"{number} with {reason}" for reason, number in self.counts.items())
        return [f"detector: dropped from the model's answer: {reasons}"]


def ask_for_gaps(
    window: Sequence[Turn], settings: DetectSettings, *, may_repair: bool = True
) -> Steps[Detection | str]:
    """The steps of model detection; a str instead of a detection says why there is none."""
    prompt = render(
        "gap_detector",
        window=quote_turns(window),
        max_gaps=str(settings.max_gaps),
        max_anchors=str(settings.max_anchors),
    )
    spare_used = False
    reply = yield Ask(prompt, settings.max_output_tokens, GAPS_SCHEMA)
    if isinstance(reply, ModelError) and reply.rejected and may_repair:
        spare_used = True
        reply = yield Ask(prompt, settings.max_output_tokens)  # without the schema it refused
    items = _items(reply)
    if items is None and isinstance(reply, Reply) and may_repair and not spare_used:
        spare_used = True
        reply = yield Ask(_repair_prompt(reply), settings.max_output_tokens, GAPS_SCHEMA)
        items = _items(reply)
    if isinstance(reply, ModelError):
        return str(reply)
    if items is None:
        return "the model's answer could not be read as a list of gaps"
    gaps, dropped = _usable_gaps(items, window, settings)
    if items and not gaps:
        return f"no item of the model's answer could be used ({dropped.line()[0]})"
    cut = ["detector: the model's answer was cut at its allowance"] if reply.cut else []
    return Detection(gaps, [*cut, *dropped.line()], spare_used, by_model=True)


def _items(reply: Outcome) -> list[dict[str, Any]] | None:
    return find_items(reply.text, "gaps") if isinstance(reply, Reply) else None


def _repair_prompt(reply: Reply) -> tuple[Message, ...]:
    problem = "it was cut off" if reply.cut else "no JSON list of gaps was found in it"
    answer = one_line(reply.text)[:_REPAIRED_CHARS] or "(empty)"
    return render("gap_detector_repair", problem=problem, answer=answer)


def _usable_gaps(
    items: Sequence[dict[str, Any]], window: Sequence[Turn], settings: DetectSettings
) -> tuple[list[Gap], _Dropped]:
    """The valid items as gaps, by falling salience; what was left out is counted."""
    dropped = _Dropped()
    gaps = [gap for item in items if (gap := _gap(item, window, settings, dropped)) is not None]
    gaps.sort(key=lambda gap: -gap["salience"])
    dropped.add("no place in the list", max(0, len(gaps) - settings.max_gaps))
    return number_gaps(gaps[: settings.max_gaps]), dropped


def _gap(
    item: dict[str, Any], window: Sequence[Turn], settings: DetectSettings, dropped: _Dropped
) -> Gap | None:
    turn = _turn_of(item.get("turn", item.get("turn_id")), window)
    query = _phrase(item.get("query"), _QUERY_CHARS)
    kind = str(item.get("kind", "")).strip().lower()
    problems = {
        "an unknown turn": turn is None,
        "an empty query": not query,
        "an unknown kind": kind not in KINDS,
    }
    for problem, applies in problems.items():
        if applies:
            dropped.add(problem)
            return None
    anchors = item.get("anchors")
    anchors = anchors if isinstance(anchors, list) else []
    return new_gap(
        turn.id if turn else "",
        kind,
        missing=_phrase(item.get("missing"), _PHRASE_CHARS),
        query=query,
        anchors=[a for anchor in anchors if (a := _phrase(anchor, 80))][: settings.max_anchors],
        salience=_share(item.get("salience")),
    )


def _turn_of(value: object, window: Sequence[Turn]) -> Turn | None:
    """The turn that a model means by `3`, `"[3]"`, `"w3"`, or else by a turn's own id."""
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        return None
    text = str(value).strip()
    number = re.fullmatch(r"\[?w?(\d{1,6})\]?", text)
    if number and 1 <= int(number.group(1)) <= len(window):
        return window[int(number.group(1)) - 1]
    return next((turn for turn in window if turn.id == text), None)


def _phrase(value: object, longest: int) -> str:
    return " ".join(value.split())[:longest] if isinstance(value, str) else ""


def _share(value: object) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float) or value != value:
        return 0.5
    return float(min(1, max(0, value)))  # an int may be too large for a float
