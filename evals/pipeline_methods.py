"""The product's own presets as memory methods: the stages of the graph, without the summary."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, cast

from remember_graph.chat_models import ChatModel
from remember_graph.context import Run
from remember_graph.evals.methods import Detections, MemoryCase, MemoryMethod
from remember_graph.history.history import History
from remember_graph.history.store import Namespace
from remember_graph.model_steps import Steps, run
from remember_graph.nodes.detection import Detection, GapDetector, new_gap, number_gaps
from remember_graph.protocols import TextEncoder
from remember_graph.settings import Preset, Settings
from remember_graph.stages import create_detector, create_stages
from remember_graph.state import GraphState
from remember_graph.tokens import count_tokens
from remember_graph.types import Turn
from remember_graph.view import WindowView

_NAMESPACE = Namespace("bench", "stream")


class RecordedDetector:
    """Answers with the detections that stand in a bench, most salient first."""

    def __init__(self, recorded: Sequence[Mapping[str, Any]]) -> None:
        self._recorded = recorded

    def detect(self, view: WindowView) -> Steps[Detection]:
        """See `GapDetector`."""
        gaps = [
            new_gap(
                item["turn_id"],
                item["kind"],
                missing=item.get("missing", ""),
                query=item["query"],
                anchors=list(item.get("anchors", [])),
                salience=float(item.get("salience", 0.5)),
            )
            for item in self._recorded
        ]
        gaps.sort(key=lambda gap: -gap["salience"])
        return Detection(number_gaps(gaps), by_model=True)
        yield  # a detector is a generator, this one asks no model


class PipelineMethod(MemoryMethod):
    """A preset's memory: detection is prepared, the rest is built and timed.

    Args:
        preset: Which.
        encoder: Makes the vectors; None for lexical search alone.
        detections: Recorded ones, the local detector's, or the model's.
        model: Detects where `detections` is `model`.
    """

    def __init__(
        self,
        preset: Preset,
        encoder: TextEncoder | None,
        detections: Detections,
        model: ChatModel | None = None,
    ) -> None:
        self._preset, self._encoder = preset, encoder
        self._detections, self._model = detections, model
        self._settings = Settings(preset=preset)
        self._history = History()
        self._state: GraphState | None = None

    @property
    def name(self) -> str:
        """The preset's name."""
        return self._preset

    @property
    def uses_detections(self) -> bool:
        """Both presets begin with the window's gaps."""
        return True

    def start_stream(self, turns: Sequence[Turn], tokens: Sequence[int]) -> None:
        """Index the conversation, counted as the bench counts."""
        cost: dict[str, int] = {}
        for turn, count in zip(turns, tokens, strict=True):
            cost[turn.line] = max(count, cost.get(turn.line, 0))

        def count_as_the_bench(line: str) -> int:
            return cost[line] if line in cost else count_tokens(line)

        self._settings = Settings(preset=self._preset, count_tokens=count_as_the_bench)
        self._history = History(encoder=self._encoder, settings=self._settings)
        self._history.add(_NAMESPACE, turns)
        self._stages = create_stages(self._history, self._settings)

    def prepare(self, case: MemoryCase) -> None:
        """Detect the window's gaps."""
        stages = create_stages(self._history, self._settings, detector=self._detector(case))
        asked = {
            "tenant": _NAMESPACE.tenant,
            "stream": _NAMESPACE.stream,
            "window_first": case.window[0].id,
            "window_last": case.window[-1].id,
        }
        update, _ = run(stages["detect_gaps"](cast("GraphState", asked), Run()), self._model)
        self._state = cast("GraphState", update)

    def build(self, case: MemoryCase) -> list[str]:
        """Retrieve, refine, allocate."""
        assert self._state is not None, "prepare comes before build"
        usage = {**self._state["usage"], "budget": case.budget}
        state = cast("GraphState", {**self._state, "usage": usage})
        for name in ("retrieve", "refine", "allocate"):
            update, _ = run(self._stages[name](state, Run()), None)
            state = cast("GraphState", {**state, **update})
        return [turn["turn_id"] for turn in state["memory"]]

    def _detector(self, case: MemoryCase) -> GapDetector:
        if self._detections == "recorded":
            return RecordedDetector(case.gaps or [])
        return create_detector(self._settings, by_model=self._detections == "model")
