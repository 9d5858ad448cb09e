"""JSON out of what models write: thinking, fences, prose around it, a list cut off in the middle.

Small and reasoning models rarely answer with JSON alone. Whole items that can be read are
salvaged; what cannot be read is left out, and the caller learns whether anything was found.
"""

from __future__ import annotations

import json
import re
from typing import Any

_TAG_OR_OPENER = re.compile(
    r"<(?P<close>/?)(?:think|thinking|analysis|reasoning)>|(?P<opener>[\[{])", re.IGNORECASE
)
_FENCE = re.compile(r"```\w*")
_BARE_LIST = re.compile(r"\[(?=\s*+[{\]])")
_OBJECT = re.compile(r'\{(?=\s*+")')
# A string, even one that is cut off; a bracket; any other word.
_STRING = r'"(?:[^"\\]++|\\.)*+"?'
_TOKEN = re.compile(rf'{_STRING}|[\[\]{{}}]|[^\s\[\]{{}}",:]++', re.DOTALL)
_STRING_OR_TRAILING_COMMA = re.compile(rf"{_STRING}|,(?=\s*+[\]}}])", re.DOTALL)
_ESCAPE = re.compile(r'(\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4}))|\\')
_DECODER = json.JSONDecoder(strict=False)  # raw line breaks inside strings are common
# No answer of an allowed length needs more; a hostile one must not take quadratic time.
_MOST_ATTEMPTS = 2_000


def strip_thinking(text: str) -> str:
    r"""The answer without the thinking; a tag inside a JSON value is part of that value.

    Example:
        >>> strip_thinking("<think>hm</think>\n[1]")
        '[1]'
    """
    kept: list[str] = []
    start, end, attempts, thinking = 0, 0, 0, False
    for mark in _TAG_OR_OPENER.finditer(text):
        if mark.start() < end:
            continue  # inside the value before
        if mark["opener"]:
            if not thinking and attempts < _MOST_ATTEMPTS:
                attempts += 1
                end = _end_of_json(text, mark.start())
        elif mark["close"]:
            if not thinking:  # templates that open the block in the prompt leave only its end
                kept.clear()
            start, thinking = mark.end(), False
        elif not thinking:
            kept.append(text[start : mark.start()])
            thinking = True
    return "".join([*kept, "" if thinking else text[start:]]).strip()


def find_items(text: str, key: str) -> list[dict[str, Any]] | None:
    r"""The objects of the list that an answer gives, whole ones also of a list cut off.

    Args:
        text: The answer of a model.
        key: The name the list has where it is wrapped in an object.

    Returns:
        The objects; an empty list where the answer says that there are none; None where the
        answer holds no such list at all.

    Example:
        >>> find_items('Sure! ```json\n{"gaps": [{"a": 1}, {"a": 2}, {"a":', "gaps")
        [{'a': 1}, {'a': 2}]
        >>> find_items('{"gaps": []}', "gaps"), find_items("I see no gaps.", "gaps")
        ([], None)
    """
    text = strip_thinking(text)
    wrapped = _first_list(text, re.compile(rf'"{re.escape(key)}"\s*+:\s*+\['))
    if wrapped is not None:
        return wrapped
    bare = _first_list(text, _BARE_LIST)
    # An empty one with other text beside it is no answer: a check box, a list inside an item.
    if bare or (bare == [] and "".join(_FENCE.sub("", text).split()) == "[]"):
        return bare
    return _unlisted(text, key) or None


def _first_list(text: str, opening: re.Pattern[str]) -> list[dict[str, Any]] | None:
    """The objects of the first list with any; else empty where there is a list of nothing."""
    end = 0
    nothing: list[dict[str, Any]] | None = None
    for opener in opening.finditer(text):
        if opener.start() < end:
            continue  # inside the list before
        items, end, closed = _items_from(text, opener.end())
        if found := _objects(items):
            return found
        if closed and not items:
            nothing = []
    return nothing


def _unlisted(text: str, key: str) -> list[dict[str, Any]]:
    """Objects one after the other, in no list."""
    first = _OBJECT.search(text)
    items = _items_from(text, first.start())[0] if first else []
    return [item for item in _objects(items) if key not in item]


def _objects(items: list[Any]) -> list[dict[str, Any]]:
    return [item for item in items if isinstance(item, dict)]


def _items_from(text: str, at: int) -> tuple[list[Any], int, bool]:
    """The values up to the end of their list, where that is, and whether it was found.

    A value that cannot be read is None. One that is cut off is left out with all inside it.
    """
    items: list[Any] = []
    while token := _TOKEN.search(text, at):
        if token.group() == "]":
            return items, token.end(), True
        at = _end_of_value(text, token.start())
        if at < 0:
            break
        items.append(_value(text[token.start() : at]))
    return items, len(text), False


def _end_of_json(text: str, start: int) -> int:
    """Where the valid JSON value that starts there ends; the start where there is none."""
    try:
        return _DECODER.raw_decode(text, start)[1]
    except (ValueError, RecursionError):
        return start


def _end_of_value(text: str, start: int) -> int:
    """Where the token or the balanced brackets that start there end; -1 where they are cut off."""
    depth = 0
    for token in _TOKEN.finditer(text, start):
        depth += {"[": 1, "{": 1, "]": -1, "}": -1}.get(token.group(), 0)
        if depth <= 0:
            return token.end()
    return -1


def _value(text: str) -> Any:  # noqa: ANN401 - any JSON value
    """What a piece of JSON says, as it stands or else mended; None where it cannot be read."""
    for piece in (text, _STRING_OR_TRAILING_COMMA.sub(_mended, text)):
        try:
            return _DECODER.decode(piece)
        except (ValueError, RecursionError):
            continue
    return None


def _mended(match: re.Match[str]) -> str:
    """Nothing for a trailing comma, a string with each bad escape taken as the text it is."""
    piece = match.group()
    return "" if piece == "," else _ESCAPE.sub(lambda pair: pair[1] or r"\\", piece)
