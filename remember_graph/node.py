"""A stage as a LangGraph node: sync and async over the same steps, timed, its calls counted."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any, cast

from langchain_core.runnables import Runnable, RunnableConfig, RunnableLambda

from remember_graph.chat_models import ChatModel
from remember_graph.model_steps import Spent, Steps, arun, run
from remember_graph.state import GraphState, Usage

Update = dict[str, Any]
Stage = Callable[[GraphState, str], Steps[Update]]
"""From the state and the run's thread id to the keys that change."""


def as_node(name: str, stage: Stage, model: ChatModel | None) -> Runnable[Any, Any]:
    """The stage as a node that answers `invoke` and `ainvoke` alike."""

    def node(state: GraphState, config: RunnableConfig) -> Update:
        started = time.perf_counter()
        update, spent = run(stage(state, _thread_id(config)), model)
        return _with_costs(name, state, update, spent, started)

    async def anode(state: GraphState, config: RunnableConfig) -> Update:
        started = time.perf_counter()
        update, spent = await arun(stage(state, _thread_id(config)), model)
        return _with_costs(name, state, update, spent, started)

    return RunnableLambda(cast("Any", node), afunc=cast("Any", anode), name=name)


def _thread_id(config: RunnableConfig) -> str:
    return str((config.get("configurable") or {}).get("thread_id") or "")


def _with_costs(
    name: str, state: GraphState, update: Update, spent: Spent, started: float
) -> Update:
    usage: Usage = update.get("usage") or state["usage"]
    counted: Usage = {
        **usage,
        "model_calls": usage["model_calls"] + spent.calls,
        "input_tokens": usage["input_tokens"] + spent.input_tokens,
        "output_tokens": usage["output_tokens"] + spent.output_tokens,
    }
    before: dict[str, float] = update.get("timings_ms", state.get("timings_ms") or {})
    elapsed = round((time.perf_counter() - started) * 1000, 3)
    return {**update, "usage": counted, "timings_ms": {**before, name: elapsed}}
