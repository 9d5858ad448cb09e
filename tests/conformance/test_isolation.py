"""Nothing of one tenant or stream is ever seen, counted or felt in another."""

from __future__ import annotations

import math
import unicodedata
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from remember_graph.history.history import History
from remember_graph.history.store import (
    Forgotten,
    Namespace,
    Record,
    Retention,
    Selection,
    TurnStore,
)
from remember_graph.recall import recall
from remember_graph.types import Turn

if TYPE_CHECKING:  # the tests run as modules that cannot import each other
    from tests.conformance.conftest import Log

MINE = Namespace("acme", "support")
OTHERS = {
    "another tenant": Namespace("globex", "support"),
    "another stream": Namespace("acme", "sales"),
    "names the other way round": Namespace("support", "acme"),
}
X = np.array([1, 0], np.float32)
_each_other = pytest.mark.parametrize("other", OTHERS.values(), ids=list(OTHERS))

_TEXTS = (
    "The blue lantern hangs in the hall",
    "Who brings a lantern on Tuesday?",
    "The band was paid, and the lantern as well",
    "Then we are done",
)


def _seen(store: TurnStore, namespace: Namespace) -> dict[str, Any]:
    """All that a store tells of a stream."""
    return {
        "log": store.read(namespace),
        "known": store.known(namespace, [*"abcd", "0", "499"]),
        "count": store.count(namespace),
        "generation": store.generation(namespace),
        "models": store.vector_models(namespace),
        "vectors": {
            at: vector.tolist() for at, vector in sorted(store.vectors(namespace, "one").items())
        },
        "nearest": store.nearest(namespace, "one", [X], 1_000),
        "retention": store.retention(namespace),
        "summaries": store.summaries(namespace),
        "listed": [count for name, count in store.streams() if name == namespace],
    }


def _say_the_same(log: Log, *namespaces: Namespace) -> None:
    for namespace in namespaces:
        log.fill("abc", namespace, time="2024-05-01")
        log.embed("one", {0: (1, 0), 1: (0.6, 0.8)}, namespace)
        log.embed("two", {2: (0, 1)}, namespace)
        log.summarise("a", namespace)
        log.store.set_retention(namespace, Retention(max_turns=1_000))


_DOINGS: dict[str, Callable[[Log, Namespace], object]] = {
    "500 turns": lambda log, at: log.fill(map(str, range(500)), at),
    "vectors": lambda log, at: log.embed("one", {0: (1, 0), 1: (1, 0), 2: (1, 0)}, at),
    "a model": lambda log, at: log.embed("three", {0: (1, 0)}, at),
    "fewer models": lambda log, at: log.store.drop_vectors(at, keep_model="two"),
    "an edit": lambda log, at: log.edit("a", "new", at),
    "a removal": lambda log, at: log.forget("ab", at),
    "a speaker's removal": lambda log, at: log.store.forget(at, Selection(speaker="Ana")),
    "an old turn's removal": lambda log, at: log.store.forget(at, Selection(until="2025-01-01")),
    "a cut": lambda log, at: log.store.forget(at, Selection(all_but_latest=1)),
    "the stream's removal": lambda log, at: log.store.forget(at, Selection()),
    "retention": lambda log, at: log.store.set_retention(at, Retention(1.0, 1)),
    "a summary": lambda log, at: log.summarise("b", at),
}


@_each_other
def test_what_is_done_elsewhere_is_not_seen(store: TurnStore, log: Log, other: Namespace) -> None:
    for what, do in _DOINGS.items():
        mine = Namespace(f"{MINE.tenant}, {what}", MINE.stream)
        theirs = Namespace(f"{other.tenant}, {what}", other.stream)
        _say_the_same(log, mine, theirs)
        mine_before, theirs_before = _seen(store, mine), _seen(store, theirs)
        do(log, theirs)

        assert _seen(store, mine) == mine_before, what
        assert _seen(store, theirs) != theirs_before, what


@pytest.mark.parametrize("other", [OTHERS["another tenant"], Namespace("support", "acme")])
def test_a_tenant_that_is_removed_elsewhere_is_not_felt(
    store: TurnStore, log: Log, other: Namespace
) -> None:
    _say_the_same(log, MINE, other)
    before = _seen(store, MINE)

    assert store.forget_tenant(other.tenant) == Forgotten(turns=3, vectors=3, summaries=1)
    assert _seen(store, MINE) == before


@_each_other
def test_a_stream_that_others_filled_is_still_empty(
    store: TurnStore, log: Log, other: Namespace
) -> None:
    nothing = _seen(store, MINE)
    _say_the_same(log, other)

    assert _seen(store, MINE) == nothing
    assert store.forget(MINE, Selection()) == Forgotten()
    assert not log.edit("a", "new", MINE)
    assert store.streams() == [(other, 3)]


@_each_other
def test_only_what_is_mine_is_counted_as_forgotten(
    store: TurnStore, log: Log, other: Namespace
) -> None:
    _say_the_same(log, MINE, other)

    assert store.forget(MINE, Selection(speaker="Ana")) == Forgotten(3, 3, 1)
    assert store.forget(MINE, Selection()) == Forgotten(summaries=1)


