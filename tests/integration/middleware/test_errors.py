"""Whatever fails in the memory, the agent's run goes on, or ends with an error of ours."""

from __future__ import annotations

import asyncio
import logging
from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any

import pytest
from langchain.agents import create_agent
from langchain.agents.middleware import ModelRequest
from langchain_core.messages import HumanMessage
from langgraph.checkpoint.memory import InMemorySaver

from remember_graph.errors import ConfigError, HistoryError
from remember_graph.integrations.middleware import RememberMiddleware

_QUESTION = "Where does the spare key of the boathouse hang?"
_THREAD: Any = {"configurable": {"thread_id": "t"}}


def _failing(*_: Any, **__: Any) -> Any:
    raise ZeroDivisionError("first line\nsecond line")


async def _afailing(*_: Any, **__: Any) -> Any:
    raise ZeroDivisionError("first line\nsecond line")


@pytest.fixture
def broken(memory: Any, monkeypatch: pytest.MonkeyPatch) -> Any:
    """A memory that cannot recall."""
    monkeypatch.setattr(memory, "gather", _failing)
    monkeypatch.setattr(memory, "agather", _afailing)
    return memory


@pytest.fixture
def unwritable(memory: Any, monkeypatch: pytest.MonkeyPatch) -> Any:
    """A memory that cannot be written."""
    monkeypatch.setattr(memory.history.store, "append", _failing)
    return memory


def test_a_run_goes_on_where_nothing_can_be_recalled(
    model: Any, agent_of: Any, broken: Any
) -> None:
    result = agent_of(model, stream="notes").invoke({"messages": _QUESTION})

    assert result["messages"][-1].text == "Noted."
    assert model.questions() == [_QUESTION]


def test_an_async_run_goes_on_where_nothing_can_be_recalled(
    model: Any, agent_of: Any, broken: Any
) -> None:
    result = asyncio.run(agent_of(model, stream="notes").ainvoke({"messages": _QUESTION}))

    assert result["messages"][-1].text == "Noted."


def test_a_run_goes_on_where_nothing_can_be_logged(
    model: Any, agent_of: Any, unwritable: Any
) -> None:
    agent_of(model, stream="notes").invoke({"messages": _QUESTION})

    assert "behind the blue barrel" in model.questions()[0]


def test_what_failed_is_logged_in_one_line(
    model: Any, agent_of: Any, broken: Any, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.WARNING, logger="remember_graph"):
        agent_of(model, stream="notes", name="Mine").invoke({"messages": _QUESTION})

    assert [(record.name, record.levelname, record.getMessage()) for record in caplog.records] == [
        ("remember_graph", "WARNING", "Mine: recall: ZeroDivisionError: first line")
    ]


def test_what_failed_is_in_the_report_and_the_custom_stream(
    model: Any, memory: Any, unwritable: Any
) -> None:
    middleware = RememberMiddleware(memory, stream="notes")
    agent: Any = create_agent(model, middleware=[middleware], checkpointer=InMemorySaver())
    events: list[Any] = list(agent.stream({"messages": _QUESTION}, _THREAD, stream_mode="custom"))
    lines = ["ingest: ZeroDivisionError: first line"] * 3  # of each hook
    report = middleware.last_report("t")

    assert report is not None
    assert [line for line in report["degraded"] if "ingest" in line] == lines
    assert report["memory"] == ["key", "good"]
    assert events[-1]["remember_graph"] == report
    assert middleware.last_report("another") is None


def test_a_report_is_of_the_latest_turn_of_the_user(model: Any, memory: Any) -> None:
    middleware = RememberMiddleware(memory, stream="notes")
    agent: Any = create_agent(model, middleware=[middleware])
    agent.invoke({"messages": _QUESTION})
    first = middleware.last_report()
    memory.forget("notes", ids=["key", "good"])
    agent.invoke({"messages": "Good morning, everybody."})
    second = middleware.last_report()

    assert first is not None
    assert second is not None
    assert first["memory"] == ["key", "good"]
    assert "key" not in second["memory"]
    assert first["gaps"] != second["gaps"]
    assert second["degraded"] == ["embeddings: none; the history is searched by words alone"]


def test_a_report_that_a_caller_changes_stays_as_it_was(model: Any, memory: Any) -> None:
    middleware = RememberMiddleware(memory, stream="notes")
    agent: Any = create_agent(model, middleware=[middleware])
    agent.invoke({"messages": _QUESTION})
    report = middleware.last_report()
    assert report is not None
    report["memory"].clear()

    assert middleware.last_report() != report


