"""LangChain's own standard tests pass for the retriever and the tool."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

_SUITE = """
import pytest
from langchain_tests.integration_tests import RetrieversIntegrationTests, ToolsIntegrationTests
from langchain_tests.unit_tests import ToolsUnitTests

from remember_graph import Memory, Turn
from remember_graph.integrations.retriever import RememberRetriever
from remember_graph.integrations.tool import create_recall_tool


def _memory():
    memory = Memory.open(embeddings="none")
    memory.add("default", [Turn("Ana", f"Key {number} hangs here.") for number in range(5)])
    return memory


class TestRetriever(RetrieversIntegrationTests):
    retriever_constructor = RememberRetriever
    retriever_query_example = "Where is the key?"

    @property
    def retriever_constructor_params(self):
        return {"memory": _memory(), "stream": "default"}


class _Tool:
    tool_invoke_params_example = {"query": "Where is the key?"}

    @property
    def tool_constructor(self):
        return create_recall_tool(_memory())


class TestTool(_Tool, ToolsIntegrationTests):
    pass


class TestToolAlone(_Tool, ToolsUnitTests):
    pass
"""

# The plugins that langchain-tests brings along stay out of this project's own test run.
_INI = """
[pytest]
asyncio_mode = auto
asyncio_default_fixture_loop_scope = function
filterwarnings = error
"""


def test_the_standard_tests_of_langchain_pass(tmp_path: Path) -> None:
    pytest.importorskip("langchain_tests", reason="needs langchain-tests")
    (tmp_path / "pytest.ini").write_text(_INI)
    (tmp_path / "test_suite.py").write_text(_SUITE)
    run = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", str(tmp_path)],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=300,
    )

    assert run.returncode == 0, run.stdout + run.stderr
    # 4 of the retriever, 4 and 5 of the tool, and of each class that nothing was overridden.
    assert re.search(r"\b16 passed\b", run.stdout), run.stdout
    assert "skipped" not in run.stdout
