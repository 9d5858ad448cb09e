"""Languages: function words, stems, telling which one it is."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from remember_graph.languages import (
    FUNCTION_WORDS,
    LANGUAGES,
    LanguageCounts,
    content_terms,
    detect_language,
    is_function_word,
    stem,
)
from remember_graph.terms import extract_terms

_SAMPLES = {
    "en": "We will meet at the station when they are back and then it is up to you what we do",
    "de": "Wir sind am Bahnhof und wenn sie da ist gehen wir mit euch zu dem Haus in der Stadt",
    "fr": "Nous sommes à la gare et quand elle est là on va avec vous dans la maison de ma mère",
    "es": "Estamos en la estación y cuando ella está aquí vamos con ellos a la casa de mi madre no",
    "it": "Noi siamo alla stazione e quando lei è qui andiamo con loro in una casa che è di zio",
    "pt": "Nós estamos na estação e quando ela está aqui eu vou com você para uma casa que é mãe",
    "nl": "We zijn op het station en als ze er is gaan we met jullie naar het huis van mijn moeder",
}


@pytest.mark.parametrize("language", LANGUAGES)
def test_a_sentence_tells_its_language(language: str) -> None:
    assert detect_language(extract_terms(_SAMPLES[language])) == language


@pytest.mark.parametrize("text", ["", "ok", "会議は三時に始まります", "Ana Bert Cleo Dora " * 20])
def test_a_text_without_function_words_has_no_language(text: str) -> None:
    assert detect_language(extract_terms(text)) is None


_SEVENTEEN = [
    *["the", "and", "but", "with", "about", "than", "then", "my", "your", "this", "those"],
    *["would", "should", "can", "from", "into", "they"],
]
_TWELVE = _SEVENTEEN[:12]


def test_eleven_function_words_are_not_enough_to_tell() -> None:
    assert detect_language(_TWELVE[:11]) is None


def test_twelve_function_words_are_enough_to_tell() -> None:
    assert detect_language(_TWELVE) == "en"


def test_function_words_that_are_17_in_100_are_no_language() -> None:
    assert detect_language([*_SEVENTEEN, *["zzz"] * 83]) is None


def test_function_words_that_are_18_in_100_are_a_language() -> None:
    assert detect_language([*_SEVENTEEN, "which", *["zzz"] * 82]) == "en"


def test_one_speaker_whose_name_is_a_function_word_makes_no_language() -> None:
    assert detect_language(["ben", "dzisiaj", "ben", "jutro"] * 10) is None


@pytest.mark.parametrize(("different", "language"), [(5, None), (6, "en")])
def test_a_language_needs_six_different_function_words(
    different: int, language: str | None
) -> None:
    assert detect_language(_TWELVE[:different] * 12) == language


def test_a_name_that_is_a_function_word_does_not_outvote_the_language() -> None:
    assert detect_language([*_TWELVE, *["ben"] * 20]) == "en"


@given(st.lists(st.lists(st.sampled_from(["the", "is", "der", "la", "zzz"]), max_size=8)))
def test_counting_turn_by_turn_tells_the_same_as_counting_all(turns: list[list[str]]) -> None:
    counts = LanguageCounts()
    for turn in turns:
        counts.add(turn)

    assert counts.language == detect_language(term for turn in turns for term in turn)


@pytest.mark.parametrize("language", LANGUAGES)
def test_function_words_are_terms_of_the_extractor(language: str) -> None:
    odd = [word for word in FUNCTION_WORDS[language] if extract_terms(word) != [word]]

    assert not odd


def test_inflected_forms_share_a_stem() -> None:
    assert stem("meetings", "en") == stem("meeting", "en") == "meet"


@pytest.mark.parametrize("term", ["ab-17", "ana@example.org", "c++", "34"])
def test_ids_addresses_and_numbers_are_not_stemmed(term: str) -> None:
    assert stem(term, "en") == term


@pytest.mark.parametrize("language", [None, "xx"])
def test_terms_of_an_unknown_language_stay_as_they_are(language: str | None) -> None:
    assert content_terms(["the", "meetings"], language) == ["the", "meetings"]


def test_content_terms_leave_out_function_words_and_stem_the_rest() -> None:
    assert content_terms(["the", "meetings", "are", "the", "meetings"], "en") == ["meet", "meet"]


def test_a_function_word_is_one_in_its_own_language_only() -> None:
    assert is_function_word("der", "de")
    assert not is_function_word("der", "en")
