"""What does the window lean on and not say?

Reads `stream`, `tenant`, `turns`, `window_first`, `window_last`; writes `window`, `gaps` and every
other key of the result afresh. A chat model sees the window alone; where it fails, and where
there is none, the local detector answers and the result says so: an answer that cannot be parsed
never means "no gaps". A window without turns has no gaps.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from remember_graph.context import RememberContext, Run
from remember_graph.history.history import History
from remember_graph.history.missing_vectors import missing_vectors
from remember_graph.history.selecting import parse_time
from remember_graph.history.store import Namespace
from remember_graph.model_steps import Steps
from remember_graph.nodes.detection import Detection, GapDetector
from remember_graph.nodes.model_gaps import ask_for_gaps
from remember_graph.settings import DetectSettings, Settings
from remember_graph.state import GraphState
from remember_graph.types import Turn, well_formed
from remember_graph.view import WindowView, cut_before, cut_view, given_view
from remember_graph.window import CUT_MARK

DEFAULT_NAME = "default"


class ModelDetector:
    """A chat model with the local detector behind it.

    Args:
        settings: Of the stage.
        fallback: Answers where the model does not.
    """

    def __init__(self, settings: DetectSettings, fallback: GapDetector) -> None:
        self._settings, self._fallback = settings, fallback

    def detect(self, view: WindowView) -> Steps[Detection]:
        """See `GapDetector`."""
        outcome = yield from ask_for_gaps(view.turns, self._settings)
        if isinstance(outcome, Detection):
            return outcome
        local = yield from self._fallback.detect(view)
        reason = f"detector: {outcome}; the local detector answered"
        return replace(local, degraded=[reason, *local.degraded], spare_used=True)


class DetectGaps:
    """The stage `detect_gaps`: takes in new turns, cuts the window, finds its gaps.

    Args:
        history: The streams.
        detector: Finds the gaps.
        settings: Window size and token counter.
    """

    def __init__(self, history: History, detector: GapDetector, settings: Settings) -> None:
        self._history, self._detector, self._settings = history, detector, settings

    def __call__(self, state: GraphState, run: Run) -> Steps[dict[str, Any]]:
        """The window, its gaps, and every other key of the result emptied for this run."""
        context = run.context
        namespace = Namespace(
            well_formed(context.tenant or state.get("tenant") or DEFAULT_NAME),
            well_formed(context.stream or state.get("stream") or run.thread_id or DEFAULT_NAME),
        )
        turns = [Turn.from_dict(turn) for turn in state.get("turns") or []]
        if turns:
            self._history.add(namespace, turns)
        view = self._view(namespace, state, context)
        detection = Detection([])
        if view.turns:
            detection = yield from self._detector.detect(view)
        return {
            **self._fresh(namespace, view, context),
            "gaps": detection.gaps,
            "degraded": [*self._shortcomings(namespace, view), *detection.degraded],
            "detector": "model" if detection.by_model else "local",
            "spare_used": detection.spare_used,
        }

    def _view(
        self, namespace: Namespace, state: GraphState, context: RememberContext
    ) -> WindowView:
        index, count = self._history.index(namespace), self._settings.count_tokens
        given = state.get("window_given")
        if given:
            return given_view(index, [Turn.from_dict(turn) for turn in given], count)
        last = state.get("window_last")
        if last is None and context.now is not None:
            return cut_before(index, self._settings.window, count, parse_time(context.now, "now"))
        return cut_view(
            index, self._settings.window, count, first=state.get("window_first"), last=last
        )

    def _fresh(
        self, namespace: Namespace, view: WindowView, context: RememberContext
    ) -> dict[str, Any]:
        return {
            "tenant": namespace.tenant,
            "stream": namespace.stream,
            "turns": [],
            "window_first": None,
            "window_last": None,
            "window_given": [],
            "reader": context.reader,
            "window": [turn.id for turn in view.turns],
            "window_turns": [turn.to_dict() for turn in view.turns],
            "history_turns": view.history,
            "candidates": [],
            "rankings": [],
            "memory": [],
            "timings_ms": {},
            "usage": {
                "memory_tokens": 0,
                "budget": context.budget or self._settings.budget,
                "window_tokens": sum(view.tokens),
                "model_calls": 0,
                "input_tokens": 0,
                "output_tokens": 0,
            },
        }

    def _shortcomings(self, namespace: Namespace, view: WindowView) -> list[str]:
        """What the window and the history lack, one line each."""
        if not view.turns:
            return ["window: the stream has no turns"]
        lines = []
        if len(view.turns) == 1 and view.turns[0].text.endswith(CUT_MARK):
            lines.append(
                f"window: its only turn is longer than {self._settings.window} tokens; cut"
            )
        if not view.history:
            lines.append("history: there is nothing before the window")
        else:
            lines += missing_vectors(self._history, namespace, view.index, view.history)
        return lines
