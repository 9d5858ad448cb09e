"""Every memory method by its name."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from remember_graph.chat_models import ChatModel
from remember_graph.evals.baselines import BASELINES
from remember_graph.evals.cached_encoder import CachedEncoder
from remember_graph.evals.methods import Detections, MemoryMethod
from remember_graph.evals.pipeline_methods import PipelineMethod
from remember_graph.protocols import TextEncoder

_Maker = Callable[[TextEncoder | None, Detections, ChatModel | None], MemoryMethod]

NEED_VECTORS = frozenset({"dense", "hybrid"})


def _baseline(name: str) -> _Maker:
    return lambda encoder, detections, model: BASELINES[name](encoder)


METHODS: dict[str, _Maker] = {
    **{name: _baseline(name) for name in BASELINES},
    "paper": lambda *services: PipelineMethod("paper", *services),
    "remember": lambda *services: PipelineMethod("remember", *services),
}


def create_methods(
    names: Sequence[str],
    encoder: TextEncoder | None,
    detections: Detections,
    model: ChatModel | None = None,
) -> list[MemoryMethod]:
    """The methods of these names (of `METHODS`), in this order.

    Args:
        names: Which.
        encoder: Makes the vectors; None for lexical search alone.
        detections: What the presets go by.
        model: Detects where `detections` is `model`.

    Raises:
        ConfigError: A method needs vectors and there is no encoder.
    """
    shared = None if encoder is None else CachedEncoder(encoder)
    return [METHODS[name](shared, detections, model) for name in names]
