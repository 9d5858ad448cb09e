"""Which turns of a window are worth reporting to somebody who was away, told without a model.

A turn is worth the more, the more it tells: its words count in full where a sentence states and
in part where it asks, exclaims or speaks about the other person; new terms, an answer, going on,
an amount and, in English, words of decision, plan, request, change and state add to that; a better
turn beside it takes away. Greetings, thanks and mere reactions are worth nothing. After Luhn
(1958) and, for the cues, Edmundson (1969). An empty window gives an empty mapping.
"""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass

from remember_graph.languages import FUNCTION_WORDS, content_terms
from remember_graph.scripts import COMBINING, MARKS, UNSPACED
from remember_graph.terms import extract_terms
from remember_graph.types import Turn

# Measured on the 54 windows of gapbench: share of the annotated salient utterances that the 12
# worthiest turns hit, and average precision. With these weights 0.77 and 0.86 (weights chosen
# anew without the judged dialogue, for each of 9: 0.76 and 0.85), without the English lists 0.75
# and 0.84, longest turns first 0.71 and 0.80, at random 0.46 and 0.51.
#
# Words count by their sentence: asking, exclaiming, about the other, about oneself. Left out, they
# cost 0.000 (but 0.005 of the precision without the lists), 0.004, 0.011 and 0.010 of the share.
_ASKING, _EXCLAIMING, _ABOUT_YOU, _ABOUT_ME = 0.5, 0.75, 0.5, 1.25
# A turn gains for new terms (0.015), an answer (0.008), going on (0.007), an amount (0.003) and for
# each kind of cue (0.006).
_NEW, _ANSWER, _CONTINUATION, _AMOUNT, _CUE = 0.5, 0.5, 0.5, 0.25, 0.1
_MOST_CUES = 3
# It loses beside a better turn: often it reacts to that one or is the rest of it (0.031). Avoiding
# turns that share terms (MMR) gained nothing on top.
_BESIDE_BETTER = 0.5
# Turns of no more words that answer nothing, and mere reactions, are never reported: 15 % of the
# turns that are not salient and 1 % of those that are.
_TOO_FEW_WORDS = 2.0


def _any_of(words: str) -> re.Pattern[str]:
    return re.compile(rf"\b(?:{words})\b", re.IGNORECASE)


def _set_of(words: str) -> frozenset[str]:
    return frozenset(words.split())


_ATTACHMENT = re.compile(r"\[(?:attachment|shares|shared)[^\]]*\]?")
_SENTENCE_END = re.compile("(?<=[.!?\u2026\u061f\u0964])\\s+|(?<=[\u3002\uff01\uff1f])|\n+")
# Unspaced scripts write a word in one to four letters or so; marks belong to the letter before.
_WORD = re.compile(
    rf"[{UNSPACED}{COMBINING}]{{1,3}}|(?:[^\W{UNSPACED}{COMBINING}]|[{MARKS}])+(?:'\w+)?"
)
_ASKS = re.compile("[?\uff1f\u061f]")
_EXCLAIMS = re.compile("[!\uff01]")
_DIGIT = re.compile(r"\d")
_NUMBER_WORD = _any_of(
    "two|three|four|five|six|seven|eight|nine|ten|eleven|twelve|twenty|thirty|fifty|hundred"
    "|thousand|half|percent|euros?|dollars?"
)
_YOU = _any_of("you|your|you're|you've|you'll|you'd|yours|u|ur")
_I = _any_of("i|i'm|i've|i'd|i'll|im|ive|my|we|we're|we've|we'll|our")
_CUES = (
    _any_of(
        r"decid\w+|agreed?|chose|choose|picked|settled|let's|should|must"
        r"|(?:have|has|had|need|needs|want|wants|wanted) to|propos\w+|suggest\w*|prefer\w*"
    ),
    _any_of(
        r"(?:i|we|he|she|they)(?:'ll| will)|gonna|going to|plan(?:s|ning|ned)?|tomorrow|tonight"
        r"|next \w+|thinking (?:of|about)|about to|upcoming|schedul\w+|deadline|until|due"
        r"|by (?:mon|tues|wednes|thurs|fri|satur|sun)day"
    ),
    _any_of(r"(?:can|could|would) you|please|let me know|remind me|send|make sure|don't forget"),
    _any_of(
        r"chang\w+|instead|cancel\w*|mov(?:ed|ing)|postpon\w+|no longer|anymore|switch\w*|quit|left"
        r"|lost|broke\w*|start(?:ed|ing)?|stopp\w+|finally|joined|became|problems?|issues?"
    ),
    _any_of(
        r"done|finished|made|won|bought|went|visited|took|began|found|met|working on|yesterday"
        r"|last (?:week|night|month|year|weekend|\w+day)|this (?:week|morning|weekend|month)"
        r"|today|recently|ago|already|still|just"
    ),
)
_FILLERS = _set_of(
    """um uh umm uhh er erm hmm mm mhm huh ah oh eh yeah yes yep yup okay ok so well like no nah
    nope"""
)
_REACTIONS = _set_of(
    """wow thanks thank congrats congratulations awesome amazing great cool nice lovely wonderful
    happy glad sorry sweet cute haha hahaha lol lmao omg sounds good luck bye hi hey hello welcome
    course absolutely totally definitely sure right exactly aw aww appreciate proud agree know see
    love hear true fun perfect interesting beautiful best alright fine guess wait dude man night
    morning evening later care"""
)
_CONTENTLESS = (
    _REACTIONS
    | _FILLERS
    | FUNCTION_WORDS["en"]
    | _set_of("you're very really too much all one get got u im")
)


