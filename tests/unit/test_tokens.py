"""The token counter."""

from __future__ import annotations

import json
import unicodedata
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from remember_graph.tokens import count_tokens

_DENSE_NAMES = ("CJK UNIFIED", "HIRAGANA LETTER", "KATAKANA LETTER", "HANGUL", "THAI CHARACTER")
_DENSE = [
    chr(code)
    for first, last in ((0x0E01, 0x0E5B), (0x3041, 0x30FF), (0x4E00, 0x4E80), (0xAC00, 0xAC80))
    for code in range(first, last)
    if unicodedata.name(chr(code), "").startswith(_DENSE_NAMES)
]


@pytest.mark.parametrize(
    ("text", "tokens"),
    [
        ("", 0),
        (" \n\t", 0),
        ("one", 1),
        ("seven77", 2),  # a word and a number
        ("abcdefgh", 1),  # eight letters are whole
        ("abcdefghi", 2),  # one more letter begins a second piece
        ("abcdefghijkl", 2),  # 8 + 4
        ("abcdefghijklm", 3),  # 8 + 4 + 1
        ("1234", 2),  # three digits a token
        ("don't", 3),  # don, ', t
        ("été", 1),
        ("привет", 4),  # 6 letters at two tokens for three
        ("会議", 3),  # 2 at 1.5
        ("\N{PARTY POPPER}", 3),
        ("Ana: ok", 3),
        ("\x07", 1),
        ("«¿Ya?»", 5),  # one each: « ¿ Ya ? »
        ("\u201cok\u201d \u2013 \u2026", 5),  # typographic quotes, dash and dots one each
    ],
)
def test_a_text_costs_what_its_pieces_cost(text: str, tokens: int) -> None:
    assert count_tokens(text) == tokens


@given(st.text().filter(lambda text: bool(text.strip())))
def test_a_text_that_is_not_blank_costs_something(text: str) -> None:
    assert count_tokens(text) >= 1


@given(st.text(st.sampled_from(_DENSE), min_size=1))
def test_chinese_japanese_korean_and_thai_cost_a_token_a_character_or_more(text: str) -> None:
    assert count_tokens(text) >= len(text)


@given(st.text(), st.text())
def test_two_texts_together_cost_no_more_than_apart(one: str, other: str) -> None:
    assert count_tokens(f"{one} {other}") <= count_tokens(one) + count_tokens(other)


def test_a_control_character_costs_the_same_beside_ascii_and_beside_other_letters() -> None:
    assert count_tokens("\x07 é") == count_tokens("\x07") + count_tokens("é")


@given(st.text(), st.text())
def test_a_longer_text_never_costs_less(text: str, more: str) -> None:
    assert count_tokens(text) <= count_tokens(text + "é" + more)


@pytest.mark.parametrize("letter", ["a", "é", "1", "会", "é ", "\N{PARTY POPPER}", " ", "a.a@"])
def test_a_megabyte_of_one_thing_is_counted(letter: str) -> None:
    assert count_tokens(letter * (1_000_000 // len(letter))) >= 0


def test_a_typographic_apostrophe_costs_what_a_typed_one_does() -> None:
    assert count_tokens("don’t") == count_tokens("don't")


def test_english_chats_cost_up_to_3_percent_more_than_word_pieces(shared: Path) -> None:
    counted = expected = 0
    for path in sorted((shared / "gapbench" / "dialogues").glob("*.json")):
        for turn in json.loads(path.read_text("utf-8"))["turns"]:
            counted += count_tokens(f"{turn['speaker']}: {turn['text']}")
            expected += turn["tokens"]

    assert expected <= counted <= 1.03 * expected
