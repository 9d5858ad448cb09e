"""Brings the conversations that a LangGraph checkpointer already holds into the memory."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from langchain_core.messages import BaseMessage
from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.base import BaseCheckpointSaver

from remember_graph.errors import ConfigError
from remember_graph.history.store import Namespace
from remember_graph.integrations.conversation_log import ConversationLog
from remember_graph.memory import Memory
from remember_graph.types import well_formed


@dataclass(frozen=True, slots=True)
class ImportReport:
    """What became of a checkpointer's threads.

    Attributes:
        threads: How many were read.
        turns: How many turns that added.
        skipped: Why the others were not, by thread id.
    """

    threads: int = 0
    turns: int = 0
    skipped: dict[str, str] = field(default_factory=dict)


def import_threads(
    memory: Memory,
    checkpointer: BaseCheckpointSaver[Any],
    *,
    tenant: str = "default",
    stream: Callable[[str], str] | None = None,
    messages_key: str = "messages",
) -> ImportReport:
    """Add the messages of every thread as it last was; doing so again adds only what is new.

    An agent with the memory's middleware goes on where this stops.

    Args:
        memory: Where the turns go.
        checkpointer: A saver with sync methods; its checkpoints are read and left as they are.
        tenant: Whose conversations they are.
        stream: Names the stream of a thread id; default the thread id itself.
        messages_key: Where the threads' states hold their messages.

    Raises:
        ConfigError: `tenant` is empty, or `stream` gives no name.
        HistoryError: The store cannot be written.
    """
    if not tenant:
        raise ConfigError(f"`tenant` must be a non-empty str, got {tenant!r}")
    log, turns, skipped = ConversationLog(memory.history), 0, dict[str, str]()
    threads = _threads(checkpointer)
    for thread in threads:
        messages = _messages(checkpointer, thread, messages_key)
        reason = _unreadable(messages, messages_key)
        if reason:
            skipped[thread] = reason
            continue
        where = Namespace(well_formed(tenant), _named(thread, stream))
        turns += len(log.bring_in(where, messages, thread=thread).add)
    return ImportReport(len(threads) - len(skipped), turns, skipped)


def _threads(checkpointer: BaseCheckpointSaver[Any]) -> list[str]:
    """Ids of the threads that have checkpoints of their own graph, not only of nested ones."""
    places = (saved.config["configurable"] for saved in checkpointer.list(None))
    return sorted({str(at["thread_id"]) for at in places if not at.get("checkpoint_ns")})


def _messages(checkpointer: BaseCheckpointSaver[Any], thread: str, key: str) -> Any:  # noqa: ANN401
    """What the thread's latest checkpoint has there; read alone, so that one is held at a time."""
    where: RunnableConfig = {"configurable": {"thread_id": thread, "checkpoint_ns": ""}}
    saved = checkpointer.get_tuple(where)
    return saved.checkpoint["channel_values"].get(key) if saved else None


def _unreadable(messages: Any, key: str) -> str | None:  # noqa: ANN401
    if not messages:
        return f"its state has no messages under {key!r}"
    if not isinstance(messages, list) or not all(isinstance(m, BaseMessage) for m in messages):
        return f"what its state has under {key!r} are no LangChain messages"
    return None


def _named(thread: str, stream: Callable[[str], str] | None) -> str:
    name = thread if stream is None else stream(thread)
    if not isinstance(name, str) or not name:
        raise ConfigError(f"`stream` must give a non-empty str for {thread!r}, got {name!r}")
    return well_formed(name)
