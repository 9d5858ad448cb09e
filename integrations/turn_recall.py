"""What a model's request leans on, recalled once for each message of a person."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from langchain.agents.middleware import ModelRequest
from langchain_core.messages import BaseMessage, HumanMessage

from remember_graph.gathering import Gathered
from remember_graph.history.store import Namespace
from remember_graph.integrations.bounded import Bounded
from remember_graph.integrations.messages import is_made_up, text_of, turns_of
from remember_graph.memory import Memory
from remember_graph.settings import Settings
from remember_graph.state import MemoryTurn
from remember_graph.types import Turn
from remember_graph.window import clip_turn, window_start

_USER_TURNS = 256  # whose memory is kept


class _UserTurn(NamedTuple):
    """A person's message, and the log as it is: after a removal from it nothing kept holds."""

    where: Namespace
    thread: str | None
    id: str
    text: str
    generation: int


@dataclass(frozen=True, slots=True)
class Found:
    """The memory for one request.

    Attributes:
        gathered: As `Memory.gather` gave it.
        unseen: Those of its turns that are not in the request anyway.
        is_new: Whether this is the first request of the user's turn.
    """

    gathered: Gathered
    unseen: list[MemoryTurn]
    is_new: bool


@dataclass(frozen=True, slots=True)
class _Asked:
    user_turn: _UserTurn
    visible: frozenset[str]
    kept: Gathered | None
    window: list[Turn]  # empty where the memory is kept


class TurnRecall:
    """Recalls for the first request of a user's turn and keeps that for the requests after it.

    Args:
        memory: The streams.
    """

    def __init__(self, memory: Memory) -> None:
        self._memory = memory
        self._kept = Bounded[_UserTurn, Gathered](_USER_TURNS)

    def run(self, where: Namespace, thread: str | None, request: ModelRequest[Any]) -> Found | None:
        """The memory for a request; None where nobody has said anything."""
        asked = self._ask(where, thread, request)
        if asked is None:
            return None
        gathered = asked.kept or self._memory.gather(
            where.stream, asked.window, tenant=where.tenant, visible=asked.visible
        )
        return self._found(asked, gathered)

    async def arun(
        self, where: Namespace, thread: str | None, request: ModelRequest[Any]
    ) -> Found | None:
        """The async twin of `run`."""
        asked = await asyncio.to_thread(self._ask, where, thread, request)
        if asked is None:
            return None
        gathered = asked.kept or await self._memory.agather(
            where.stream, asked.window, tenant=where.tenant, visible=asked.visible
        )
        return self._found(asked, gathered)

    def _ask(
        self, where: Namespace, thread: str | None, request: ModelRequest[Any]
    ) -> _Asked | None:
        said = _as_said(request)
        person = _last_person(said)
        if person is None:
            return None
        generation = self._memory.history.store.generation(where)
        user_turn = _UserTurn(where, thread, person.id or "", text_of(person.content), generation)
        visible = frozenset(one.id for one in (*request.messages, *said) if one.id)
        kept = self._kept.get(user_turn)
        if kept is None and self._shows_all(where, visible):
            return None
        window = [] if kept else self._window(where, thread, said)
        return _Asked(user_turn, visible, kept, window) if kept or window else None

    def _shows_all(self, where: Namespace, visible: frozenset[str]) -> bool:
        """Whether every turn of the stream is in the request: then there is nothing to recall."""
        index = self._memory.history.index(where)
        with index.lock:
            if len(index) > len(visible):
                return False
            return len(index) == sum(index.position(id) is not None for id in visible)

    def _window(
        self, where: Namespace, thread: str | None, said: Sequence[BaseMessage]
    ) -> list[Turn]:
        settings = self._memory.history.settings
        turns = _latest(turns_of(said, thread=thread), settings)
        logged = self._memory.turns(where.stream, [turn.id for turn in turns], tenant=where.tenant)
        window = [logged.get(turn.id, turn) for turn in turns]
        if len(window) == 1:
            return [clip_turn(window[0], settings.window, settings.count_tokens)]
        return window

    def _found(self, asked: _Asked, gathered: Gathered) -> Found:
        unseen = [turn for turn in gathered["memory"] if turn["turn_id"] not in asked.visible]
        if asked.kept is None:
            self._kept.put(asked.user_turn, gathered)
        return Found(gathered, unseen, asked.kept is None)


def _latest(turns: Sequence[Turn], settings: Settings) -> list[Turn]:
    """The last turns that fit the window, at least one."""
    tokens: list[int] = []
    for turn in reversed(turns):  # a long conversation is not counted whole
        tokens.insert(0, settings.count_tokens(turn.line))
        if sum(tokens) > settings.window:
            break
    tail = list(turns[len(turns) - len(tokens) :])
    return tail[window_start(tokens, settings.window) :]


def _as_said(request: ModelRequest[Any]) -> list[BaseMessage]:
    """The request's messages as the state has them, without what another middleware wrote."""
    state: list[BaseMessage] = list(request.state["messages"])
    by_id = {message.id: message for message in state if message.id}
    shown = [by_id[message.id] for message in request.messages if message.id in by_id]
    return shown or state  # a middleware may have lost the ids


def _last_person(said: Sequence[BaseMessage]) -> BaseMessage | None:
    """The message that the user's turn began with; its summary where it was cut away."""
    people = [message for message in said if isinstance(message, HumanMessage)]
    spoken = [message for message in people if not is_made_up(message)]
    return next(reversed(spoken or people), None)
