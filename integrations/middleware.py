"""The memory of an agent made by `langchain.agents.create_agent`.

Before and after each step the messages of the conversation are brought into the log, so that
none is lost when another middleware cuts the conversation short. Into each request to the model
the earlier turns are put that its latest messages lean on. Nothing is written to the agent's
state, and whatever fails, the agent goes on.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import re
from collections.abc import Awaitable, Callable
from typing import Any, Literal

from langchain.agents.middleware import AgentMiddleware, AgentState, ModelRequest, ModelResponse
from langchain_core.tools import BaseTool
from langgraph.runtime import Runtime

from remember_graph.chat_models import first_line
from remember_graph.errors import ConfigError, HistoryError, RememberGraphError
from remember_graph.integrations.conversation_log import ConversationLog
from remember_graph.integrations.injection import memory_block, with_block
from remember_graph.integrations.memory_reports import MemoryReport, MemoryReports
from remember_graph.integrations.run_names import NameOption, RunNames, thread_of
from remember_graph.integrations.turn_recall import Found, TurnRecall
from remember_graph.memory import Memory

try:
    from langchain.agents.middleware.internal_call_transformer import InternalCallTransformer
except ImportError:  # LangChain 1.0 has no such streams
    _TRANSFORMERS: tuple[Any, ...] = ()
else:
    _TRANSFORMERS = (InternalCallTransformer,)

OnError = Literal["continue", "raise"]

_LOG = logging.getLogger("remember_graph")
_NAME = re.compile(r"[A-Za-z0-9_\-\[\]]+")  # LangGraph keeps `:` and `|` for itself


class RememberMiddleware(AgentMiddleware[AgentState[Any], Any]):
    """Remembers what was said and shows the model what it needs of it.

    Args:
        memory: The streams. Its model, where it has one, detects gaps.
        stream: Which conversation: a name, or what reads one off the run's `Runtime`; None for
            the run's thread id, `default` where it has none.
        tenant: Whose conversation, said in the same way; None for `default`.
        ingest: Whether the agent's messages are brought into the log. False where somebody else
            fills it.
        expose_tool: Whether the model also gets a tool that searches the memory.
        on_error: `continue`: whatever fails is logged and reported, and the agent's run goes on
            without it. `raise`: it ends the run.
        name: Of the middleware, in the agent's graph; default made from `stream` and `tenant`.

    Raises:
        ConfigError: An argument is not what it should be.

    Example:
        >>> from langchain.agents import create_agent
        >>> from langchain_core.language_models import FakeListChatModel
        >>> from remember_graph import Memory
        >>> memory = Memory.open(embeddings="none")
        >>> model = FakeListChatModel(responses=["Noted."])
        >>> agent = create_agent(model, middleware=[RememberMiddleware(memory, stream="notes")])
        >>> result = agent.invoke({"messages": "The hall is booked."})
        >>> [turn.line for turn in memory.log("notes")]
        ['user: The hall is booked.', 'assistant: Noted.']
    """

    transformers = _TRANSFORMERS

    def __init__(
        self,
        memory: Memory,
        *,
        stream: NameOption = None,
        tenant: NameOption = None,
        ingest: bool = True,
        expose_tool: bool = False,
        on_error: OnError = "continue",
        name: str | None = None,
    ) -> None:
        super().__init__()
        _check(memory, on_error, name, ingest=ingest, expose_tool=expose_tool)
        self._names = RunNames(stream, tenant)
        self._name = name or type(self).__name__ + self._names.label()
        self._ingest, self._on_error = ingest, on_error
        self._log = ConversationLog(memory.history)
        self._recall = TurnRecall(memory)
        self._reports = MemoryReports(self._name)
        self.tools = [_recall_tool(memory, stream, tenant)] if expose_tool else []

    @property
    def name(self) -> str:
        """The middleware's name, of letters, digits, `_`, `-` and brackets."""
        return self._name

    def last_report(self, thread_id: str | None = None) -> MemoryReport | None:
        """What the memory did in the latest user turn of a thread; None where nothing yet.

        Args:
            thread_id: As in the run's config; None for runs without one.
        """
        return self._reports.latest(thread_id)

    def before_agent(self, state: AgentState[Any], runtime: Runtime[Any]) -> None:
        """Log what the user said."""
        self._reports.begin(thread_of(runtime))
        self._bring_in(state, runtime)

    async def abefore_agent(self, state: AgentState[Any], runtime: Runtime[Any]) -> None:
        """The async twin of `before_agent`."""
        await asyncio.to_thread(self.before_agent, state, runtime)

    def before_model(self, state: AgentState[Any], runtime: Runtime[Any]) -> None:
        """Log what tools gave, before another middleware can cut it away."""
        self._bring_in(state, runtime)

    async def abefore_model(self, state: AgentState[Any], runtime: Runtime[Any]) -> None:
        """The async twin of `before_model`."""
        await asyncio.to_thread(self.before_model, state, runtime)

    def after_agent(self, state: AgentState[Any], runtime: Runtime[Any]) -> None:
        """Log the answer."""
        self._bring_in(state, runtime)

    async def aafter_agent(self, state: AgentState[Any], runtime: Runtime[Any]) -> None:
        """The async twin of `after_agent`."""
        await asyncio.to_thread(self.after_agent, state, runtime)

    def wrap_model_call(
        self,
        request: ModelRequest[Any],
        handler: Callable[[ModelRequest[Any]], ModelResponse[Any]],
    ) -> ModelResponse[Any]:
        """Show the model what it needs of earlier turns; the request is else as it was."""
        try:
            where, thread = self._names.of(request.runtime), thread_of(request.runtime)
            request = self._told(request, self._recall.run(where, thread, request))
        except Exception as error:
            self._go_on("recall", error, request.runtime)
        return handler(request)

    async def awrap_model_call(
        self,
        request: ModelRequest[Any],
        handler: Callable[[ModelRequest[Any]], Awaitable[ModelResponse[Any]]],
    ) -> ModelResponse[Any]:
        """The async twin of `wrap_model_call`."""
        try:
            where, thread = self._names.of(request.runtime), thread_of(request.runtime)
            request = self._told(request, await self._recall.arun(where, thread, request))
        except Exception as error:
            self._go_on("recall", error, request.runtime)
        return await handler(request)

    def _bring_in(self, state: AgentState[Any], runtime: Runtime[Any]) -> None:
        if not self._ingest:
            return
        try:
            where = self._names.of(runtime)
            self._log.bring_in(where, state["messages"], thread=thread_of(runtime))
        except Exception as error:
            self._go_on("ingest", error, runtime)

    def _told(self, request: ModelRequest[Any], found: Found | None) -> ModelRequest[Any]:
        if found is None:
            return request
        if found.is_new:
            _tell(request.runtime, self._reports.found(thread_of(request.runtime), found))
        if not found.unseen:
            return request
        block = memory_block(found.unseen)
        return request.override(messages=with_block(request.messages, block))

    def _go_on(self, doing: str, error: Exception, runtime: Any) -> None:  # noqa: ANN401
        """Report the error, or raise it as one of ours."""
        line = f"{doing}: {type(error).__name__}: {first_line(error)}"
        if self._on_error == "raise":
            if isinstance(error, RememberGraphError):
                raise error
            raise HistoryError(f"the memory failed at {line}") from error
        _LOG.warning("%s: %s", self._name, line)
        _tell(runtime, self._reports.failed(thread_of(runtime), line))


def _tell(runtime: Any, report: MemoryReport) -> None:  # noqa: ANN401
    """Give the report to whoever streams the run with `stream_mode="custom"`."""
    with contextlib.suppress(Exception):  # the memory is of use where nobody listens, too
        runtime.stream_writer({"remember_graph": report})


def _recall_tool(memory: Memory, stream: NameOption, tenant: NameOption) -> BaseTool:
    from remember_graph.integrations.tool import create_recall_tool

    return create_recall_tool(memory, stream=stream, tenant=tenant)


def _check(memory: object, on_error: object, name: object, **switches: object) -> None:
    if not isinstance(memory, Memory):
        raise ConfigError(
            f"`memory` must be a Memory (see Memory.open), got {type(memory).__name__}"
        )
    if on_error not in ("continue", "raise"):
        raise ConfigError(f"`on_error` must be continue or raise, got {on_error!r}")
    if name is not None and not (isinstance(name, str) and _NAME.fullmatch(name)):
        raise ConfigError(
            f"`name` must be of letters, digits, `_`, `-`, `[` and `]`, or None, got {name!r}"
        )
    for switch, value in switches.items():
        if not isinstance(value, bool):
            raise ConfigError(f"`{switch}` must be a bool, got {value!r}")
