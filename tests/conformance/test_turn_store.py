"""What every `TurnStore` promises."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, cast

import numpy as np
import pytest

from remember_graph.errors import HistoryError
from remember_graph.history.in_memory_store import InMemoryStore
from remember_graph.history.sqlite_store import SQLiteStore
from remember_graph.history.store import (
    Derived,
    Forgotten,
    Namespace,
    Record,
    Selection,
    TurnStore,
    Vector,
)
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


def _fill(store: TurnStore, ids: str, namespace: Namespace = NAMESPACE, **fields: Any) -> None:
    """One turn for each letter."""
    store.append(namespace, [_record(id, **fields) for id in ids])


def _vector(*values: float) -> Vector:
    return np.array(values, np.float32)


def _places(store: TurnStore, start: int = 0) -> dict[str, int]:
    return {record.turn.id: record.position for record in store.read(NAMESPACE, start)}


def _catch_up(*, cites: str = "", window: str = "", memory: str = "") -> dict[str, Any]:
    """What a store looks at in a `CatchUp`; each letter is the id of a turn."""
    return {
        "summary": {"sentences": [{"cites": [id]} for id in cites]},
        "window": list(window),
        "memory": [{"turn_id": id} for id in memory],
    }


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

    with_vector, without = store.read(NAMESPACE, vector_model="model/3")
    assert with_vector.vector is not None
    # A store may keep half precision: 11 bits.
    np.testing.assert_allclose(with_vector.vector, vector, rtol=2**-11, atol=1e-7)
    assert with_vector.vector.dtype == np.dtype(np.float32)
    assert with_vector.vector_model == "model/3"
    assert (without.vector, without.vector_model) == (None, None)


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


def test_positions_count_up_from_zero(store: TurnStore) -> None:
    _fill(store, "ab")
    _fill(store, "c")

    assert _places(store) == {"a": 0, "b": 1, "c": 2}


@pytest.mark.parametrize("gone", ["b", "c", "abc"])
def test_a_position_is_never_given_again(store: TurnStore, gone: str) -> None:
    _fill(store, "abc")
    store.forget(NAMESPACE, Selection(ids=tuple(gone)))
    _fill(store, "d")

    assert _places(store)["d"] == 3


def test_reading_starts_at_a_position_also_where_turns_before_it_are_gone(store: TurnStore) -> None:
    _fill(store, "abcde")
    store.forget(NAMESPACE, Selection(ids=("b", "d")))

    assert _places(store, 1) == {"c": 2, "e": 4}
    assert _places(store, 3) == {"e": 4}


def test_a_turn_that_was_forgotten_may_be_added_again_at_the_end(store: TurnStore) -> None:
    _fill(store, "abc")
    store.forget(NAMESPACE, Selection(ids=("a",)))
    _fill(store, "a")

    assert _places(store) == {"b": 1, "c": 2, "a": 3}


def test_derived_values_come_back(store: TurnStore) -> None:
    derived = [
        Derived(7, ("once", "each"), (1, 1), "1"),
        Derived(9, ("twice", "\u4e09\u6642", "c++"), (2, 1, 70_000), "1"),
        Derived(0, (), (), "1"),
        None,
    ]
    turns = [Turn("Ana", "Hi", id=id) for id in "abcd"]
    records = [Record(turn, derived=one) for turn, one in zip(turns, derived, strict=True)]
    store.append(NAMESPACE, records)

    assert [record.derived for record in store.read(NAMESPACE)] == derived


def test_vectors_of_several_models_lie_side_by_side(store: TurnStore) -> None:
    store.append(NAMESPACE, [Record(Turn("Ana", "Hi", id="a"), _vector(1, 0), "one")])
    store.add_vectors(NAMESPACE, "two", {0: _vector(0, 1, 0)})

    assert store.vectors(NAMESPACE, "one", [0])[0].tolist() == [1, 0]
    assert store.vectors(NAMESPACE, "two", [0])[0].tolist() == [0, 1, 0]
    assert store.read(NAMESPACE, vector_model="three")[0].vector is None


def test_reading_without_a_model_gives_no_vectors(store: TurnStore) -> None:
    store.append(NAMESPACE, [Record(Turn("Ana", "Hi", id="a"), _vector(1, 0), "one")])

    assert store.read(NAMESPACE)[0].vector is None


def test_a_vector_that_is_added_again_takes_the_place_of_the_first(store: TurnStore) -> None:
    _fill(store, "a")
    store.add_vectors(NAMESPACE, "one", {0: _vector(1, 0)})
    store.add_vectors(NAMESPACE, "one", {0: _vector(0, 1)})

    assert store.vectors(NAMESPACE, "one", [0])[0].tolist() == [0, 1]


def test_vectors_are_given_for_the_positions_that_have_one(store: TurnStore) -> None:
    _fill(store, "abc")
    store.add_vectors(NAMESPACE, "one", {0: _vector(1, 0), 2: _vector(0, 1)})

    assert set(store.vectors(NAMESPACE, "one", [2, 1, 7])) == {2}
    assert store.vectors(NAMESPACE, "one", []) == {}


def test_vectors_of_2000_positions_are_given_at_once(store: TurnStore) -> None:
    store.append(NAMESPACE, [_record(str(number)) for number in range(2_000)])
    store.add_vectors(NAMESPACE, "one", {at: _vector(at % 7, 1) for at in range(2_000)})

    found = store.vectors(NAMESPACE, "one", range(2_000))
    assert {at: vector[0] for at, vector in found.items()} == {at: at % 7 for at in range(2_000)}


def test_vectors_of_positions_that_are_gone_are_dropped(store: TurnStore) -> None:
    _fill(store, "ab")
    store.forget(NAMESPACE, Selection(ids=("a",)))
    store.add_vectors(NAMESPACE, "one", {at: _vector(1, 0) for at in (0, 1, 2)})
    _fill(store, "c")  # at position 2

    assert set(store.vectors(NAMESPACE, "one", [0, 1, 2])) == {1}


def test_vectors_for_a_stream_that_is_not_there_are_dropped(store: TurnStore) -> None:
    store.add_vectors(NAMESPACE, "one", {0: _vector(1, 0)})

    assert store.streams() == []
    assert store.vectors(NAMESPACE, "one", [0]) == {}


def test_vectors_of_every_other_model_are_dropped(store: TurnStore) -> None:
    other = Namespace("default", "other")
    for namespace in (NAMESPACE, other):
        _fill(store, "ab", namespace)
        for model in ("one", "two", "three"):
            store.add_vectors(namespace, model, {0: _vector(1, 0), 1: _vector(0, 1)})

    assert store.drop_vectors(NAMESPACE, keep_model="two") == 4
    held = {model: len(store.vectors(NAMESPACE, model, [0, 1])) for model in ("one", "two")}
    assert held == {"one": 0, "two": 2}
    assert len(store.vectors(other, "one", [0, 1])) == 2


def test_an_edit_takes_the_place_of_the_turn(store: TurnStore) -> None:
    _fill(store, "abc")
    turn = Turn("Bo", "new", "2024-05-01", "b", "system", "a", "t", edited=True)

    assert store.edit(NAMESPACE, Record(turn, derived=Derived(3, ("new",), (1,), "1")))
    record = store.read(NAMESPACE)[1]
    assert (record.turn, record.position) == (turn, 1)
    assert record.derived == Derived(3, ("new",), (1,), "1")
    assert store.known(NAMESPACE, ["b"]) == {"b": turn}


def test_an_edit_removes_the_old_vectors_and_brings_its_own(store: TurnStore) -> None:
    store.append(NAMESPACE, [Record(Turn("Ana", "Hi", id="a"), _vector(1, 0), "one")])
    store.add_vectors(NAMESPACE, "two", {0: _vector(1, 0)})
    store.edit(NAMESPACE, Record(Turn("Ana", "new", id="a"), _vector(0, 1), "one"))

    assert store.vectors(NAMESPACE, "one", [0])[0].tolist() == [0, 1]
    assert store.vectors(NAMESPACE, "two", [0]) == {}


def test_an_edit_without_derived_values_removes_the_old_ones(store: TurnStore) -> None:
    store.append(
        NAMESPACE, [Record(Turn("A", "Hi", id="a"), derived=Derived(2, ("a",), (1,), "1"))]
    )
    store.edit(NAMESPACE, _record("a", "new"))

    assert store.read(NAMESPACE)[0].derived is None


@pytest.mark.parametrize("namespace", [NAMESPACE, Namespace("default", "none")])
def test_an_edit_of_an_unknown_turn_changes_nothing(store: TurnStore, namespace: Namespace) -> None:
    _fill(store, "a")
    before = store.generation(namespace)

    assert not store.edit(namespace, _record("z", "new"))
    assert store.generation(namespace) == before
    assert store.streams() == [(NAMESPACE, 1)]


def test_an_edit_leaves_other_namespaces_alone(store: TurnStore) -> None:
    other = Namespace("other", "chat")
    _fill(store, "a")
    _fill(store, "a", other)
    before = store.generation(other)
    store.edit(NAMESPACE, _record("a", "new"))

    assert store.known(other, ["a"])["a"].text == "Hi"
    assert store.generation(other) == before


def test_a_generation_is_0_where_there_is_no_stream_and_another_number_where_there_is(
    store: TurnStore,
) -> None:
    before = store.generation(NAMESPACE)
    _fill(store, "a")

    assert before == 0
    assert store.generation(NAMESPACE) > 0


def test_adding_turns_and_vectors_keeps_the_generation(store: TurnStore) -> None:
    _fill(store, "a")
    before = store.generation(NAMESPACE)
    _fill(store, "ab")
    store.add_vectors(NAMESPACE, "one", {0: _vector(1, 0)})

    assert store.generation(NAMESPACE) == before


def test_every_edit_and_removal_gives_a_generation_that_was_never_there(store: TurnStore) -> None:
    seen = [store.generation(NAMESPACE)]
    for text in ("first", "second"):
        _fill(store, "abcd")
        seen.append(store.generation(NAMESPACE))
        store.edit(NAMESPACE, _record("a", text))
        seen.append(store.generation(NAMESPACE))
        store.forget(NAMESPACE, Selection(ids=("b",)))
        seen.append(store.generation(NAMESPACE))
        store.forget(NAMESPACE, Selection())
        assert store.generation(NAMESPACE) == 0

    assert len(set(seen)) == len(seen)


def test_forgetting_nothing_keeps_the_generation(store: TurnStore) -> None:
    _fill(store, "a")
    before = store.generation(NAMESPACE)

    assert store.forget(NAMESPACE, Selection(ids=())) == Forgotten()
    assert store.forget(NAMESPACE, Selection(ids=("z",))) == Forgotten()
    assert store.generation(NAMESPACE) == before


_TIMED = [
    _record("a", time="2024-05-01T09:00:00+02:00"),  # 07:00 UTC
    _record("b", time="2024-05-01T08:00:00"),
    _record("c", time="2024-05-02"),
    _record("d", time=None),
    _record("e", time="yesterday"),
    Record(Turn("Bo", "Hi", "2024-05-03", "f")),
]


@pytest.mark.parametrize(
    ("selection", "gone"),
    [
        (Selection(ids=("b", "z")), "b"),
        (Selection(ids=()), ""),
        (Selection(speaker="Bo"), "f"),
        (Selection(speaker="bo"), ""),
        (Selection(since="2024-05-01T08:00:00"), "bcf"),
        (Selection(until="2024-05-01T08:00:00Z"), "a"),
        (Selection(since="2024-05-01T07:30:00Z", until="2024-05-03"), "bc"),
        (Selection(speaker="Ana", since="2024-05-02"), "c"),
        (Selection(ids=("a", "f"), speaker="Ana"), "a"),
        (Selection(), "abcdef"),
    ],
)
def test_the_selected_turns_are_forgotten(
    store: TurnStore, selection: Selection, gone: str
) -> None:
    store.append(NAMESPACE, _TIMED)

    assert store.forget(NAMESPACE, selection).turns == len(gone)
    assert "".join(_ids(store)) == "".join(id for id in "abcdef" if id not in gone)
    assert store.known(NAMESPACE, list(gone)) == {}


def test_forgetting_counts_each_layer(store: TurnStore) -> None:
    _fill(store, "abc")
    store.add_vectors(NAMESPACE, "one", {0: _vector(1, 0), 1: _vector(0, 1)})
    store.add_vectors(NAMESPACE, "two", {0: _vector(1, 0), 2: _vector(0, 1)})
    store.save_summary(NAMESPACE, _catch_up(window="c"))
    store.save_summary(NAMESPACE, _catch_up(window="ab"))

    first = store.forget(NAMESPACE, Selection(ids=("a", "b")))
    rest = store.forget(NAMESPACE, Selection())

    assert first == Forgotten(turns=2, vectors=3, summaries=1)
    assert rest.turns == rest.vectors == 1
    assert store.vectors(NAMESPACE, "two", [0, 1, 2]) == {}


def test_2000_turns_are_forgotten_at_once(store: TurnStore) -> None:
    store.append(
        NAMESPACE,
        [Record(Turn("A", "x", id=str(at)), _vector(1, 0), "one") for at in range(2_000)],
    )
    gone = Selection(ids=tuple(str(at) for at in range(0, 2_000, 2)))

    assert store.forget(NAMESPACE, gone) == Forgotten(turns=1_000, vectors=1_000)
    assert _ids(store) == [str(at) for at in range(1, 2_000, 2)]


@pytest.mark.parametrize("selection", [Selection(), Selection(speaker="Ana")])
@pytest.mark.parametrize("other", [Namespace("default", "other"), Namespace("other", "chat")])
def test_forgetting_leaves_other_namespaces_alone(
    store: TurnStore, selection: Selection, other: Namespace
) -> None:
    for namespace in (NAMESPACE, other):
        store.append(namespace, [Record(Turn("Ana", "Hi", id="a"), _vector(1, 0), "one")])
        store.save_summary(namespace, _catch_up(window="a"))
    before = store.generation(other)
    store.forget(NAMESPACE, selection)

    assert _ids(store, other) == ["a"]
    assert len(store.vectors(other, "one", [0])) == 1
    assert [summary.stale for summary in store.summaries(other)] == [None]
    assert store.generation(other) == before


def test_forgetting_everything_removes_the_stream(store: TurnStore) -> None:
    _fill(store, "a")
    store.save_summary(NAMESPACE, _catch_up(window="a"))

    assert store.forget(NAMESPACE, Selection()) == Forgotten(turns=1, summaries=1)
    assert store.streams() == []
    assert store.summaries(NAMESPACE) == []
    assert store.generation(NAMESPACE) == 0


def test_forgetting_a_stream_that_is_not_there_is_nothing(store: TurnStore) -> None:
    assert store.forget(NAMESPACE, Selection()) == Forgotten()


def test_a_stream_that_was_forgotten_starts_anew(store: TurnStore) -> None:
    store.append(NAMESPACE, [Record(Turn("Ana", "Hi", id="a"), _vector(1, 0), "one")])
    store.save_summary(NAMESPACE, _catch_up(window="a"))
    store.forget(NAMESPACE, Selection())
    _fill(store, "z")

    assert _ids(store) == ["z"]
    assert store.vectors(NAMESPACE, "one", [0]) == {}
    assert store.summaries(NAMESPACE) == []


def test_a_summary_comes_back_as_it_was(store: TurnStore) -> None:
    _fill(store, "ab")
    result = {
        **_catch_up(window="ab"),
        "stream": "\u4e09 \0 x",
        "degraded": [],
        "usage": {"n": 1.5},
    }
    store.save_summary(NAMESPACE, result)

    (summary,) = store.summaries(NAMESPACE)
    assert (summary.result, summary.stale) == (result, None)
    assert summary.created.endswith("+00:00")


def test_a_kept_summary_does_not_follow_what_its_caller_does_with_the_result(
    store: TurnStore,
) -> None:
    _fill(store, "a")
    result = _catch_up(window="a")
    store.save_summary(NAMESPACE, result)
    result["window"].append("other")

    assert store.summaries(NAMESPACE)[0].result == _catch_up(window="a")


def test_the_latest_20_summaries_are_kept_the_latest_first(store: TurnStore) -> None:
    _fill(store, "a")
    for number in range(25):
        store.save_summary(NAMESPACE, {**_catch_up(window="a"), "number": number})

    results = [summary.result or {} for summary in store.summaries(NAMESPACE)]
    assert [result["number"] for result in results] == list(range(24, 4, -1))


def test_20_summaries_are_kept_of_each_stream(store: TurnStore) -> None:
    other = Namespace("default", "other")
    for namespace in (NAMESPACE, other):
        _fill(store, "a", namespace)
    for _ in range(21):
        store.save_summary(NAMESPACE, _catch_up(window="a"))
        store.save_summary(other, _catch_up(window="a"))

    assert (len(store.summaries(NAMESPACE)), len(store.summaries(other))) == (20, 20)


def test_a_summary_of_a_stream_that_is_not_there_is_not_kept(store: TurnStore) -> None:
    store.save_summary(NAMESPACE, _catch_up())

    assert store.summaries(NAMESPACE) == []
    assert store.streams() == []


_RESTING = [_catch_up(cites="a"), _catch_up(window="ba"), _catch_up(memory="ca")]


@pytest.mark.parametrize("result", _RESTING, ids=["cites", "window", "memory"])
def test_a_summary_is_stale_once_a_turn_it_rests_on_is_edited(
    store: TurnStore, result: dict[str, Any]
) -> None:
    _fill(store, "abcz")
    store.save_summary(NAMESPACE, result)
    store.edit(NAMESPACE, _record("z", "new"))
    before = store.summaries(NAMESPACE)[0]
    store.edit(NAMESPACE, _record("a", "new"))
    after = store.summaries(NAMESPACE)[0]

    assert (before.result, before.stale) == (result, None)
    assert (after.result, after.stale) == (None, "turn a was edited")
    assert after.created == before.created


@pytest.mark.parametrize("result", _RESTING, ids=["cites", "window", "memory"])
def test_a_summary_is_stale_once_a_turn_it_rests_on_is_forgotten(
    store: TurnStore, result: dict[str, Any]
) -> None:
    _fill(store, "abcz")
    store.save_summary(NAMESPACE, result)

    assert store.forget(NAMESPACE, Selection(ids=("z",))).summaries == 0
    assert store.forget(NAMESPACE, Selection(ids=("a",))).summaries == 1
    (summary,) = store.summaries(NAMESPACE)
    assert (summary.result, summary.stale) == (None, "turn a was forgotten")


def test_a_stale_summary_keeps_its_first_reason_and_is_not_counted_again(store: TurnStore) -> None:
    _fill(store, "ab")
    store.save_summary(NAMESPACE, _catch_up(window="ab"))
    store.edit(NAMESPACE, _record("b", "new"))

    assert store.forget(NAMESPACE, Selection(ids=("a", "b"))).summaries == 0
    assert store.summaries(NAMESPACE)[0].stale == "turn b was edited"


def test_a_summary_whose_turn_was_forgotten_while_it_was_written_is_not_kept(
    store: TurnStore,
) -> None:
    _fill(store, "ab")
    store.forget(NAMESPACE, Selection(ids=("a",)))
    store.save_summary(NAMESPACE, _catch_up(window="ab"))

    assert [summary.result for summary in store.summaries(NAMESPACE)] in ([], [None])


def test_an_id_that_no_turn_can_have_is_unknown(store: TurnStore) -> None:
    _fill(store, "a")

    assert set(store.known(NAMESPACE, ["\ud800", "a"])) == {"a"}


def test_a_vector_of_no_model_is_left_out(store: TurnStore) -> None:
    assert store.append(NAMESPACE, [Record(Turn("Ana", "Hi", id="a"), _vector(1, 0))]) == 1


def test_the_reason_names_the_first_of_many_turns(store: TurnStore) -> None:
    ids = [f"{number:04}" for number in range(1_000)]
    store.append(NAMESPACE, [_record(id) for id in reversed(ids)])
    store.save_summary(NAMESPACE, {**_catch_up(), "window": ids})
    store.forget(NAMESPACE, Selection(ids=tuple(ids)))

    assert store.summaries(NAMESPACE)[0].stale == "turn 0000 was forgotten"


_CALLS: dict[str, Callable[[TurnStore], object]] = {
    "known": lambda store: store.known(NAMESPACE, ["a"]),
    "append": lambda store: store.append(NAMESPACE, []),
    "read": lambda store: store.read(NAMESPACE),
    "generation": lambda store: store.generation(NAMESPACE),
    "edit": lambda store: store.edit(NAMESPACE, _record("a")),
    "forget": lambda store: store.forget(NAMESPACE, Selection()),
    "summaries": lambda store: store.summaries(NAMESPACE),
    "streams": lambda store: store.streams(),
}


@pytest.mark.parametrize("call", _CALLS.values(), ids=list(_CALLS))
def test_a_closed_store_answers_nothing(
    store: TurnStore, call: Callable[[TurnStore], object]
) -> None:
    store.close()

    with pytest.raises(HistoryError, match="closed"):
        call(store)


def test_opening_again_gives_edits_removals_vectors_and_summaries(open_store: OpenStore) -> None:
    store = open_store()
    _fill(store, "abcd")
    store.add_vectors(NAMESPACE, "one", {0: _vector(1, 0), 1: _vector(0, 1)})
    store.save_summary(NAMESPACE, _catch_up(window="a"))
    store.edit(NAMESPACE, _record("a", "new"))
    store.forget(NAMESPACE, Selection(ids=("d",)))
    generation = store.generation(NAMESPACE)
    store.close()
    again = open_store()
    _fill(again, "e")

    assert _places(again) == {"a": 0, "b": 1, "c": 2, "e": 4}
    assert again.known(NAMESPACE, ["a"])["a"].text == "new"
    assert set(again.vectors(NAMESPACE, "one", [0, 1])) == {1}
    assert again.summaries(NAMESPACE)[0].stale == "turn a was edited"
    assert again.generation(NAMESPACE) == generation
