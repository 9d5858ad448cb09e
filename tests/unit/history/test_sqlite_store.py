"""What only the SQLite store does: its files, what is left in them, other processes."""

from __future__ import annotations

import random
import sqlite3
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from typing import Any, cast

import numpy as np
import pytest

from remember_graph.errors import HistoryError
from remember_graph.history.deriving import Deriver
from remember_graph.history.history import History
from remember_graph.history.sqlite_store import SQLiteStore
from remember_graph.history.store import Namespace, Record, Selection
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
        (_newer, "has schema version 99, this release reads up to 4: upgrade remember-graph"),
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


@pytest.fixture
def store(tmp_path: Path) -> Iterator[SQLiteStore]:
    with closing(SQLiteStore(tmp_path / "history.db")) as opened:
        yield opened


def _bytes_of(folder: Path) -> bytes:
    """The bytes of the file, its write-ahead log and its shared memory."""
    return b"".join(path.read_bytes() for path in folder.iterdir())


_SECRET = "the secret of the hall"
_VECTOR = np.array([0.123, -0.456, 0.789] * 8, np.float32)


def _secret() -> Record:
    turn = Turn("Speaker Zed", _SECRET, id="s")
    return Record(turn, _VECTOR, "model/24", Deriver().make(turn))


def _catch_up() -> dict[str, Any]:
    memory = [{"turn_id": "s", "text": _SECRET}]
    return {"summary": {"sentences": []}, "window": ["a"], "memory": memory}


def _tell_the_secret(store: SQLiteStore) -> None:
    store.append(_NAMESPACE, [Record(Turn("Ana", "Hi", id="a")), _secret()])
    store.save_summary(_NAMESPACE, _catch_up())


_REMOVALS: dict[str, Callable[[SQLiteStore], object]] = {
    "edit": lambda store: store.edit(_NAMESPACE, Record(Turn("Ana", "new", id="s"))),
    "forget id": lambda store: store.forget(_NAMESPACE, Selection(ids=("s",))),
    "forget speaker": lambda store: store.forget(_NAMESPACE, Selection(speaker="Speaker Zed")),
    "forget all": lambda store: store.forget(_NAMESPACE, Selection()),
}


@pytest.fixture(params=_REMOVALS.values(), ids=list(_REMOVALS))
def remove(request: pytest.FixtureRequest) -> Callable[[SQLiteStore], object]:
    return cast(Callable[[SQLiteStore], object], request.param)


def _traces(folder: Path) -> list[str]:
    """What of the secret turn is still in the files."""
    held = _bytes_of(folder)
    looked_for = {
        "text": _SECRET.encode(),
        "speaker": b"Speaker Zed",
        "terms": b"speaker zed the secret",
        "vector": _VECTOR.astype("<f2").tobytes(),
    }
    return [name for name, part in looked_for.items() if part in held]


def test_a_turn_is_in_the_files_until_it_is_removed(store: SQLiteStore, tmp_path: Path) -> None:
    _tell_the_secret(store)

    assert _traces(tmp_path) == ["text", "speaker", "terms", "vector"]


def test_what_is_removed_is_in_none_of_the_files(
    store: SQLiteStore, tmp_path: Path, remove: Callable[[SQLiteStore], object]
) -> None:
    _tell_the_secret(store)
    remove(store)

    assert _traces(tmp_path) == []


def test_what_is_removed_is_in_none_of_the_files_while_another_connection_is_idle(
    store: SQLiteStore, tmp_path: Path, remove: Callable[[SQLiteStore], object]
) -> None:
    _tell_the_secret(store)
    with closing(SQLiteStore(tmp_path / "history.db")) as idle:
        idle.read(_NAMESPACE)
        remove(store)

        assert _traces(tmp_path) == []


def test_a_long_text_that_is_removed_is_in_none_of_the_files(
    store: SQLiteStore, tmp_path: Path, remove: Callable[[SQLiteStore], object]
) -> None:
    _tell_the_secret(store)
    long = Turn("Speaker Zed", f"{'x' * 20_000} middle of it {'x' * 20_000} end of it", id="s")
    store.edit(_NAMESPACE, Record(long))
    remove(store)

    held = _bytes_of(tmp_path)
    assert [part for part in (b"xxxx", b"middle of it", b"end of it") if part in held] == []


