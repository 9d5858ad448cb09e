"""A text as the terms that BM25 counts: the same for the index and for the query.

Words where a script puts spaces between them, uni- and bigrams where it does not; NFKC and
casefold; e-mail addresses, ids such as `AB-17` and names such as `C++` stay whole. What depends
on a language (stems, function words) is not done here but by `languages.py` on the vocabulary,
so that a stream's language may become known later without reading its turns again.
"""

from __future__ import annotations

import re
import unicodedata
from functools import cache, lru_cache
from itertools import chain

from remember_graph.scripts import COMBINING, MARKS, UNSPACED

_LETTER = rf"(?:[^\W{UNSPACED}{COMBINING}]|[{MARKS}])"
_APOSTROPHE, _JOINT = "['\u2019]", "[-+.,:/@]"


def _term_pattern(letter: str) -> str:
    """C++, C#, F# (a letter that no other letter stands beside), else words and joined words.

    One greedy pass without overlap between the classes, so that no input takes more than linear
    time.
    """
    sign = rf"[a-z](?:\+\+|#)(?!{letter})"
    word = rf"{letter}+(?:{_APOSTROPHE}{letter}+)?"
    return rf"(?P<sign>(?<!{letter}){sign})|(?P<spaced>{word}(?:{_JOINT}(?!{sign}){word})*)"


_ASCII_TERM = re.compile(_term_pattern(r"\w"))
_ASCII_WORD = re.compile(r"\w+(?:'\w+)?")


@cache
def _every_script() -> tuple[re.Pattern[str], re.Pattern[str], re.Pattern[str]]:
    """Patterns of a term, a word, a letter with its marks; the large classes compile slowly."""
    return (
        re.compile(rf"{_term_pattern(_LETTER)}|(?P<run>[{UNSPACED}{COMBINING}]+)"),
        re.compile(rf"{_LETTER}+(?:'{_LETTER}+)?"),
        re.compile(rf"[^{COMBINING}][{COMBINING}]*|[{COMBINING}]+"),
    )


# Joined words are kept whole where the joint means something: an address, or a number or id.
_WHOLE = re.compile(r"[^@]+@[^@]+\.[^@]+|[^\d]*\d.*", re.DOTALL)
# A longer run is no word (a base64 block, a key); whole it would only fill the vocabulary.
_LONGEST = 64
# No letter has so many marks. Putting a run of marks in order (NFKC) takes quadratic time.
_MARK_RUN = re.compile(r"([^\w\s]{32})[^\w\s]+")


def extract_terms(text: str) -> list[str]:
    """The terms of a text, in order, with repetitions.

    Example:
        >>> extract_terms("Ship AB-17 to ana@example.org")
        ['ship', 'ab-17', 'ab', '17', 'to', 'ana@example.org', 'ana', 'example', 'org']
        >>> extract_terms("三時に")
        ['三', '三時', '時', '時に', 'に']
    """
    words = _normalise(text).split()  # a term lies in a word and depends on it alone
    is_known = len(max(words, key=len, default="")) <= _LONGEST
    return list(chain.from_iterable(map(_known_terms if is_known else _terms_of, words)))


@lru_cache(maxsize=65_536)
def _known_terms(word: str) -> tuple[str, ...]:
    """The terms of a short word: few words make up most of a conversation."""
    return tuple(_terms_of(word))


def _terms_of(word: str) -> list[str]:
    """The terms of a normalised text without spaces."""
    terms: list[str] = []
    pattern = _ASCII_TERM if word.isascii() else _every_script()[0]
    for match in pattern.finditer(word):
        piece = match.group()
        if match.lastgroup == "spaced":
            terms.extend(_words(piece))
        elif match.lastgroup == "run":
            terms.extend(_grams(piece))
        else:
            terms.append(piece)
    return terms


def _words(piece: str) -> list[str]:
    """A single word, or joined ones: the whole where it is an address or an id, then its parts."""
    if piece.isalnum():
        return [piece[:_LONGEST]]
    piece = piece.replace("\u2019", "'")
    pattern = _ASCII_WORD if piece.isascii() else _every_script()[1]
    words = [word[:_LONGEST] for word in pattern.findall(piece)]
    if len(words) > 1 and len(piece) <= _LONGEST and _WHOLE.fullmatch(piece):
        return [piece, *words]
    return words


def _normalise(text: str) -> str:
    if text.isascii():
        return text.lower()
    text = _MARK_RUN.sub(r"\1", text)
    folded = unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", text).casefold())
    return "".join(
        str(unicodedata.decimal(char)) if char.isdecimal() and not char.isascii() else char
        for char in folded
    )


def _grams(run: str) -> list[str]:
    """Each letter (with its marks) and each pair of neighbours."""
    letters = [cluster[: _LONGEST // 2] for cluster in _every_script()[2].findall(run)]
    grams: list[str] = []
    for index, letter in enumerate(letters):
        grams.append(letter)
        if index + 1 < len(letters):
            grams.append(letter + letters[index + 1])
    return grams
