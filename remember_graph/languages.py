"""What depends on a language: its function words and its stems, and telling which one it is.

Only languages that can be told apart by their function words are known; for every other text
terms stay as they are, which BM25 handles well enough. Stems are Snowball's (Porter 1980, Porter
and Boulter 2001).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from functools import cache, lru_cache
from typing import Protocol, cast


def _set_of(words: str) -> frozenset[str]:
    return frozenset(words.split())


# Words that carry grammar and no content; enough of them to recognise a language by.
FUNCTION_WORDS: dict[str, frozenset[str]] = {
    "en": _set_of(
        """a an the and or but if so as at by for from in into of on to up out with about than then
        i me my we us our you your he him his she her it its they them their this that these those
        is am are was were be been being do does did have has had will would can could should may
        not no just there here what which who when where how i'm it's that's don't"""
    ),
    "de": _set_of(
        """der die das den dem des ein eine einen einem einer und oder aber wenn als wie am im in
        an auf aus bei mit nach von vor zu zum zur für um ich mich mir du dich dir er ihn ihm sie
        es wir uns ihr ihnen euch mein dein sein ist bin bist sind war waren wird werden hat habe
        haben hatte kann nicht auch nur noch schon so da dann hier was wer wo doch ja mal"""
    ),
    "fr": _set_of(
        """le la les un une des du de et ou mais si que qui quoi dans en au aux sur sous par pour
        avec sans je me moi tu te toi il elle on nous vous ils elles ce cet cette ces mon ma mes
        ton ta tes son sa ses est suis es sont était ai as a ont avait pas ne plus y à c'est j'ai
        qu'il d'un d'une être avoir fait là"""
    ),
    "es": _set_of(
        """el la los las un una unos unas y o pero si que quien en de del al a con sin por para
        sobre yo me mi tú te tu él ella lo le se nos nosotros ellos ellas les su sus este esta esto
        ese esa eso es soy eres son era está están estoy he ha han había no ya muy más como cuando
        donde hay"""
    ),
    "it": _set_of(
        """il lo la i gli le un uno una e o ma se che chi in di del della dei delle da dal al alla
        con per su tra fra io mi tu ti lui lei ci noi vi voi loro si mio tuo suo questo questa
        quello quella è sono sei siamo era ho hai ha hanno non più anche come quando dove già
        c'è"""
    ),
    "pt": _set_of(
        """o a os as um uma uns umas e ou mas se que quem em de do da dos das no na nos nas ao à
        com sem por para eu me mim tu te você ele ela nós eles elas lhe seu sua meu minha este esta
        isto esse essa isso é sou são era está estão estou tem tenho têm não já mais muito como
        quando onde"""
    ),
    "nl": _set_of(
        """de het een en of maar als dan die dat dit deze in op aan van voor met bij naar uit om te
        ik me mij je jij jou hij hem zij ze wij we ons jullie hun hen mijn jouw zijn haar is ben
        bent was waren word wordt worden heb hebt heeft had hadden kan niet ook nog wel er hier
        daar wat wie waar hoe"""
    ),
}
_SNOWBALL = {
    "en": "english",
    "de": "german",
    "fr": "french",
    "es": "spanish",
    "it": "italian",
    "pt": "portuguese",
    "nl": "dutch",
}
LANGUAGES: tuple[str, ...] = tuple(FUNCTION_WORDS)

# A quarter to a half of running text is function words; names and lists have fewer. Several
# different ones, since a speaker's name before every line may be one (Ben, in Dutch: am).
SHARE, ENOUGH, DIFFERENT = 0.18, 12, 6


class _Stemmer(Protocol):
    def stemWord(self, word: str) -> str: ...  # Snowball's own names

    def stemWords(self, words: Sequence[str]) -> list[str]: ...


@cache
def _stemmer(language: str) -> _Stemmer:
    import Stemmer  # only when the first stem is asked for

    return cast("_Stemmer", Stemmer.Stemmer(_SNOWBALL[language]))


@lru_cache(maxsize=65_536)
def stem(term: str, language: str | None) -> str:
    """The stem of a term; the term itself where the language is not known.

    Example:
        >>> stem("meetings", "en"), stem("meetings", None)
        ('meet', 'meetings')
    """
    if language not in _SNOWBALL or not term.isalpha():
        return term  # numbers, ids and addresses have no inflection
    return _stemmer(language).stemWord(term)


def stems_of(terms: Sequence[str], language: str | None) -> Sequence[str]:
    """The stems of many terms, none of which is remembered.

    Example:
        >>> stems_of(["meetings", "ab-17"], "en")
        ['meet', 'ab-17']
    """
    if language not in _SNOWBALL:
        return terms
    stems = _stemmer(language).stemWords(terms)
    return [key if term.isalpha() else term for term, key in zip(terms, stems, strict=True)]


def is_function_word(term: str, language: str | None) -> bool:
    """Whether the term only carries grammar in this language."""
    return language is not None and term in FUNCTION_WORDS.get(language, frozenset())


def languages_with(term: str) -> tuple[str, ...]:
    """The languages whose function word the term is."""
    return _LANGUAGES_OF.get(term, ())


def content_terms(terms: Iterable[str], language: str | None) -> list[str]:
    """The stems of the terms without the function words."""
    return [stem(term, language) for term in terms if not is_function_word(term, language)]


class LanguageCounts:
    """Running counts from which a stream's language is told; grows by one addition a term."""

    def __init__(self) -> None:
        self._total = 0
        self._hits = dict.fromkeys(LANGUAGES, 0)
        self._words: dict[str, set[str]] = {language: set() for language in LANGUAGES}

    def add(self, terms: Iterable[str]) -> None:
        """Count the terms of one more turn."""
        counts = Counter(terms)
        self.add_counted(counts.keys(), counts.values())

    def add_counted(self, terms: Iterable[str], counts: Iterable[int]) -> None:
        """Count the distinct terms of one more turn, each so many times."""
        for term, count in zip(terms, counts, strict=True):
            self._total += count
            for language in languages_with(term):
                self._hits[language] += count
                self._words[language].add(term)

    @property
    def language(self) -> str | None:
        """The language with most function words, or None where no one stands out."""
        varied = [name for name in LANGUAGES if len(self._words[name]) >= DIFFERENT]
        best = max(varied, key=lambda name: self._hits[name], default=None)
        if best is None or self._hits[best] < max(ENOUGH, SHARE * self._total):
            return None
        return best


def detect_language(terms: Iterable[str]) -> str | None:
    """The language of a text given as its terms.

    Example:
        >>> detect_language("we will do it when they are back and it is in the box".split())
        'en'
    """
    counts = LanguageCounts()
    counts.add(terms)
    return counts.language


_LANGUAGES_OF: dict[str, tuple[str, ...]] = {}
for _language, _words in FUNCTION_WORDS.items():
    for _word in _words:
        _LANGUAGES_OF[_word] = (*_LANGUAGES_OF.get(_word, ()), _language)
