"""What only the SQLite store does: files that cannot be read, and a connection that is gone."""

from __future__ import annotations

import sqlite3
import threading
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any, cast

import pytest

from remember_graph.errors import HistoryError
from remember_graph.history.sqlite_store import SQLiteStore
from remember_graph.history.store import Namespace, Record
from remember_graph.types import Turn

_NAMESPACE = Namespace("default", "chat")


def _newer(path: Path) -> None:
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("PRAGMA user_version = 99")


def _no_database(path: Path) -> None:
    path.write_text("Ana: this is a chat and not a database\n" * 50)


def _of_another_program(path: Path) -> None:
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("CREATE TABLE turns (player TEXT)")
        connection.commit()


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (_newer, "has schema version 99, this release reads up to 2: upgrade remember-graph"),
        (_no_database, "file is not a database"),
        (Path.mkdir, "unable to open"),
        (_of_another_program, "another program"),
    ],
)
def test_a_file_that_cannot_be_read_is_named_with_the_reason(
    tmp_path: Path, make: Callable[[Path], None], message: str
) -> None:
    path = tmp_path / "history.db"
    make(path)

    with pytest.raises(HistoryError, match=rf"history\.db.*{message}") as caught:
        SQLiteStore(path)
    assert "\n" not in str(caught.value)


def test_a_folder_that_is_not_there_is_not_made(tmp_path: Path) -> None:
    with pytest.raises(HistoryError, match=r"cannot open the history file .*missing"):
        SQLiteStore(tmp_path / "missing" / "history.db")


def test_a_value_that_the_file_cannot_hold_leaves_nothing_of_its_batch(tmp_path: Path) -> None:
    store = SQLiteStore(tmp_path / "history.db")
    odd = Turn("Ana", "Hi", id="b")
    object.__setattr__(odd, "time", cast(Any, object()))
    with pytest.raises(HistoryError, match=r"history\.db failed: "):
        store.append(_NAMESPACE, [Record(Turn("Ana", "Hi", id="a")), Record(odd)])

    assert store.read(_NAMESPACE) == []
    assert store.streams() == []
    store.close()


def test_a_closed_store_says_so(tmp_path: Path) -> None:
    store = SQLiteStore(tmp_path / "history.db")
    store.close()

    with pytest.raises(HistoryError, match="closed"):
        store.read(_NAMESPACE)


def test_a_store_may_be_closed_twice(tmp_path: Path) -> None:
    store = SQLiteStore(tmp_path / "history.db")
    store.close()
    store.close()


def test_a_new_file_may_be_opened_by_many_at_once(tmp_path: Path) -> None:
    opened: list[SQLiteStore] = []
    failures: list[Exception] = []

    def open_one() -> None:
        try:
            opened.append(SQLiteStore(tmp_path / "history.db"))
        except Exception as error:
            failures.append(error)

    threads = [threading.Thread(target=open_one) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for store in opened:
        store.close()
    assert failures == []
