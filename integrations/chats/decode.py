"""Bytes of a chat export as text: which encoding, and what could not be decoded.

A byte order mark decides (UTF-8, UTF-16, UTF-32); without one, the zeros of UTF-16 are looked
for, and everything else is UTF-8. Bytes that are not valid become U+FFFD and are counted.
Lines are read one by one, so that a file need not fit into memory twice.
"""

from __future__ import annotations

import codecs
import io
import json
import re
import unicodedata
from collections import Counter
from collections.abc import Iterator
from typing import Any, BinaryIO

_BOMS = (
    (codecs.BOM_UTF8, "utf-8-sig"),
    (codecs.BOM_UTF32_LE, "utf-32"),  # before UTF-16: its mark begins with the same two bytes
    (codecs.BOM_UTF32_BE, "utf-32"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)
_ESCAPED_BYTES = re.compile("[\udc80-\udcff]+")
# NUL is valid in JSON escapes, but neither a terminal nor PostgreSQL takes it.
_NOT_STORABLE = re.compile("[\x00\ud800-\udfff]")
_NOT_PRINTABLE = re.compile("[\x00-\x1f\x7f-\x9f\ud800-\udfff]")
_REPLACEMENT = "\ufffd"
_MAX_NUL_SHARE = 0.01
_MAX_NOISE_SHARE = 0.3  # text in a foreign one-byte encoding is mostly spaces and letters still


def sniff_encoding(head: bytes) -> str:
    r"""The Python name of the encoding that the first bytes of a file show.

    Example:
        >>> sniff_encoding(b"\xff\xfeA\x00")
        'utf-16'
    """
    for bom, encoding in _BOMS:
        if head.startswith(bom):
            return encoding
    pairs = len(head) // 2
    zeros_first, zeros_second = head[0::2].count(0), head[1::2].count(0)
    if zeros_second * 3 > pairs and zeros_first * 20 < pairs:
        return "utf-16-le"
    if zeros_first * 3 > pairs and zeros_second * 20 < pairs:
        return "utf-16-be"
    return "utf-8"


def is_binary(head: bytes) -> bool:
    """Whether the first bytes of a file are no text in any encoding that is read here."""
    text = head.decode(sniff_encoding(head), "replace")
    if not text:
        return False
    noise = sum(count for character, count in Counter(text).items() if _is_noise(character))
    return text.count("\0") > _MAX_NUL_SHARE * len(text) or noise > _MAX_NOISE_SHARE * len(text)


def _is_noise(character: str) -> bool:
    if character in "\t\n\r\x0b\x0c":
        return False
    return character == _REPLACEMENT or unicodedata.category(character) == "Cc"


def clean_text(text: str) -> str:
    r"""The text in NFC, with what cannot be encoded or stored replaced by U+FFFD.

    Example:
        >>> clean_text("so\ud800") == "so\ufffd"
        True
    """
    return _NOT_STORABLE.sub(_REPLACEMENT, unicodedata.normalize("NFC", text))


def one_line(text: str) -> str:
    r"""The text as it can stand in a message: printable, on one line.

    Example:
        >>> one_line("a\nb\x1b[31m")
        'a b?[31m'
    """
    return _NOT_PRINTABLE.sub("?", " ".join(text.split()))


def replaced_notes(count: int) -> list[str]:
    """One sentence if bytes were replaced, for all files of an export together."""
    times = "time" if count == 1 else "times"
    return [f"Undecodable bytes were replaced by U+FFFD: {count} {times}."] if count else []


class TextLines:
    """The lines of a binary stream as text, without their line ends.

    Only LF, CR LF and CR end a line: U+2028 and the like occur inside messages.

    Attributes:
        replaced: How many runs of undecodable bytes were replaced so far.
    """

    def __init__(self, stream: BinaryIO, head: bytes) -> None:
        encoding = sniff_encoding(head)
        self._counts_bytes = encoding.startswith("utf-8")
        errors = "surrogateescape" if self._counts_bytes else "replace"
        self._text = io.TextIOWrapper(stream, encoding=encoding, errors=errors, newline=None)
        self.replaced = 0

    def __iter__(self) -> Iterator[str]:
        for line in self._text:
            yield self._repaired(line.removesuffix("\n"))

    def read(self) -> str:
        """All that is left, as one text."""
        return self._repaired(self._text.read())

    def notes(self) -> list[str]:
        """One sentence if bytes were replaced."""
        return replaced_notes(self.replaced)

    def _repaired(self, text: str) -> str:
        if not self._counts_bytes:
            self.replaced += text.count(_REPLACEMENT)
            return text
        repaired, count = _ESCAPED_BYTES.subn(_REPLACEMENT, text)
        self.replaced += count
        return repaired


def parse_json(text: str, **options: Any) -> Any:  # noqa: ANN401  JSON is any value
    """The JSON value of a text; ValueError is all that can go wrong."""
    try:
        # Exporters write raw line feeds and tabs inside strings.
        return json.loads(text, strict=False, **options)
    except RecursionError as error:
        raise ValueError("nested too deeply") from error
