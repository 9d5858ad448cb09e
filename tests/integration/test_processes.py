"""Several processes write and read one stream of one file at once.

`python tests/integration/test_processes.py 5000` runs it with more turns a process.
"""

from __future__ import annotations

import itertools
import json
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from remember_graph.history.history import History
from remember_graph.history.sqlite_store import SQLiteStore
from remember_graph.history.store import Namespace, Selection
from remember_graph.protocols import Vectors
from remember_graph.types import Turn

_NAMESPACE = Namespace("default", "chat")
_PROCESSES = 4
_TURNS = 1_000
_BATCH = 20
_WRITE = "--write"


class _Lengths:
    """Vectors without a model."""

    id = "lengths/2"

    def encode_documents(self, texts: Sequence[str]) -> Vectors:
        """See `TextEncoder`."""
        return np.array([[1.0, len(text) / 1000] for text in texts], np.float32)

    encode_queries = encode_documents


def _write(path: str, name: str, turns: int) -> dict[str, Any]:
    """Add the turns in batches and read the stream after each; what was seen."""
    sys.stdin.readline()  # all begin at once
    own, sizes, added = 0, [0], 0
    with closing(History(SQLiteStore(path), encoder=_Lengths())) as history:
        for first in range(0, turns, _BATCH):
            numbers = range(first, first + _BATCH)
            texts = [f"{name}word{number} said by all" for number in numbers]
            batch = [
                Turn(name, text, id=f"{name}{n}") for n, text in zip(numbers, texts, strict=True)
            ]
            shared = [Turn("all", "a turn that everybody adds", id=f"shared{first}")]
            added += history.add(_NAMESPACE, [*batch, *shared]).added
            index = history.index(_NAMESPACE)
            sizes.append(len(index))
            own += index.position(f"{name}{first + _BATCH - 1}") is not None
    grows = all(a <= b for a, b in itertools.pairwise(sizes))
    return {"added": added, "own": own, "grows": grows}


def _run(path: Path, turns: int) -> list[dict[str, Any]]:
    """What each of the processes saw."""
    command = [sys.executable, str(Path(__file__).resolve()), _WRITE, str(path)]
    pipe = subprocess.PIPE
    names = "pqrstuvw"[:_PROCESSES]
    processes = [
        subprocess.Popen(
            [*command, name, str(turns)], stdin=pipe, stdout=pipe, stderr=pipe, text=True
        )
        for name in names
    ]
    for process in processes:
        assert process.stdin is not None
        process.stdin.write("go\n")
        process.stdin.flush()
    seen = []
    for process in processes:
        output, errors = process.communicate(timeout=100 + turns / 10)
        assert (process.returncode, errors) == (0, "")
        seen.append(json.loads(output))
    return seen


def _check(path: Path, seen: list[dict[str, Any]], turns: int) -> None:
    """All rows are there, each once, and every process saw its own at once."""
    batches = turns // _BATCH
    total = _PROCESSES * turns + batches
    assert sum(one["added"] for one in seen) == total
    assert [(one["own"], one["grows"]) for one in seen] == [(batches, True)] * _PROCESSES
    with closing(History(SQLiteStore(path), encoder=_Lengths())) as history:
        records = history.store.read(_NAMESPACE, vector_model=_Lengths.id)
        assert [record.position for record in records] == list(range(total))
        assert len({record.turn.id for record in records}) == total
        assert all(record.vector is not None and record.derived is not None for record in records)
        for name in "pqrstuvw"[:_PROCESSES]:  # each writer's turns are in its own order
            own = [r.turn.id for r in records if r.turn.speaker == name]
            assert own == [f"{name}{number}" for number in range(turns)]
        index = history.index(_NAMESPACE)
        scores = index.postings.scores([["qword7"]])
        assert index.turns[int(scores.argmax())].id == "q7"


def test_processes_that_write_and_read_at_once_lose_nothing(tmp_path: Path) -> None:
    path = tmp_path / "history.db"  # a new file: the processes also make its tables at once

    _check(path, _run(path, _TURNS), _TURNS)


_EDITOR = """
import sys
from remember_graph.history.sqlite_store import SQLiteStore
from remember_graph.history.store import Namespace, Record, Selection
from remember_graph.types import Turn

store, namespace = SQLiteStore(sys.argv[1]), Namespace("default", "chat")
print("ready", flush=True)
for number in range(0, 100, 2):
    store.edit(namespace, Record(Turn("Ana", f"edited{number}", id=str(number))))
    store.forget(namespace, Selection(ids=(str(number + 1),)))
store.close()
print("done", flush=True)
"""


@pytest.fixture
def old_turns(tmp_path: Path) -> Path:
    path = tmp_path / "history.db"
    with closing(History(SQLiteStore(path))) as history:
        history.add(_NAMESPACE, [Turn("Ana", f"old{n}", id=str(n)) for n in range(100)])
    return path


def test_an_index_that_is_read_while_another_process_edits_and_forgets_is_never_mixed(
    old_turns: Path,
) -> None:
    """Edits go up through the even turns, removals through the odd: every state is a prefix."""
    command = [sys.executable, "-c", _EDITOR, str(old_turns)]
    history = History(SQLiteStore(old_turns))
    states = set()
    with closing(history), subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as editor:
        assert editor.stdout is not None
        assert editor.stdout.readline() == "ready\n"
        while editor.poll() is None:
            states.add(tuple(turn.text for turn in history.index(_NAMESPACE).turns))
        assert editor.stdout.read() == "done\n"
        states.add(tuple(turn.text for turn in history.index(_NAMESPACE).turns))
    assert editor.returncode == 0
    assert states <= _prefixes()
    assert tuple(f"edited{number}" for number in range(0, 100, 2)) in states


def _prefixes() -> set[tuple[str, ...]]:
    """The stream after each edit and each removal."""
    texts = {number: f"old{number}" for number in range(100)}
    states = {tuple(texts.values())}
    for number in range(0, 100, 2):
        texts[number] = f"edited{number}"
        states.add(tuple(texts.values()))
        del texts[number + 1]
        states.add(tuple(texts.values()))
    return states


def test_turns_forgotten_by_one_process_while_another_adds_stay_forgotten(tmp_path: Path) -> None:
    path = tmp_path / "history.db"
    command = [sys.executable, str(Path(__file__).resolve()), _WRITE, str(path), "p", "200"]
    pipe = subprocess.PIPE
    with closing(SQLiteStore(path)) as store:
        writer = subprocess.Popen(command, stdin=pipe, stdout=pipe, stderr=pipe, text=True)
        assert writer.stdin is not None
        writer.stdin.write("go\n")
        writer.stdin.flush()
        gone: set[str] = set()
        while writer.poll() is None:
            ids = [r.turn.id for r in store.read(_NAMESPACE) if r.turn.id.endswith("7")]
            gone.update(ids)
            store.forget(_NAMESPACE, Selection(ids=tuple(ids)))
        output, errors = writer.communicate(timeout=60)

        assert (writer.returncode, errors) == (0, "")
        assert json.loads(output)["added"] == 200 + 10
        left = {record.turn.id for record in store.read(_NAMESPACE)}
        assert gone.isdisjoint(left)
        assert len(gone | left) == 200 + 10


def _main() -> None:
    if sys.argv[1] == _WRITE:
        written, name, count = sys.argv[2:]
        sys.stdout.write(json.dumps(_write(written, name, int(count))))
        return
    turns = int(sys.argv[1])
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "history.db"
        _check(path, _run(path, turns), turns)
    sys.stdout.write(f"{_PROCESSES} processes, {turns} turns each: all there, each once\n")


if __name__ == "__main__":
    _main()
