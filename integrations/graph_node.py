"""The memory as one node of a user's graph, whatever that graph's state looks like."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from typing import Any

from langchain_core.messages import BaseMessage
from langchain_core.runnables import Runnable, RunnableConfig, RunnableLambda
from langgraph.runtime import get_runtime

from remember_graph.context import RememberContext, read_context
from remember_graph.errors import ConfigError
from remember_graph.history.store import Namespace
from remember_graph.integrations.conversation_log import ConversationLog
from remember_graph.memory import Memory
from remember_graph.types import Turn, well_formed

_DEFAULT = "default"


def as_node(
    memory: Memory,
    *,
    messages_key: str = "messages",
    output_key: str = "catch_up",
    stream: str | None = None,
    tenant: str | None = None,
) -> Runnable[Any, Any]:
    """A node that brings a state's messages into the memory and writes a `CatchUp` of them.

    Args:
        memory: The streams.
        messages_key: Where the state holds its messages: LangChain messages, `Turn`s, or mappings
            of a turn's fields.
        output_key: Where the `CatchUp` goes.
        stream: Which conversation; default the context's, else the run's thread id.
        tenant: Whose conversation; default the context's, else `default`.

    Example:
        >>> from langchain_core.messages import HumanMessage
        >>> from langgraph.graph import MessagesState, StateGraph
        >>> class State(MessagesState):
        ...     catch_up: dict
        >>> graph = StateGraph(State)
        >>> _ = graph.add_node("remember", as_node(Memory.open(embeddings="none")))
        >>> _ = graph.set_entry_point("remember")
        >>> result = graph.compile().invoke({"messages": [HumanMessage("The hall is booked.")]})
        >>> result["catch_up"]["summary"]["writer"]
        'extractive'
    """
    node = _Node(memory, ConversationLog(memory.history), messages_key, stream, tenant)

    def run(state: Any, config: RunnableConfig) -> dict[str, Any]:  # noqa: ANN401
        where, context = node.bring_in(state, config, _context())
        return {output_key: memory.catch_up(where.stream, tenant=where.tenant, **context)}

    async def arun(state: Any, config: RunnableConfig) -> dict[str, Any]:  # noqa: ANN401
        where, context = await asyncio.to_thread(node.bring_in, state, config, _context())
        result = await memory.acatch_up(where.stream, tenant=where.tenant, **context)
        return {output_key: result}

    return RunnableLambda(run, afunc=arun, name="remember")


def _context() -> RememberContext:
    return read_context(get_runtime().context)


class _Node:
    """What sync and async do alike."""

    def __init__(
        self,
        memory: Memory,
        log: ConversationLog,
        messages_key: str,
        stream: str | None,
        tenant: str | None,
    ) -> None:
        self._memory, self._log, self._messages_key = memory, log, messages_key
        self._stream, self._tenant = stream, tenant

    def bring_in(
        self,
        state: Any,  # noqa: ANN401
        config: RunnableConfig,
        context: RememberContext,
    ) -> tuple[Namespace, dict[str, Any]]:
        """Where the state's messages now are, and what else the catch-up is told."""
        thread = (config.get("configurable") or {}).get("thread_id")
        where = Namespace(
            well_formed(self._tenant or context.tenant or _DEFAULT),
            well_formed(self._stream or context.stream or str(thread or _DEFAULT)),
        )
        said = self._messages(state)
        if all(isinstance(one, BaseMessage) for one in said):
            self._log.bring_in(where, said, thread=None if thread is None else str(thread))
        else:
            self._memory.add(where.stream, [_turn(one) for one in said], tenant=where.tenant)
        told = {"budget": context.budget, "reader": context.reader, "now": context.now}
        return where, told

    def _messages(self, state: Any) -> Sequence[Any]:  # noqa: ANN401
        found = (
            state.get(self._messages_key)
            if isinstance(state, Mapping)
            else getattr(state, self._messages_key, None)
        )
        if not isinstance(found, Sequence) or isinstance(found, str):
            raise ConfigError(
                f"`messages_key` {self._messages_key!r} must name a list of messages in the "
                f"state, got {type(found).__name__}"
            )
        return found


def _turn(one: Any) -> Turn:  # noqa: ANN401
    if isinstance(one, Turn):
        return one
    if isinstance(one, Mapping):
        return Turn.from_dict(one)
    raise ConfigError(
        "messages must be LangChain messages, or Turns or mappings of their fields, "
        f"got {type(one).__name__}"
    )
