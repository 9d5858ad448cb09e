"""JSON out of what models write: thinking, fences, prose around it, a list cut off in the middle.

Small and reasoning models rarely answer with JSON alone. Whole items that can be read are
salvaged; what cannot be read is left out, and the caller learns whether anything was found.
"""

from __future__ import annotations

import json
import re
from typing import Any

_THINKING = re.compile(r"<(think|thinking|analysis|reasoning)>.*?</\1>", re.DOTALL | re.IGNORECASE)
# Templates that open the block in the prompt leave only its end in the answer.
_THINKING_END = re.compile(r"^.*</(?:think|thinking|analysis|reasoning)>", re.DOTALL | re.IGNORECASE)
_THINKING_OPEN = re.compile(r"<(?:think|thinking|analysis|reasoning)>", re.IGNORECASE)
_DECODER = json.JSONDecoder(strict=False)  # raw line breaks inside strings are common
_BAD_ESCAPE = re.compile(r'\\(?!["\\/bfnrtu]|u[0-9a-fA-F]{4})')
_BAD_UNICODE = re.compile(r"\\u(?![0-9a-fA-F]{4})")
_TRAILING_COMMA = re.compile(r",(\s*[\]}])")
# No answer of an allowed length needs more; a hostile one must not take quadratic time.
_MOST_ATTEMPTS = 2_000


def strip_thinking(text: str) -> str:
    """The answer without the thinking before it.

    Example:
        >>> strip_thinking("<think>hm</think>\\n[1]")
        '[1]'
    """
    text = _THINKING.sub("", text)
    text = _THINKING_END.sub("", text)
    opened = _THINKING_OPEN.search(text)
    return (text[: opened.start()] if opened else text).strip()


def find_items(text: str, key: str) -> list[dict[str, Any]] | None:
    """The objects of the list that an answer gives, whole ones also of a list cut off.

    Args:
        text: The answer of a model.
        key: The name the list has where it is wrapped in an object.

    Returns:
        The objects; an empty list where the answer says that there are none; None where the
        answer holds no such list at all.

    Example:
        >>> find_items('Sure! ```json\\n{"gaps": [{"a": 1}, {"a": 2}, {"a":', "gaps")
        [{'a': 1}, {'a': 2}]
        >>> find_items('{"gaps": []}', "gaps"), find_items("I see no gaps.", "gaps")
        ([], None)
    """
    text = _mended(strip_thinking(text))
    whole = _first_whole(text, key)
    if whole is not None:
        return whole
    salvaged = _objects_inside(text, key)
    return salvaged or None


def _mended(text: str) -> str:
    text = _BAD_UNICODE.sub(r"\\\\u", _BAD_ESCAPE.sub(r"\\\\", text))
    return _TRAILING_COMMA.sub(r"\1", text)


def _first_whole(text: str, key: str) -> list[dict[str, Any]] | None:
    """The first complete JSON value that is such a list, bare or wrapped."""
    for start in _starts(text, "[{"):
        value = _value_at(text, start)
        if isinstance(value, dict) and isinstance(value.get(key), list):
            return [item for item in value[key] if isinstance(item, dict)]
        if isinstance(value, list) and (not value or isinstance(value[0], dict)):
            return [item for item in value if isinstance(item, dict)]
    return None


def _objects_inside(text: str, key: str) -> list[dict[str, Any]]:
    """Complete objects that stand beside each other in an incomplete list."""
    found: list[dict[str, Any]] = []
    end = 0
    for start in _starts(text, "{"):
        if start < end:
            continue  # inside the object before
        value, stop = _value_and_end(text, start)
        if isinstance(value, dict) and key not in value:
            found.append(value)
            end = stop
    return found


def _starts(text: str, openers: str) -> list[int]:
    return [at for at, char in enumerate(text) if char in openers][:_MOST_ATTEMPTS]


def _value_at(text: str, start: int) -> Any:  # noqa: ANN401 - any JSON value
    return _value_and_end(text, start)[0]


def _value_and_end(text: str, start: int) -> tuple[Any, int]:
    try:
        return _DECODER.raw_decode(text, start)
    except (ValueError, RecursionError):
        return None, start
