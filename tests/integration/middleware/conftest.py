"""Fake models and a memory for agents with the middleware."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import pytest
from langchain.agents import create_agent
from langchain_core.callbacks import CallbackManagerForLLMRun
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, AIMessageChunk, BaseMessage, HumanMessage
from langchain_core.outputs import ChatGeneration, ChatGenerationChunk, ChatResult
from langchain_core.tools import tool
from pydantic import Field

from remember_graph import Memory, Settings, Turn
from remember_graph.gathering import Gathered
from remember_graph.integrations.middleware import RememberMiddleware

KEY = "The spare key of the boathouse hangs behind the blue barrel."


class FakeModel(BaseChatModel):
    """Gives the answers of a list in order, then "Noted."; words are its tokens."""

    answers: list[Any] = Field(default_factory=list)
    requests: list[list[BaseMessage]] = Field(default_factory=list)

    @property
    def _llm_type(self) -> str:
        return "fake"

    def bind_tools(self, tools: Any, **kwargs: Any) -> Any:
        return self

    def questions(self) -> list[str]:
        """The last human message of each request, as the model saw it."""
        return [
            next(str(one.content) for one in reversed(sent) if isinstance(one, HumanMessage))
            for sent in self.requests
        ]

    def _answer(self, messages: list[BaseMessage]) -> AIMessage:
        self.requests.append(messages)
        answer = self.answers.pop(0) if self.answers else "Noted."
        if isinstance(answer, Exception):
            raise answer
        return answer if isinstance(answer, AIMessage) else AIMessage(answer)

    def _generate(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,
        run_manager: CallbackManagerForLLMRun | None = None,
        **kwargs: Any,
    ) -> ChatResult:
        return ChatResult(generations=[ChatGeneration(message=self._answer(messages))])


class StreamingModel(FakeModel):
    """Gives its answers word by word; an exception comes after the first word."""

    def _stream(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,
        run_manager: CallbackManagerForLLMRun | None = None,
        **kwargs: Any,
    ) -> Iterator[ChatGenerationChunk]:
        failing = bool(self.answers) and isinstance(self.answers[0], Exception)
        if failing:
            yield ChatGenerationChunk(message=AIMessageChunk(content="Well,"))
        for word in self._answer(messages).text.split(" "):
            yield ChatGenerationChunk(message=AIMessageChunk(content=f"{word} "))


class WatchedMemory(Memory):
    """Keeps what it was asked and what it found."""

    windows: list[list[Turn]]
    found: list[Gathered]

    def gather(self, stream: str, window: Sequence[Turn] | None = None, **options: Any) -> Gathered:
        return self._kept(window, super().gather(stream, window, **options))

    async def agather(
        self, stream: str, window: Sequence[Turn] | None = None, **options: Any
    ) -> Gathered:
        return self._kept(window, await super().agather(stream, window, **options))

    def _kept(self, window: Sequence[Turn] | None, found: Gathered) -> Gathered:
        self.windows.append(list(window or []))
        self.found.append(found)
        return found


@pytest.fixture
def memory() -> WatchedMemory:
    """A memory of which the stream `notes` holds where the key is."""
    memory = WatchedMemory.open(embeddings="none", settings=Settings(window=60, budget=40))
    memory.windows, memory.found = [], []
    memory.add("notes", [Turn("user", KEY, id="key"), Turn("assistant", "Good.", id="good")])
    return memory


@pytest.fixture
def model() -> FakeModel:
    """A model that answers "Noted."."""
    return FakeModel()


@pytest.fixture(scope="session")
def scripted_model() -> Callable[..., FakeModel]:
    """Makes a model that gives these answers first."""
    return lambda *answers: FakeModel(answers=list(answers))


@pytest.fixture
def streaming_model() -> Callable[..., StreamingModel]:
    """Makes a model that gives these answers word by word."""
    return lambda *answers: StreamingModel(answers=list(answers))


@tool
def look(place: str) -> str:
    """Look at a place."""
    return f"Nothing at {place}."


@pytest.fixture
def looking() -> Callable[..., AIMessage]:
    """Makes an answer that calls the tool `look` for each place."""

    def make(*places: str) -> AIMessage:
        calls = [
            {"name": "look", "args": {"place": place}, "id": f"call {place}", "type": "tool_call"}
            for place in places
        ]
        return AIMessage("", tool_calls=calls)

    return make


@pytest.fixture
def agent_of(memory: Memory) -> Callable[..., Any]:
    """Makes an agent with the memory; `agent` are options of `create_agent`, `options` of ours."""

    def make(
        model: BaseChatModel,
        *others: Any,
        checkpointer: Any = None,
        agent: dict[str, Any] | None = None,
        **options: Any,
    ) -> Any:
        middleware = [RememberMiddleware(options.pop("memory", memory), **options), *others]
        return create_agent(
            model, [look], middleware=middleware, checkpointer=checkpointer, **(agent or {})
        )

    return make