@dataclass(frozen=True, slots=True)
class _Reading:
    """A turn as the measure looks at it: its sentences without its attachments."""

    turn: Turn
    sentences: list[str]
    english: bool
    only_reacts: bool

    @property
    def body(self) -> str:
        return " ".join(self.sentences)

    @property
    def asks(self) -> bool:
        return any(_ASKS.search(sentence) for sentence in self.sentences)

    @property
    def only_asks(self) -> bool:
        return all(_ASKS.search(sentence) for sentence in self.sentences)


def report_worth(window: Sequence[Turn], language: str | None) -> dict[str, float]:
    """Per turn id how worth reporting the turn is; 0.0 is never, more is better.

    Args:
        window: The window's turns.
        language: Of the conversation, as a code; cue words are known for `en` only.

    Example:
        >>> window = [Turn("Ana", "Thanks!", id="1"), Turn("Ben", "We ship on 3 May.", id="2")]
        >>> {id: round(worth, 1) for id, worth in report_worth(window, "en").items()}
        {'1': 0.0, '2': 2.8}
    """
    worth: list[float] = []
    said: set[str] = set()
    before: _Reading | None = None
    names = frozenset(word for turn in window for word in _words(turn.speaker))
    for turn in window:
        reading = _read(turn, names, language)
        terms = set(content_terms(extract_terms(reading.body), language))
        worth.append(_worth(reading, before, new_terms=len(terms - said)))
        said |= terms
        before = reading
    return {turn.id: _spread(worth, place) for place, turn in enumerate(window)}


def _read(turn: Turn, names: frozenset[str], language: str | None) -> _Reading:
    body = _ATTACHMENT.sub("", turn.text).replace("\u2019", "'")
    sentences = [part.strip() for part in _SENTENCE_END.split(body) if part.strip()]
    english = language == "en"
    return _Reading(turn, sentences, english, english and _only_reacts(_words(body), names))


def _words(text: str) -> list[str]:
    return _WORD.findall(text.casefold())


def _only_reacts(words: Sequence[str], names: frozenset[str]) -> bool:
    """Whether there is a word of reaction and, but for names, nothing else with content."""
    return not _REACTIONS.isdisjoint(words) and (_CONTENTLESS | names).issuperset(words)


def _worth(reading: _Reading, before: _Reading | None, *, new_terms: int) -> float:
    """The turn's worth by itself and after the turn before it."""
    told = sum(_told_words(sentence, reading.english) for sentence in reading.sentences)
    same_speaker = before is not None and before.turn.speaker == reading.turn.speaker
    answers = before is not None and not same_speaker and before.asks and not reading.only_asks
    too_few = 0.0 if answers else _TOO_FEW_WORDS
    if reading.turn.kind == "system" or reading.only_reacts or told <= too_few:
        return 0.0
    return (
        math.log1p(told)  # the tenth word tells more than the fiftieth
        + _NEW * math.log1p(new_terms)
        + _ANSWER * answers
        + _CONTINUATION * same_speaker
        + _AMOUNT * _names_amount(reading)
        + _CUE * _count_cues(reading)
    )


def _told_words(sentence: str, english: bool) -> float:
    """The sentence's words, weighted by what kind of sentence it is."""
    words = _words(sentence)
    weight = _ASKING if _ASKS.search(sentence) else 1.0
    weight *= _EXCLAIMING if _EXCLAIMS.search(sentence) else 1.0
    if english:
        words = [word for word in words if word not in _FILLERS]
        weight *= _weigh_person(sentence)
    return weight * len(words)


def _weigh_person(sentence: str) -> float:
    if _I.search(sentence):
        return _ABOUT_ME
    return _ABOUT_YOU if _YOU.search(sentence) else 1.0


def _names_amount(reading: _Reading) -> bool:
    body = reading.body
    return bool(_DIGIT.search(body) or (reading.english and _NUMBER_WORD.search(body)))


def _count_cues(reading: _Reading) -> int:
    """How many kinds of cue the turn has; 0 in languages without a list."""
    if not reading.english:
        return 0
    return min(_MOST_CUES, sum(bool(cue.search(reading.body)) for cue in _CUES))


def _spread(worth: Sequence[float], place: int) -> float:
    """The worth, less where a neighbour has more."""
    best = max(worth[max(0, place - 1) : place + 2])
    return worth[place] - _BESIDE_BETTER * (0.0 < worth[place] < best)
