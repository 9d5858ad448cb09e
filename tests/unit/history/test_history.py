"""The history of all streams."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest

from remember_graph.errors import ConfigError, ModelError
from remember_graph.history.history import History
from remember_graph.history.in_memory_store import InMemoryStore
from remember_graph.history.store import Forgotten, Namespace, Selection
from remember_graph.memory import Memory
from remember_graph.protocols import Vectors
from remember_graph.types import AddReport, Turn

_NAMESPACE = Namespace("default", "chat")


def _turns(*texts: str) -> list[Turn]:
    return [Turn("Ana", text, id=str(at)) for at, text in enumerate(texts)]


class _FailingEncoder:
    """An embedding model that is not there."""

    id = "failing"

    def encode_documents(self, texts: Sequence[str]) -> Any:
        raise ModelError("no connection")

    encode_queries = encode_documents


def test_adding_reports_what_is_new() -> None:
    assert History().add(_NAMESPACE, _turns("a", "b")) == AddReport(added=2)


def test_adding_a_longer_chat_adds_only_the_rest() -> None:
    history = History()
    history.add(_NAMESPACE, _turns("a", "b"))

    assert history.add(_NAMESPACE, _turns("a", "b", "c")) == AddReport(added=1, known=2)


def test_turns_without_ids_are_the_same_on_every_reading() -> None:
    history = History()
    history.add(_NAMESPACE, [Turn("Ana", "ok"), Turn("Ana", "ok")])

    assert history.add(_NAMESPACE, [Turn("Ana", "ok")] * 3) == AddReport(added=1, known=2)


def test_a_changed_text_is_reported_and_the_first_is_kept() -> None:
    history = History()
    history.add(_NAMESPACE, _turns("a", "b"))

    assert history.add(_NAMESPACE, _turns("a", "other")) == AddReport(known=1, changed=("1",))
    assert [turn.text for turn in history.index(_NAMESPACE).turns] == ["a", "b"]


def test_a_mark_of_editing_alone_is_no_change() -> None:
    history = History()
    history.add(_NAMESPACE, [Turn("Ana", "a", id="1")])

    assert history.add(_NAMESPACE, [Turn("Ana", "a", id="1", edited=True)]) == AddReport(known=1)


def test_two_changed_texts_of_one_id_are_not_counted_as_known() -> None:
    turns = [Turn("Ana", text, id="1") for text in ("first", "second", "third")]

    assert History().add(_NAMESPACE, turns) == AddReport(added=1, known=0, changed=("1",))


def test_the_index_follows_what_is_added() -> None:
    history = History()
    history.add(_NAMESPACE, _turns("a"))
    history.index(_NAMESPACE)
    history.add(_NAMESPACE, _turns("a", "b"))

    assert [turn.text for turn in history.index(_NAMESPACE).turns] == ["a", "b"]


def test_the_index_follows_what_another_history_added_to_the_store() -> None:
    store = InMemoryStore()
    one, other = History(store), History(store)
    one.index(_NAMESPACE)
    other.add(_NAMESPACE, _turns("a"))

    assert len(one.index(_NAMESPACE)) == 1


def test_namespaces_have_indexes_of_their_own() -> None:
    history = History()
    history.add(_NAMESPACE, _turns("a", "b"))

    assert len(history.index(Namespace("other", "chat"))) == 0


def test_an_index_that_was_dropped_comes_back_whole() -> None:
    history = History()
    history.add(_NAMESPACE, _turns("a", "b"))
    history.index(_NAMESPACE)
    for number in range(70):  # more than are kept
        history.index(Namespace("default", f"other {number}"))

    assert len(history.index(_NAMESPACE)) == 2


def test_every_message_gets_a_vector_and_system_turns_none(hash_encoder: Any) -> None:
    history = History(encoder=hash_encoder)
    history.add(_NAMESPACE, [*_turns("a", "b"), Turn("", "Bo joined", id="s", kind="system")])

    assert history.index(_NAMESPACE).embedded(2) == 2
    assert hash_encoder.encoded == ["Ana: a", "Ana: b"]


def test_known_turns_are_not_embedded_again(hash_encoder: Any) -> None:
    history = History(encoder=hash_encoder)
    history.add(_NAMESPACE, _turns("a"))
    history.add(_NAMESPACE, _turns("a", "b"))

    assert hash_encoder.encoded == ["Ana: a", "Ana: b"]


def test_a_text_of_any_length_is_embedded_by_its_beginning(hash_encoder: Any) -> None:
    History(encoder=hash_encoder).add(_NAMESPACE, _turns("x" * 1_000_000))

    assert len(hash_encoder.encoded[0]) <= 2_000


def test_turns_are_kept_where_the_embedding_model_fails() -> None:
    history = History(encoder=_FailingEncoder())

    assert history.add(_NAMESPACE, _turns("a")) == AddReport(added=1, without_vector=1)
    assert history.index(_NAMESPACE).embedded(1) == 0


def test_progress_ends_at_the_number_of_new_turns() -> None:
    seen: list[tuple[int, int]] = []
    turns = [Turn("Ana", "Hi", id=str(at)) for at in range(1_500)]
    History().add(_NAMESPACE, turns, on_progress=lambda done, total: seen.append((done, total)))

    assert seen == [(1_024, 1_500), (1_500, 1_500)]


def test_a_query_is_embedded_once(hash_encoder: Any) -> None:
    history = History(encoder=hash_encoder)
    first = history.encode_queries(["who", "what"])

    again = history.encode_queries(["what", "who"])

    assert again.tolist() == first[::-1].tolist()


def test_more_queries_than_are_remembered_all_get_their_vectors(hash_encoder: Any) -> None:
    history = History(encoder=hash_encoder)
    queries = [f"query {number}" for number in range(700)]
    history.encode_queries(queries[:500])

    assert history.encode_queries(queries).tolist() == hash_encoder.encode_queries(queries).tolist()


def test_no_queries_give_no_vectors(hash_encoder: Any) -> None:
    assert len(History(encoder=hash_encoder).encode_queries([])) == 0


@pytest.mark.parametrize("turns", [[], [Turn("", "Bo joined", kind="system")]])
def test_a_stream_without_messages_has_an_empty_index(turns: list[Turn]) -> None:
    history = History()
    history.add(_NAMESPACE, turns)

    assert len(history.index(_NAMESPACE)) == 0


def test_an_edit_is_found_by_its_new_words_and_not_by_its_old_ones() -> None:
    history = History()
    history.add(_NAMESPACE, _turns("the hall", "the band"))
    history.index(_NAMESPACE)

    assert history.edit(_NAMESPACE, Turn("Ana", "the church", id="0"))
    index = history.index(_NAMESPACE)
    assert index.turns == [
        Turn("Ana", "the church", id="0", edited=True),
        *_turns("", "the band")[1:],
    ]
    assert (index.postings.scores([["hall"], ["church"]]) > 0).tolist() == [
        [False, False],
        [True, False],
    ]


def test_an_edit_of_an_unknown_turn_is_none() -> None:
    history = History()
    history.add(_NAMESPACE, _turns("a"))

    assert not history.edit(_NAMESPACE, Turn("Ana", "new", id="z"))


def test_an_edited_turn_has_the_vector_of_its_new_text(hash_encoder: Any) -> None:
    history = History(encoder=hash_encoder)
    history.add(_NAMESPACE, _turns("hall", "band"))
    history.edit(_NAMESPACE, Turn("Ana", "church", id="0"))

    vectors = history.index(_NAMESPACE).vectors(2)
    assert vectors is not None
    expected = hash_encoder.encode_documents(["Ana: church", "Ana: band"])
    assert vectors.tolist() == expected.tolist()


def test_forgotten_turns_leave_the_index() -> None:
    history = History()
    history.add(_NAMESPACE, [*_turns("a", "b"), Turn("Bo", "c", id="2")])
    history.index(_NAMESPACE)

    assert history.forget(_NAMESPACE, Selection(speaker="Ana")) == Forgotten(turns=2)
    assert [turn.id for turn in history.index(_NAMESPACE).turns] == ["2"]


def test_an_index_that_is_in_use_keeps_what_it_had_when_a_turn_is_forgotten() -> None:
    history = History()
    history.add(_NAMESPACE, _turns("a", "b"))
    used = history.index(_NAMESPACE)
    history.forget(_NAMESPACE, Selection(ids=("0",)))
    history.index(_NAMESPACE)

    assert [turn.id for turn in used.turns] == ["0", "1"]


@pytest.mark.parametrize("change", ["forget", "edit"])
def test_no_text_of_a_window_is_remembered_after_a_removal(hash_encoder: Any, change: str) -> None:
    history = History(encoder=hash_encoder)
    history.add(_NAMESPACE, _turns("secret"))
    history.encode_queries(["Ana: secret"])
    if change == "forget":
        history.forget(_NAMESPACE, Selection(ids=("0",)))
    else:
        history.edit(_NAMESPACE, Turn("Ana", "new", id="0"))

    assert history._query_vectors == {}


def test_reindexing_makes_the_vectors_that_are_missing(hash_encoder: Any) -> None:
    store = InMemoryStore()
    History(store).add(_NAMESPACE, [*_turns("a", "b"), Turn("", "Bo joined", kind="system")])
    history = History(store, encoder=hash_encoder)
    index = history.index(_NAMESPACE)

    assert (index.embedded(2), history.reindex(_NAMESPACE), index.embedded(2)) == (0, 2, 0)
    assert history.index(_NAMESPACE).embedded(2) == 2
    assert history.reindex(_NAMESPACE) == 0
    assert hash_encoder.encoded == ["Ana: a", "Ana: b"]


def test_reindexing_drops_the_vectors_of_other_models(hash_encoder: Any) -> None:
    store = InMemoryStore()
    History(store, encoder=type(hash_encoder)(8)).add(_NAMESPACE, _turns("a"))
    History(store, encoder=hash_encoder).reindex(_NAMESPACE)

    assert store.vectors(_NAMESPACE, "hash/8", [0]) == {}
    assert len(store.vectors(_NAMESPACE, "hash/24", [0])) == 1


def test_reindexing_that_fails_keeps_the_vectors_of_the_other_model(hash_encoder: Any) -> None:
    store = InMemoryStore()
    History(store, encoder=hash_encoder).add(_NAMESPACE, _turns("a"))
    with pytest.raises(ModelError, match="no connection"):
        History(store, encoder=_FailingEncoder()).reindex(_NAMESPACE)

    assert len(store.vectors(_NAMESPACE, "hash/24", [0])) == 1


def test_reindexing_without_a_model_does_nothing() -> None:
    history = History()
    history.add(_NAMESPACE, _turns("a"))

    assert history.reindex(_NAMESPACE) == 0


def test_reindexing_tells_how_far_it_is(hash_encoder: Any) -> None:
    store, seen = InMemoryStore(), list[tuple[int, int]]()
    History(store).add(_NAMESPACE, _turns(*["a"] * 1_500))
    history = History(store, encoder=hash_encoder)
    history.reindex(_NAMESPACE, on_progress=lambda done, total: seen.append((done, total)))

    assert seen == [(1_024, 1_500), (1_500, 1_500)]


class _ChangedMeanwhile:
    """An encoder during whose work somebody else changes the stream."""

    id = "slow"

    def __init__(self, change: Callable[[], object]) -> None:
        self._change = change

    def encode_documents(self, texts: Sequence[str]) -> Vectors:
        """See `TextEncoder`."""
        self._change()
        return np.array([[1.0, 0.0]] * len(texts), np.float32)

    encode_queries = encode_documents


@pytest.mark.parametrize("change", ["edit", "forget"])
def test_reindexing_stores_no_vector_of_a_text_that_was_changed_meanwhile(change: str) -> None:
    store = InMemoryStore()
    other = History(store)
    other.add(_NAMESPACE, _turns("old"))

    def meanwhile() -> None:
        if change == "edit":
            other.edit(_NAMESPACE, Turn("Ana", "new", id="0"))
        else:
            other.forget(_NAMESPACE, Selection())
            other.add(_NAMESPACE, _turns("new"))

    History(store, encoder=_ChangedMeanwhile(meanwhile)).reindex(_NAMESPACE)

    assert store.vectors(_NAMESPACE, "slow", [0]) == {}


def test_a_summary_that_quotes_a_turn_that_was_edited_meanwhile_is_not_kept(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    memory = Memory.open(embeddings="none")
    memory.add("chat", [Turn("Ana", "The secret hall is booked for Friday", id="a")])
    graph = memory.graph

    class _EditsMeanwhile:
        def invoke(self, request: Any, context: Any) -> Any:
            result = graph.invoke(request, context=context)
            memory.edit("chat", Turn("Ana", "public", id="a"))
            return result

    monkeypatch.setattr(memory, "graph", _EditsMeanwhile())

    assert "secret hall" in str(memory.catch_up("chat"))
    assert "secret hall" not in str(memory.summaries("chat"))


def test_an_index_is_of_one_moment_although_others_write_while_it_is_read(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    history = History()
    history.add(_NAMESPACE, _turns("old"))
    history.index(_NAMESPACE)
    generation = history.store.generation

    def others_write_next(namespace: Namespace) -> int:
        monkeypatch.undo()
        before = generation(namespace)
        other = History(history.store)
        other.edit(namespace, Turn("Ana", "new", id="0"))
        other.add(namespace, _turns("new", "later"))
        return before

    monkeypatch.setattr(history.store, "generation", others_write_next)

    assert [turn.text for turn in history.index(_NAMESPACE).turns] in (["old"], ["new", "later"])


def test_the_nearest_turns_come_with_their_cosines(hash_encoder: Any) -> None:
    with Memory.open(embeddings=hash_encoder) as memory:
        memory.add("chat", [Turn("", "kiln", id="1"), Turn("", "van", id="2")])
        memory.add("chat", [Turn("", "kiln", id="3")], tenant="other")
        ((turn, cosine),) = memory.nearest("chat", "kiln", k=1)

    assert turn.id == "1"
    assert cosine == pytest.approx(1.0)


@pytest.mark.parametrize(
    ("query", "k", "message"),
    [(" ", 1, "`query` must not be empty"), ("kiln", 0, "`k` must be >= 1, got 0")],
)
def test_a_search_for_nothing_is_refused(
    hash_encoder: Any, query: str, k: int, message: str
) -> None:
    with (
        Memory.open(embeddings=hash_encoder) as memory,
        pytest.raises(ConfigError, match=message),
    ):
        memory.nearest("chat", query, k=k)


def test_a_search_by_vectors_needs_a_model() -> None:
    with (
        Memory.open(embeddings="none") as memory,
        pytest.raises(ConfigError, match="must name a model to search by vectors"),
    ):
        memory.nearest("chat", "kiln")
