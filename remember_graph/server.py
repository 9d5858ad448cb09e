"""Factories for `langgraph.json`: the graphs that a LangGraph server serves.

The server calls a factory for each run, on its event loop and without arguments that we could
choose: so the graph is made once, in a thread, and this is the one place beside the command line
that reads the environment.
"""

from __future__ import annotations

import asyncio
import os
from functools import cache

from remember_graph.graph import CatchUpGraph, build_graph
from remember_graph.memory import Memory

_DB, _MODEL, _EMBEDDINGS = "REMEMBER_GRAPH_DB", "REMEMBER_GRAPH_MODEL", "REMEMBER_GRAPH_EMBEDDINGS"


async def memory_graph() -> CatchUpGraph:
    """The catch-up graph over the history that REMEMBER_GRAPH_DB names; in memory without.

    REMEMBER_GRAPH_MODEL is a `provider:name`, REMEMBER_GRAPH_EMBEDDINGS as in `Memory.open`. The
    server supplies the checkpointer.
    """
    return await asyncio.to_thread(_memory_graph)


@cache
def _memory_graph() -> CatchUpGraph:
    model = os.environ.get(_MODEL) or None
    embeddings = os.environ.get(_EMBEDDINGS) or "auto"
    memory = Memory.open(os.environ.get(_DB) or None, embeddings=embeddings)
    return build_graph(memory.history, model=model)
