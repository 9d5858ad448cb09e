"""Any order of adding, editing, forgetting, searching and reopening against a plain list."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    rule,
    run_state_machine_as_test,
)

from remember_graph.history.history import History
from remember_graph.history.in_memory_store import InMemoryStore
from remember_graph.history.store import Namespace, Record, Retention, Selection, TurnStore, Vector
from remember_graph.recall import recall
from remember_graph.types import Turn, TurnKind

_WORDS = ["hall", "band", "Tuesday", "the", "and", "paid", "pays", "AB-17", "der", "und"]
_OTHER_MODEL = "angle/1"  # whose vectors are two numbers wide
_ids = st.sampled_from("abcdefgh")
_speakers = st.sampled_from(["Ana", "Bo", ""])
_texts = st.lists(st.sampled_from(_WORDS), max_size=6).map(" ".join)
_times = st.sampled_from([None, "2024-05-01", "2024-05-02T01:00:00+02:00", "2024-05-03", "soon"])
_kinds: st.SearchStrategy[TurnKind] = st.sampled_from(["message", "message", "message", "system"])
_turns = st.builds(Turn, _speakers, _texts, _times, id=_ids, kind=_kinds)
_angles = st.integers(0, 359)


@dataclass
class _Entry:
    """A turn of the list, whether its vector was made, and the angle of that of another model."""

    turn: Turn
    position: int
    embedded: bool
    angle: int | None = None

    @property
    def has_own_vector(self) -> bool:
        return self.embedded and self.turn.kind == "message"

    @property
    def vectors(self) -> int:
        return int(self.has_own_vector) + int(self.angle is not None)


def _direction(angle: int) -> Vector:
    return np.array([np.cos(np.radians(angle)), np.sin(np.radians(angle))], np.float32)


class _StoreAgainstList(RuleBasedStateMachine):
    """Two histories, one with an encoder and one without, of the same log.

    Each run has tenants of its own, so that all runs can use one log.
    """

    persistent: bool
    encoder: Any
    runs = itertools.count()

    def __init__(self) -> None:
        super().__init__()
        self.tenant = f"tenant {next(self.runs)}"
        self.namespace = Namespace(self.tenant, "chat")
        self.sibling = Namespace(self.tenant, "sibling")
        self.foreign = Namespace(f"{self.tenant}, the other", "chat")
        self.list: list[_Entry] = []
        self.next_position = 0
        self.retention = Retention()
        self.histories: tuple[History, History]

    def open_store(self) -> TurnStore:
        raise NotImplementedError

    @initialize()
    def open(self) -> None:
        one, other = self.open_store(), self.open_store()
        self.histories = History(one, encoder=self.encoder), History(other)
        for namespace in (self.sibling, self.foreign):
            self.histories[0].add(namespace, [Turn("Ana", "hall", id="a")])

    @property
    def store(self) -> TurnStore:
        return self.histories[0].store

    @rule(turns=st.lists(_turns, min_size=1, max_size=4), embeds=st.booleans())
    def add(self, turns: list[Turn], embeds: bool) -> None:
        report = self.histories[0 if embeds else 1].add(self.namespace, turns)
        before = len(self.list)
        for turn in turns:
            if self._entry(turn.id) is None:
                self.list.append(_Entry(turn, self.next_position, embeds))
                self.next_position += 1
        assert report.added == len(self.list) - before
        if report.added:
            self._retire()

    def _retire(self) -> None:
        if self.retention.max_turns is not None:
            self.list = self.list[-self.retention.max_turns :]

    @rule(turn=_turns, embeds=st.booleans())
    def edit(self, turn: Turn, embeds: bool) -> None:
        entry = self._entry(turn.id)
        assert self.histories[0 if embeds else 1].edit(self.namespace, turn) == (entry is not None)
        if entry is not None:
            entry.turn, entry.embedded = replace(turn, edited=True), embeds
            entry.angle = None

    @rule(ids=st.lists(_ids, max_size=4), which=st.integers(0, 1), wipe=st.booleans())
    def forget_ids(self, ids: list[str], which: int, wipe: bool) -> None:
        gone = [entry for entry in self.list if entry.turn.id in ids]
        self._forget(Selection(ids=tuple(ids)), gone, which, wipe)

    @rule(speaker=_speakers, most=st.integers(0, 2), which=st.integers(0, 1))
    def forget_speaker(self, speaker: str, most: int, which: int) -> None:
        theirs = [entry for entry in self.list if entry.turn.speaker == speaker]
        selection = Selection(speaker=speaker, all_but_latest=most)
        self._forget(selection, theirs[: max(len(theirs) - most, 0)], which)

    @rule(which=st.integers(0, 1))
    def forget_the_old(self, which: int) -> None:
        # The second of _times is 23:00 UTC on May 1.
        old = [e for e in self.list if (e.turn.time or "")[:10] in ("2024-05-01", "2024-05-02")]
        self._forget(Selection(until="2024-05-02"), old, which)

    @rule(most=st.integers(1, 6), which=st.integers(0, 1))
    def forget_all_but_the_latest(self, most: int, which: int) -> None:
        self._forget(Selection(all_but_latest=most), self.list[:-most], which)

    @rule()
    def forget_everything(self) -> None:
        self._forget(Selection(), self.list, 0)
        self.next_position, self.retention = 0, Retention()

    def _forget(
        self, selection: Selection, gone: list[_Entry], which: int, wipe: bool = True
    ) -> None:
        forgotten = self.histories[which].forget(self.namespace, selection, wipe=wipe)
        assert forgotten.turns == len(gone)
        assert forgotten.vectors == sum(entry.vectors for entry in gone)
        self.list = [entry for entry in self.list if entry not in gone]

    @rule()
    def forget_the_tenant(self) -> None:
        assert self.histories[0].forget_tenant(self.tenant).turns == len(self.list) + 1
        assert self.store.read(self.sibling) == []
        self.histories[0].add(self.sibling, [Turn("Ana", "hall", id="a")])
        self.list, self.next_position, self.retention = [], 0, Retention()

    @rule(most=st.sampled_from([None, 2, 5, 1_000_000]))
    def retain(self, most: int | None) -> None:
        self.retention = Retention(max_turns=most)
        self.histories[1].retain(self.namespace, self.retention)
        self._retire()

    @rule(angles=st.dictionaries(st.integers(0, 12), _angles, max_size=4))
    def add_vectors(self, angles: dict[int, int]) -> None:
        made = {at: _direction(angle) for at, angle in angles.items()}
        self.histories[1].store.add_vectors(self.namespace, _OTHER_MODEL, made)
        for entry in self.list:
            entry.angle = angles.get(entry.position, entry.angle)

    @rule(angle=_angles, k=st.integers(1, 8))
    def nearest(self, angle: int, k: int) -> None:
        (found,) = self.store.nearest(self.namespace, _OTHER_MODEL, [_direction(angle)], k)
        cosines = {
            entry.position: float(np.cos(np.radians(entry.angle - angle)))
            for entry in self.list
            if entry.angle is not None
        }
        best = sorted(cosines.values(), reverse=True)[:k]
        np.testing.assert_allclose([near.cosine for near in found], best, atol=2e-3)
        for near in found:
            np.testing.assert_allclose(near.cosine, cosines[near.position], atol=2e-3)
        assert len({near.position for near in found}) == len(found)

    @rule()
    def reindex(self) -> None:
        missing = [e for e in self.list if not e.embedded and e.turn.kind == "message"]
        assert self.histories[0].reindex(self.namespace) == len(missing)
        for entry in missing:
            entry.embedded = True
        for entry in self.list:
            entry.angle = None

    @rule()
    def reopen(self) -> None:
        if self.persistent:
            for history in self.histories:
                history.close()
        one, other = self.open_store(), self.open_store()
        self.histories = History(one, encoder=self.encoder), History(other)

    @rule(queries=st.lists(st.lists(st.sampled_from(_WORDS), max_size=3), min_size=1, max_size=3))
    def search(self, queries: list[list[str]]) -> None:
        fresh = History(self._alone(), encoder=self.encoder).index(self.namespace)
        vectors = self.encoder.encode_queries([" ".join(words) for words in queries])
        terms = [[word.lower() for word in words] for words in queries]
        for history in self.histories:
            index = history.index(self.namespace)
            assert index.turns == fresh.turns
            np.testing.assert_allclose(
                index.postings.scores(terms), fresh.postings.scores(terms), rtol=1e-12
            )
        index = self.histories[0].index(self.namespace)
        count = len(fresh)
        assert index.embedded(count) == fresh.embedded(count)
        np.testing.assert_allclose(
            index.cosines(vectors, turns=count), fresh.cosines(vectors, turns=count), atol=2e-3
        )

    @rule(words=st.lists(st.sampled_from(_WORDS), min_size=1, max_size=4))
    def recall(self, words: list[str]) -> None:
        query = " ".join(words)
        expected = recall(History(self._alone()), self.namespace, query, k=3)
        assert recall(self.histories[1], self.namespace, query, k=3) == expected

    def _alone(self) -> InMemoryStore:
        """A store of nothing but the list."""
        alone = InMemoryStore()
        for entry in self.list:
            vector = self.encoder.encode_documents([entry.turn.line])[0]
            model = self.encoder.id if entry.has_own_vector else None
            alone.append(self.namespace, [Record(entry.turn, vector, model)])
        return alone

    @invariant()
    def holds_the_list(self) -> None:
        expected = [(entry.turn, entry.position) for entry in self.list]
        for history in self.histories:
            records = history.store.read(self.namespace)
            assert [(record.turn, record.position) for record in records] == expected
            assert history.store.count(self.namespace) == len(self.list)
            assert history.store.retention(self.namespace) == self.retention

    @invariant()
    def counts_the_vectors(self) -> None:
        embedded = [entry for entry in self.list if entry.has_own_vector]
        angles = [entry.position for entry in self.list if entry.angle is not None]
        counts = {self.encoder.id: len(embedded), _OTHER_MODEL: len(angles)}
        models = self.store.vector_models(self.namespace)
        assert models == {model: count for model, count in counts.items() if count}
        assert sorted(self.store.vectors(self.namespace, _OTHER_MODEL)) == angles

    @invariant()
    def leaves_the_neighbours_alone(self) -> None:
        for namespace in (self.sibling, self.foreign):
            assert [record.turn.text for record in self.store.read(namespace)] == ["hall"]
            assert self.store.vector_models(namespace) == {self.encoder.id: 1}

    def _entry(self, id: str) -> _Entry | None:
        return next((entry for entry in self.list if entry.turn.id == id), None)

    def teardown(self) -> None:
        for tenant in (self.tenant, self.foreign.tenant):
            self.store.forget_tenant(tenant)
        if self.persistent:
            for history in self.histories:
                history.close()


_EXAMPLES = {"memory": 60, "sqlite": 30}


def test_a_store_does_what_a_list_does(
    open_store: Callable[[], TurnStore], hash_encoder: Any, request: pytest.FixtureRequest
) -> None:
    backend = request.node.callspec.params["open_store"]

    class Machine(_StoreAgainstList):
        persistent = backend != "memory"
        encoder = hash_encoder

        def open_store(self) -> TurnStore:
            return open_store()

    examples = _EXAMPLES.get(backend, 6)
    run_state_machine_as_test(
        Machine, settings=settings(max_examples=examples, stateful_step_count=25)
    )
