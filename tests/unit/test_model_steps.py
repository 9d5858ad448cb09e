"""Driving steps that ask a model."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

import pytest
from langchain_core.messages import AIMessage

from remember_graph.chat_models import ChatModel, Message, Reply
from remember_graph.errors import ModelError
from remember_graph.model_steps import Ask, Spent, Steps, arun, run

_ASK = Ask((Message("user", "Hi"),), 10)
Drive = Callable[[Steps[Any], ChatModel | None], tuple[Any, Spent]]


def _arun(steps: Steps[Any], model: ChatModel | None) -> tuple[Any, Spent]:
    return asyncio.run(arun(steps, model))


@pytest.fixture(params=[run, _arun], ids=["sync", "async"])
def drive(request: pytest.FixtureRequest) -> Drive:
    driver: Drive = request.param
    return driver


def _ask(times: int) -> Steps[list[str]]:
    """Asks so often; returns what came."""
    seen = []
    for _ in range(times):
        outcome = yield _ASK
        seen.append(outcome.text if isinstance(outcome, Reply) else f"error: {outcome}")
    return seen


def _answer(text: str, read: int, written: int) -> AIMessage:
    usage = {"input_tokens": read, "output_tokens": written, "total_tokens": read + written}
    return AIMessage(text, usage_metadata=usage)


def test_steps_that_ask_nothing_cost_nothing(drive: Drive) -> None:
    assert drive(_ask(0), None) == ([], Spent(0, 0, 0))


def test_each_question_gets_its_answer_and_costs_add_up(drive: Drive, scripted: Any) -> None:
    model = ChatModel(scripted(_answer("one", 5, 1), _answer("two", 7, 2)))

    assert drive(_ask(2), model) == (["one", "two"], Spent(2, 12, 3))


def test_a_failure_is_handed_to_the_steps_and_counts_as_a_call(drive: Drive, scripted: Any) -> None:
    model = ChatModel(scripted(RuntimeError("gone"), "two"))

    (first, second), spent = drive(_ask(2), model)

    assert "gone" in first
    assert second == "two"
    assert spent.calls == 2


def test_steps_without_a_model_are_told_so(drive: Drive) -> None:
    (told,), _ = drive(_ask(1), None)

    assert told == "error: a model was asked, but none is configured"


def test_a_call_that_no_model_took_is_not_counted(drive: Drive) -> None:
    assert drive(_ask(1), None)[1].calls == 0


def test_an_error_of_the_steps_themselves_comes_out(drive: Drive) -> None:
    def failing() -> Steps[None]:
        yield _ASK
        raise ValueError("a bug of the steps")

    with pytest.raises(ValueError, match="a bug of the steps"):
        drive(failing(), None)


def test_a_failed_model_error_keeps_whether_it_was_rejected(drive: Drive, scripted: Any) -> None:
    refusal = RuntimeError("bad schema")
    refusal.status_code = 400  # type: ignore[attr-defined]

    def steps() -> Steps[bool]:
        outcome = yield _ASK
        return isinstance(outcome, ModelError) and outcome.rejected

    assert drive(steps(), ChatModel(scripted(refusal)))[0] is True
