"""A node for `pre_model_hook`, called like langmem's `SummarizationNode`.

It leaves the state's messages as they are. What the model gets is the latest of them, and before
the last human one the earlier turns that they lean on, as quoted data.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, cast

from langchain_core.messages import (
    AIMessage,
    AnyMessage,
    BaseMessage,
    HumanMessage,
    SystemMessage,
    ToolMessage,
)
from langchain_core.messages.utils import count_tokens_approximately
from langchain_core.runnables import Runnable, RunnableConfig
from langchain_core.runnables.config import run_in_executor
from langgraph.runtime import get_runtime

from remember_graph.chat_models import first_line
from remember_graph.errors import ConfigError
from remember_graph.gathering import Gathered
from remember_graph.history.store import Namespace
from remember_graph.integrations.conversation_log import ConversationLog
from remember_graph.integrations.injection import memory_block, with_block
from remember_graph.integrations.run_names import NameOption, RunNames, thread_of
from remember_graph.integrations.turn_recall import Found, TurnRecall
from remember_graph.memory import Memory

MessageCounter = Callable[[Iterable[Any]], int]
_LOG = logging.getLogger("remember_graph")


class RememberNode(Runnable[Any, dict[str, Any]]):
    """Logs a state's messages and writes what the model should see of them.

    Args:
        memory: The streams; None for one that lives as long as the process.
        model: Detects gaps, where no memory is given; that has a model of its own.
        max_tokens: Most tokens of what the model sees. The last human message and the latest
            step are always in it.
        max_tokens_before_summary: Up to so many tokens nothing is cut; default `max_tokens`.
        max_summary_tokens: Kept free for recalled turns; their quotation takes no more of them.
        token_counter: Counts messages.
        input_messages_key: Where the state holds its messages.
        output_messages_key: Where those for the model go.
        stream: Which conversation: a name, or what reads one off the run's `Runtime`; None for
            the run's thread id.
        tenant: Whose conversation, said in the same way.
        name: Of the node.

    Raises:
        ConfigError: An argument is not what it should be.

    Example:
        >>> from langchain_core.messages import HumanMessage
        >>> node = RememberNode(memory=Memory.open(embeddings="none"), max_tokens=400)
        >>> node.invoke({"messages": [HumanMessage("Hi", id="1")]})["llm_input_messages"][0].text
        'Hi'
    """

    def __init__(
        self,
        *,
        memory: Memory | None = None,
        model: Any = None,  # noqa: ANN401 - as `Memory.open` takes it
        max_tokens: int,
        max_tokens_before_summary: int | None = None,
        max_summary_tokens: int = 256,
        token_counter: MessageCounter = count_tokens_approximately,
        input_messages_key: str = "messages",
        output_messages_key: str = "llm_input_messages",
        stream: NameOption = None,
        tenant: NameOption = None,
        name: str = "remember",
    ) -> None:
        if memory is not None and model is not None:
            raise ConfigError("`model` must be None beside `memory`, which has a model of its own")
        if not 0 < max_summary_tokens < max_tokens:
            raise ConfigError(
                f"`max_summary_tokens` must be >= 1 and less than `max_tokens` ({max_tokens}), "
                f"got {max_summary_tokens}"
            )
        if input_messages_key == output_messages_key:
            raise ConfigError(
                "`output_messages_key` must differ from `input_messages_key`, got "
                f"{output_messages_key!r} for both: the state keeps its messages whole"
            )
        self.name = name
        memory = memory or Memory.open(model=model)
        self._log = ConversationLog(memory.history)
        # A short turn costs about twice its text by its handle, its time and the block's head.
        budget = max(1, max_summary_tokens // 2)
        self._recall = TurnRecall(cast("Memory", _Budgeted(memory, budget)))
        self._names, self._shared = RunNames(stream, tenant), stream is not None
        self._limit, self._before = max_tokens, max_tokens_before_summary or max_tokens
        self._for_memory, self._count = max_summary_tokens, token_counter
        self._keys = input_messages_key, output_messages_key

    def invoke(
        self,
        input: Any,  # noqa: ANN401 - a state of any type
        config: RunnableConfig | None = None,
        **kwargs: Any,  # noqa: ANN401
    ) -> dict[str, Any]:
        """The state's update: the messages for the model under `output_messages_key`."""
        asked = self._ask(input, _runtime())
        found = None
        if asked.needs_memory:
            try:
                found = self._recall.run(asked.where, asked.thread, cast("Any", asked))
            except Exception as error:
                _warn("recall", error)
        return {self._keys[1]: self._told(asked, found)}

    async def ainvoke(
        self,
        input: Any,  # noqa: ANN401
        config: RunnableConfig | None = None,
        **kwargs: Any,  # noqa: ANN401
    ) -> dict[str, Any]:
        """The async twin of `invoke`."""
        asked = await run_in_executor(None, self._ask, input, _runtime())
        found = None
        if asked.needs_memory:
            try:
                found = await self._recall.arun(asked.where, asked.thread, cast("Any", asked))
            except Exception as error:
                _warn("recall", error)
        return {self._keys[1]: await asyncio.to_thread(self._told, asked, found)}

    def _ask(self, state: Any, runtime: Any) -> _Asked:  # noqa: ANN401
        said = _messages(state, self._keys[0])
        where, thread = self._names.of(runtime), thread_of(runtime)
        try:
            self._log.bring_in(where, said, thread=thread)
        except Exception as error:  # the state keeps the messages: nothing is lost with them
            _warn("ingest", error)
        kept = self._kept(said)
        needs_memory = self._shared or len(kept) < len(said)
        return _Asked(where, thread, {"messages": said}, kept, needs_memory)

    def _kept(self, said: list[AnyMessage]) -> list[AnyMessage]:
        if self._count(said) <= self._before:
            return said
        head = [message for message in said[:1] if isinstance(message, SystemMessage)]
        left = self._limit - self._for_memory - self._count(head)
        return [*head, *latest(said[len(head) :], left, self._count)]

    def _told(self, asked: _Asked, found: Found | None) -> list[AnyMessage]:
        unseen = list(found.unseen) if found else []
        while unseen:  # the block has a head and handles, which nobody counted yet
            told = with_block(asked.messages, memory_block(unseen))
            if self._count(told) <= self._limit:
                return told
            unseen.remove(next((turn for turn in unseen if turn["reason"] == "recent"), unseen[-1]))
        return list(asked.messages)


