"""Logic that asks a model in between, written once for sync and async.

A step function is a generator: it yields an `Ask`, receives the `Reply` or the `ModelError` that
came instead, and returns its result. `run` and `arun` are the two drivers.
"""

from __future__ import annotations

import asyncio
from collections.abc import Generator, Mapping
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from remember_graph.chat_models import ChatModel, Message, Reply
from remember_graph.errors import ModelError

Result = TypeVar("Result")


@dataclass(frozen=True, slots=True)
class Ask:
    """One call of a model.

    Attributes:
        messages: The prompt.
        max_tokens: Allowance of the answer.
        schema: JSON schema of the answer, where the server can enforce one.
    """

    messages: tuple[Message, ...]
    max_tokens: int
    schema: Mapping[str, Any] | None = None


Outcome = Reply | ModelError
Steps = Generator[Ask, Outcome, Result]


@dataclass(slots=True)
class Spent:
    """What the calls so far cost; one that failed counts, one that no model took does not."""

    calls: int = 0
    input_tokens: int = 0
    output_tokens: int = 0

    def count(self, reply: Reply) -> None:
        """Add the tokens of a reply."""
        self.input_tokens += reply.input_tokens
        self.output_tokens += reply.output_tokens


class _Driver(Generic[Result]):
    """The part of driving that has no await: hand over, count, notice the end."""

    def __init__(self, steps: Steps[Result], model: ChatModel | None) -> None:
        self._steps = steps
        self._calls_an_ask = 0 if model is None else 1
        self._spent = Spent()
        self.ended: tuple[Result, Spent] | None = None

    def advance(self, outcome: Outcome | None) -> Ask | None:
        """The next question, or None where the steps have ended."""
        try:
            if outcome is None:
                ask = next(self._steps)
            else:
                if isinstance(outcome, Reply):
                    self._spent.count(outcome)
                ask = self._steps.send(outcome)
        except StopIteration as end:
            self.ended = (end.value, self._spent)
            return None
        self._spent.calls += self._calls_an_ask
        return ask

    def finish(self) -> tuple[Result, Spent]:
        """What the steps returned and what their calls cost."""
        if self.ended is None:
            raise RuntimeError("the steps have not ended")
        return self.ended


def run(steps: Steps[Result], model: ChatModel | None) -> tuple[Result, Spent]:
    """The result of the steps and what their calls cost."""
    driver = _Driver(steps, model)
    ask = driver.advance(None)
    while ask is not None:
        ask = driver.advance(_called(model, ask))
    return driver.finish()


async def arun(steps: Steps[Result], model: ChatModel | None) -> tuple[Result, Spent]:
    """The async twin of `run`; what the steps do between calls runs in a thread."""
    driver = _Driver(steps, model)
    ask = await asyncio.to_thread(driver.advance, None)
    while ask is not None:
        ask = await asyncio.to_thread(driver.advance, await _acalled(model, ask))
    return driver.finish()


def _called(model: ChatModel | None, ask: Ask) -> Outcome:
    try:
        return _required(model).call(ask.messages, max_tokens=ask.max_tokens, schema=ask.schema)
    except ModelError as error:
        return error


async def _acalled(model: ChatModel | None, ask: Ask) -> Outcome:
    try:
        return await _required(model).acall(
            ask.messages, max_tokens=ask.max_tokens, schema=ask.schema
        )
    except ModelError as error:
        return error


def _required(model: ChatModel | None) -> ChatModel:
    if model is None:
        raise ModelError("a model was asked, but none is configured")
    return model
