"""The memory for one window, without the summary: for who writes their own answer."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import TypedDict, cast

from remember_graph.chat_models import ChatModel
from remember_graph.context import RememberContext, Run
from remember_graph.node import Stage, arun_stage, run_stage
from remember_graph.state import Gap, GraphInput, GraphState, MemoryTurn, Usage
from remember_graph.types import Turn

_STAGES = ("detect_gaps", "retrieve", "refine", "allocate")


class Gathered(TypedDict):
    """What a window leans on; the fields are those of `CatchUp`."""

    memory: list[MemoryTurn]
    gaps: list[Gap]
    usage: Usage
    degraded: list[str]


class Gathering:
    """Runs the stages before the summary one after the other, outside of any graph.

    An agent that asks in the middle of its own run gets no steps, checkpoints or traces of ours.

    Args:
        stages: As `create_stages` makes them.
        model: What they ask.
    """

    def __init__(self, stages: dict[str, Stage], model: ChatModel | None) -> None:
        self._stages, self._model = stages, model

    def run(self, asked: GraphInput, context: RememberContext) -> Gathered:
        """The memory of the window that is asked for."""
        state, about = cast("GraphState", dict(asked)), Run(context=context)
        for name, stage in self._each():
            state = _merged(state, run_stage(name, stage, state, about, self._model))
        return _gathered(state)

    async def arun(self, asked: GraphInput, context: RememberContext) -> Gathered:
        """The async twin of `run`."""
        state, about = cast("GraphState", dict(asked)), Run(context=context)
        for name, stage in self._each():
            state = _merged(state, await arun_stage(name, stage, state, about, self._model))
        return _gathered(state)

    def _each(self) -> Iterator[tuple[str, Stage]]:
        return ((name, self._stages[name]) for name in _STAGES)


def asked_window(
    tenant: str, stream: str, window: Sequence[Turn] | None, visible: Iterable[str]
) -> GraphInput:
    """What a run is asked for a window; the stream's latest where none is given."""
    asked: GraphInput = {"tenant": tenant, "stream": stream, "visible": list(visible)}
    if window is not None:
        asked["window_given"] = [turn.to_dict() for turn in window]
    return asked


def _merged(state: GraphState, update: dict[str, object]) -> GraphState:
    return cast("GraphState", {**state, **update})


def _gathered(state: GraphState) -> Gathered:
    return {
        "memory": state["memory"],
        "gaps": state["gaps"],
        "usage": state["usage"],
        "degraded": state["degraded"],
    }
