"""Fixtures that several test modules share."""

from __future__ import annotations

import hashlib
import os
import re
from collections.abc import Callable, Generator, Sequence
from pathlib import Path
from typing import Any

import hypothesis
import numpy as np
import pytest
from langchain_core.callbacks import CallbackManagerForLLMRun
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, BaseMessage
from langchain_core.outputs import ChatGeneration, ChatResult
from pydantic import Field

from remember_graph.protocols import Vectors

# The same examples on every run and every machine; no example is too slow on a busy one.
hypothesis.settings.register_profile(
    "tests", max_examples=25, deadline=None, derandomize=True, database=None
)
hypothesis.settings.load_profile("tests")

_SHARED = Path(__file__).parents[2] / "shared"


def _refuse_skip(report: pytest.TestReport | pytest.CollectReport) -> None:
    """With REMEMBER_GRAPH_NO_SKIPS=1 a skip is a failure, but for want of the data folder."""
    if not report.skipped or hasattr(report, "wasxfail"):
        return
    reason = str(report.longrepr[2] if isinstance(report.longrepr, tuple) else report.longrepr)
    if os.environ.get("REMEMBER_GRAPH_NO_SKIPS") == "1" and not re.search(r"\bshared\b", reason):
        report.outcome = "failed"
        report.longrepr = f"REMEMBER_GRAPH_NO_SKIPS=1 allows no skip, got: {reason}"


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport() -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Judge the skips of tests."""
    report = yield
    _refuse_skip(report)
    return report


@pytest.hookimpl(wrapper=True)
def pytest_make_collect_report() -> Generator[None, pytest.CollectReport, pytest.CollectReport]:
    """Judge the skips of whole modules."""
    report = yield
    _refuse_skip(report)
    return report


@pytest.fixture(autouse=True)
def clean_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    """No test sees a key or a tracing address of whoever runs it."""
    for name in list(os.environ):
        if name.startswith(("OPENAI_", "LANGSMITH_", "LANGCHAIN_")):
            monkeypatch.delenv(name)


@pytest.fixture(scope="session")
def shared() -> Path:
    """The folder of data that is not committed."""
    if not _SHARED.is_dir():
        pytest.skip(f"needs the data folder {_SHARED}, which is not part of the repository")
    return _SHARED


class HashEncoder:
    """Unit vectors: the sum of one random direction a word, drawn from the word's hash."""

    def __init__(self, dimension: int = 24) -> None:
        self.id = f"hash/{dimension}"
        self.dimension = dimension
        self.encoded: list[str] = []

    def encode_documents(self, texts: Sequence[str]) -> Vectors:
        """See `TextEncoder`."""
        self.encoded.extend(texts)
        return self._vectors(texts)

    def encode_queries(self, texts: Sequence[str]) -> Vectors:
        """See `TextEncoder`."""
        return self._vectors(texts)

    def _vectors(self, texts: Sequence[str]) -> Vectors:
        rows = np.zeros((len(texts), self.dimension))
        for row, text in zip(rows, texts, strict=True):
            for word in re.findall(r"\w+", text.casefold()):
                seed = int.from_bytes(hashlib.sha256(word.encode()).digest()[:8], "big")
                row += np.random.default_rng(seed).standard_normal(self.dimension)
        lengths = np.linalg.norm(rows, axis=1, keepdims=True)
        return (rows / np.where(lengths > 0, lengths, 1)).astype(np.float32)


@pytest.fixture
def hash_encoder() -> HashEncoder:
    """A `TextEncoder` without a model."""
    return HashEncoder()


class ScriptedChatModel(BaseChatModel):
    """Gives the answers of a list in order; an exception in it is raised."""

    answers: list[Any]
    prompts: list[list[BaseMessage]] = Field(default_factory=list)
    calls: list[dict[str, Any]] = Field(default_factory=list)

    @property
    def _llm_type(self) -> str:
        return "scripted"

    def _generate(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,
        run_manager: CallbackManagerForLLMRun | None = None,
        **kwargs: Any,
    ) -> ChatResult:
        self.prompts.append(messages)
        self.calls.append({"tags": run_manager.tags if run_manager else [], **kwargs})
        answer = self.answers.pop(0)
        if isinstance(answer, Exception):
            raise answer
        message = answer if isinstance(answer, AIMessage) else AIMessage(answer)
        return ChatResult(generations=[ChatGeneration(message=message)])


@pytest.fixture
def scripted() -> Callable[..., ScriptedChatModel]:
    """Makes a chat model that gives these answers; `prompts` holds what it was sent."""

    def make(*answers: Any) -> ScriptedChatModel:
        return ScriptedChatModel(answers=list(answers))

    return make
