"""The graph that the LangGraph server of compose.yaml serves, on the models of vLLM."""

import asyncio
import os
from functools import cache

from remember_graph.graph import CatchUpGraph, build_graph
from remember_graph.integrations.instructed_embeddings import InstructedEmbeddings
from remember_graph.integrations.vllm import vllm_chat, vllm_embeddings
from remember_graph.memory import Memory


async def memory_graph() -> CatchUpGraph:
    """The graph; the server calls this on its event loop for each run."""
    return await asyncio.to_thread(_memory_graph)


@cache
def _memory_graph() -> CatchUpGraph:
    embeddings = InstructedEmbeddings(vllm_embeddings(os.environ["VLLM_EMBED_URL"]))
    memory = Memory.open(os.environ["REMEMBER_GRAPH_DB"], embeddings=embeddings)
    return build_graph(memory.history, model=vllm_chat(os.environ["VLLM_CHAT_URL"]))
