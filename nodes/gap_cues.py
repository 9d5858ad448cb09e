"""The words of a gap that was found without a model: its kind, what is missing, what to ask.

In English a turn's strongest cue names the kind: a back-reference ("as agreed"), a name the
window did not introduce, a pronoun at the window's start, a word of continuation ("instead"), a
definite phrase, a possession, a number. In other languages the turn's own rare words are asked
about. Every text asks and none guesses.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from remember_graph.languages import content_terms, is_function_word
from remember_graph.nodes.detection import new_gap
from remember_graph.state import Gap, GapKind
from remember_graph.terms import extract_terms
from remember_graph.types import Turn


@dataclass(frozen=True, slots=True)
class Mention:
    """What one window turn takes as known.

    Attributes:
        place: Of the turn in the window.
        known: Its content terms that the history knows, with their rarity from 0 to 1.
        new: Those of them that the window did not use before.
        said_before: Content terms of the window before it.
        salience: From 0 to 1.
    """

    place: int
    known: Mapping[str, float]
    new: frozenset[str]
    said_before: frozenset[str]
    salience: float


@dataclass(frozen=True, slots=True)
class _Context:
    """A turn as the cues look at it."""

    speaker: str
    text: str
    mention: Mention
    speakers: frozenset[str]
    topic: list[str]
    language: str | None

    @property
    def about(self) -> str:
        return " and ".join(f"“{word}”" for word in self.topic[:2]) or "this"

    def is_new(self, words: str) -> bool:
        """Whether some content of the words is nowhere in the window before."""
        terms = content_terms(extract_terms(words), self.language)
        return bool(terms) and not set(terms) & self.mention.said_before


_Finding = tuple[GapKind, str, str, list[str]]  # kind, missing, query, words to anchor on


def _any_of(words: str) -> re.Pattern[str]:
    return re.compile(rf"\b(?:{words})\b", re.IGNORECASE)


_BACK = _any_of(
    r"(?:like|as) (?:i|you|we) said|as (?:agreed|discussed|planned|promised)"
    r"|(?:i|you|we|he|she|they) (?:said|told|talked|discussed|agreed|decided|mentioned|promised)"
    r"|talked about|last time|earlier|remember(?:ed)?|remind(?:s|ed)?|mentioned|used to"
    r"|(?:was|were) going to|since we last"
)
_CONTINUES = _any_of(
    r"still|again|another|instead|anymore|already|finally|continu\w+|keep|kept|back to|changed?"
    r"|the same|updat\w+|progress|after all|because of that|that's why"
)
_PRONOUN = _any_of(
    "he|she|him|her|his|hers|they|them|their|theirs|it|that|this|those|these|one|ones"
)
_DEFINITE = re.compile(
    r"\b(the|that|those|these|this|my|our|your|his|her|their)\s+((?:[\w'-]+\s+){0,2}?)([\w'-]{3,})",
    re.IGNORECASE,
)
_NAME = re.compile(r"(?<=[a-z,;'] )[A-Z]\w*(?: [A-Z]\w*)*")
_NUMBER = re.compile(r"(?:[$€£]\s?)?\d[\d.,:]*%?(?:\s+\w+)?")
_ATTACHMENT = re.compile(r"\[(?:attachment|shares)[^\]]*\]?")
_NO_HEADS = frozenset(
    """one ones thing things way lot time kind sort bit really very same other first last next new
    more most best good great right whole little""".split()
)
_START_OF_WINDOW = 3


def count_back_references(text: str, language: str | None) -> int:
    """How often the turn points back in so many words; 0 in languages without a list."""
    return len(_BACK.findall(text)) if language == "en" else 0


def describe_gap(
    mention: Mention, window: Sequence[Turn], language: str | None, max_anchors: int
) -> Gap:
    """The gap in words."""
    turn = window[mention.place]
    text = _ATTACHMENT.sub("", turn.text).strip()
    speakers = frozenset(term for one in window for term in extract_terms(one.speaker))
    words = _topic_words(text, mention, speakers, language)
    context = _Context(turn.speaker or "somebody", text, mention, speakers, words, language)
    cues = _ENGLISH if language == "en" else ()
    findings = (finding for cue in cues if (finding := cue(context)) is not None)
    kind, missing, query, focus = next(findings, _unknown(context))
    anchors = list(dict.fromkeys([*focus, *words]))[:max_anchors]
    look_for = f" Look for: {', '.join(anchors)}." if anchors else ""
    return new_gap(
        turn.id,
        kind,
        missing=missing,
        query=query + look_for,
        anchors=anchors,
        salience=round(mention.salience, 2),
    )


def _topic_words(
    text: str, mention: Mention, speakers: frozenset[str], language: str | None
) -> list[str]:
    """The turn's own words as written: those new in the window and rare in the history first."""
    written: dict[str, str] = {}
    for word in re.findall(r"\w+(?:'\w+)?", text):
        lowered = word.lower()
        if len(word) > 2 and lowered not in speakers and not is_function_word(lowered, language):
            for term in content_terms(extract_terms(word), language)[:1]:
                written.setdefault(term, word)
    ranked = sorted(
        written, key=lambda term: (-(term in mention.new) - mention.known.get(term, 0.0), term)
    )
    return [written[term] for term in ranked]


