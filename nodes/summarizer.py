"""What happened, told so that it can be understood without scrolling back?

Reads `window_turns`, `memory`, `gaps`; writes `summary` and each gap's status. A chat model sees
the memory and the window alone (ReMEMBER, arXiv 2608.09043), as quoted data; a blank answer or a
failed call is asked again once where the spare call is left, then the extractive composer writes
and the result says so. A sentence is `supported` where every turn it cites was in sight.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

from remember_graph.chat_models import Reply
from remember_graph.context import Run
from remember_graph.errors import ModelError
from remember_graph.languages import detect_language
from remember_graph.lenient_json import find_items, strip_thinking
from remember_graph.model_steps import Ask, Outcome, Steps
from remember_graph.nodes.composer import compose
from remember_graph.nodes.report_worth import report_worth
from remember_graph.prompts import one_line, quote_turns, render
from remember_graph.settings import Settings, SummarizeSettings
from remember_graph.state import Gap, GraphState, MemoryTurn, Sentence, Summary
from remember_graph.terms import extract_terms
from remember_graph.types import Turn

SUMMARY_SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {
        "sentences": {
            "type": "array",
            "items": {
                "type": "object",
                "properties": {
                    "text": {"type": "string"},
                    "cites": {"type": "array", "items": {"type": "string"}},
                },
                "required": ["text", "cites"],
                "additionalProperties": False,
            },
        }
    },
    "required": ["sentences"],
    "additionalProperties": False,
}

_HANDLE = re.compile(r"\b([wm])(\d{1,5})\b")
_CITES = r"[\[(]\s*[wm]\d{1,5}(?:\s*[,;]\s*[wm]\d{1,5})*\s*[\])]"
_INLINE_CITES = re.compile(f" ?{_CITES}")
_STOP = "[.!?\u3002\uff01\uff1f\u2026]"
_CITES_BEHIND_STOP = re.compile(rf"({_STOP})((?:[^\S\n]*{_CITES})+)")
_BROKEN_JSON = re.compile(r'"sentences"\s*:')
_SENTENCE_END = re.compile(rf"(?<={_STOP})\s+|\n+")


def ask_for_summary(
    window: Sequence[Turn],
    memory: Sequence[Turn],
    gaps: Sequence[Gap],
    settings: SummarizeSettings,
    *,
    language: str | None = None,
    reader: str | None = None,
    may_retry: bool = True,
) -> Steps[tuple[Summary, list[str]] | str]:
    """The steps of model writing: the summary and what went wrong with it, or why there is none.

    Args:
        window: The window's turns.
        memory: The memory's turns.
        gaps: Told to the model as what the window leaves open; none in the `paper` preset.
        settings: How many sentences, how long an answer.
        language: To write in; None follows the conversation.
        reader: Who will read it.
        may_retry: Whether the spare call is left.
    """
    prompt = render(
        "summarizer",
        window=quote_turns(window, "w"),
        memory=quote_turns(memory, "m") or "(nothing earlier)",
        gaps=_gap_lines(gaps, window, memory),
        reader=f"<reader>{one_line(reader)}</reader>\n\n" if reader else "",
        max_sentences=str(settings.max_sentences),
        language=f"Write in this language: {language}." if language else _FOLLOW_LANGUAGE,
    )
    handles = {f"w{n}": turn.id for n, turn in enumerate(window, start=1)}
    handles |= {f"m{n}": turn.id for n, turn in enumerate(memory, start=1)}
    reply = yield Ask(prompt, settings.max_output_tokens, SUMMARY_SCHEMA)
    sentences = _sentences(reply, handles, gaps)
    worth_retrying = isinstance(reply, Reply) or reply.rejected
    if not sentences and may_retry and worth_retrying:
        schema = SUMMARY_SCHEMA if isinstance(reply, Reply) else None  # it refused the schema
        reply = yield Ask(prompt, settings.max_output_tokens, schema)
        sentences = _sentences(reply, handles, gaps)
    if isinstance(reply, ModelError):
        return str(reply)
    if not sentences:
        return "the model's summary was empty"
    problems = ["summarizer: the model's answer was cut at its allowance"] if reply.cut else []
    unsupported = sum(sentence["status"] == "unsupported" for sentence in sentences)
    if unsupported:
        problems.append(
            f"summarizer: {unsupported} of {len(sentences)} sentences cite no turn that was shown"
        )
    text = " ".join(sentence["text"] for sentence in sentences)
    return {"text": text, "writer": "model", "sentences": sentences}, problems


_FOLLOW_LANGUAGE = "Write in the language of the conversation."


def _gap_lines(gaps: Sequence[Gap], window: Sequence[Turn], memory: Sequence[Turn]) -> str:
    """What the window leaves open, each with the handles of its evidence."""
    window_handles = {turn.id: f"w{n}" for n, turn in enumerate(window, start=1)}
    memory_handles = {turn.id: f"m{n}" for n, turn in enumerate(memory, start=1)}
    lines = []
    for gap in gaps:
        found = [memory_handles[id] for id in gap["evidence"] if id in memory_handles][:4]
        see = f" (perhaps in {', '.join(found)})" if found else " (nothing found earlier)"
        lines.append(
            f"- {window_handles.get(gap['turn_id'], '?')}: {one_line(gap['missing'])}{see}"
        )
    return "\n<gaps>\n" + "\n".join(lines) + "\n</gaps>\n" if lines else ""


def _sentences(reply: Outcome, handles: Mapping[str, str], gaps: Sequence[Gap]) -> list[Sentence]:
    return read_sentences(reply.text, handles, gaps) if isinstance(reply, Reply) else []


def read_sentences(text: str, handles: Mapping[str, str], gaps: Sequence[Gap]) -> list[Sentence]:
    """The sentences of an answer: JSON where it is, else prose with `[w3, m2]` marks."""
    items = find_items(text, "sentences")
    if items is None:
        items = [{"text": part, "cites": []} for part in _SENTENCE_END.split(_prose(text))]
    sentences = []
    for item in items:
        sentence = _sentence(item, handles, gaps)
        if sentence is not None:
            sentences.append(sentence)
    return sentences


def _prose(text: str) -> str:
    """The answer's text with the marks behind a full stop drawn before it; none of broken JSON."""
    text = strip_thinking(text)
    if _BROKEN_JSON.search(text):
        return ""
    if not _INLINE_CITES.match(text):  # else each mark stands before what it belongs to
        text = _CITES_BEHIND_STOP.sub(r"\2\1", text)
    return text.strip("`{} \n")


