"""What LangChain's `SummarizationMiddleware` takes as its `summarizer`.

The middleware replaces messages of an agent's state by one text. Here each of them is in the log
before that text exists, so that nothing is lost with them: the memory finds it again.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, cast

from langchain_core.messages import BaseMessage
from langchain_core.runnables import Runnable, RunnableLambda
from langgraph.runtime import get_runtime

from remember_graph.context import RememberContext
from remember_graph.errors import ConfigError
from remember_graph.history.store import Namespace
from remember_graph.integrations.messages import is_made_up, text_of, turns_of
from remember_graph.integrations.run_names import NameOption, RunNames, thread_of
from remember_graph.memory import Memory
from remember_graph.nodes.composer import quote
from remember_graph.state import CatchUp, GraphInput
from remember_graph.types import Turn
from remember_graph.window import window_start

_HEAD = "Here is a summary of the conversation to date:"  # the middleware sets it before each text
_LEFT_OUT = "(More was said before; it is kept in the memory and left out here.)"
_NOTHING = "(Nobody has said anything in the messages that were removed.)"
_QUOTED = 3  # turns quoted of a stretch of which none is worth reporting


def remember_summarizer(
    memory: Memory,
    *,
    stream: NameOption = None,
    tenant: NameOption = None,
    max_tokens: int | None = None,
) -> Runnable[list[BaseMessage], str]:
    """The summarizer: give it as `SummarizationMiddleware(…, summarizer=…)`.

    Set `trim_tokens_to_summarize=None` beside it: else the middleware hands over only the last
    4,000 tokens of what it removes.

    The messages are logged first; where that fails, the error ends the run before the middleware
    removes anything. Then each window of them is told as a catch-up, by the memory's model or by
    quotation. A model that fails or says nothing never empties a summary: the extractive composer
    writes in its place. The summary before stands at the head of the new one.

    Args:
        memory: The streams.
        stream: Which conversation: a name, or what reads one off the run's `Runtime`; None for
            the run's thread id, `default` where it has none.
        tenant: Whose conversation, said in the same way; None for `default`.
        max_tokens: Of the text; its oldest lines go first. Default the memory's budget.

    Raises:
        ConfigError: An argument is not what it should be.

    Example:
        >>> from langchain_core.messages import AIMessage, HumanMessage
        >>> memory = Memory.open(embeddings="none")
        >>> summarizer = remember_summarizer(memory, stream="party")
        >>> summarizer.invoke([HumanMessage("The hall is booked for Friday, 400 crowns.")])
        'user: “The hall is booked for Friday, 400 crowns.”'
        >>> len(memory.log("party"))
        1
    """
    longest = memory.history.settings.budget if max_tokens is None else max_tokens
    if isinstance(longest, bool) or not isinstance(longest, int) or longest < 1:
        raise ConfigError(f"`max_tokens` must be an int >= 1 or None, got {max_tokens!r}")
    logged = _Logged(memory, RunNames(stream, tenant), longest)

    def run(messages: list[BaseMessage]) -> str:
        removed = logged.bring_in(messages, _runtime())
        told = [memory.graph.invoke(asked, context=context) for asked, context in removed.asked()]
        return logged.text(removed, told)

    async def arun(messages: list[BaseMessage]) -> str:
        removed = await asyncio.to_thread(logged.bring_in, messages, _runtime())
        told = [
            await memory.graph.ainvoke(asked, context=context) for asked, context in removed.asked()
        ]
        return logged.text(removed, told)

    return RunnableLambda(run, afunc=arun, name="remember_summarizer")


def _runtime() -> Any:  # noqa: ANN401
    try:
        return get_runtime()
    except RuntimeError:  # called outside of any graph
        return None


@dataclass(frozen=True, slots=True)
class _Removed:
    """What the middleware removes: the summary before and the turns, window by window."""

    where: Namespace
    before: str
    windows: list[list[Turn]]

    def asked(self) -> Iterator[tuple[GraphInput, RememberContext]]:
        """One run of the graph for each window."""
        tenant, stream = self.where
        for window in self.windows:
            given = [turn.to_dict() for turn in window]
            asked: GraphInput = {"tenant": tenant, "stream": stream, "window_given": given}
            yield asked, RememberContext(tenant, stream)


class _Logged:
    """What sync and async do alike."""

    def __init__(self, memory: Memory, names: RunNames, max_tokens: int) -> None:
        self._memory, self._names, self._max_tokens = memory, names, max_tokens

    def bring_in(self, messages: Sequence[BaseMessage], runtime: Any) -> _Removed:  # noqa: ANN401
        """The removed messages, all of them in the log."""
        where, thread = self._names.of(runtime), thread_of(runtime)
        turns = turns_of(messages, thread=thread)
        self._add(where, turns, thread)
        made_up = [text_of(one.content) for one in messages if is_made_up(one)]
        before = "\n".join(text.removeprefix(_HEAD).strip() for text in made_up)
        return _Removed(where, before, list(self._windows(turns)))

    def _add(self, where: Namespace, turns: Sequence[Turn], thread: str | None) -> None:
        """Only what is new: the log may hold later turns of the conversation already."""
        known = self._memory.turns(where.stream, [turn.id for turn in turns], tenant=where.tenant)
        new = [turn for turn in turns if turn.id not in known]
        if new and new[0].reply_to is None:
            new[0] = replace(new[0], reply_to=self._last_logged(where, thread))
        if new:
            self._memory.add(where.stream, new, tenant=where.tenant)

    def _last_logged(self, where: Namespace, thread: str | None) -> str | None:
        log = self._memory.history.store.read(where)
        visible = [one.turn for one in log if not one.hidden and one.turn.thread == thread]
        return visible[-1].id if visible else None

    def _windows(self, turns: Sequence[Turn]) -> Iterator[list[Turn]]:
        settings = self._memory.history.settings
        tokens = [settings.count_tokens(turn.line) for turn in turns]
        ends = [len(turns)] if turns else []
        while ends and ends[-1] > 0:
            ends.append(window_start(tokens, settings.window, end=ends[-1]))
        for start, end in zip(ends[:0:-1], ends[-2::-1], strict=True):
            yield list(turns[start:end])

    def text(self, removed: _Removed, told: Sequence[Any]) -> str:
        """The summary: never empty, and not longer than it may be."""
        results = cast("Sequence[CatchUp]", told)
        parts = [removed.before]
        for window, result in zip(removed.windows, results, strict=True):
            parts.append(result["summary"]["text"].strip() or self._quoted(window))
        lines = [line for part in parts for line in part.splitlines() if line.strip()]
        return self._clipped(lines) if lines else _NOTHING

    def _quoted(self, window: Sequence[Turn]) -> str:
        longest = self._memory.history.settings.summarize.quote_chars
        return "\n".join(quote(turn, longest) for turn in window[-_QUOTED:])

    def _clipped(self, lines: list[str]) -> str:
        count = self._memory.history.settings.count_tokens
        lines = [line for line in lines if line != _LEFT_OUT]
        costs = [count(line) for line in lines]
        if sum(costs) <= self._max_tokens:
            return "\n".join(lines)
        start = window_start(costs, max(1, self._max_tokens - count(_LEFT_OUT)))
        return "\n".join([_LEFT_OUT, *lines[start:]])
