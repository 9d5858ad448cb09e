"""Keeps the log of a stream in line with the messages of a conversation."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

from langchain_core.messages import BaseMessage

from remember_graph.history.history import History
from remember_graph.history.store import Namespace
from remember_graph.integrations.bounded import Bounded
from remember_graph.integrations.branches import Changes, Logged, changes
from remember_graph.integrations.messages import turns_of
from remember_graph.types import Turn

_CONVERSATIONS = 256  # whose last state is remembered; others are compared with the log


class _Conversation(NamedTuple):
    namespace: Namespace
    thread: str | None


@dataclass(frozen=True, slots=True)
class _Seen:
    """A conversation as it was last: its turns, and the log's generation then."""

    turns: list[Turn]
    generation: int


class ConversationLog:
    """Brings what is new, changed, left or come back in a conversation into the log.

    Most often messages were only added at the end, and perhaps cut away at the start: then only
    those at the end are looked at. Otherwise the thread is compared with its log as a whole.

    Args:
        history: Where the turns are kept.
    """

    def __init__(self, history: History) -> None:
        self._history = history
        self._lock = threading.RLock()
        self._seen = Bounded[_Conversation, _Seen](_CONVERSATIONS)

    def bring_in(
        self, namespace: Namespace, messages: Sequence[BaseMessage], *, thread: str | None = None
    ) -> Changes:
        """The turns of the messages are in the log, and those on branches that were left hidden.

        Args:
            namespace: Whose conversation.
            messages: All messages of the conversation as they now stand.
            thread: Names the conversation, where its stream holds several.

        Returns:
            What was done.
        """
        current = turns_of(messages, thread=thread)
        conversation = _Conversation(namespace, thread)
        with self._lock:
            found = self._changes(conversation, current)
            self._apply(namespace, found)
            self._remember(conversation, current)
        return found

    def _changes(self, conversation: _Conversation, current: list[Turn]) -> Changes:
        namespace, thread = conversation
        seen = self._seen.get(conversation)
        if seen and current and seen.generation == self._history.store.generation(namespace):
            added = _added(seen.turns, current)
            if added is not None:
                return Changes(add=added)
        log = self._history.store.read(namespace)
        own = [Logged(one.turn, one.hidden) for one in log if one.turn.thread == thread]
        return changes(own, current, seen.turns if seen else ())

    def _apply(self, namespace: Namespace, found: Changes) -> None:
        if found.hide:
            self._history.hide(namespace, found.hide)
        if found.show:
            self._history.hide(namespace, found.show, hidden=False)
        for turn in found.edit:
            self._history.edit(namespace, turn, wipe=False)
        if found.add:
            self._history.add(namespace, found.add)

    def _remember(self, conversation: _Conversation, current: list[Turn]) -> None:
        generation = self._history.store.generation(conversation.namespace)
        self._seen.put(conversation, _Seen(current, generation))


def _added(before: list[Turn], current: list[Turn]) -> list[Turn] | None:
    """What follows the turns of before; None where more than that has changed."""
    cut = next((at for at, turn in enumerate(before) if turn.id == current[0].id), None)
    if cut is None or len(current) < len(before) - cut:
        return None
    kept = len(before) - cut
    same = all(map(_is_same, before[cut:], current[:kept]))
    return current[kept:] if same else None


def _is_same(one: Turn, other: Turn) -> bool:
    return (one.id, one.speaker, one.text) == (other.id, other.speaker, other.text)
