"""Killed writers, full disks and files that cannot be written."""

from __future__ import annotations

import json
import os
import runpy
import shutil
import sqlite3
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from remember_graph.errors import HistoryError
from remember_graph.history.sqlite_store import SQLiteStore
from remember_graph.history.store import Namespace, Record, Selection
from remember_graph.types import Turn

_KILL9 = Path(__file__).parents[1] / "manual" / "kill9.py"
_NAMESPACE = Namespace("default", "chat")
_LIMIT = 400_000  # bytes of a file


def test_nothing_confirmed_is_lost_when_a_writer_is_killed() -> None:
    confirmed, faults = runpy.run_path(str(_KILL9))["run_trials"](20)

    assert faults == []
    assert confirmed > 500


# What follows runs in processes of its own: a limit and a user are for a whole process.
_WORK = """
import json, os, resource, sys
from remember_graph.errors import HistoryError
from remember_graph.history.sqlite_store import SQLiteStore
from remember_graph.history.store import Namespace, Record, Selection
from remember_graph.types import Turn

namespace = Namespace("default", "chat")
result = {"summary": {"sentences": []}, "window": ["0"], "memory": [], "text": "x" * 500_000}

def turns(first, count):
    return [Record(Turn("Ana", "x" * 1_000, id=str(n))) for n in range(first, first + count)]

def failure(call):
    try:
        call()
    except HistoryError as error:
        return str(error)

def full(path, limit):
    store = SQLiteStore(path)
    resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit))
    confirmed, message = 0, None
    while message is None:
        batch = turns(confirmed, 10)
        message = failure(lambda: store.append(namespace, batch))
        confirmed += 10 if message is None else 0
    big = Record(Turn("Ana", "y" * limit, id="0"))
    return {
        "confirmed": confirmed,
        "read": len(store.read(namespace)),
        "append": message,
        "edit": failure(lambda: store.edit(namespace, big)),
        "save_summary": failure(lambda: store.save_summary(namespace, result)),
        "forgotten": failure(lambda: store.forget(namespace, Selection(ids=("1",)))),
    }

def read_only(path, user):
    if user:
        os.setuid(user)
    message = failure(lambda: SQLiteStore(path))
    if message:
        return {"open": message}
    store = SQLiteStore(path)
    small = {"summary": {"sentences": []}, "window": ["a"], "memory": []}
    return {
        "read": [record.turn.text for record in store.read(namespace)],
        "append": failure(lambda: store.append(namespace, turns(0, 1))),
        "edit": failure(lambda: store.edit(namespace, Record(Turn("Ana", "new", id="a")))),
        "forget": failure(lambda: store.forget(namespace, Selection(ids=("a",)))),
        "save_summary": failure(lambda: store.save_summary(namespace, small)),
        "add_vectors": failure(lambda: store.add_vectors(namespace, "one", {0: [1.0]})),
    }

def no_space(path, limit):
    resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit))
    return {"open": failure(lambda: SQLiteStore(path))}

name, path, number = sys.argv[1:]
print(json.dumps(globals()[name](path, int(number))))
"""


def _in_process(name: str, path: Path, number: int) -> dict[str, Any]:
    command = [sys.executable, "-c", _WORK, name, str(path), str(number)]
    run = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True, timeout=100)
    answer: dict[str, Any] = json.loads(run.stdout)
    return answer


@pytest.fixture(scope="module")
def full_disk(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, dict[str, Any]]:
    """A file that could not grow, and what its writer saw."""
    path = tmp_path_factory.mktemp("full") / "history.db"
    return path, _in_process("full", path, _LIMIT)


@pytest.mark.parametrize("call", ["append", "edit", "save_summary"])
def test_a_full_disk_is_an_error_of_one_line(
    full_disk: tuple[Path, dict[str, Any]], call: str
) -> None:
    message = full_disk[1][call]

    assert message is not None
    assert "history.db failed: " in message
    assert "\n" not in message


def test_what_was_confirmed_can_be_read_while_the_disk_is_full(
    full_disk: tuple[Path, dict[str, Any]],
) -> None:
    assert full_disk[1]["confirmed"] > 0
    assert full_disk[1]["read"] == full_disk[1]["confirmed"]


