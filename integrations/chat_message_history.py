"""A stream of the memory as a LangChain chat message history."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from typing import Any
from uuid import uuid4

from langchain_core.chat_history import BaseChatMessageHistory
from langchain_core.messages import (
    AIMessage,
    BaseMessage,
    HumanMessage,
    SystemMessage,
    ToolMessage,
)

from remember_graph.errors import ConfigError
from remember_graph.history.store import Namespace
from remember_graph.integrations.messages import text_of
from remember_graph.memory import Memory
from remember_graph.types import Turn, well_formed

_SPEAKERS = {"human": "user", "ai": "assistant", "tool": "tool", "system": "system"}
# `ai+2.ID`: the last two lines of the text are calls of tools.
_ID = re.compile(r"(human|ai|tool|system)(?:\+(\d+))?\.(.*)", re.DOTALL)
_CALL = re.compile(r"→ (\S+) (\{.*\}) \((.*)\)")


class RememberChatMessageHistory(BaseChatMessageHistory):
    """The messages of one conversation, each a turn of a stream.

    Texts, roles, names and calls of tools come back as they were; of a content in parts its text
    does, and what is no text is named in its place.

    Args:
        memory: The streams.
        stream: Which conversation; the session id, for example.
        tenant: Whose conversation.

    Example:
        >>> said = RememberChatMessageHistory(Memory.open(embeddings="none"), "session-1")
        >>> said.add_messages([HumanMessage("Hi"), AIMessage("Hello!")])
        >>> [(message.type, message.content) for message in said.messages]
        [('human', 'Hi'), ('ai', 'Hello!')]
    """

    def __init__(self, memory: Memory, stream: str, *, tenant: str = "default") -> None:
        super().__init__()
        for name, value in (("stream", stream), ("tenant", tenant)):
            if not isinstance(value, str) or not value:
                raise ConfigError(f"`{name}` must be a non-empty str, got {value!r}")
        self._memory, self._where = memory, Namespace(well_formed(tenant), well_formed(stream))

    @property
    def messages(self) -> list[BaseMessage]:  # type: ignore[override] # a field there
        """All messages, in order."""
        records = self._memory.history.store.read(self._where)
        return [message_of(record.turn) for record in records if not record.hidden]

    def add_messages(self, messages: Sequence[BaseMessage]) -> None:
        """Add messages at the end; one with the id of a message that is there adds nothing."""
        turns = [turn_of(message) for message in messages]
        self._memory.add(self._where.stream, turns, tenant=self._where.tenant)

    def clear(self) -> None:
        """Forget the whole conversation."""
        self._memory.forget(self._where.stream, tenant=self._where.tenant)


def turn_of(message: BaseMessage) -> Turn:
    """The turn that a message is kept as.

    Raises:
        ConfigError: It is neither of a human, an AI, a tool nor the system.
    """
    calls = message.tool_calls if isinstance(message, AIMessage) else []
    kind = message.type.removesuffix("MessageChunk").lower()
    if kind not in _SPEAKERS:
        raise ConfigError(
            f"`messages` must be of type {', '.join(_SPEAKERS)}, got {message.type!r}"
        )
    content = message.content
    text = content if isinstance(content, str) else text_of(content)
    return Turn(
        message.name or _SPEAKERS[kind],
        "\n".join([text, *map(_line, calls)]),
        id=f"{kind}{f'+{len(calls)}' if calls else ''}.{message.id or uuid4().hex}",
        kind="system" if kind == "system" else "message",
        reply_to=message.tool_call_id if isinstance(message, ToolMessage) else None,
    )


def _line(call: Any) -> str:  # noqa: ANN401
    arguments = json.dumps(call.get("args") or {}, ensure_ascii=False, default=str)
    return f"→ {call['name']} {arguments} ({call.get('id') or ''})"


def message_of(turn: Turn) -> BaseMessage:
    """The message that a turn was, or as which somebody else's turn can be read."""
    parts = _ID.fullmatch(turn.id)
    if parts is None:
        kind = "ai" if turn.speaker == "assistant" else "human"
        return _message(kind, turn, turn.text, turn.id, [])
    lines = turn.text.split("\n")
    count = int(parts[2] or 0)
    told, calls = lines[: len(lines) - count], lines[len(lines) - count :]
    return _message(parts[1], turn, "\n".join(told), parts[3], [_call(line) for line in calls])


def _call(line: str) -> dict[str, Any]:
    parts = _CALL.fullmatch(line)
    if parts is None:  # the turn was edited
        return {"name": "unknown", "args": {}, "id": ""}
    return {"name": parts[1], "args": json.loads(parts[2]), "id": parts[3]}


def _message(kind: str, turn: Turn, text: str, id: str, calls: list[dict[str, Any]]) -> BaseMessage:
    known: dict[str, Any] = {
        "id": id,
        "name": None if turn.speaker in _SPEAKERS.values() else turn.speaker,
    }
    if kind == "ai":
        return AIMessage(text, tool_calls=calls, **known)
    if kind == "tool":
        return ToolMessage(text, tool_call_id=turn.reply_to or "", **known)
    return (SystemMessage if kind == "system" else HumanMessage)(text, **known)
