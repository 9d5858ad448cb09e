"""What becomes of turns and vectors where Chroma fails in between."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from remember_graph.errors import HistoryError
from remember_graph.history.history import History
from remember_graph.history.sqlite_store import SQLiteStore
from remember_graph.history.store import Forgotten, Namespace, Record, Retention, Selection
from remember_graph.integrations.chroma import ChromaStore
from remember_graph.types import Turn

if TYPE_CHECKING:  # the tests run as modules that cannot import each other
    from tests.conftest import HashEncoder
    from tests.unit.integrations.chroma.conftest import Flaky

NAMESPACE = Namespace("t", "chat")
X, Y = np.eye(2, dtype=np.float32)
Recorded = Callable[..., Record]
WRITES = {"upsert", "delete", "delete_collection"}
ALL = {"get_collection", "get_or_create_collection"}


@pytest.fixture
def filled(embedded: ChromaStore, recorded: Recorded) -> ChromaStore:
    """Two turns with vectors: X of "Hi" and Y of "Ho"."""
    embedded.append(NAMESPACE, [recorded("a", "Hi", 1, 0), recorded("b", "Ho", 0, 1)])
    return embedded


def _texts(store: ChromaStore) -> list[str]:
    return [record.turn.text for record in store.read(NAMESPACE)]


def test_turns_are_added_also_where_chroma_fails(
    embedded: ChromaStore, flaky: Flaky, recorded: Recorded
) -> None:
    flaky.fails |= WRITES

    assert embedded.append(NAMESPACE, [recorded("a", "Hi", 1, 0)]) == 1
    assert _texts(embedded) == ["Hi"]
    assert embedded.vectors(NAMESPACE, "one") == {}


def test_the_failure_is_told_in_one_line_until_chroma_works_again(
    embedded: ChromaStore, flaky: Flaky, recorded: Recorded
) -> None:
    flaky.fails |= WRITES
    embedded.append(NAMESPACE, [recorded("a", "Hi", 1, 0)])
    told = embedded.vector_failure
    embedded.append(NAMESPACE, [recorded("b", "without a vector")])
    told_still = embedded.vector_failure
    flaky.fails.clear()
    embedded.append(NAMESPACE, [recorded("c", "Ho", 0, 1)])

    assert told is not None
    assert told.startswith("the Chroma folder ")
    assert told.endswith("failed: OSError: the disk is gone")
    assert told_still == told
    assert embedded.vector_failure is None


def test_vectors_that_were_not_written_are_made_again(
    embedded: ChromaStore, flaky: Flaky, hash_encoder: HashEncoder
) -> None:
    history = History(embedded, encoder=hash_encoder)
    flaky.fails |= WRITES
    history.add(NAMESPACE, [Turn("Ana", "Hi", id="a"), Turn("Bo", "Ho", id="b")])
    behind = history.behind(NAMESPACE)
    flaky.fails.clear()

    assert behind == 2
    assert history.reindex(NAMESPACE) == 2
    assert history.behind(NAMESPACE) == 0
    assert embedded.vector_models(NAMESPACE) == {hash_encoder.id: 2}


def test_turns_are_read_without_vectors_where_chroma_fails(
    filled: ChromaStore, flaky: Flaky
) -> None:
    flaky.fails |= ALL
    records = filled.read(NAMESPACE, vector_model="one")

    assert [(record.turn.id, record.vector) for record in records] == [("a", None), ("b", None)]
    assert filled.vectors(NAMESPACE, "one") == {}
    assert filled.vector_models(NAMESPACE) == {}
    assert "the disk is gone" in (filled.vector_failure or "")


def test_a_history_finds_the_vectors_once_chroma_works_again(
    embedded: ChromaStore, flaky: Flaky, hash_encoder: HashEncoder
) -> None:
    History(embedded, encoder=hash_encoder).add(NAMESPACE, [Turn("Ana", "Hi", id="a")])
    history = History(embedded, encoder=hash_encoder)
    flaky.fails |= ALL
    behind = [history.behind(NAMESPACE)]
    flaky.fails.clear()
    behind.append(history.behind(NAMESPACE))

    assert behind == [1, 0]


@pytest.mark.parametrize(
    "call",
    [
        lambda store: store.nearest(NAMESPACE, "one", [X], 1),
        lambda store: store.add_vectors(NAMESPACE, "one", {0: X}),
        lambda store: store.drop_vectors(NAMESPACE, keep_model="two"),
        lambda store: store.forget(NAMESPACE, Selection()),
        lambda store: store.forget_tenant("t"),
        lambda store: store.edit(NAMESPACE, Record(Turn("Ana", "new", id="a"))),
    ],
    ids=["nearest", "add_vectors", "drop_vectors", "forget", "forget_tenant", "edit"],
)
def test_what_cannot_do_without_chroma_raises_one_line_and_changes_nothing(
    filled: ChromaStore, flaky: Flaky, call: Callable[[ChromaStore], Any]
) -> None:
    flaky.fails |= ALL
    with pytest.raises(HistoryError, match=r"Chroma folder .* failed: OSError") as caught:
        call(filled)
    flaky.fails.clear()

    assert len(str(caught.value).splitlines()) == 1
    assert _texts(filled) == ["Hi", "Ho"]
    assert set(filled.vectors(NAMESPACE, "one")) == {0, 1}


@pytest.mark.parametrize("wipe", [True, False])
def test_an_edit_that_ends_before_its_vector_leaves_a_turn_without_one(
    filled: ChromaStore, flaky: Flaky, recorded: Recorded, wipe: bool
) -> None:
    flaky.fails |= {"upsert"}

    assert filled.edit(NAMESPACE, recorded("a", "new", 0, 1), wipe=wipe)
    assert _texts(filled) == ["new", "Ho"]
    assert set(filled.vectors(NAMESPACE, "one")) == {1}


@pytest.mark.parametrize(
    "change",
    [
        lambda store: store.edit(NAMESPACE, Record(Turn("Ana", "new", id="a"), X, "one")),
        lambda store: store.forget(NAMESPACE, Selection(ids=("a",))),
    ],
    ids=["edit", "forget"],
)
def test_a_crash_between_chroma_and_the_log_leaves_a_turn_without_vector(
    filled: ChromaStore,
    monkeypatch: pytest.MonkeyPatch,
    change: Callable[[ChromaStore], object],
) -> None:
    def crash(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(SQLiteStore, "edit", crash)
    monkeypatch.setattr(SQLiteStore, "forget", crash)
    with pytest.raises(KeyboardInterrupt):
        change(filled)

    assert _texts(filled) == ["Hi", "Ho"]
    assert set(filled.vectors(NAMESPACE, "one")) == {1}


def _edit_without_chroma(store: ChromaStore, flaky: Flaky) -> None:
    flaky.fails |= ALL
    assert store.edit(NAMESPACE, Record(Turn("Ana", "new", id="a")), wipe=False)
    flaky.fails.clear()


def test_a_vector_of_another_text_is_never_given_out(
    filled: ChromaStore, flaky: Flaky, vectors_in_chroma: Callable[[ChromaStore], int]
) -> None:
    _edit_without_chroma(filled, flaky)

    assert vectors_in_chroma(filled) == 2
    assert set(filled.vectors(NAMESPACE, "one", [0, 1])) == {1}
    assert [record.vector is None for record in filled.read(NAMESPACE, vector_model="one")] == [
        True,
        False,
    ]
    assert filled.vector_models(NAMESPACE) == {"one": 1}
    assert [near.position for near in filled.nearest(NAMESPACE, "one", [X], 2)[0]] == [1]


def test_a_vector_of_another_text_is_removed_by_the_next_call_that_wipes(
    filled: ChromaStore, flaky: Flaky, vectors_in_chroma: Callable[[ChromaStore], int]
) -> None:
    _edit_without_chroma(filled, flaky)
    filled.forget(NAMESPACE, Selection(ids=()))

    assert vectors_in_chroma(filled) == 1


def test_turns_are_retired_also_where_chroma_fails(
    filled: ChromaStore, flaky: Flaky, vectors_in_chroma: Callable[[ChromaStore], int]
) -> None:
    filled.set_retention(NAMESPACE, Retention(max_turns=1))
    flaky.fails |= ALL
    History(filled).add(NAMESPACE, [Turn("Ana", "third", id="c")])
    flaky.fails.clear()

    assert _texts(filled) == ["third"]
    assert filled.vectors(NAMESPACE, "one") == {}
    assert filled.forget(NAMESPACE, Selection()) == Forgotten(turns=1)
    assert vectors_in_chroma(filled) == 0


def test_a_stream_that_is_made_again_has_none_of_the_vectors_before(
    filled: ChromaStore, flaky: Flaky, recorded: Recorded
) -> None:
    flaky.fails |= ALL
    filled.forget(NAMESPACE, Selection(), wipe=False)
    flaky.fails.clear()
    filled.append(NAMESPACE, [recorded("a", "other"), recorded("b", "others")])

    assert filled.vectors(NAMESPACE, "one") == {}
    assert filled.vector_models(NAMESPACE) == {}


def _as_another_process(folder: Path, change: Callable[[SQLiteStore], object]) -> None:
    log = SQLiteStore(folder / "memory/turns.db")
    change(log)
    log.close()


@pytest.mark.parametrize(
    "change",
    [
        lambda log: log.edit(NAMESPACE, Record(Turn("Ana", "new", id="a"))),
        lambda log: log.forget(NAMESPACE, Selection(ids=("a",))),
        lambda log: log.forget_tenant("t"),
    ],
    ids=["edit", "forget", "forget_tenant"],
)
@pytest.mark.parametrize("call", ["get_or_create_collection", "upsert"])
def test_a_turn_that_changes_while_its_vector_is_written_gets_none(
    embedded: ChromaStore,
    flaky: Flaky,
    recorded: Recorded,
    tmp_path: Path,
    vectors_in_chroma: Callable[[ChromaStore], int],
    change: Callable[[SQLiteStore], object],
    call: str,
) -> None:
    embedded.append(NAMESPACE, [recorded("a", "Hi")])
    generation = embedded.generation(NAMESPACE)
    flaky.before[call] = lambda: _as_another_process(tmp_path, change)

    assert not embedded.add_vectors(NAMESPACE, "one", {0: X}, generation=generation)
    assert vectors_in_chroma(embedded) == 0


def test_a_vector_that_comes_while_its_turn_is_forgotten_does_not_stay(
    filled: ChromaStore,
    vectors_in_chroma: Callable[[ChromaStore], int],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    generation, turns = filled._opened.log.turns(NAMESPACE)
    forget = SQLiteStore.forget

    def forget_after_another_process_wrote(*arguments: Any, **options: Any) -> Forgotten:
        filled._vectors.put(NAMESPACE, "one", generation, turns, {0: X})
        return forget(*arguments, **options)

    monkeypatch.setattr(SQLiteStore, "forget", forget_after_another_process_wrote)
    filled.forget(NAMESPACE, Selection(ids=("a",)))

    assert vectors_in_chroma(filled) == 1