def _sentence(
    item: Mapping[str, Any], handles: Mapping[str, str], gaps: Sequence[Gap]
) -> Sentence | None:
    raw = item.get("text")
    if not isinstance(raw, str):
        return None
    listed = item.get("cites")
    raw = " ".join(raw.split())
    named = " ".join(str(cite) for cite in listed) if isinstance(listed, list) else str(listed)
    inline = " ".join(_INLINE_CITES.findall(raw))
    text = _INLINE_CITES.sub("", raw).strip().replace("&lt;", "<")
    if not any(char.isalnum() for char in text):
        return None
    names = dict.fromkeys("".join(match) for match in _HANDLE.findall(f"{named} {inline}"))
    cites = list(dict.fromkeys(handles[name] for name in names if name in handles))
    known = bool(cites) and all(name in handles for name in names)
    return {
        "text": text,
        "cites": cites,
        "gap_ids": [gap["id"] for gap in gaps if set(gap["evidence"]) & set(cites)],
        "status": "supported" if known else "unsupported",
    }


def settle(gaps: Sequence[Gap], summary: Summary) -> list[Gap]:
    """The gaps with their status, now that it is known what the summary states.

    `resolved`: a sentence cites evidence of the gap; `unresolved`: there is evidence in memory
    and no sentence cites it; `not_in_history`: there is none.
    """
    stated = {gap_id for sentence in summary["sentences"] for gap_id in sentence["gap_ids"]}
    settled: list[Gap] = []
    for gap in gaps:
        if not gap["evidence"]:
            settled.append({**gap, "status": "not_in_history"})
        elif gap["id"] in stated:
            settled.append({**gap, "status": "resolved"})
        else:
            settled.append({**gap, "status": "unresolved"})
    return settled


class Summarize:
    """The stage `summarize`.

    Args:
        settings: How long, in which language; the `paper` preset is not told the gaps.
        by_model: Whether a model writes.
    """

    def __init__(self, settings: Settings, *, by_model: bool) -> None:
        self._settings, self._by_model = settings, by_model

    def __call__(self, state: GraphState, run: Run) -> Steps[dict[str, Any]]:
        """The summary, and the gaps with their status."""
        window = [Turn.from_dict(turn) for turn in state["window_turns"]]
        memory = [_as_turn(turn) for turn in state["memory"]]
        degraded: list[str] = []
        outcome: tuple[Summary, list[str]] | str | None = None
        if self._by_model and window:
            outcome = yield from ask_for_summary(
                window,
                memory,
                state["gaps"] if self._settings.preset == "remember" else [],
                self._settings.summarize,
                language=self._settings.language,
                reader=state.get("reader"),
                may_retry=not state["spare_used"],
            )
        if isinstance(outcome, tuple):
            summary, degraded = outcome
        else:
            if outcome is not None:
                degraded = [f"summarizer: {outcome}; the extractive composer wrote"]
            summary = self._composed(window, memory, state["gaps"])
        if summary["writer"] == "extractive" and self._settings.language and window:
            degraded.append(
                "summarizer: the extractive composer quotes and cannot translate; "
                f"the language {self._settings.language!r} was not used"
            )
        return {
            "summary": summary,
            "gaps": settle(state["gaps"], summary),
            "degraded": [*state["degraded"], *degraded],
        }

    def _composed(
        self, window: Sequence[Turn], memory: Sequence[Turn], gaps: Sequence[Gap]
    ) -> Summary:
        by_id = {turn.id: turn for turn in memory}
        spoken = detect_language(
            term for turn in (*memory, *window) for term in extract_terms(turn.line)
        )
        # Preferring turns whose gap has evidence was tried: of gapbench's salient utterances the
        # text would then tell 0.66 to 0.71 instead of 0.73.
        worth = report_worth(window, spoken)
        return compose(window, worth, gaps, by_id, self._settings.summarize)


def _as_turn(memory: MemoryTurn) -> Turn:
    return Turn(memory["speaker"], memory["text"], time=memory["time"], id=memory["turn_id"])
