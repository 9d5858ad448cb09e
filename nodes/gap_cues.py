"""The words of a gap that was found without a model: its kind, what is missing, what to ask.

In English the first cue that applies names the kind: a back-reference ("as agreed"), a name the
window did not introduce, a pronoun, a number, a word of continuation ("instead"), a possession, a
definite phrase. In other languages the turn's own rare words are asked about. Every text asks and
none guesses. The kind is a label for the reader (right for 45 % of the annotated gaps that the
local detector marks, a strong LLM's for 58 %): nothing is searched by it.
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
        top = sorted(self.topic[:2], key=self.text.find)
        return " and ".join(f"“{word}”" for word in top) or "this point"

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
    r"|talked about|last time|earlier|remember(?:ed)?|remind(?:s|ed)?|mentioned"
    r"|(?:i|we|you|they|he|she|it) used to|(?:was|were) going to|since we last"
)
_CONTINUES = _any_of(
    r"still|again|another|instead|anymore|already|finally|continu\w+|keep|kept|back to|changed?"
    r"|the same|updat\w+|progress|after all|because of that|that's why"
)
_PERSON = _any_of("he|she|him|her|his|hers|they|them|their|theirs")
_THING = _any_of("it|that|this|those|these|one|ones")
_DEFINITE = re.compile(
    r"\b(the|those|these|this|my|our|your|his|her|their)\s+((?:[\w'-]+\s+){0,2}?)([\w'-]{3,})",
    re.IGNORECASE,
)
_NAME = re.compile(r"(?<=[a-z,;'] )[A-Z]\w*(?: [A-Z]\w*)*")
_NUMBER = re.compile(r"(?:[$€£]\s?)?\d(?:[\d.,:]*\d)?%?(?:\s+\w+)?")
_ATTACHMENT = re.compile(r"\[(?:attachment|shares)[^\]]*\]?")
_CONTRACTED = re.compile(r"(?:'s|'re|'ll|'ve|'d|'m|n't)$", re.IGNORECASE)
_CALENDAR = frozenset(
    """monday tuesday wednesday thursday friday saturday sunday january february march april may
    june july august september october november december christmas""".split()
)
# Words that say too little to ask about, beside the language's function words.
_WEAK = _CALENDAR | frozenset(
    """one ones thing things way lot time times kind sort bit really very same other others first
    last next new more most best better good great nice cool awesome amazing right whole little big
    always never ever also too still again another back even maybe perhaps actually definitely
    totally okay yeah yes yep hey hello thanks thank wow haha well like know think mean guess want
    need get gets got getting going gonna make makes made making take took put see saw look looks
    looking feel feeling sounds say said tell told come comes came give gave use used using keep let
    try trying happy glad sure enough else around down over out off any some all both each every
    much many now today day days lately recently people someone something anything everything along
    cause because since while where might must cetera doing done having wonderful hope love loved
    fun happen happens work works working start started able hear heard ask talk talked can't speak
    somewhere whenever unless below above such""".split()
)
_START_OF_WINDOW = 3  # turns in which "it" and "that" may still point out of the window


def count_back_references(text: str, language: str | None) -> int:
    """How often the turn points back in so many words; 0 in languages without a list."""
    return len(_BACK.findall(text)) if language == "en" else 0


def describe_gap(
    mention: Mention, window: Sequence[Turn], language: str | None, max_anchors: int
) -> Gap:
    """The gap in words."""
    turn = window[mention.place]
    text = " ".join(_ATTACHMENT.sub("", turn.text).split())
    speakers = frozenset(term for one in window for term in extract_terms(one.speaker))
    words = _topic_words(text, mention, speakers, language)
    context = _Context(turn.speaker or "somebody", text, mention, speakers, words, language)
    cues = _ENGLISH if language == "en" else ()
    findings = (finding for cue in cues if (finding := cue(context)) is not None)
    kind, missing, query, focus = next(findings, _neutral(context))
    return new_gap(
        turn.id,
        kind,
        missing=missing,
        query=query,
        anchors=list(dict.fromkeys([*focus, *words]))[:max_anchors],
        salience=round(mention.salience, 2),
    )


def _topic_words(
    text: str, mention: Mention, speakers: frozenset[str], language: str | None
) -> list[str]:
    """The turn's own words: new in the window first, then the history's rarest, the longest."""
    written: dict[str, str] = {}
    for word in re.findall(r"\w+(?:'\w+)?", text):
        lowered = word.lower()
        empty = lowered in _WEAK or _CONTRACTED.search(word) or is_function_word(lowered, language)
        if len(word) > 2 and lowered not in speakers and not empty:
            for term in content_terms(extract_terms(word), language)[:1]:
                written.setdefault(term, word)
    ranked = sorted(
        written,
        key=lambda t: (t not in mention.new, -mention.known.get(t, 0.0), -len(written[t])),
    )
    return [written[term] for term in ranked]


def _clip(text: str, match: re.Match[str], left: int = 4, right: int = 6) -> str:
    """The few words around a cue, within its sentence, quoted."""
    low = max(text.rfind(end, 0, match.start()) for end in ".!?") + 1
    ends = [at for end in ".!?" if (at := text.find(end, match.end())) >= 0]
    before = text[low : match.start()].lstrip().split(" ")
    after = text[match.end() : min(ends, default=len(text))].rstrip().split(" ")
    quoted = " ".join(before[-left - 1 :]) + match.group() + " ".join(after[: right + 1])
    start = "… " if len(before) > left + 1 else ""
    end = " …" if len(after) > right + 1 else ""
    return f"“{start}{quoted.strip(' ,;:')}{end}”"


def _back_reference(context: _Context) -> _Finding | None:
    match = _BACK.search(context.text)
    if not match:
        return None
    query = (
        f"What was said, agreed or done earlier about {context.about}, "
        f"which {context.speaker} points back to?"
    )
    missing = f"what {_clip(context.text, match)} points back to"
    return "relational", missing, query, context.topic[:2]


def _new_name(context: _Context) -> _Finding | None:
    for name in _NAME.findall(context.text):
        words = {word.lower() for word in re.findall(r"\w+", name)}
        of_speaker = any(speaker.startswith(word) for word in words for speaker in context.speakers)
        letters = sum(char.isalpha() for char in name)
        if letters > 1 and not words & _WEAK and not of_speaker and context.is_new(name):
            query = f"Who or what is “{name}”, which {context.speaker} mentions as known?"
            return "referential", f"who or what “{name}” is", query, [name]
    return None


def _pronoun(context: _Context) -> _Finding | None:
    person = _PERSON.search(context.text)
    at_start = context.mention.place < _START_OF_WINDOW
    match = person or (_THING.search(context.text) if at_start else None)
    if not match:
        return None
    who, word = "who" if person else "what", match.group().lower()
    query = (
        f"{who.capitalize()} does {context.speaker} mean by “{word}”, speaking of {context.about}?"
    )
    return (
        "referential",
        f"{who} “{word}” is in {_clip(context.text, match)}",
        query,
        context.topic[:2],
    )


def _number(context: _Context) -> _Finding | None:
    match = _NUMBER.search(context.text)
    if not match:
        return None
    number = match.group().strip(" .,:")
    query = f"What does “{number}” stand for, and where was it set or explained?"
    missing = f"what “{number}” stands for in {_clip(context.text, match)}"
    return "attribute", missing, query, [number]


def _continuation(context: _Context) -> _Finding | None:
    match = _CONTINUES.search(context.text)
    if not match:
        return None
    query = (
        f"What was the earlier state, plan or decision about {context.about} "
        f"that {context.speaker} continues or changes?"
    )
    missing = f"the earlier state or plan behind {_clip(context.text, match)}"
    return "relational", missing, query, context.topic[:2]


def _definite_phrase(context: _Context) -> _Finding | None:
    phrases = [
        (article.lower(), (middle + head).strip(), head)
        for article, middle, head in _DEFINITE.findall(context.text)
        if head.lower() not in _WEAK and context.is_new(head)
    ]
    for article, phrase, head in phrases:
        if article in ("my", "our"):
            whose = f"{context.speaker}'s" if article == "my" else "the group's"
            missing = f"what is already known of {whose} “{phrase}”"
            return "attribute", missing, f"What was said earlier about {whose} “{phrase}”?", [head]
    if not phrases:
        return None
    article, phrase, head = phrases[0]
    what = f"“{article} {phrase}”"
    query = (
        f"What was said or decided earlier about {what}, which {context.speaker} takes as known?"
    )
    return "relational", f"what was said or decided earlier about {what}", query, [head]


def _neutral(context: _Context) -> _Finding:
    missing = f"what was said before about {context.about}"
    return "relational", missing, f"What was said earlier about {context.about}?", context.topic[:2]


_ENGLISH: tuple[Callable[[_Context], _Finding | None], ...] = (
    _back_reference,
    _new_name,
    _pronoun,
    _number,
    _continuation,
    _definite_phrase,
)
