"""The five stages of a preset, made from its services."""

from __future__ import annotations

from remember_graph.chat_models import ChatModel
from remember_graph.history.history import History
from remember_graph.node import Stage
from remember_graph.nodes.allocator import Allocate
from remember_graph.nodes.detection import GapDetector
from remember_graph.nodes.gap_detector import DetectGaps, ModelDetector
from remember_graph.nodes.hybrid_retriever import (
    PaperRetriever,
    RememberRetriever,
    Retrieve,
    Retriever,
)
from remember_graph.nodes.local_detector import LocalDetector
from remember_graph.nodes.summarizer import Summarize
from remember_graph.nodes.turn_refiner import PaperRefiner, Refine, Refiner, RememberRefiner
from remember_graph.settings import Settings


def create_detector(settings: Settings, *, by_model: bool) -> GapDetector:
    """The local detector, or the model's with the local one behind it."""
    local = LocalDetector(settings.detect)
    return ModelDetector(settings.detect, local) if by_model else local


def create_stages(
    history: History,
    settings: Settings,
    *,
    model: ChatModel | None = None,
    detector: GapDetector | None = None,
    retriever: Retriever | None = None,
    refiner: Refiner | None = None,
) -> dict[str, Stage]:
    """The stages in their order, by the names of the graph's nodes.

    Args:
        history: The streams.
        settings: Preset, budget, window and the stages' constants.
        model: Detects and writes; None works without.
        detector: In place of the model and the local detector.
        retriever: In place of the preset's.
        refiner: In place of the preset's.
    """
    if settings.preset == "paper":
        retriever = retriever or PaperRetriever(history, settings)
        refiner = refiner or PaperRefiner(history, settings)
    detector = detector or create_detector(settings, by_model=model is not None)
    return {
        "detect_gaps": DetectGaps(history, detector, settings),
        "retrieve": Retrieve(history, retriever or RememberRetriever(history, settings)),
        "refine": Refine(history, refiner or RememberRefiner()),
        "allocate": Allocate(history, settings),
        "summarize": Summarize(settings, by_model=model is not None),
    }
