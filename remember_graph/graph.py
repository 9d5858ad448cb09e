"""The whole graph on one screen: five stages in a row, one set of them for each preset."""

from __future__ import annotations

from typing import Any

from langgraph.graph import END, START, StateGraph
from langgraph.graph.state import CompiledStateGraph

from remember_graph.chat_models import load_chat_model
from remember_graph.context import RememberContext
from remember_graph.encoders import load_encoder
from remember_graph.history.history import History
from remember_graph.node import stage_node
from remember_graph.nodes.detection import GapDetector
from remember_graph.nodes.hybrid_retriever import Retriever
from remember_graph.nodes.turn_refiner import Refiner
from remember_graph.retrying import connection_retries
from remember_graph.settings import Settings
from remember_graph.stages import create_stages
from remember_graph.state import CatchUp, GraphInput, GraphState

CatchUpGraph = CompiledStateGraph[GraphState, RememberContext, GraphInput, CatchUp]


def build_graph(
    history: History | None = None,
    *,
    model: Any = None,  # noqa: ANN401 - a name or a LangChain model
    embeddings: Any = "auto",  # noqa: ANN401 - a name or a LangChain model
    settings: Settings | None = None,
    detector: GapDetector | None = None,
    retriever: Retriever | None = None,
    refiner: Refiner | None = None,
    checkpointer: Any = None,  # noqa: ANN401 - what StateGraph.compile takes
) -> CatchUpGraph:
    """The compiled graph: `GraphInput` in, `CatchUp` out.

    Args:
        history: The streams; default new ones in memory, with `embeddings`.
        model: Detects and writes: `provider:name` or a LangChain model; None works without.
        embeddings: As in `load_encoder`; only where `history` is not given.
        settings: Preset, budget, window and the stages' constants.
        detector: In place of the model and the local detector.
        retriever: In place of the preset's.
        refiner: In place of the preset's.
        checkpointer: Keeps the state of each thread; inside another graph None takes that
            graph's, False none.

    Example:
        >>> graph = build_graph(embeddings="none")
        >>> turns = [{"speaker": "Ana", "text": "The hall is booked.", "id": "1"}]
        >>> graph.invoke({"stream": "party", "turns": turns})["window"]
        ['1']
    """
    settings = settings or (history.settings if history else Settings())
    history = history or History(encoder=load_encoder(embeddings), settings=settings)
    chat_model = load_chat_model(model)
    stages = create_stages(
        history,
        settings,
        model=chat_model,
        detector=detector,
        retriever=retriever,
        refiner=refiner,
    )
    graph = StateGraph(
        GraphState,
        context_schema=RememberContext,
        input_schema=GraphInput,
        output_schema=CatchUp,
    )
    names = list(stages)
    for name, stage in stages.items():
        node = stage_node(name, stage, chat_model)
        graph.add_node(name, node, retry_policy=connection_retries())
    for before, after in zip([START, *names], [*names, END], strict=True):
        graph.add_edge(before, after)
    return graph.compile(checkpointer=checkpointer, name="remember_graph")