@dataclass(frozen=True, slots=True)
class _Asked:
    """One call; `messages` and `state` are what `TurnRecall` reads of a request."""

    where: Namespace
    thread: str | None
    state: dict[str, list[AnyMessage]]
    messages: list[AnyMessage]
    needs_memory: bool


class _Budgeted:
    """A memory whose gathered turns have a budget of their own."""

    def __init__(self, memory: Memory, budget: int) -> None:
        self._memory, self._budget = memory, budget
        self.history, self.turns = memory.history, memory.turns

    def gather(self, *asked: Any, **options: Any) -> Gathered:  # noqa: ANN401 - as the memory's
        return self._memory.gather(*asked, **{**options, "budget": self._budget})

    async def agather(self, *asked: Any, **options: Any) -> Gathered:  # noqa: ANN401
        return await self._memory.agather(*asked, **{**options, "budget": self._budget})


def latest(
    messages: Sequence[AnyMessage], max_tokens: int, count: MessageCounter
) -> list[AnyMessage]:
    """The latest messages that fit, calls of tools with their results, from a human one on.

    The last human message and the latest step are there even where they do not fit.

    Example:
        >>> said = [HumanMessage("a"), AIMessage("b"), HumanMessage("c")]
        >>> [message.text for message in latest(said, 2, lambda some: len(list(some)))]
        ['c']
    """
    steps = _steps(messages)
    people = [at for at, step in enumerate(steps) if isinstance(step[0], HumanMessage)]
    chosen = {*people[-1:], *range(len(steps))[-1:]}
    left = max_tokens - sum(count(steps[at]) for at in chosen)
    for at in range(len(steps) - 1, -1, -1):
        if at not in chosen:
            left -= count(steps[at])
            if left < 0:
                break
            chosen.add(at)
    first = next((at for at in people if at in chosen), 0)
    return [message for at in sorted(chosen) if at >= first for message in steps[at]]


def _steps(messages: Sequence[AnyMessage]) -> list[list[AnyMessage]]:
    """Single messages, but a call of tools together with all its results."""
    steps: list[list[AnyMessage]] = []
    for message in messages:
        if isinstance(message, ToolMessage) and steps and isinstance(steps[-1][0], AIMessage):
            steps[-1].append(message)
        else:
            steps.append([message])
    return steps


def _messages(state: Any, key: str) -> list[AnyMessage]:  # noqa: ANN401
    found = state.get(key) if isinstance(state, dict) else getattr(state, key, None)
    if not isinstance(found, list) or not all(isinstance(one, BaseMessage) for one in found):
        raise ConfigError(
            f"`input_messages_key` {key!r} must name a list of LangChain messages in the state, "
            f"got {type(found).__name__}"
        )
    return found


def _runtime() -> Any:  # noqa: ANN401
    try:
        return get_runtime()
    except RuntimeError:  # called outside of any graph
        return None


def _warn(doing: str, error: Exception) -> None:
    _LOG.warning("RememberNode: %s: %s: %s", doing, type(error).__name__, first_line(error))
