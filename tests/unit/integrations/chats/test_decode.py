"""Bytes of a chat export as text."""

import io

import pytest

from remember_graph.integrations.chats.decode import (
    TextLines,
    clean_text,
    is_binary,
    one_line,
    parse_json,
    sniff_encoding,
)


def _lines(data: bytes) -> tuple[list[str], int]:
    lines = TextLines(io.BytesIO(data), data)
    return list(lines), lines.replaced


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "utf-32", "utf-16-le"])
def test_each_unicode_encoding_is_recognised(encoding: str) -> None:
    assert _lines("Ana: hello\nBob: hé".encode(encoding)) == (["Ana: hello", "Bob: hé"], 0)


def test_big_endian_utf_16_without_a_mark_is_recognised() -> None:
    assert sniff_encoding("hello there".encode("utf-16-be")) == "utf-16-be"


@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
def test_every_line_end_ends_a_line(end: str) -> None:
    assert _lines(f"one{end}two{end}".encode()) == (["one", "two"], 0)


def test_separators_inside_a_message_end_no_line() -> None:
    text = "one\u2028still\x0bone\x0cand\x85on"

    assert _lines(text.encode()) == ([text], 0)


def test_undecodable_bytes_are_replaced_and_counted_by_run() -> None:
    assert _lines(b"h\xf6\nok\nx\xff\xfey") == (["h\ufffd", "ok", "x\ufffdy"], 2)


def test_half_a_character_of_utf_16_is_replaced_and_counted() -> None:
    lines, replaced = _lines("ab".encode("utf-16") + b"\x00")

    assert lines[0].startswith("ab")
    assert replaced == 1


@pytest.mark.parametrize(
    "data", [b"\x00\x01\x02", bytes(range(128, 256)), b"\x89PNG\r\n\x1a\n\0\0"]
)
def test_binary_data_is_recognised(data: bytes) -> None:
    assert is_binary(data)


@pytest.mark.parametrize(
    "data", [b"", b"Ana: hi", "héllo".encode("latin-1"), "hé".encode("utf-16")]
)
def test_text_is_not_taken_for_binary(data: bytes) -> None:
    assert not is_binary(data)


def test_what_cannot_be_encoded_or_stored_is_replaced() -> None:
    assert clean_text("a\ud800b\x00c") == "a\ufffdb\ufffdc"


def test_text_is_composed() -> None:
    assert clean_text("e\u0301") == "\u00e9"


def test_a_message_shows_no_line_ends_and_no_terminal_codes() -> None:
    assert one_line("a\n b\x1b[31m\ud800") == "a b?[31m?"


@pytest.mark.parametrize("text", ["[" * 100_000, "{", "1" * 5_000, ""])
def test_no_json_raises_anything_but_a_value_error(text: str) -> None:
    with pytest.raises(ValueError, match=r"."):
        parse_json(text)


def test_raw_tabs_inside_json_strings_are_taken() -> None:
    assert parse_json('{"a": "x\ty"}') == {"a": "x\ty"}