def _back_reference(context: _Context) -> _Finding | None:
    match = _BACK.search(context.text)
    if not match:
        return None
    missing = f"what “{match.group().lower()}” points back to: the earlier talk about {context.about}"
    query = (
        f"What was said, agreed or done earlier about {context.about}, "
        f"which {context.speaker} points back to?"
    )
    return "relational", missing, query, context.topic[:2]


def _new_name(context: _Context) -> _Finding | None:
    for name in _NAME.findall(context.text):
        words = set(extract_terms(name))
        if not words & (context.speakers | {"i", "i'm", "i've", "i'll"}) and context.is_new(name):
            query = f"Who or what is “{name}”, which {context.speaker} mentions as known?"
            return "referential", f"who or what “{name}” is", query, [name]
    return None


def _opening_pronoun(context: _Context) -> _Finding | None:
    match = _PRONOUN.search(context.text)
    if context.mention.place >= _START_OF_WINDOW or not match:
        return None
    word = match.group().lower()
    missing = f"who or what “{word}” is in what {context.speaker} says about {context.about}"
    query = f"Who or what does {context.speaker} mean by “{word}” when speaking of {context.about}?"
    return "referential", missing, query, context.topic[:2]


def _continuation(context: _Context) -> _Finding | None:
    match = _CONTINUES.search(context.text)
    if not match:
        return None
    what = f"the earlier state, plan or decision about {context.about}"
    missing = f"{what} behind “{match.group().lower()}”"
    query = f"What was {what} that {context.speaker} continues or changes?"
    return "relational", missing, query, context.topic[:2]


def _definite_phrase(context: _Context) -> _Finding | None:
    phrases = [
        (article.lower(), (middle + head).strip(), head)
        for article, middle, head in _DEFINITE.findall(context.text)
        if head.lower() not in _NO_HEADS and context.is_new(head)
    ]
    shown = [phrase for phrase in phrases if phrase[0] in ("the", "that", "those", "these", "this")]
    if shown:
        _, phrase, head = shown[0]
        query = f"Which “{phrase}” does {context.speaker} mean, and what was said about it earlier?"
        return "referential", f"which “{phrase}” is meant", query, [head]
    if phrases:
        article, phrase, head = phrases[0]
        owner = f"{context.speaker}'s" if article == "my" else article
        query = f"What was said earlier about {owner} “{phrase}”?"
        return "attribute", f"what is known about {owner} “{phrase}”", query, [head]
    return None


def _number(context: _Context) -> _Finding | None:
    match = _NUMBER.search(context.text)
    if not match:
        return None
    number = match.group().strip()
    query = f"What does “{number}” stand for, and where was it set or explained?"
    return "attribute", f"what “{number}” stands for", query, context.topic[:2]


def _unknown(context: _Context) -> _Finding:
    missing = f"what was said before about {context.about}"
    return "attribute", missing, f"What was said earlier about {context.about}?", context.topic[:2]


_ENGLISH: tuple[Callable[[_Context], _Finding | None], ...] = (
    _back_reference,
    _new_name,
    _opening_pronoun,
    _continuation,
    _definite_phrase,
    _number,
)
