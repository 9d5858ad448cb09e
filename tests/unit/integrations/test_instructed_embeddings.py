"""Queries carry an instruction, documents do not."""

from __future__ import annotations

import asyncio

import pytest
from langchain_core.embeddings import Embeddings

from remember_graph import Memory, Turn
from remember_graph.errors import ConfigError
from remember_graph.integrations.instructed_embeddings import InstructedEmbeddings


class _Recording(Embeddings):
    def __init__(self) -> None:
        self.model = "small"
        self.documents: list[str] = []
        self.queries: list[str] = []

    def embed_documents(self, texts: list[str]) -> list[list[float]]:
        self.documents += texts
        return [[1.0, float(len(text))] for text in texts]

    def embed_query(self, text: str) -> list[float]:
        self.queries.append(text)
        return [1.0, float(len(text))]


_ASKED = (
    "Instruct: Given a web search query, retrieve relevant passages that answer the query\n"
    "Query:Which boat?"
)


def test_a_query_is_put_behind_the_task_without_a_space() -> None:
    base = _Recording()
    InstructedEmbeddings(base).embed_query("Which boat?")

    assert base.queries == [_ASKED]


def test_documents_are_plain() -> None:
    base = _Recording()

    assert InstructedEmbeddings(base).embed_documents(["The blue one."]) == [[1.0, 13.0]]
    assert base.documents == ["The blue one."]


def test_async_does_the_same() -> None:
    base = _Recording()
    embeddings = InstructedEmbeddings(base)
    asyncio.run(embeddings.aembed_query("Which boat?"))
    asyncio.run(embeddings.aembed_documents(["The blue one."]))

    assert (base.queries, base.documents) == ([_ASKED], ["The blue one."])


def test_braces_in_task_and_query_are_text() -> None:
    embeddings = InstructedEmbeddings(_Recording(), "{task}: {query}!", "Find {query}")

    assert embeddings.instructed("{task}") == "Find {query}: {task}!"


def test_a_template_without_a_query_is_refused() -> None:
    with pytest.raises(ConfigError, match=r"`query_template` must have \{query\} in it"):
        InstructedEmbeddings(_Recording(), "Instruct: {task}")


def test_a_memory_takes_them() -> None:
    base = _Recording()
    with Memory.open(embeddings=InstructedEmbeddings(base)) as memory:
        memory.add("trip", [Turn("Ana", "The blue boat.", id="1")])
        assert memory.nearest("trip", "Which boat?", k=1)[0][0].id == "1"
        assert memory.history.encoder is not None
        assert memory.history.encoder.id == "InstructedEmbeddings/small"

    assert base.queries == [_ASKED]
