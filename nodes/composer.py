"""A catch-up text without a model: quoted turns of the window, each beside what it leans on.

Nothing is rephrased, so nothing can be invented: a sentence is a turn worth reporting, verbatim
(clipped), followed by the best evidence of its gaps, verbatim. The result is labelled
`extractive`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from remember_graph.settings import SummarizeSettings
from remember_graph.state import Gap, Sentence, Summary
from remember_graph.types import Turn

_EVIDENCE_A_GAP = 1


def compose(
    window: Sequence[Turn],
    worth: Mapping[str, float],
    gaps: Sequence[Gap],
    memory: Mapping[str, Turn],
    settings: SummarizeSettings,
) -> Summary:
    """The summary.

    Args:
        window: The window's turns.
        worth: How worth reporting each window turn is; turns of 0 or less are left out.
        gaps: With their evidence.
        memory: The memory's turns by id.
        settings: How many sentences, how long a quotation.
    """
    gaps_of: dict[str, list[Gap]] = {}
    for gap in gaps:
        gaps_of.setdefault(gap["turn_id"], []).append(gap)
    scored = [(worth.get(turn.id, 0.0), at) for at, turn in enumerate(window)]
    best = sorted((pair for pair in scored if pair[0] > 0), key=lambda pair: (-pair[0], pair[1]))
    chosen = sorted(at for _, at in best[: settings.max_sentences])
    sentences: list[Sentence] = []
    told: set[str] = set()
    for at in chosen:
        sentences.append(
            _sentence(window[at], gaps_of.get(window[at].id, []), memory, told, settings)
        )
    return {
        "text": "\n".join(sentence["text"] for sentence in sentences),
        "writer": "extractive",
        "sentences": sentences,
    }


def _sentence(
    turn: Turn,
    gaps: Sequence[Gap],
    memory: Mapping[str, Turn],
    told: set[str],
    settings: SummarizeSettings,
) -> Sentence:
    """A turn of the window and the evidence of its gaps that was not told before."""
    evidence: list[Turn] = []
    gap_ids: list[str] = []
    for gap in gaps:
        found = [memory[id] for id in gap["evidence"] if id in memory][:_EVIDENCE_A_GAP]
        if found:
            gap_ids.append(gap["id"])
        evidence.extend(item for item in found if item not in evidence)
    lines = [quote(turn, settings.quote_chars)]
    for item in evidence:
        if item.id not in told:
            lines.append(f"    ↳ {quote(item, settings.quote_chars)}")
            told.add(item.id)
    return {
        "text": "\n".join(lines),
        "cites": [turn.id, *(item.id for item in evidence)],
        "gap_ids": gap_ids,
        "status": "supported",
    }


def quote(turn: Turn, longest: int) -> str:
    """`speaker (time): “text”`, on one line, clipped at a word.

    Example:
        >>> quote(Turn("Ana", "We take the blue one", time="2024-05-01T10:00:00"), 14)
        'Ana (2024-05-01 10:00): “We take the …”'
    """
    text, speaker = _flat(turn.text), _flat(turn.speaker)
    if len(text) > longest:
        cut = text.rfind(" ", 0, longest)
        text = text[: cut if cut > longest // 2 else longest] + " …"
    when = f" ({_flat(turn.time[:16].replace('T', ' '))})" if turn.time else ""
    return f"{speaker}{when}: “{text}”" if speaker else f"“{text}”{when}"


def _flat(text: str) -> str:
    return " ".join(text.split())