def test_what_could_not_be_logged_is_brought_in_by_the_next_hook(
    model: Any, agent_of: Any, memory: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    append, calls = memory.history.store.append, []

    def failing_at_first(*arguments: Any, **options: Any) -> Any:
        calls.append(arguments)
        if len(calls) <= 3:  # all of the first run
            raise OSError("disk full")
        return append(*arguments, **options)

    monkeypatch.setattr(memory.history.store, "append", failing_at_first)
    agent = agent_of(model, checkpointer=InMemorySaver())
    agent.invoke({"messages": "First."}, _THREAD)
    assert memory.log("t") == []
    agent.invoke({"messages": "Second."}, _THREAD)

    assert [turn.text for turn in memory.log("t")] == ["First.", "Noted.", "Second.", "Noted."]


@pytest.mark.parametrize("fixture", ["broken", "unwritable"])
def test_an_error_can_end_the_run_as_one_of_ours(
    model: Any, agent_of: Any, fixture: str, request: pytest.FixtureRequest
) -> None:
    request.getfixturevalue(fixture)
    agent = agent_of(model, stream="notes", on_error="raise")
    with pytest.raises(HistoryError, match=r"the memory failed at .* first line") as caught:
        agent.invoke({"messages": _QUESTION})

    assert isinstance(caught.value.__cause__, ZeroDivisionError)
    assert "second" not in str(caught.value)


def test_an_error_can_end_an_async_run_as_one_of_ours(
    model: Any, agent_of: Any, broken: Any
) -> None:
    agent = agent_of(model, stream="notes", on_error="raise")
    with pytest.raises(HistoryError, match="the memory failed at recall"):
        asyncio.run(agent.ainvoke({"messages": _QUESTION}))


def _no_name(runtime: Any) -> Any:
    return None


def _no_key(runtime: Any) -> Any:
    return runtime.context["user_id"]


@pytest.mark.parametrize("option", ["stream", "tenant"])
@pytest.mark.parametrize("callable_", [_failing, _no_name, _no_key])
def test_a_run_whose_names_cannot_be_read_has_no_memory_rather_than_anothers(
    model: Any, agent_of: Any, memory: Any, option: str, callable_: Any
) -> None:
    result = agent_of(model, **{option: callable_}).invoke({"messages": _QUESTION})

    assert result["messages"][-1].text == "Noted."
    assert model.questions() == [_QUESTION]
    assert memory.log("default") == []


def test_a_name_that_cannot_be_read_can_end_the_run(model: Any, agent_of: Any) -> None:
    with pytest.raises(ConfigError, match="`tenant` could not be read off the run") as caught:
        agent_of(model, tenant=_failing, on_error="raise").invoke({"messages": _QUESTION})

    assert isinstance(caught.value.__cause__, ZeroDivisionError)


@dataclass
class _Foreign:
    """A context that has nothing to do with ours."""

    user_id: int = 7
    tenant: int = 8
    stream: None = None


@pytest.mark.parametrize("context", [_Foreign(), {"tenant": 3}, None])
def test_a_context_of_any_type_changes_nothing(
    model: Any, agent_of: Any, memory: Any, context: Any
) -> None:
    schema = {"context_schema": type(context)} if context is not None else {}
    agent = agent_of(model, stream="notes", on_error="raise", agent=schema)
    agent.invoke({"messages": _QUESTION}, context=context)

    assert "behind the blue barrel" in model.questions()[0]
    assert len(memory.log("notes")) == 4


def test_a_model_that_is_refused_raises_what_it_raises_without_us(
    scripted_model: Any, agent_of: Any
) -> None:
    error = ConnectionError("429 Too Many Requests")
    with pytest.raises(ConnectionError, match="429") as caught:
        agent_of(scripted_model(error), stream="notes").invoke({"messages": _QUESTION})

    assert caught.value is error


class _ReadOnly(InMemorySaver):
    """A checkpointer that cannot be written."""

    def put(self, *_: Any, **__: Any) -> Any:
        raise OSError("read-only file system")


def test_a_checkpointer_that_fails_raises_what_it_raises_without_us(
    model: Any, agent_of: Any
) -> None:
    with pytest.raises(OSError, match="read-only file system"):
        agent_of(model, stream="notes", checkpointer=_ReadOnly()).invoke(
            {"messages": [HumanMessage(_QUESTION)]}, _THREAD
        )


@pytest.mark.parametrize("runtime", [SimpleNamespace(stream_writer=_failing), None])
def test_a_stream_that_cannot_be_written_keeps_nothing_from_the_model(
    model: Any, memory: Any, runtime: Any
) -> None:
    said: list[Any] = [HumanMessage(_QUESTION, id="q")]
    state: Any = {"messages": said}
    request: Any = ModelRequest(model=model, messages=said, state=state, runtime=runtime)
    seen: list[Any] = []
    RememberMiddleware(memory, stream="notes").wrap_model_call(request, seen.append)  # type: ignore[arg-type]

    assert "behind the blue barrel" in seen[0].messages[0].text
