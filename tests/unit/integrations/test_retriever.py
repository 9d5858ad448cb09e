"""A stream as a LangChain retriever."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from langchain_core.documents import Document

from remember_graph.errors import ConfigError
from remember_graph.integrations.retriever import RememberRetriever
from remember_graph.memory import Memory
from remember_graph.types import Turn

_TURNS = [
    Turn("Ana", "The key lies under the blue pot.", "2024-05-01T10:00:00", "1"),
    Turn("Ben", "Which key?", id="2"),
    Turn("Cem", "I bring the stove.", id="3"),
]


@pytest.fixture
def memory() -> Memory:
    memory = Memory.open(embeddings="none")
    memory.add("trip", _TURNS)
    memory.add("trip", [Turn("Eve", "Her key is elsewhere.", id="9")], tenant="acme")
    return memory


def test_the_turns_that_share_words_with_the_query_are_found(memory: Memory) -> None:
    found = RememberRetriever(memory=memory, stream="trip").invoke("blue pot")

    assert [document.id for document in found] == ["1"]


def test_a_document_tells_whose_turn_it_is(memory: Memory) -> None:
    (document,) = RememberRetriever(memory=memory, stream="trip").invoke("blue pot")

    score = document.metadata.pop("score")
    assert isinstance(score, float)
    assert document == Document(
        id="1",
        page_content="The key lies under the blue pot.",
        metadata={
            "turn_id": "1",
            "speaker": "Ana",
            "time": "2024-05-01T10:00:00",
            "gap": None,
        },
    )


def test_another_tenant_has_turns_of_its_own(memory: Memory) -> None:
    retriever = RememberRetriever(memory=memory, stream="trip", tenant="acme")

    assert [document.id for document in retriever.invoke("key")] == ["9"]


def test_k_of_the_retriever_bounds_every_query(memory: Memory) -> None:
    assert len(RememberRetriever(memory=memory, stream="trip", k=1).invoke("key")) == 1


def test_k_of_one_query_goes_before_that_of_the_retriever(memory: Memory) -> None:
    assert len(RememberRetriever(memory=memory, stream="trip", k=1).invoke("key", k=2)) == 2


def test_the_async_twin_finds_the_same(memory: Memory) -> None:
    retriever = RememberRetriever(memory=memory, stream="trip")

    assert asyncio.run(retriever.ainvoke("key", k=2)) == retriever.invoke("key", k=2)


def test_the_retriever_still_streams(memory: Memory) -> None:
    retriever = RememberRetriever(memory=memory, stream="trip")

    ((document,),) = retriever.stream("blue pot")
    assert document.id == "1"


@pytest.mark.parametrize("k", [0, -1, "3", 1.5, True, None])
def test_a_k_that_counts_nothing_is_refused_at_once(memory: Memory, k: Any) -> None:
    with pytest.raises(ConfigError, match="`k` must be a whole number >= 1"):
        RememberRetriever(memory=memory, stream="trip", k=k)


@pytest.mark.parametrize("k", [0, "3"])
def test_a_k_of_one_query_that_counts_nothing_is_refused(memory: Memory, k: Any) -> None:
    with pytest.raises(ConfigError, match="`k` must be a whole number >= 1"):
        RememberRetriever(memory=memory, stream="trip").invoke("key", k=k)


def test_an_empty_query_is_refused(memory: Memory) -> None:
    with pytest.raises(ConfigError, match="`query` must not be empty"):
        RememberRetriever(memory=memory, stream="trip").invoke(" ")
