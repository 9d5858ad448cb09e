"""One JSON object of a chat as a turn: OpenAI-style messages and `speaker, time, text` records.

The keys are those that chat programs and model APIs use. A record is a message when it has a
key for its text, even an empty one; everything else is no message.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from remember_graph.integrations.chats.decode import clean_text
from remember_graph.integrations.chats.times import iso_time
from remember_graph.types import Turn

_SPEAKER_KEYS = ("speaker", "name", "from", "user", "author", "sender", "username", "role")
_TIME_KEYS = ("time", "timestamp", "created_at", "date", "ts", "create_time")
_TEXT_KEYS = ("text", "content", "message", "refusal")
_NAME_KEYS = ("display_name", "nickname", "name", "username", "role", "id")
_REPLY_KEYS = ("reply_to", "reply_to_message_id")
_SYSTEM_ROLES = ("system", "developer")
_LONGEST_ARGUMENTS = 200
_CONTENT_KINDS = {"image": "image", "audio": "audio", "video": "video", "file": "file"}


def is_message(record: object) -> bool:
    """Whether a JSON value is an object that says something, or calls a tool."""
    if not isinstance(record, dict):
        return False
    return any(key in record for key in (*_TEXT_KEYS, "tool_calls", "function_call"))


def has_speaker(record: object) -> bool:
    """Whether a JSON value is an object that names who speaks."""
    return isinstance(record, dict) and any(key in record for key in _SPEAKER_KEYS)


def message_turn(record: Mapping[str, Any]) -> Turn:
    """The turn of a message; without an id where it has none."""
    inner = record.get("message")
    if isinstance(inner, dict) and is_message(inner):  # API logs wrap the message
        record = {**{key: item for key, item in record.items() if key != "message"}, **inner}
    return Turn(
        speaker=_speaker(record),
        text=clean_text(_text(record)),
        time=message_time(record),
        id=_id_text(record.get("id")) or "",
        kind="system" if _is_system(record) else "message",
        reply_to=next((id for key in _REPLY_KEYS if (id := _id_text(record.get(key)))), None),
        thread=_id_text(record.get("thread")),
        edited=record.get("edited") is True,
    )


def _is_system(record: Mapping[str, Any]) -> bool:
    return record.get("role") in _SYSTEM_ROLES or record.get("kind") == "system"


def message_time(record: Mapping[str, Any]) -> str | None:
    """The first time of a record that can be read."""
    return next((time for key in _TIME_KEYS if (time := iso_time(record.get(key)))), None)


def has_odd_time(record: Mapping[str, Any]) -> bool:
    """Whether a record says a time, but in no form that can be read."""
    told = any(record.get(key) not in (None, "") for key in _TIME_KEYS)
    return told and message_time(record) is None


def _speaker(record: Mapping[str, Any]) -> str:
    for key in _SPEAKER_KEYS:
        value = record.get(key)
        if isinstance(value, dict):
            value = next((value[inner] for inner in _NAME_KEYS if value.get(inner)), None)
        name = _id_text(value)
        if name and name.strip():
            return name.strip()
    return ""


def _id_text(value: object) -> str | None:
    if isinstance(value, bool) or not isinstance(value, str | int):
        return None
    try:
        return clean_text(str(value)) or None
    except ValueError:  # Python prints no integers of more than 4,300 digits
        return None


def _text(record: Mapping[str, Any]) -> str:
    texts = (_content(record[key]) for key in _TEXT_KEYS if record.get(key) is not None)
    said = next((text for text in texts if text), "")
    return "\n".join(part for part in (said, *_calls(record)) if part)


def _content(value: object) -> str:
    """A text as it is, or of a list its parts one below the other."""
    if isinstance(value, str):
        return value
    if not isinstance(value, list):
        return _part(value)
    # Where bare texts are among the parts (Telegram) they are pieces of one sentence.
    between = "" if any(isinstance(part, str) for part in value) else "\n"
    return between.join(text for part in value if (text := _part(part)))


def _part(part: object) -> str:
    if isinstance(part, str):
        return part
    if not isinstance(part, dict):
        return ""
    text = part.get("text")
    if isinstance(text, dict):  # {"text": {"value": …}} of the assistants API
        text = text.get("value")
    if isinstance(text, str):
        return text
    if part.get("type") == "tool_use":
        return _call(part.get("name"), part.get("input"))
    if part.get("type") == "tool_result":
        content = part.get("content")
        return content if isinstance(content, str) else ""
    kind = str(part.get("type"))
    return next(
        (f"[attachment: {name}]" for key, name in _CONTENT_KINDS.items() if key in kind), ""
    )


def _calls(record: Mapping[str, Any]) -> list[str]:
    """The tool calls of a message; `function_call` is how they were written before."""
    calls = record.get("tool_calls")
    listed: Sequence[object] = calls if isinstance(calls, list) else []
    functions = [call.get("function", call) for call in listed if isinstance(call, dict)]
    functions.append(record.get("function_call"))
    return [
        _call(function.get("name"), function.get("arguments", function.get("args")))
        for function in functions
        if isinstance(function, dict)
    ]


def _call(name: object, arguments: object) -> str:
    if arguments is not None and not isinstance(arguments, str):
        arguments = json.dumps(arguments, ensure_ascii=False)
    shown = arguments or ""
    if len(shown) > _LONGEST_ARGUMENTS:
        shown = shown[:_LONGEST_ARGUMENTS] + "…"
    return f"[calls {name if isinstance(name, str) else 'a tool'}({shown})]"
