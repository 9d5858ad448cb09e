"""The log of a stream follows the messages of a conversation."""

from __future__ import annotations

from typing import Any

import pytest
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, ToolMessage

from remember_graph.history.history import History
from remember_graph.history.in_memory_store import InMemoryStore
from remember_graph.history.store import Namespace, Record, Selection
from remember_graph.integrations.conversation_log import ConversationLog
from remember_graph.types import Turn

_NAMESPACE = Namespace("default", "chat")


class _CountingStore(InMemoryStore):
    """Counts how often a whole log is read."""

    reads = 0

    def read(self, namespace: Namespace, start: int = 0, **options: Any) -> list[Record]:
        self.reads += start == 0
        return super().read(namespace, start, **options)


@pytest.fixture
def store() -> _CountingStore:
    return _CountingStore()


@pytest.fixture
def log(store: _CountingStore) -> ConversationLog:
    return ConversationLog(History(store))


def _said(*ids: str) -> list[BaseMessage]:
    return [HumanMessage(f"Says {id}", id=id) for id in ids]


def _visible(store: InMemoryStore, namespace: Namespace = _NAMESPACE) -> list[str]:
    return [one.turn.id for one in InMemoryStore.read(store, namespace) if not one.hidden]


def test_messages_are_logged_once(log: ConversationLog, store: _CountingStore) -> None:
    log.bring_in(_NAMESPACE, _said("1", "2"))
    log.bring_in(_NAMESPACE, _said("1", "2", "3"))
    log.bring_in(_NAMESPACE, _said("1", "2", "3"))

    assert _visible(store) == ["1", "2", "3"]


def test_a_conversation_that_only_grows_is_compared_with_its_log_once(
    log: ConversationLog, store: _CountingStore
) -> None:
    for size in range(1, 20):
        log.bring_in(_NAMESPACE, _said(*map(str, range(size))))
    for cut in range(10):  # and one that is cut at its start
        log.bring_in(_NAMESPACE, _said(*map(str, range(cut, 20 + cut))))

    assert store.reads == 1
    assert len(_visible(store)) == 29


def test_another_process_goes_on_where_the_first_was(store: _CountingStore) -> None:
    ConversationLog(History(store)).bring_in(_NAMESPACE, _said("1", "2"))
    ConversationLog(History(store)).bring_in(_NAMESPACE, _said("2", "3"))

    assert _visible(store) == ["1", "2", "3"]


def test_a_fork_hides_the_branch_that_was_left_and_coming_back_shows_it(
    log: ConversationLog, store: _CountingStore
) -> None:
    log.bring_in(_NAMESPACE, _said("1", "2", "3"))
    log.bring_in(_NAMESPACE, _said("1", "x"))
    forked = _visible(store)
    log.bring_in(_NAMESPACE, _said("1", "2", "3", "4"))

    assert forked == ["1", "x"]
    assert _visible(store) == ["1", "2", "3", "4"]


def test_a_replaced_message_is_edited(log: ConversationLog, store: _CountingStore) -> None:
    log.bring_in(_NAMESPACE, _said("1", "2"))
    log.bring_in(_NAMESPACE, [*_said("1"), HumanMessage("Other", id="2")])

    assert store.known(_NAMESPACE, ["2"])["2"].text == "Other"


def test_threads_of_one_stream_leave_each_other_alone(
    log: ConversationLog, store: _CountingStore
) -> None:
    log.bring_in(_NAMESPACE, _said("1", "2"), thread="a")
    log.bring_in(_NAMESPACE, _said("3"), thread="b")
    log.bring_in(_NAMESPACE, _said("1", "4"), thread="a")

    assert _visible(store) == ["1", "3", "4"]


def test_what_a_user_forgot_is_not_brought_back_by_the_part_that_was_cut_away(
    log: ConversationLog, store: _CountingStore
) -> None:
    log.bring_in(_NAMESPACE, _said("1", "2", "3"))
    store.forget(_NAMESPACE, Selection(ids=("1",)))
    log.bring_in(_NAMESPACE, _said("3", "4"))

    assert _visible(store) == ["2", "3", "4"]


def test_a_call_is_logged_when_its_results_are_there(
    log: ConversationLog, store: _CountingStore
) -> None:
    call = AIMessage("", id="2", tool_calls=[{"id": "c", "name": "look", "args": {}}])
    log.bring_in(_NAMESPACE, [*_said("1"), call])
    before = _visible(store)
    log.bring_in(_NAMESPACE, [*_said("1"), call, ToolMessage("Here.", tool_call_id="c", id="3")])

    assert before == ["1"]
    assert store.known(_NAMESPACE, ["2"])["2"].text == "[look({}) → Here.]"


def test_a_call_that_nobody_answers_is_logged_when_somebody_goes_on(
    log: ConversationLog, store: _CountingStore
) -> None:
    call = AIMessage("", id="2", tool_calls=[{"id": "c", "name": "look", "args": {}}])
    log.bring_in(_NAMESPACE, [*_said("1"), call, *_said("3")])

    assert _visible(store) == ["1", "2", "3"]
    assert store.known(_NAMESPACE, ["2"])["2"].text == "[look({}) → no result]"


def test_an_empty_conversation_changes_nothing(log: ConversationLog, store: _CountingStore) -> None:
    log.bring_in(_NAMESPACE, _said("1"))
    log.bring_in(_NAMESPACE, [])

    assert _visible(store) == ["1"]


def test_turns_link_to_the_one_before_them(log: ConversationLog, store: _CountingStore) -> None:
    log.bring_in(_NAMESPACE, _said("1", "2"))
    log.bring_in(_NAMESPACE, _said("2", "3"))

    found = store.known(_NAMESPACE, ["1", "2", "3"])
    assert {id: turn.reply_to for id, turn in found.items()} == {"1": None, "2": "1", "3": "2"}
    assert isinstance(found["1"], Turn)


@pytest.mark.parametrize("is_new_process", [False, True])
def test_what_a_user_forgot_does_not_come_back_though_the_messages_still_say_it(
    log: ConversationLog, store: _CountingStore, is_new_process: bool
) -> None:
    log.bring_in(_NAMESPACE, _said("1", "2", "3"))
    store.forget(_NAMESPACE, Selection(ids=("2",)))
    again = ConversationLog(History(store)) if is_new_process else log
    again.bring_in(_NAMESPACE, _said("1", "2", "3", "4"))

    assert _visible(store) == ["1", "3", "4"]


def test_the_last_turn_that_a_user_forgot_does_not_come_back_in_the_same_process(
    log: ConversationLog, store: _CountingStore
) -> None:
    log.bring_in(_NAMESPACE, _said("1", "2"))
    store.forget(_NAMESPACE, Selection(ids=("2",)))
    log.bring_in(_NAMESPACE, _said("1", "2", "3"))

    assert _visible(store) == ["1", "3"]


@pytest.mark.parametrize("is_new_process", [False, True])
def test_what_a_user_edited_stays_edited_though_the_messages_say_the_old_text(
    log: ConversationLog, store: _CountingStore, is_new_process: bool
) -> None:
    history = History(store)
    log.bring_in(_NAMESPACE, _said("1", "2"))
    history.edit(_NAMESPACE, Turn("user", "Corrected.", id="1"))
    again = ConversationLog(history) if is_new_process else log
    again.bring_in(_NAMESPACE, _said("1", "2", "3"))

    assert store.known(_NAMESPACE, ["1"])["1"].text == "Corrected."
