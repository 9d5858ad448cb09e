"""What every `TurnStore` promises."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, cast

import numpy as np
import pytest

from remember_graph.history.sqlite_store import SQLiteStore
from remember_graph.history.in_memory_store import InMemoryStore
from remember_graph.history.store import Namespace, Record, TurnStore
from remember_graph.types import Turn

NAMESPACE = Namespace("default", "chat")
OpenStore = Callable[[], TurnStore]

# Each opens the same log again where the backend keeps one.
_BACKENDS: dict[str, Callable[[Path], TurnStore]] = {
    "memory": lambda folder: InMemoryStore(),
    "sqlite": lambda folder: SQLiteStore(folder / "history.db"),
}
_PERSISTENT = ["sqlite"]

_ODD_TEXTS = {
    "blank": " ",
    "empty": "",
    "nul": "a\0b",
    "leading nul": "\0",
    "emoji": "\N{FAMILY}\N{ZERO WIDTH JOINER}\N{PARTY POPPER}",
    "quotes": "a'b\"c`; DROP TABLE turns; --",
    "percent": "100%_?:x",
    "long": "x" * 100_000,
    "control": "\x01\x1f\x7f\n\r",
    "noncharacter": "\uffff\U0010ffff",
    "decomposed": "e\u0301",
    "right to left": "\u202eשלום",
}


@pytest.fixture
def opened() -> Iterator[list[TurnStore]]:
    """Stores to close after the test."""
    stores: list[TurnStore] = []
    yield stores
    for store in stores:
        store.close()


@pytest.fixture(params=list(_BACKENDS))
def store(request: pytest.FixtureRequest, tmp_path: Path, opened: list[TurnStore]) -> TurnStore:
    opened.append(_BACKENDS[request.param](tmp_path))
    return opened[-1]


@pytest.fixture(params=_PERSISTENT)
def open_store(
    request: pytest.FixtureRequest, tmp_path: Path, opened: list[TurnStore]
) -> OpenStore:
    def open_one() -> TurnStore:
        opened.append(_BACKENDS[request.param](tmp_path))
        return opened[-1]

    return open_one


def _record(id: str, text: str = "Hi", **fields: Any) -> Record:
    return Record(Turn("Ana", text, id=id, **fields))


def _ids(store: TurnStore, namespace: Namespace = NAMESPACE) -> list[str]:
    return [record.turn.id for record in store.read(namespace)]


def test_turns_are_read_in_the_order_they_were_added(store: TurnStore) -> None:
    store.append(NAMESPACE, [_record("z"), _record("a")])
    store.append(NAMESPACE, [_record("m")])

    assert _ids(store) == ["z", "a", "m"]


def test_reading_starts_at_a_position(store: TurnStore) -> None:
    store.append(NAMESPACE, [_record("a"), _record("b"), _record("c")])

    assert [record.turn.id for record in store.read(NAMESPACE, 1)] == ["b", "c"]


@pytest.mark.parametrize("start", [3, 4])
def test_reading_past_the_end_gives_nothing(store: TurnStore, start: int) -> None:
    store.append(NAMESPACE, [_record("a"), _record("b"), _record("c")])

    assert store.read(NAMESPACE, start) == []


def test_a_stream_that_nobody_wrote_is_empty(store: TurnStore) -> None:
    assert store.read(NAMESPACE) == []
    assert store.known(NAMESPACE, ["a"]) == {}


def test_appending_says_how_many_are_new(store: TurnStore) -> None:
    store.append(NAMESPACE, [_record("a")])

    assert store.append(NAMESPACE, [_record("a"), _record("b"), _record("c")]) == 2


def test_adding_the_same_again_changes_nothing(store: TurnStore) -> None:
    store.append(NAMESPACE, [_record("a", "first"), _record("b")])
    store.append(NAMESPACE, [_record("b"), _record("a", "second"), _record("c")])

    assert [(r.turn.id, r.turn.text) for r in store.read(NAMESPACE)] == [
        ("a", "first"),
        ("b", "Hi"),
        ("c", "Hi"),
    ]


def test_an_id_that_comes_twice_in_a_batch_keeps_its_first_text(store: TurnStore) -> None:
    store.append(NAMESPACE, [_record("a", "first"), _record("a", "second")])

    assert [record.turn.text for record in store.read(NAMESPACE)] == ["first"]


def test_an_id_that_comes_twice_in_a_batch_keeps_its_first_place(store: TurnStore) -> None:
    store.append(NAMESPACE, [_record("a"), _record("b"), _record("a")])

    assert _ids(store) == ["a", "b"]


@pytest.mark.parametrize("other", [Namespace("default", "other"), Namespace("other", "chat")])
def test_namespaces_are_apart(store: TurnStore, other: Namespace) -> None:
    store.append(NAMESPACE, [_record("a", "mine")])
    store.append(other, [_record("a", "theirs"), _record("b")])

    assert _ids(store) == ["a"]
    assert store.known(NAMESPACE, ["a", "b"])["a"].text == "mine"
    assert _ids(store, other) == ["a", "b"]


def test_streams_are_listed_with_their_number_of_turns(store: TurnStore) -> None:
    store.append(Namespace("t", "one"), [_record("a"), _record("b")])
    store.append(Namespace("t", "two"), [_record("a")])

    assert sorted(store.streams()) == [(Namespace("t", "one"), 2), (Namespace("t", "two"), 1)]


def test_every_field_of_a_turn_comes_back(store: TurnStore) -> None:
    turn = Turn(
        "Ana",
        "Hi",
        "2024-05-01T10:00:00+02:00",
        "a",
        "system",
        reply_to="b",
        thread="c",
        edited=True,
    )
    store.append(NAMESPACE, [Record(turn)])

    assert store.read(NAMESPACE)[0].turn == turn
    assert store.known(NAMESPACE, ["a"]) == {"a": turn}


def test_no_time_and_an_empty_time_stay_different(store: TurnStore) -> None:
    store.append(NAMESPACE, [_record("a", time=None), _record("b", time="")])

    assert [record.turn.time for record in store.read(NAMESPACE)] == [None, ""]


def test_a_vector_comes_back_with_its_model(store: TurnStore) -> None:
    vector = np.array([0.6, -0.8, 1e-30], np.float32)
    store.append(NAMESPACE, [Record(Turn("Ana", "Hi", id="a"), vector, "model/3"), _record("b")])

    with_vector, without = store.read(NAMESPACE)
    assert with_vector.vector is not None
    assert with_vector.vector.tolist() == vector.tolist()
    assert with_vector.vector_model == "model/3"
    assert without.vector is None


@pytest.mark.parametrize("odd", _ODD_TEXTS.values(), ids=list(_ODD_TEXTS))
def test_any_text_is_an_id_a_stream_a_tenant_and_a_text(store: TurnStore, odd: str) -> None:
    namespace = Namespace(odd, odd)
    turn = Turn(odd, odd, odd, odd, reply_to=odd, thread=odd)
    store.append(namespace, [Record(turn)])

    assert store.known(namespace, [odd]) == {odd: turn}
    assert store.streams() == [(namespace, 1)]


def test_ids_that_look_alike_stay_different(store: TurnStore) -> None:
    ids = ["a", "A", "a ", "a\0", "\u00e9", "e\u0301", "1", "01", "1.0", ""]

    assert store.append(NAMESPACE, [_record(id) for id in ids]) == len(ids)
    assert _ids(store) == ids


def test_2000_ids_are_looked_up_at_once(store: TurnStore) -> None:
    ids = [f"id-{number}" for number in range(2_000)]
    store.append(NAMESPACE, [_record(id) for id in ids[::2]])

    assert list(store.known(NAMESPACE, ids)) == ids[::2]


def test_2000_turns_are_added_at_once(store: TurnStore) -> None:
    ids = [f"id-{number}" for number in range(2_000)]

    assert store.append(NAMESPACE, [_record(id) for id in ids]) == 2_000
    assert store.append(NAMESPACE, [_record(id) for id in ids]) == 0
    assert _ids(store) == ids


def test_a_batch_that_fails_leaves_nothing_behind(store: TurnStore) -> None:
    store.append(NAMESPACE, [_record("a")])
    with pytest.raises(AttributeError, match="turn"):
        store.append(NAMESPACE, [_record("b"), cast(Any, None), _record("c")])

    assert _ids(store) == ["a"]


def test_a_store_goes_on_after_a_batch_that_failed(store: TurnStore) -> None:
    with pytest.raises(AttributeError, match="turn"):
        store.append(NAMESPACE, [cast(Any, None)])

    assert store.append(NAMESPACE, [_record("a")]) == 1


def _in_threads(*jobs: Callable[[], object]) -> None:
    failures: list[BaseException] = []

    def run(job: Callable[[], object]) -> None:
        try:
            job()
        except BaseException as error:
            failures.append(error)

    threads = [threading.Thread(target=run, args=(job,)) for job in jobs]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failures == []


def _adder(store: TurnStore, name: str) -> Callable[[], None]:
    def add() -> None:
        for number in range(20):
            store.append(NAMESPACE, [_record(f"{name}-{number}"), _record(f"shared-{number}")])

    return add


def test_threads_that_add_at_once_lose_nothing(store: TurnStore) -> None:
    _in_threads(*(_adder(store, name) for name in "abcd"))

    ids = _ids(store)
    assert len(ids) == len(set(ids)) == 4 * 20 + 20


def test_connections_that_add_at_once_lose_nothing(open_store: OpenStore) -> None:
    stores = [open_store() for _ in range(3)]
    _in_threads(*(_adder(store, name) for name, store in zip("abc", stores, strict=True)))

    ids = _ids(stores[0])
    assert len(ids) == len(set(ids)) == 3 * 20 + 20


def test_opening_again_gives_everything(open_store: OpenStore) -> None:
    store = open_store()
    vector = np.array([0.25, 0.5], np.float32)
    store.append(NAMESPACE, [_record("z"), Record(Turn("Ana", "Yes", id="a"), vector, "model/2")])
    store.close()

    records = open_store().read(NAMESPACE, vector_model="model/2")
    assert [record.turn for record in records] == [
        Turn("Ana", "Hi", id="z"),
        Turn("Ana", "Yes", id="a"),
    ]
    assert records[1].vector is not None
    assert records[1].vector.tolist() == [0.25, 0.5]


def test_a_reader_sees_what_another_connection_committed(open_store: OpenStore) -> None:
    writer, reader = open_store(), open_store()
    writer.append(NAMESPACE, [_record("a")])
    seen_first = _ids(reader)
    writer.append(NAMESPACE, [_record("b")])

    assert (seen_first, _ids(reader)) == (["a"], ["a", "b"])
