"""Any order of adding, editing, forgetting, searching and reopening against a plain list."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

from remember_graph.history.deriving import Deriver
from remember_graph.history.history import History
from remember_graph.history.in_memory_store import InMemoryStore
from remember_graph.history.sqlite_store import SQLiteStore
from remember_graph.history.store import Namespace, Record, Selection, TurnStore
from remember_graph.history.stream_index import StreamIndex
from remember_graph.protocols import Vectors
from remember_graph.types import Turn, TurnKind

_NAMESPACE = Namespace("default", "chat")
_NEIGHBOUR = Namespace("default", "neighbour")  # its one turn must never be touched
_WORDS = ["hall", "band", "Tuesday", "the", "and", "paid", "pays", "AB-17", "der", "und"]
_ids = st.sampled_from("abcdefgh")
_speakers = st.sampled_from(["Ana", "Bo", ""])
_texts = st.lists(st.sampled_from(_WORDS), max_size=6).map(" ".join)
_kinds: st.SearchStrategy[TurnKind] = st.sampled_from(["message", "message", "message", "system"])
_turns = st.builds(Turn, _speakers, _texts, id=_ids, kind=_kinds)


class _WordCounts:
    """Unit vectors of how often each of the words occurs."""

    id = "words/1"

    def encode_documents(self, texts: Sequence[str]) -> Vectors:
        """See `TextEncoder`."""
        rows = [[1.0, *(text.split().count(word) for word in _WORDS)] for text in texts]
        table = np.array(rows, np.float32).reshape(len(rows), len(_WORDS) + 1)
        unit: Vectors = table / np.linalg.norm(table, axis=1, keepdims=True)
        return unit

    encode_queries = encode_documents


@dataclass
class _Entry:
    """A turn of the list, and whether its vector was made."""

    turn: Turn
    embedded: bool


class _StoreAgainstList(RuleBasedStateMachine):
    """Two histories, one with an encoder and one without, share a store or a file."""

    open_stores: Callable[[Path], tuple[TurnStore, TurnStore]]
    reopens: bool

    def __init__(self) -> None:
        super().__init__()
        self.folder = tempfile.TemporaryDirectory()
        self.encoder = _WordCounts()
        self.list: list[_Entry] = []
        self.histories: tuple[History, History]

    @initialize()
    def open(self) -> None:
        one, other = type(self).open_stores(Path(self.folder.name))
        self.histories = History(one, encoder=self.encoder), History(other)
        self.histories[0].add(_NEIGHBOUR, [Turn("Ana", "hall", id="a")])

    @rule(turns=st.lists(_turns, min_size=1, max_size=4), embeds=st.booleans())
    def add(self, turns: list[Turn], embeds: bool) -> None:
        report = self.histories[0 if embeds else 1].add(_NAMESPACE, turns)
        before = len(self.list)
        for turn in turns:
            if self._entry(turn.id) is None:
                self.list.append(_Entry(turn, embeds))
        assert report.added == len(self.list) - before

    @rule(turn=_turns, embeds=st.booleans())
    def edit(self, turn: Turn, embeds: bool) -> None:
        entry = self._entry(turn.id)
        assert self.histories[0 if embeds else 1].edit(_NAMESPACE, turn) == (entry is not None)
        if entry is not None:
            entry.turn, entry.embedded = replace(turn, edited=True), embeds

    @rule(ids=st.lists(_ids, max_size=4), which=st.integers(0, 1))
    def forget_ids(self, ids: list[str], which: int) -> None:
        self._forget(Selection(ids=tuple(ids)), lambda turn: turn.id in ids, which)

    @rule(speaker=_speakers, which=st.integers(0, 1))
    def forget_speaker(self, speaker: str, which: int) -> None:
        self._forget(Selection(speaker=speaker), lambda turn: turn.speaker == speaker, which)

    @rule()
    def forget_everything(self) -> None:
        self._forget(Selection(), lambda turn: True, 0)

    def _forget(self, selection: Selection, chosen: Callable[[Turn], bool], which: int) -> None:
        kept = [entry for entry in self.list if not chosen(entry.turn)]
        forgotten = self.histories[which].forget(_NAMESPACE, selection)
        assert forgotten.turns == len(self.list) - len(kept)
        self.list = kept

    @rule()
    def reindex(self) -> None:
        missing = [e for e in self.list if not e.embedded and e.turn.kind == "message"]
        assert self.histories[0].reindex(_NAMESPACE) == len(missing)
        for entry in missing:
            entry.embedded = True

    @rule()
    def reopen(self) -> None:
        if self.reopens:
            for history in self.histories:
                history.close()
            one, other = type(self).open_stores(Path(self.folder.name))
            self.histories = History(one, encoder=self.encoder), History(other)

    @rule(queries=st.lists(st.lists(st.sampled_from(_WORDS), max_size=3), min_size=1, max_size=3))
    def search(self, queries: list[list[str]]) -> None:
        fresh = self._fresh_index()
        vectors = self.encoder.encode_queries([" ".join(words) for words in queries])
        terms = [[word.lower() for word in words] for words in queries]
        for history in self.histories:
            index = history.index(_NAMESPACE)
            assert index.turns == fresh.turns
            np.testing.assert_allclose(
                index.postings.scores(terms), fresh.postings.scores(terms), rtol=1e-12
            )
        index = self.histories[0].index(_NAMESPACE)
        count = len(fresh)
        assert index.embedded(count) == fresh.embedded(count)
        np.testing.assert_allclose(
            index.cosines(vectors, turns=count), fresh.cosines(vectors, turns=count), atol=2e-3
        )

    def _fresh_index(self) -> StreamIndex:
        index = StreamIndex(Deriver(), encoder_id=self.encoder.id)
        records = []
        for place, entry in enumerate(self.list):
            has_vector = entry.embedded and entry.turn.kind == "message"
            vector = self.encoder.encode_documents([entry.turn.line])[0] if has_vector else None
            model = self.encoder.id if has_vector else None
            records.append(Record(entry.turn, vector, model, position=place))
        index.add(records)
        return index

    @invariant()
    def holds_the_list(self) -> None:
        for history in self.histories:
            records = history.store.read(_NAMESPACE)
            assert [record.turn for record in records] == [entry.turn for entry in self.list]
            positions = [record.position for record in records]
            assert positions == sorted(set(positions))

    @invariant()
    def leaves_the_neighbour_alone(self) -> None:
        assert [r.turn.text for r in self.histories[0].store.read(_NEIGHBOUR)] == ["hall"]

    def _entry(self, id: str) -> _Entry | None:
        return next((entry for entry in self.list if entry.turn.id == id), None)

    def teardown(self) -> None:
        for history in self.histories:
            history.close()
        self.folder.cleanup()


def _in_memory(_: Path) -> tuple[TurnStore, TurnStore]:
    store = InMemoryStore()
    return store, store


def _sqlite(folder: Path) -> tuple[TurnStore, TurnStore]:
    return SQLiteStore(folder / "history.db"), SQLiteStore(folder / "history.db")


class _InMemoryAgainstList(_StoreAgainstList):
    open_stores = staticmethod(_in_memory)
    reopens = False


class _SQLiteAgainstList(_StoreAgainstList):
    open_stores = staticmethod(_sqlite)
    reopens = True


TestInMemoryStore = _InMemoryAgainstList.TestCase
TestInMemoryStore.settings = settings(max_examples=60, stateful_step_count=25)
TestSQLiteStore = _SQLiteAgainstList.TestCase
TestSQLiteStore.settings = settings(max_examples=30, stateful_step_count=25)
