"""Which turns of a window are worth reporting to somebody who was away, told without a model.

A turn is worth the more, the more it tells: its words count in full where a sentence states, in
part where it asks, exclaims or speaks about the other person, and not at all where it only reacts
("Wow, so nice!"). New terms, an answer, a continued statement, a number and, in English, words of
decisions, plans, requests and changes add to that; a better turn next to it takes away. After
Luhn (1958), cues after Edmundson (1969); an empty window has no worth.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence

from remember_graph.languages import FUNCTION_WORDS, content_terms
from remember_graph.scripts import UNSPACED
from remember_graph.terms import extract_terms
from remember_graph.types import Turn

_QUESTION, _EXCLAMATION, _TO_OTHER, _OWN = 0.5, 0.75, 0.5, 1.25
_NEW, _ANSWER, _CONTINUES, _NUMBER, _CUE = 0.5, 0.5, 0.5, 0.25, 0.1
_BESIDE_BETTER = 0.5
_FEWEST_WORDS = 2.0
_MOST_CUES = 3


def _any_of(words: str) -> re.Pattern[str]:
    return re.compile(rf"\b(?:{words})\b", re.IGNORECASE)


_ATTACHMENT = re.compile(r"\[(?:attachment|shares|shared)[^\]]*\]?")
_SENTENCE_END = re.compile(r"(?<=[.!?…؟।])\s+|(?<=[。！？])|\n+")
_WORD = re.compile(rf"[{UNSPACED}]{{1,3}}|(?:(?![{UNSPACED}])\w)+(?:'\w+)?")
_ASKS = re.compile("[?？؟]")
_EXCLAIMS = re.compile("[!！]")
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
_FILLERS = frozenset(
    """um uh umm uhh er erm hmm mm mhm huh ah oh eh yeah yes yep yup okay ok so well like no nah
    nope""".split()
)
_REACTIONS = frozenset(
    """wow thanks thank congrats congratulations awesome amazing great cool nice lovely wonderful
    happy glad sorry sweet cute haha hahaha lol lmao omg sounds good luck bye hi hey hello welcome
    course absolutely totally definitely sure right exactly aw aww appreciate proud agree know see
    love hear true fun perfect interesting beautiful best alright fine guess wait dude man night
    morning evening later care""".split()
)
_EMPTY = (
    FUNCTION_WORDS["en"]
    | _FILLERS
    | frozenset("you're very really too much all one get got u im".split())
)


def report_worth(window: Sequence[Turn], language: str | None) -> dict[str, float]:
    """Per turn id how worth reporting the turn is; 0.0 means never."""
    worth: list[float] = []
    said: set[str] = set()
    for place, turn in enumerate(window):
        terms = set(content_terms(extract_terms(_body(turn)), language))
        worth.append(_worth(window, place, len(terms - said), language))
        said |= terms
    return {turn.id: _spread(worth, place) for place, turn in enumerate(window)}


def _worth(window: Sequence[Turn], place: int, new_terms: int, language: str | None) -> float:
    turn = window[place]
    body = _body(turn)
    told = _told_words(body, language)
    answers = _answers(window, place)
    if turn.kind == "system" or told <= (0 if answers else _FEWEST_WORDS):
        return 0.0
    continues = place > 0 and window[place - 1].speaker == turn.speaker
    return (
        math.log1p(told)
        + _NEW * math.log1p(new_terms)
        + _ANSWER * answers
        + _CONTINUES * continues
        + _NUMBER * any(char.isdigit() for char in body)
        + _CUE * _count_cues(body, language)
    )


def _body(turn: Turn) -> str:
    return _ATTACHMENT.sub("", turn.text).replace("’", "'")


def _told_words(body: str, language: str | None) -> float:
    english = language == "en"
    return sum(
        _told_by(sentence, english) for sentence in _SENTENCE_END.split(body) if sentence
    )


def _told_by(sentence: str, english: bool) -> float:
    words = _WORD.findall(sentence.casefold())
    weight = _QUESTION if _ASKS.search(sentence) else 1.0
    weight *= _EXCLAMATION if _EXCLAIMS.search(sentence) else 1.0
    if english:
        weight *= _person(sentence)
        words = [word for word in words if word not in _FILLERS]
        if not _REACTIONS.isdisjoint(words) and _REACTIONS.union(_EMPTY).issuperset(words):
            return 0.0
    return weight * len(words)


def _person(sentence: str) -> float:
    if _I.search(sentence):
        return _OWN
    return _TO_OTHER if _YOU.search(sentence) else 1.0


def _answers(window: Sequence[Turn], place: int) -> bool:
    if not place:
        return False
    turn, before = window[place], window[place - 1]
    sentences = [part for part in _SENTENCE_END.split(_body(turn)) if part.strip()]
    return (
        before.speaker != turn.speaker
        and bool(_ASKS.search(_body(before)))
        and not all(_ASKS.search(part) for part in sentences)
    )


def _count_cues(body: str, language: str | None) -> int:
    if language != "en":
        return 0
    return min(_MOST_CUES, sum(bool(cue.search(body)) for cue in _CUES))


def _spread(worth: Sequence[float], place: int) -> float:
    best = max(worth[max(0, place - 1) : place + 2])
    return worth[place] - _BESIDE_BETTER * (0 < worth[place] < best)
