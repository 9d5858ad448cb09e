"""The memory for chains of `langchain_classic`."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from typing import Any
from uuid import uuid4

from langchain_core.messages import AIMessage, BaseMessage, HumanMessage

from remember_graph.errors import ConfigError, MissingExtraError
from remember_graph.gathering import Gathered
from remember_graph.history.store import Namespace
from remember_graph.integrations.injection import memory_block
from remember_graph.integrations.messages import text_of
from remember_graph.memory import Memory
from remember_graph.types import Turn, well_formed
from remember_graph.window import clip_turn, window_start

try:
    from langchain_classic.base_memory import BaseMemory
except ImportError as error:
    raise MissingExtraError(
        "langchain-classic is not installed; run: pip install 'remember-graph[classic]'"
    ) from error


class RememberMemory(BaseMemory):
    r"""The latest turns of a stream, and before them the earlier ones that they lean on.

    Attributes:
        memory: The streams; window and budget are those of its settings.
        stream: Which conversation.
        tenant: Whose conversation.
        memory_key: The variable of the prompt; `ConversationChain` wants `history`.
        input_key: Which of the chain's inputs is the person's text, where it has several.
        output_key: Which of its outputs is the answer, where it has several.
        return_messages: Messages instead of text, for chat prompts.
        human_prefix: Who the person is in the text.
        ai_prefix: Who the model is in the text.

    Example:
        >>> memory = RememberMemory(memory=Memory.open(embeddings="none"), stream="trip")
        >>> memory.save_context({"input": "Hi"}, {"output": "Hello!"})
        >>> memory.load_memory_variables({"input": "Who is there?"})
        {'history': 'Human: Hi\nAI: Hello!'}
    """

    memory: Memory
    stream: str
    tenant: str = "default"
    memory_key: str = "history"
    input_key: str | None = None
    output_key: str | None = None
    return_messages: bool = False
    human_prefix: str = "Human"
    ai_prefix: str = "AI"

    @property
    def memory_variables(self) -> list[str]:
        """The one variable that is filled."""
        return [self.memory_key]

    def load_memory_variables(self, inputs: dict[str, Any]) -> dict[str, Any]:
        """What the conversation leans on, and its latest turns."""
        recent, window = self._window(inputs)
        gathered = self._gather(window) if window else None
        return {self.memory_key: self._told(gathered, recent)}

    async def aload_memory_variables(self, inputs: dict[str, Any]) -> dict[str, Any]:
        """The async twin of `load_memory_variables`."""
        recent, window = await asyncio.to_thread(self._window, inputs)
        gathered = None
        if window:
            gathered = await self.memory.agather(self.stream, window, tenant=self.tenant)
        return {self.memory_key: self._told(gathered, recent)}

    def save_context(self, inputs: dict[str, Any], outputs: dict[str, Any]) -> None:
        """Add what the person said and what the model answered.

        Raises:
            ConfigError: It cannot be told which of several inputs or outputs that is.
        """
        self.memory.add(self.stream, self._said(inputs, outputs), tenant=self.tenant)

    async def asave_context(self, inputs: dict[str, Any], outputs: dict[str, Any]) -> None:
        """The async twin of `save_context`."""
        await self.memory.aadd(self.stream, self._said(inputs, outputs), tenant=self.tenant)

    def clear(self) -> None:
        """Forget the whole stream."""
        self.memory.forget(self.stream, tenant=self.tenant)

    async def aclear(self) -> None:
        """The async twin of `clear`."""
        await asyncio.to_thread(self.clear)

    def _gather(self, window: Sequence[Turn]) -> Gathered:
        return self.memory.gather(self.stream, window, tenant=self.tenant)

    def _window(self, inputs: Mapping[str, Any]) -> tuple[list[Turn], list[Turn]]:
        """The latest turns, and the same with what is asked now."""
        history, settings = self.memory.history, self.memory.history.settings
        index = history.index(Namespace(well_formed(self.tenant), well_formed(self.stream)))
        with index.lock:  # another thread may be adding turns
            start = window_start(index.tokens, settings.window)
            recent = list(index.turns[start:])
        if len(recent) == 1:
            recent = [clip_turn(recent[0], settings.window, settings.count_tokens)]
        own = self._own(inputs)
        key = self.input_key or (own[0] if len(own) == 1 else "")
        asked = _text(inputs.get(key, ""))
        return recent, [*recent, *([Turn("user", asked, id=uuid4().hex)] if asked else [])]

    def _own(self, inputs: Mapping[str, Any]) -> list[str]:
        """The chain's inputs, among which the memory's own variables are when it saves."""
        return [key for key in inputs if key not in (*self.memory_variables, "stop")]

    def _said(self, inputs: Mapping[str, Any], outputs: Mapping[str, Any]) -> list[Turn]:
        asked = _picked("input_key", self.input_key, inputs, self._own(inputs))
        keys = ["output"] if len(outputs) > 1 and "output" in outputs else list(outputs)
        answered = _picked("output_key", self.output_key, outputs, keys)
        said = (("user", asked), ("assistant", answered))
        # An id of its own each time: what is said twice is two turns.
        return [Turn(who, text, id=uuid4().hex) for who, text in said if text]

    def _told(self, gathered: Gathered | None, recent: Sequence[Turn]) -> str | list[BaseMessage]:
        shown = {turn.id for turn in recent}
        found = gathered["memory"] if gathered else []
        earlier = [turn for turn in found if turn["turn_id"] not in shown]
        block = memory_block(earlier) if earlier else ""
        if self.return_messages:
            source = {"lc_source": "remember_graph"}
            quoted = [HumanMessage(block, additional_kwargs=source)] if block else []
            return [*quoted, *map(_message, recent)]
        names = {"user": self.human_prefix, "assistant": self.ai_prefix}
        lines = [f"{names.get(turn.speaker, turn.speaker)}: {turn.text}" for turn in recent]
        return "\n".join([*([block] if block else []), *lines])


def _picked(name: str, key: str | None, values: Mapping[str, Any], keys: Sequence[str]) -> str:
    if key is None and len(keys) == 1:
        key = keys[0]
    if key is None or key not in values:
        raise ConfigError(f"`{name}` must name one of {sorted(keys)}, got {key!r}")
    return _text(values[key])


def _text(value: Any) -> str:  # noqa: ANN401 - a str, a message, or several of them
    if isinstance(value, BaseMessage):
        return text_of(value.content)
    if isinstance(value, list) and all(isinstance(one, BaseMessage) for one in value):
        return "\n".join(text_of(one.content) for one in value)
    return value if isinstance(value, str) else str(value)


def _message(turn: Turn) -> BaseMessage:
    if turn.speaker == "assistant":
        return AIMessage(turn.text, id=turn.id)
    return HumanMessage(turn.text if turn.speaker == "user" else turn.line, id=turn.id)
