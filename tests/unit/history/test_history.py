"""The history of all streams."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest

from remember_graph.errors import ModelError
from remember_graph.history.history import History
from remember_graph.history.in_memory_store import InMemoryStore
from remember_graph.history.store import Namespace
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

    assert history.add(_NAMESPACE, _turns("a")) == AddReport(added=1)
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
