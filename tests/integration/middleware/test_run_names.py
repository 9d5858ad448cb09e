"""Whose run it is, and the bounded mapping of what is kept of runs."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest
from langchain_core.runnables import RunnableLambda

from remember_graph.history.store import Namespace
from remember_graph.integrations.bounded import Bounded
from remember_graph.integrations.run_names import RunNames, thread_of


def _runtime(thread: Any) -> Any:
    return SimpleNamespace(execution_info=SimpleNamespace(thread_id=thread))


@pytest.mark.parametrize(("thread", "read"), [("t", "t"), (7, "7"), (None, None), ("", None)])
def test_the_thread_is_that_of_the_runtime(thread: Any, read: str | None) -> None:
    assert thread_of(_runtime(thread)) == read


@pytest.mark.parametrize("runtime", [SimpleNamespace(execution_info=None), None, 3])
def test_a_runtime_of_another_kind_has_no_thread(runtime: Any) -> None:
    assert thread_of(runtime) is None


def test_a_runtime_that_does_not_tell_its_thread_has_that_of_the_config() -> None:
    inside: Any = RunnableLambda(lambda _: thread_of(SimpleNamespace()))

    assert inside.invoke(None, {"configurable": {"thread_id": "t"}}) == "t"
    assert inside.invoke(None) is None


def test_without_options_the_stream_is_the_thread() -> None:
    assert RunNames().of(_runtime("t")) == Namespace("default", "t")
    assert RunNames().of(_runtime(None)) == Namespace("default", "default")


def test_a_name_goes_before_the_thread() -> None:
    assert RunNames("notes", "acme").of(_runtime("t")) == Namespace("acme", "notes")


def test_a_name_that_no_store_can_hold_is_spelled_out() -> None:
    assert RunNames("\ud800").of(_runtime("t")) == Namespace("default", "\\ud800")


def test_what_was_not_asked_for_longest_goes_first() -> None:
    kept = Bounded[str, int](2)
    kept.put("a", 1)
    kept.put("b", 2)
    kept.get("a")
    kept.put("c", 3)

    assert [kept.get(key) for key in "abc"] == [1, None, 3]


def test_a_value_that_is_put_again_is_the_latest() -> None:
    kept = Bounded[str, int](2)
    for key, value in (("a", 1), ("b", 2), ("a", 3), ("c", 4)):
        kept.put(key, value)

    assert [kept.get(key) for key in "abc"] == [3, None, 4]