def test_what_was_confirmed_before_the_disk_was_full_is_there_afterwards(
    full_disk: tuple[Path, dict[str, Any]],
) -> None:
    path, seen = full_disk
    gone = 1 if seen["forgotten"] is None else 0
    with closing(SQLiteStore(path)) as store:
        records = store.read(_NAMESPACE)
        ids = [str(number) for number in range(seen["confirmed"]) if number != 1 or not gone]
        assert [record.turn.id for record in records] == ids
        assert all(set(record.turn.text) == {"x"} for record in records)
        assert store.append(_NAMESPACE, [Record(Turn("Ana", "Hi", id="after"))]) == 1
    with closing(sqlite3.connect(path)) as connection:
        assert connection.execute("PRAGMA integrity_check").fetchone() == ("ok",)


_CALLS: dict[str, Callable[[SQLiteStore], object]] = {
    "append": lambda store: store.append(_NAMESPACE, [_long("new")]),
    "edit": lambda store: store.edit(_NAMESPACE, _long("a")),
}


def _long(id: str) -> Record:
    return Record(Turn("Ana", "x" * 1_000_000, id=id))


@pytest.mark.parametrize("call", _CALLS.values(), ids=list(_CALLS))
def test_a_file_that_may_not_grow_goes_on_as_before(
    tmp_path: Path, call: Callable[[SQLiteStore], object]
) -> None:
    with closing(SQLiteStore(tmp_path / "history.db")) as store:
        store.append(_NAMESPACE, [Record(Turn("Ana", "Hi", id="a"))])
        store._connection.execute("PRAGMA max_page_count = 30")
        before = store.generation(_NAMESPACE)
        with pytest.raises(HistoryError, match=r"history\.db failed: database or disk is full"):
            call(store)

        assert [record.turn.text for record in store.read(_NAMESPACE)] == ["Hi"]
        assert store.generation(_NAMESPACE) == before
        assert store.append(_NAMESPACE, [Record(Turn("Ana", "Yes", id="b"))]) == 1
        assert store.forget(_NAMESPACE, Selection(ids=("a",))).turns == 1


def test_a_new_file_on_a_full_disk_is_an_error_of_one_line(tmp_path: Path) -> None:
    message = _in_process("no_space", tmp_path / "history.db", 0)["open"]

    assert message is not None
    assert "history.db" in message
    assert "\n" not in message


def test_an_old_file_on_a_full_disk_is_an_error_of_one_line(tmp_path: Path) -> None:
    path = tmp_path / "history.db"
    SQLiteStore(path).close()
    message = _in_process("no_space", path, 0)["open"]

    assert message is not None
    assert "history.db" in message
    assert "\n" not in message


@pytest.fixture
def locked_folder() -> Iterator[Path]:
    """A folder that others may read; pytest's own may be entered by nobody else."""
    folder = Path(tempfile.mkdtemp())
    yield folder
    folder.chmod(0o755)
    shutil.rmtree(folder)


# Who runs as root may write everywhere: the process then becomes the user `nobody`.
_USER = 65534 if os.getuid() == 0 else 0


def _protect(folder: Path, *, file_mode: int, folder_mode: int) -> Path:
    path = folder / "history.db"
    with closing(SQLiteStore(path)) as store:
        store.append(_NAMESPACE, [Record(Turn("Ana", "Hi", id="a"))])
    path.chmod(file_mode)
    folder.chmod(folder_mode)
    return path


@pytest.mark.parametrize("file_mode", [0o444, 0o666])
def test_a_file_in_a_folder_that_may_only_be_read_is_a_clear_error(
    locked_folder: Path, file_mode: int
) -> None:
    path = _protect(locked_folder, file_mode=file_mode, folder_mode=0o555)
    message = _in_process("read_only", path, _USER)["open"]

    assert message is not None
    assert "history.db" in message
    assert "readonly" in message or "unable to open" in message
    assert "\n" not in message


def test_a_file_that_may_only_be_read_can_be_read_and_says_so_when_it_is_written(
    locked_folder: Path,
) -> None:
    path = _protect(locked_folder, file_mode=0o444, folder_mode=0o777)
    seen = _in_process("read_only", path, _USER)

    assert seen["read"] == ["Hi"]
    for call in ("append", "edit", "forget", "save_summary", "add_vectors"):
        assert "history.db failed: attempt to write a readonly database" in seen[call]
        assert "\n" not in seen[call]
