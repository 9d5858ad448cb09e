"""BM25 terms of a text."""

from __future__ import annotations

import base64
import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from remember_graph.terms import extract_terms


@pytest.mark.parametrize(
    ("text", "terms"),
    [
        ("", []),
        ("?!, -- ...", []),
        ("Hello, World", ["hello", "world"]),
        ("don't", ["don't"]),
        ("don’t", ["don't"]),
        ("We use C++ and C#.", ["we", "use", "c++", "and", "c#"]),
        ("snake_case", ["snake_case"]),
        ("well-known", ["well", "known"]),
        ("AB-17", ["ab-17", "ab", "17"]),
        ("v1.2.3", ["v1.2.3", "v1", "2", "3"]),
        ("10:30", ["10:30", "10", "30"]),
        ("ana@example.org", ["ana@example.org", "ana", "example", "org"]),
        ("邮箱ana@example.org。", ["邮", "邮箱", "箱", "ana@example.org", "ana", "example", "org"]),
        ("三時に", ["三", "三時", "時", "時に", "に"]),
        ("กินข้าว"[:3], ["กิ", "กิน", "น"]),  # the vowel sign stays with its letter
        ("Café", ["café"]),
        ("Straße", ["strasse"]),
        ("हिन्दी", ["हिन्दी"]),  # marks and virama inside one word
        ("\u0663\u0664", ["34"]),  # Arabic-Indic digits
        ("\u0e51\u0e52", ["12"]),  # Thai digits
        ("ＡＢＣ", ["abc"]),  # full-width letters
        ("한국", ["한", "한국", "국"]),
    ],
)
def test_a_text_gives_these_terms(text: str, terms: list[str]) -> None:
    assert extract_terms(text) == terms


@pytest.mark.parametrize(
    "text",
    [
        "C++を使う",
        "言語はC#",
        "C/C++",
    ],
)
def test_cplusplus_and_csharp_are_found_beside_other_text(text: str) -> None:
    assert {"c++", "c#"} & set(extract_terms(text))


@pytest.mark.parametrize(
    ("text", "terms"),
    [
        ("C/C++", ["c", "c++"]),
        ("c++/c#", ["c++", "c#"]),
        ("Objective-C++", ["objective", "c++"]),
        ("言C#語", ["言", "c#", "語"]),
        ("abc++ c#d éc# c++é", ["abc", "c", "d", "éc", "c", "é"]),  # inside words there is none
    ],
)
def test_a_sign_is_a_letter_alone(text: str, terms: list[str]) -> None:
    assert extract_terms(text) == terms


# Letters of which upper case and back again is the same word under casefold.
_plain = st.text(st.sampled_from("abc ABC éÉ ñ ü ß ж Ж й Й ς σ ά Ά ё ệ Ộ ą 한 が ガ 1 . @ - ' "))


@given(_plain)
def test_composed_and_decomposed_text_give_the_same_terms(text: str) -> None:
    assert extract_terms(unicodedata.normalize("NFD", text)) == extract_terms(
        unicodedata.normalize("NFC", text)
    )


@given(_plain)
def test_upper_and_lower_case_give_the_same_terms(text: str) -> None:
    assert extract_terms(text.upper()) == extract_terms(text.lower())


@given(st.text())
def test_no_term_is_empty_or_has_a_blank(text: str) -> None:
    assert all(term and not term.isspace() for term in extract_terms(text))


@given(st.text(), st.text())
def test_lines_give_their_terms_one_after_the_other(one: str, other: str) -> None:
    assert extract_terms(f"{one}\n{other}") == [*extract_terms(one), *extract_terms(other)]


@pytest.mark.parametrize(
    "text",
    [
        "a" * 1_000_000,
        "é" * 1_000_000,
        "会" * 300_000,
        "ิ" * 300_000,
        "กิิ" + "ิ" * 100 + "กิ",
        "a" + "\u0301\u0323" * 500_000,  # putting them in order is quadratic
        "a.a@" * 250_000,
        "é.é@" * 250_000,
        "a'" * 500_000,
        "a" + " " * 1_000_000,
        base64.b64encode(bytes(range(256)) * 3_000).decode(),
    ],
    ids=[
        "letter",
        "accent",
        "han",
        "mark",
        "stack",
        "accents",
        "address",
        "accented",
        "quotes",
        "blanks",
        "base64",
    ],
)
def test_no_term_of_a_megabyte_is_longer_than_64_characters(text: str) -> None:
    assert max(map(len, extract_terms(text))) <= 64
