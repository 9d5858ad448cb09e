"""A stage as a LangGraph node: sync and async over the same steps, timed, its calls counted."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any, cast

from langchain_core.runnables import Runnable, RunnableConfig, RunnableLambda
from langgraph.config import get_stream_writer
from langgraph.runtime import get_runtime

from remember_graph.chat_models import ChatModel
from remember_graph.context import Run, read_context
from remember_graph.model_steps import Spent, Steps, arun, run
from remember_graph.state import GraphState, Usage

Update = dict[str, Any]
Stage = Callable[[GraphState, Run], Steps[Update]]
"""From the state and what is known of the run to the keys that change."""


def stage_node(name: str, stage: Stage, model: ChatModel | None) -> Runnable[Any, Any]:
    """The stage as a node that answers `invoke` and `ainvoke` alike and tells its progress."""

    def node(state: GraphState, config: RunnableConfig) -> Update:
        tell = get_stream_writer()
        tell(_event(name, "started"))
        update = run_stage(name, stage, state, _run_of(config), model)
        tell(_event(name, "done", update))
        return update

    async def anode(state: GraphState, config: RunnableConfig) -> Update:
        tell = get_stream_writer()
        tell(_event(name, "started"))
        update = await arun_stage(name, stage, state, _run_of(config), model)
        tell(_event(name, "done", update))
        return update

    return RunnableLambda(cast("Any", node), afunc=cast("Any", anode), name=name)


def run_stage(
    name: str, stage: Stage, state: GraphState, about: Run, model: ChatModel | None
) -> Update:
    """The keys that the stage changes, with its time and what its calls cost."""
    started = time.perf_counter()
    update, spent = run(stage(state, about), model)
    return _with_costs(name, state, update, spent, started)


async def arun_stage(
    name: str, stage: Stage, state: GraphState, about: Run, model: ChatModel | None
) -> Update:
    """The async twin of `run_stage`."""
    started = time.perf_counter()
    update, spent = await arun(stage(state, about), model)
    return _with_costs(name, state, update, spent, started)


def _run_of(config: RunnableConfig) -> Run:
    thread_id = str((config.get("configurable") or {}).get("thread_id") or "")
    return Run(thread_id, read_context(get_runtime().context))


def _event(name: str, status: str, update: Update | None = None) -> dict[str, Any]:
    """What a caller sees with `stream_mode="custom"`."""
    event: dict[str, Any] = {"stage": name, "status": status}
    if update is not None:
        event |= {"ms": update["timings_ms"][name], "gaps": len(update.get("gaps") or [])}
    return {"remember_graph": event}


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
