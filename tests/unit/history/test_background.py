"""Vectors that are made after `add` has returned."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from remember_graph.errors import HistoryError, ModelError
from remember_graph.history.background import Background
from remember_graph.history.history import History
from remember_graph.history.sqlite_store import SQLiteStore
from remember_graph.history.store import Namespace, Selection
from remember_graph.memory import Memory
from remember_graph.protocols import Vectors
from remember_graph.types import AddReport, Turn

_NAMESPACE = Namespace("default", "chat")
_SOON = 30  # seconds: a test that waits this long has failed


class _GatedEncoder:
    """Waits before every batch until it is let through."""

    id = "gated"

    def __init__(self) -> None:
        self.gate = threading.Event()
        self.asked = threading.Event()
        self.error: ModelError | None = None
        self.texts: list[str] = []

    def encode_documents(self, texts: Sequence[str]) -> Vectors:
        self.asked.set()
        assert self.gate.wait(_SOON)
        if self.error is not None:
            raise self.error
        self.texts += texts
        return np.tile(np.array([1.0, 0.0], np.float32), (len(texts), 1))

    def encode_queries(self, texts: Sequence[str]) -> Vectors:
        return np.tile(np.array([1.0, 0.0], np.float32), (len(texts), 1))


@pytest.fixture
def encoder() -> Iterator[_GatedEncoder]:
    encoder = _GatedEncoder()
    yield encoder
    encoder.gate.set()


@pytest.fixture
def history(encoder: _GatedEncoder, tmp_path: Path) -> Iterator[History]:
    store = SQLiteStore(tmp_path / "h.db")
    history = History(store, encoder=encoder, embed_in_background=True)
    yield history
    encoder.gate.set()
    history.close()


def _turns(*texts: str) -> list[Turn]:
    return [Turn("Ana", text, id=text) for text in texts]


def _wait(history: History) -> None:
    assert history.background is not None
    assert history.background.wait(_SOON)


def test_adding_returns_before_the_model_has_answered(
    history: History, encoder: _GatedEncoder
) -> None:
    assert history.add(_NAMESPACE, _turns("a", "b")) == AddReport(added=2, without_vector=2)
    assert encoder.asked.wait(_SOON)
    assert history.behind(_NAMESPACE) == 2


def test_the_vectors_are_there_when_the_background_is_done(
    history: History, encoder: _GatedEncoder
) -> None:
    encoder.gate.set()
    history.add(_NAMESPACE, _turns("a", "b"))
    _wait(history)

    assert history.behind(_NAMESPACE) == 0
    assert history.store.vector_models(_NAMESPACE) == {"gated": 2}
    assert encoder.texts == ["Ana: a", "Ana: b"]


def test_turns_that_come_while_the_model_works_are_embedded_too(
    history: History, encoder: _GatedEncoder
) -> None:
    history.add(_NAMESPACE, _turns("a"))
    assert encoder.asked.wait(_SOON)
    history.add(_NAMESPACE, _turns("b"))
    encoder.gate.set()
    _wait(history)

    assert encoder.texts == ["Ana: a", "Ana: b"]


def test_a_turn_that_was_forgotten_meanwhile_gets_no_vector(
    history: History, encoder: _GatedEncoder
) -> None:
    history.add(_NAMESPACE, _turns("a", "b"))
    assert encoder.asked.wait(_SOON)
    history.forget(_NAMESPACE, Selection(ids=("a",)))
    encoder.gate.set()
    _wait(history)

    assert history.store.vector_models(_NAMESPACE) == {"gated": 1}
    assert encoder.texts == ["Ana: a", "Ana: b", "Ana: b"]


def test_an_edited_turn_gets_the_vector_of_its_new_text(
    history: History, encoder: _GatedEncoder
) -> None:
    encoder.gate.set()
    history.add(_NAMESPACE, _turns("a"))
    _wait(history)
    history.edit(_NAMESPACE, Turn("Ana", "new", id="a"))
    _wait(history)

    assert encoder.texts == ["Ana: a", "Ana: new"]
    assert history.behind(_NAMESPACE) == 0


def test_a_long_backlog_is_embedded_in_batches_that_are_kept_one_by_one(
    history: History, encoder: _GatedEncoder
) -> None:
    encoder.gate.set()
    history.add(_NAMESPACE, _turns(*(str(at) for at in range(300))))
    _wait(history)

    assert history.store.vector_models(_NAMESPACE) == {"gated": 300}


def test_a_failing_model_loses_no_turn_and_is_tried_again_with_the_next(
    history: History, encoder: _GatedEncoder
) -> None:
    encoder.gate.set()
    encoder.error = ModelError("no connection")
    history.add(_NAMESPACE, _turns("a"))
    _wait(history)
    assert history.background is not None
    assert history.background.failures == {_NAMESPACE: "no connection"}

    encoder.error = None
    history.add(_NAMESPACE, _turns("b"))
    _wait(history)

    assert history.background.failures == {}
    assert history.behind(_NAMESPACE) == 0


def test_closing_leaves_what_waits_to_the_next_process(
    encoder: _GatedEncoder, tmp_path: Path
) -> None:
    first = History(SQLiteStore(tmp_path / "h.db"), encoder=encoder, embed_in_background=True)
    first.add(_NAMESPACE, _turns(*(str(at) for at in range(300))))
    assert encoder.asked.wait(_SOON)
    closing = threading.Thread(target=first.close)
    closing.start()
    encoder.gate.set()
    closing.join(_SOON)
    assert not closing.is_alive()

    second = History(SQLiteStore(tmp_path / "h.db"), encoder=encoder, embed_in_background=True)
    assert 0 < second.behind(_NAMESPACE) < 300
    second.add(_NAMESPACE, _turns("one more"))
    _wait(second)
    assert second.behind(_NAMESPACE) == 0
    second.close()


def test_a_catch_up_says_how_far_the_vectors_are_behind(encoder: _GatedEncoder) -> None:
    turns = [Turn("Ana", "The kiln is booked for Friday. " * 40, id=str(at)) for at in range(9)]
    with Memory.open(embeddings=encoder, embed_in_background=True) as memory:
        memory.add("chat", turns)
        assert memory.behind("chat") == 9
        assert memory.wait(0) is False
        behind = memory.recall("chat", "kiln")["degraded"]
        encoder.gate.set()
        assert memory.wait(_SOON)
        done = memory.recall("chat", "kiln")

    assert behind == [
        "embeddings: 9 of 9 history turns have no vector of gated; "
        "those are searched by words alone; they are being made"
    ]
    assert done["degraded"] == []
    assert done["turns"][0]["turn_id"] == "0"


def test_a_catch_up_says_why_the_vectors_could_not_be_made(encoder: _GatedEncoder) -> None:
    encoder.gate.set()
    encoder.error = ModelError("no connection")
    with Memory.open(embeddings=encoder, embed_in_background=True) as memory:
        memory.add("chat", _turns("kiln"))
        assert memory.wait(_SOON)
        (reason,) = memory.recall("chat", "kiln")["degraded"]

    assert reason.endswith("searched by words alone; making them failed: no connection")


def test_without_a_background_nothing_is_waited_for(hash_encoder: Any) -> None:
    with Memory.open(embeddings=hash_encoder) as memory:
        memory.add("chat", _turns("a"))
        assert (memory.behind("chat"), memory.wait()) == (0, True)


def _recorder(seen: list[str], first: Callable[[], object]) -> Callable[[Namespace], None]:
    def work(namespace: Namespace) -> None:
        if not seen:
            first()
        seen.append(namespace.stream)

    return work


def test_streams_are_worked_on_in_the_order_they_came_and_each_once() -> None:
    gate = threading.Event()
    seen: list[str] = []
    background = Background(_recorder(seen, lambda: gate.wait(_SOON)))
    for stream in ("a", "b", "c", "b"):
        background.ask(Namespace("t", stream))
    gate.set()
    assert background.wait(_SOON)
    background.close()

    assert seen == ["a", "b", "c"]


def test_a_closed_background_takes_no_more_work() -> None:
    seen: list[str] = []
    background = Background(_recorder(seen, lambda: None))
    background.close()
    background.ask(_NAMESPACE)

    assert background.wait(0)
    assert seen == []


def test_an_error_of_the_store_is_kept_as_the_reason() -> None:
    def work(namespace: Namespace) -> None:
        raise HistoryError("the file is gone")

    background = Background(work)
    background.ask(_NAMESPACE)
    assert background.wait(_SOON)
    background.close()

    assert background.failures == {_NAMESPACE: "the file is gone"}
