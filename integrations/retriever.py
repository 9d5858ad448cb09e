"""A stream of the memory as a LangChain retriever."""

from __future__ import annotations

import asyncio
from typing import Any

from langchain_core.callbacks import (
    AsyncCallbackManagerForRetrieverRun,
    CallbackManagerForRetrieverRun,
)
from langchain_core.documents import Document
from langchain_core.retrievers import BaseRetriever
from pydantic import Field

from remember_graph.errors import ConfigError
from remember_graph.memory import Memory
from remember_graph.recall import RecalledTurn


class RememberRetriever(BaseRetriever):
    """Finds the turns of a stream that answer a query, best first.

    A document's text is the turn's; its metadata hold `turn_id`, `speaker`, `time`, `score`, and
    `gap`, which is None: a plain query serves no gap of a window.

    Attributes:
        memory: The streams.
        stream_name: Which conversation; the constructor takes it as `stream`.
        tenant: Whose conversation.
        k: How many turns at most; `retriever.invoke(query, k=3)` says it for one query.

    Example:
        >>> from remember_graph import Turn
        >>> memory = Memory.open(embeddings="none")
        >>> _ = memory.add("trip", [Turn("Ana", "The hut has a key box.", id="7")])
        >>> RememberRetriever(memory=memory, stream="trip").invoke("Where is the key?")[0].id
        '7'
    """

    memory: Memory
    # A field of that name would hide the retriever's own method.
    stream_name: str = Field(alias="stream")
    tenant: str = "default"
    k: int = 10

    def __init__(self, **fields: Any) -> None:  # noqa: ANN401
        # Before pydantic does, whose error is not of this project's tree.
        _check(fields.get("k", 1))
        super().__init__(**fields)

    def _get_relevant_documents(
        self, query: str, *, run_manager: CallbackManagerForRetrieverRun, k: int | None = None
    ) -> list[Document]:
        return self._find(query, k)

    async def _aget_relevant_documents(
        self, query: str, *, run_manager: AsyncCallbackManagerForRetrieverRun, k: int | None = None
    ) -> list[Document]:
        return await asyncio.to_thread(self._find, query, k)

    def _find(self, query: str, k: int | None) -> list[Document]:
        k = _check(self.k if k is None else k)
        found = self.memory.recall(self.stream_name, query, tenant=self.tenant, k=k)
        return [_document(turn) for turn in found["turns"]]


def _check(k: Any) -> int:  # noqa: ANN401
    if not isinstance(k, int) or isinstance(k, bool) or k < 1:
        raise ConfigError(f"`k` must be a whole number >= 1, got {k!r}")
    return k


def _document(turn: RecalledTurn) -> Document:
    metadata: dict[str, Any] = {
        "turn_id": turn["turn_id"],
        "speaker": turn["speaker"],
        "time": turn["time"],
        "score": turn["score"],
        "gap": None,
    }
    return Document(id=turn["turn_id"], page_content=turn["text"], metadata=metadata)