def _history(store: TurnStore, encoder: Any) -> History:
    history = History(store, encoder=encoder)
    history.add(MINE, [Turn("Ana", text, id=str(at)) for at, text in enumerate(_TEXTS)])
    return history


def _answers(history: History) -> list[Any]:
    """Every score of my stream, to the last digit."""
    index = history.index(MINE)
    postings = index.postings
    return [
        postings.scores([["lantern"], ["band", "paid"], ["hall", "tuesday"]]).tolist(),
        postings.scores([["lantern"]], runs=index.chunks(len(index))).tolist(),
        postings.informativeness(turns=len(index)).tolist(),
        postings.language,
        index.speakers,
        [recall(history, MINE, query, k=3) for query in ("lantern", "Was the band paid?")],
    ]


@_each_other
@pytest.mark.parametrize(
    "text", ["A lantern and a band", "Die Lampe und die Kapelle sind nicht da"]
)
def test_500_turns_elsewhere_change_no_digit_of_my_scores(
    store: TurnStore, hash_encoder: Any, other: Namespace, text: str
) -> None:
    history = _history(store, hash_encoder)
    before = _answers(history)
    history.add(other, [Turn("Bo", f"{text} {number}") for number in range(500)])

    assert store.count(other) == 500
    assert _answers(history) == before
    assert _answers(History(store, encoder=hash_encoder)) == before


@_each_other
def test_a_word_is_as_rare_as_it_is_in_my_own_stream(store: TurnStore, other: Namespace) -> None:
    history = _history(store, None)
    history.add(other, [Turn("Bo", "lantern", id=str(number)) for number in range(500)])

    rarity = history.index(MINE).postings.match([["lantern"]]).rarest()[0]
    idf = math.log(1 + (4 - 3 + 0.5) / (3 + 0.5))  # in 3 of 4 turns
    assert rarity.tolist() == pytest.approx([idf, idf, idf, 0])


@_each_other
def test_recall_names_only_turns_of_my_stream(
    store: TurnStore, hash_encoder: Any, other: Namespace
) -> None:
    history = _history(store, hash_encoder)
    history.add(other, [Turn("Bo", text, id=f"theirs-{text}") for text in _TEXTS])

    found = recall(history, MINE, "Who brings a lantern on Tuesday?", k=10)["turns"]
    assert {turn["turn_id"] for turn in found} <= {"0", "1", "2", "3"}
    assert found[0]["turn_id"] == "1"


_SEPARATORS = ["/", ".", ":", "-", "_", "%", "*", " ", "\0", "\x1f", "\n", "'", '"', "\\"]
_LETTERS = ["a", "A", "aa", "b", "\u00e9", "\u212b", "\u00df", "0", "1", "None"]
_atoms = st.sampled_from([*_SEPARATORS, *_LETTERS])
_forms = st.sampled_from(["NFC", "NFD", "NFKC", "NFKD"])
_names = st.builds(
    lambda atoms, form: unicodedata.normalize(form, "".join(atoms)),
    st.lists(_atoms, max_size=3),
    _forms,
)
_namespaces = st.builds(Namespace, _names, _names)


@given(names=st.lists(_namespaces, min_size=2, max_size=4, unique=True))
@settings(max_examples=10, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_streams_whose_names_look_alike_are_apart(
    store: TurnStore, log: Log, names: list[Namespace]
) -> None:
    try:
        for number, name in enumerate(names, start=1):
            turns = [Turn("Ana", f"{number}", id=str(id)) for id in range(number)]
            store.append(name, [Record(turn, X * number, "one") for turn in turns])
            store.set_retention(name, Retention(max_turns=number))
            log.summarise("0", name)

        sizes = {name: number for number, name in enumerate(names, start=1)}
        assert dict(store.streams()) == sizes
        for name, number in sizes.items():
            _holds_only_its_own(store, name, number)
        gone = names[0]
        assert store.forget(gone, Selection()) == Forgotten(1, 1, 1)
        for name, number in list(sizes.items())[1:]:
            _holds_only_its_own(store, name, number)
    finally:
        forgotten = sum((store.forget_tenant(t) for t in {n.tenant for n in names}), Forgotten())
    assert forgotten.turns == sum(range(2, len(names) + 1))
    assert store.streams() == []


def _holds_only_its_own(store: TurnStore, name: Namespace, number: int) -> None:
    assert [record.turn.text for record in store.read(name)] == [str(number)] * number
    assert store.count(name) == number
    assert store.vector_models(name) == {"one": number}
    vectors = store.vectors(name, "one")
    assert {at: v.tolist() for at, v in vectors.items()} == {
        at: [number, 0] for at in range(number)
    }
    ((*near,),) = store.nearest(name, "one", [X], 100)
    assert [one.position for one in near] == list(range(number))
    assert store.retention(name) == Retention(max_turns=number)
    assert len(store.summaries(name)) == 1
