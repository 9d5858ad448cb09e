"""Files of older schema versions."""

from __future__ import annotations

import sqlite3
import threading
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path

import numpy as np
import pytest

from remember_graph.errors import HistoryError
from remember_graph.history import sqlite_schema
from remember_graph.history.deriving import Deriver
from remember_graph.history.history import History
from remember_graph.history.sqlite_schema import SCHEMA_VERSION
from remember_graph.history.sqlite_store import SQLiteStore
from remember_graph.history.store import Namespace, Record, Selection
from remember_graph.types import Turn

_ONE, _OTHER = Namespace("default", "one"), Namespace("tenant", "other")
_TURNS = {
    _ONE: [
        Turn("Ana", "The hall is booked", "2024-05-01T10:00:00", "a", thread="t"),
        Turn("", "Bo joined", None, "b", "system"),
        Turn("Bo", "三時に \0 band", "", "c", reply_to="a", edited=True),
    ],
    _OTHER: [Turn("Cy", "hall", id="a")],
}
_VECTOR = [0.6, -0.8, 0.0]


def _make_first_version(path: Path, *, vectors: bool = True) -> None:
    """A file as the first release left it: the vectors in the rows, in single precision."""
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("PRAGMA journal_mode = WAL")
        connection.executescript(sqlite_schema._FIRST)
        for number, (namespace, turns) in enumerate(_TURNS.items(), start=1):
            connection.execute("INSERT INTO streams VALUES (?, ?, ?)", (number, *namespace))
            rows = (_first_row(number, at, turn, vectors) for at, turn in enumerate(turns))
            connection.executemany(f"INSERT INTO turns VALUES ({', '.join('?' * 12)})", rows)
        connection.execute("PRAGMA user_version = 1")
        connection.commit()


def _first_row(stream: int, at: int, turn: Turn, vectors: bool) -> Sequence[object]:
    has_vector = vectors and turn.kind == "message"
    blob = np.array(_VECTOR, "<f4").tobytes() if has_vector else None
    fields = (turn.id, turn.speaker, turn.text, turn.time, turn.kind, turn.reply_to, turn.thread)
    return (stream, at, *fields, int(turn.edited), blob, "model/3" if has_vector else None)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    _make_first_version(tmp_path / "history.db")
    return tmp_path / "history.db"


def _version(path: Path) -> int:
    with closing(sqlite3.connect(path)) as connection:
        return int(connection.execute("PRAGMA user_version").fetchone()[0])


def _schema(path: Path) -> dict[str, list[tuple[object, ...]]]:
    """The columns of every table."""
    with closing(sqlite3.connect(path)) as connection:
        query = "SELECT name FROM sqlite_master WHERE type = 'table' ORDER BY name"
        names = [name for (name,) in connection.execute(query)]
        return {
            name: [row[1:] for row in connection.execute(f"PRAGMA table_info({name})")]
            for name in names
        }


def test_a_file_of_the_first_version_is_brought_to_the_present_one(path: Path) -> None:
    SQLiteStore(path).close()

    assert _version(path) == SCHEMA_VERSION


def test_an_old_file_ends_with_the_tables_of_a_new_one(path: Path, tmp_path: Path) -> None:
    SQLiteStore(path).close()
    SQLiteStore(tmp_path / "new.db").close()

    assert _schema(path) == _schema(tmp_path / "new.db")


def test_turns_and_positions_of_an_old_file_are_kept(path: Path) -> None:
    with closing(SQLiteStore(path)) as store:
        for namespace, turns in _TURNS.items():
            records = store.read(namespace)
            assert [record.turn for record in records] == turns
            assert [record.position for record in records] == list(range(len(turns)))
        assert store.streams() == [(_ONE, 3), (_OTHER, 1)]


def test_vectors_of_an_old_file_are_kept_in_half_precision(path: Path) -> None:
    with closing(SQLiteStore(path)) as store:
        records = store.read(_ONE, vector_model="model/3")

    assert [record.vector is not None for record in records] == [True, False, True]
    assert records[0].vector is not None
    assert records[0].vector.dtype == np.dtype(np.float32)
    np.testing.assert_allclose(records[0].vector, _VECTOR, rtol=2**-11)


def test_a_stream_of_an_old_file_gives_positions_after_its_last(path: Path) -> None:
    with closing(SQLiteStore(path)) as store:
        store.append(_ONE, [Record(Turn("Ana", "Hi", id="d"))])

        assert store.read(_ONE)[-1].position == 3


def test_a_stream_of_an_old_file_has_a_generation_that_an_edit_changes(path: Path) -> None:
    with closing(SQLiteStore(path)) as store:
        before = store.generation(_ONE)
        store.edit(_ONE, Record(Turn("Ana", "new", id="a")))

        assert 0 < before < store.generation(_ONE)


def test_terms_of_an_old_file_are_derived_when_it_is_searched(path: Path) -> None:
    store = SQLiteStore(path)
    with closing(History(store)) as history:
        index = history.index(_ONE)

        assert [record.derived for record in store.read(_ONE)] == [None] * 3
        assert [turn.id for turn in index.turns] == ["a", "c"]
        assert (index.postings.scores([["hall"], ["band"]]) > 0).tolist() == [
            [True, False],
            [False, True],
        ]
        assert index.tokens.tolist() == [
            Deriver().make(turn).tokens for turn in (_TURNS[_ONE][0], _TURNS[_ONE][2])
        ]


def test_old_vectors_leave_the_file(path: Path) -> None:
    blob = np.array(_VECTOR, "<f4").tobytes()
    assert blob in path.read_bytes()
    SQLiteStore(path).close()

    assert blob not in path.read_bytes()


def test_a_turn_of_an_old_file_is_forgotten_with_its_bytes(path: Path) -> None:
    with closing(SQLiteStore(path)) as store:
        forgotten = store.forget(_ONE, Selection(ids=("a",)))
        files = b"".join(file.read_bytes() for file in path.parent.iterdir())

    assert (forgotten.turns, forgotten.vectors) == (1, 1)
    assert b"The hall is booked" not in files


def test_an_old_file_without_turns_is_brought_up_to_date(tmp_path: Path) -> None:
    with closing(sqlite3.connect(tmp_path / "history.db")) as connection:
        connection.executescript(sqlite_schema._FIRST + "PRAGMA user_version = 1;")
    with closing(SQLiteStore(tmp_path / "history.db")) as store:
        assert store.append(_ONE, [Record(Turn("Ana", "Hi", id="a"))]) == 1


def test_a_migration_that_fails_leaves_the_file_as_it_was(path: Path) -> None:
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("UPDATE turns SET vector = x'0102' WHERE turn_id = 'c'")  # no float32
        connection.commit()
    before = _schema(path)

    with pytest.raises(HistoryError, match=r"history file .*history\.db"):
        SQLiteStore(path)
    assert (_version(path), _schema(path)) == (1, before)


def test_many_bring_an_old_file_up_to_date_at_once(path: Path) -> None:
    failures: list[Exception] = []

    def open_one() -> None:
        try:
            with closing(SQLiteStore(path)) as store:
                assert len(store.read(_ONE)) == 3
        except Exception as error:
            failures.append(error)

    threads = [threading.Thread(target=open_one) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failures == []
    assert _version(path) == SCHEMA_VERSION