def test_a_removal_that_a_reader_keeps_in_the_log_says_so_and_the_next_call_finishes_it(
    store: SQLiteStore, tmp_path: Path
) -> None:
    _tell_the_secret(store)
    store._connection.execute("PRAGMA busy_timeout = 50")
    with closing(sqlite3.connect(tmp_path / "history.db", isolation_level=None)) as reader:
        reader.execute("BEGIN")
        reader.execute("SELECT COUNT(*) FROM turns").fetchone()
        with pytest.raises(
            HistoryError, match=r"are removed and found no more.*another process kept using it"
        ):
            store.forget(_NAMESPACE, Selection(ids=("s",)))
        reader.execute("ROLLBACK")
    store.forget(_NAMESPACE, Selection(ids=("s",)))

    assert _traces(tmp_path) == []


def test_connections_that_edit_and_forget_at_once_do_not_disturb_each_other(
    store: SQLiteStore, tmp_path: Path
) -> None:
    store.append(_NAMESPACE, [Record(Turn("Ana", "Hi", id=str(number))) for number in range(200)])
    failures: list[Exception] = []

    def change(first: int) -> None:
        with closing(SQLiteStore(tmp_path / "history.db")) as own:
            for number in range(first, first + 50, 2):
                try:
                    own.edit(_NAMESPACE, Record(Turn("Ana", "new", id=str(number))))
                    own.forget(_NAMESPACE, Selection(ids=(str(number + 1),)))
                except HistoryError as error:
                    failures.append(error)

    threads = [threading.Thread(target=change, args=(first,)) for first in range(0, 200, 50)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert failures == []
    assert [record.turn.text for record in store.read(_NAMESPACE)] == ["new"] * 100


def _filled(store: SQLiteStore, rng: random.Random) -> dict[str, str]:
    """Turns of all lengths, some edited: each with a mark in its text; the marks by turn id."""
    marks: dict[str, str] = {}
    for _ in range(40):
        records = []
        for _ in range(rng.randint(1, 12)):
            id, mark = f"id{len(marks)}", f"mark{rng.getrandbits(64):016x}"
            text = " ".join([mark, *["lorem ipsum"] * int(rng.paretovariate(0.7) % 300)])
            records.append(Record(Turn("Ana", text, id=id)))
            marks[id] = mark
        store.append(_NAMESPACE, records)
    return marks


@pytest.mark.parametrize("seed", [15, 18, 27, 37])  # about one file in ten is such a one
def test_no_copy_of_what_is_removed_is_left_between_the_rows_of_a_page(
    store: SQLiteStore, tmp_path: Path, seed: int
) -> None:
    rng = random.Random(seed)
    marks = _filled(store, rng)
    gone = rng.sample(sorted(marks), len(marks) // 2)
    for id in gone[::2]:
        store.edit(_NAMESPACE, Record(Turn("Ana", "new text " * rng.randint(1, 100), id=id)))
    for id in gone[1::2]:
        store.forget(_NAMESPACE, Selection(ids=(id,)))

    held = _bytes_of(tmp_path)
    assert [id for id in gone if marks[id].encode() in held] == []


_OTHER_PROCESS = """
import sys
from remember_graph.history.sqlite_store import SQLiteStore
from remember_graph.history.store import Namespace, Record, Selection
from remember_graph.types import Turn

store = SQLiteStore(sys.argv[1])
namespace = Namespace("default", "chat")
store.append(namespace, [Record(Turn("Ana", "the band comes", id="c"))])
store.edit(namespace, Record(Turn("Ana", "the church is booked", id="a", edited=True)))
store.forget(namespace, Selection(ids=("b",)))
store.close()
"""


def test_an_index_follows_edits_and_removals_of_another_process(
    store: SQLiteStore, tmp_path: Path
) -> None:
    history = History(store)
    turns = [Turn("Ana", "the hall is booked", id="a"), Turn("Bo", "by Friday", id="b")]
    history.add(_NAMESPACE, turns)
    before = history.index(_NAMESPACE)
    command = [sys.executable, "-c", _OTHER_PROCESS, str(tmp_path / "history.db")]
    subprocess.run(command, check=True, timeout=60)
    after = history.index(_NAMESPACE)

    assert [turn.id for turn in before.turns] == ["a", "b"]
    assert [turn.text for turn in after.turns] == ["the church is booked", "the band comes"]
    assert (after.postings.scores([["hall"], ["church"]]) > 0).tolist() == [
        [False, False],
        [True, False],
    ]


def test_an_index_follows_a_stream_that_was_forgotten_and_written_anew(
    store: SQLiteStore, tmp_path: Path
) -> None:
    history = History(store)
    history.add(_NAMESPACE, [Turn("Ana", "old", id="a")])
    history.index(_NAMESPACE)
    with closing(SQLiteStore(tmp_path / "history.db")) as other:
        other.forget(_NAMESPACE, Selection())
        other.append(_NAMESPACE, [Record(Turn("Ana", "new", id="a"))])

    assert [turn.text for turn in history.index(_NAMESPACE).turns] == ["new"]
