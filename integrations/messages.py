"""LangChain messages as turns of a stream.

A person's message is a turn; so is an answer of the model, together with the tools it called and
what they gave. Left out are instructions (system messages), summaries of what is in the log
anyway, and what a middleware put in.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from typing import Any

from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, ToolMessage

from remember_graph.types import Turn, well_formed

# A tool may return a whole file; a turn should be what somebody would quote of it.
_TOOL_CHARS, _TAIL_CHARS = 2_000, 300
_PLACEHOLDERS = {"image": "image", "image_url": "image", "audio": "audio", "video": "video"}


def turns_of(messages: Sequence[BaseMessage], *, thread: str | None = None) -> list[Turn]:
    """The turns that the messages make, in order; each answers the one before.

    A call of tools at the end becomes a turn when all its results are there, or when somebody
    goes on without them.

    Args:
        messages: As they stand in an agent's state.
        thread: Names the conversation inside its stream.

    Example:
        >>> from langchain_core.messages import AIMessage, HumanMessage
        >>> said = [HumanMessage("Hi", id="1"), AIMessage("Hello!", id="2")]
        >>> [(turn.speaker, turn.text, turn.reply_to) for turn in turns_of(said)]
        [('user', 'Hi', None), ('assistant', 'Hello!', '1')]
    """
    results = {
        message.tool_call_id: message for message in messages if isinstance(message, ToolMessage)
    }
    turns: list[Turn] = []
    for message in messages[: len(messages) - _unfinished(messages, results)]:
        text = _said(message, results)
        if text and not is_made_up(message):
            before = turns[-1].id if turns else None
            turns.append(_turn(message, text, before, thread, len(turns)))
    return turns


def _unfinished(messages: Sequence[BaseMessage], results: dict[str, ToolMessage]) -> int:
    """How many messages at the end are a call of tools that have not all answered yet."""
    for back, message in enumerate(reversed(messages), start=1):
        if isinstance(message, AIMessage):
            calls = [call.get("id") or "" for call in message.tool_calls]
            return back if any(id not in results for id in calls) else 0
        if not isinstance(message, ToolMessage):
            break
    return 0


def is_made_up(message: BaseMessage) -> bool:
    """Whether a middleware wrote the message (a summary, for example) and nobody said it."""
    return bool(message.additional_kwargs.get("lc_source"))


def text_of(content: Any) -> str:  # noqa: ANN401 - str, list of parts, or what a provider sends
    """The text of a message's content; what is no text is named in its place.

    Example:
        >>> text_of([{"type": "text", "text": "Look:"}, {"type": "image_url", "image_url": {}}])
        'Look: [image]'
    """
    if isinstance(content, str):
        return content.strip()
    if not isinstance(content, list):
        return ""
    return " ".join(part for part in map(_part, content) if part)


def _part(part: Any) -> str:  # noqa: ANN401
    if isinstance(part, str):
        return part.strip()
    if not isinstance(part, dict):
        return ""
    kind = part.get("type")
    if kind in ("text", "output_text"):
        return str(part.get("text") or "").strip()
    if kind in _PLACEHOLDERS:
        return f"[{_PLACEHOLDERS[kind]}]"
    return "[file]" if kind in ("file", "document", "input_file") else ""


def _said(message: BaseMessage, results: dict[str, ToolMessage]) -> str:
    if isinstance(message, HumanMessage):
        return text_of(message.content)
    if not isinstance(message, AIMessage):
        return ""
    calls = (_call(call, results.get(call.get("id") or "")) for call in message.tool_calls)
    return "\n".join(part for part in (text_of(message.content), *calls) if part)


def _call(call: Any, result: ToolMessage | None) -> str:  # noqa: ANN401
    arguments = json.dumps(call.get("args") or {}, ensure_ascii=False, default=str)
    given = clipped(text_of(result.content)) if result is not None else "no result"
    return f"[{call.get('name')}({clipped(arguments)}) → {given or 'nothing'}]"


def clipped(text: str) -> str:
    """A long text cut in its middle, with a mark that says how much is left out."""
    if len(text) <= _TOOL_CHARS:
        return text
    head, tail = text[: _TOOL_CHARS - _TAIL_CHARS], text[-_TAIL_CHARS:]
    return f"{head} […{len(text) - _TOOL_CHARS} characters left out…] {tail}"


def _turn(
    message: BaseMessage, text: str, before: str | None, thread: str | None, place: int
) -> Turn:
    role = "user" if isinstance(message, HumanMessage) else "assistant"
    return Turn(
        speaker=message.name or role,
        text=text,
        id=message.id or _id_of(message, place),
        reply_to=before,
        thread=thread,
    )


def _id_of(message: BaseMessage, place: int) -> str:
    """Of a message that has no id: the same on every look at the same conversation."""
    content = well_formed(f"{place}\0{message.type}\0{text_of(message.content)}")
    return hashlib.sha256(content.encode()).hexdigest()[:16]
