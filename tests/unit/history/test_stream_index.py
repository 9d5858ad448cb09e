"""The index of one stream, as of any turn."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from remember_graph.history.deriving import Deriver
from remember_graph.history.store import Record
from remember_graph.history.stream_index import StreamIndex
from remember_graph.tokens import count_tokens
from remember_graph.types import Turn

_MODEL = "test/3"
_vector = st.lists(st.integers(-4, 4), min_size=3, max_size=3).filter(any)


@st.composite
def _records(draw: st.DrawFn) -> list[Record]:
    """Turns of a few words, with a vector, with none or with one of another model."""
    records = []
    for number in range(draw(st.integers(1, 12))):
        text = " ".join(draw(st.lists(st.sampled_from(["ab", "cd", "ef"]), max_size=8)))
        turn = Turn(draw(st.sampled_from(["Ana", "Bert"])), text, id=str(number))
        values = np.array(draw(_vector), np.float32)
        vector = values / np.linalg.norm(values)
        model = draw(st.sampled_from([_MODEL, _MODEL, _MODEL, "other/3", None]))
        kept = vector if model else None
        records.append(Record(turn, kept, model, position=number))
    return records


_QUERIES = np.array([[1, 0, 0], [0.6, 0.8, 0]], np.float32)


def _index(*batches: list[Record], asked: bool = False) -> StreamIndex:
    index = StreamIndex(
        Deriver(), language=None, encoder_id=_MODEL, chunk_tokens=12, chunk_overlap=6
    )
    for batch in batches:
        index.add(batch)
        if asked:
            _everything(index, len(index))
    return index


def _everything(index: StreamIndex, turns: int) -> dict[str, Any]:
    """All that a search asks of an index."""
    runs = index.chunks(turns)
    cosines = index.cosines(_QUERIES, turns=turns)
    chunk_cosines = index.chunk_cosines(cosines, turns=turns)
    return {
        "starts": runs.starts,
        "ends": runs.ends,
        "cosines": cosines,
        "chunk_cosines": chunk_cosines,
        "best_cosines": index.best_of_chunks(chunk_cosines, turns=turns),
        "bm25": index.postings.scores([["ab", "cd"]], turns=turns),
        "chunk_bm25": index.postings.scores([["ab", "cd"]], turns=turns, runs=runs),
        "tokens": index.tokens[:turns],
        "embedded": index.embedded(turns),
    }


def _assert_same(one: dict[str, Any], other: dict[str, Any]) -> None:
    for name in one:
        np.testing.assert_allclose(one[name], other[name], atol=1e-6, err_msg=name)


@given(_records(), st.data())
def test_an_index_as_of_a_turn_is_one_that_saw_no_more(
    records: list[Record], data: st.DataObject
) -> None:
    turns = data.draw(st.integers(0, len(records)))

    _assert_same(_everything(_index(records), turns), _everything(_index(records[:turns]), turns))


@given(_records(), st.data())
def test_adding_in_parts_and_asking_in_between_gives_the_same_index(
    records: list[Record], data: st.DataObject
) -> None:
    cut = data.draw(st.integers(0, len(records)))

    in_parts = _index(records[:cut], records[cut:], asked=True)

    _assert_same(_everything(in_parts, len(records)), _everything(_index(records), len(records)))


@given(_records())
def test_adding_one_by_one_gives_the_same_index(records: list[Record]) -> None:
    one_by_one = _index(*([record] for record in records))

    _assert_same(_everything(one_by_one, len(records)), _everything(_index(records), len(records)))


@given(_records(), st.data())
def test_asking_as_of_a_turn_first_changes_nothing_later(
    records: list[Record], data: st.DataObject
) -> None:
    index = _index(records)
    for _ in range(3):
        _everything(index, data.draw(st.integers(0, len(records))))

    _assert_same(_everything(index, len(records)), _everything(_index(records), len(records)))


@given(_records())
def test_a_chunk_cosine_is_that_of_the_weighted_mean_of_its_vectors(records: list[Record]) -> None:
    index = _index(records)
    turns = len(records)
    found = index.chunk_cosines(index.cosines(_QUERIES, turns=turns), turns=turns)
    vectors = [r.vector if r.vector_model == _MODEL else np.zeros(3) for r in records]
    runs = index.chunks(turns)
    for chunk, (start, end) in enumerate(zip(runs.starts, runs.ends, strict=True)):
        weights = [count_tokens(record.turn.line) ** 0.5 for record in records[start:end]]
        mean = sum(w * v for w, v in zip(weights, vectors[start:end], strict=True)) / sum(weights)
        length = float(np.linalg.norm(mean))
        expected = _QUERIES @ mean / length if length > 1e-6 else np.zeros(2)

        np.testing.assert_allclose(found[:, chunk], expected, atol=1e-4)


@given(_records())
def test_the_best_of_a_turns_chunks_is_the_highest_of_those_that_hold_it(
    records: list[Record],
) -> None:
    index = _index(records)
    turns = len(records)
    runs = index.chunks(turns)
    scores = np.random.default_rng(0).standard_normal((2, len(runs)))
    expected = [
        [
            max(row[c] for c in range(len(runs)) if runs.starts[c] <= t < runs.ends[c])
            for t in range(turns)
        ]
        for row in scores
    ]

    np.testing.assert_array_equal(index.best_of_chunks(scores, turns=turns), expected)


def test_system_turns_are_left_out_and_counted_as_read() -> None:
    index = _index(
        [
            Record(Turn("", "Ana joined", id="1", kind="system"), position=0),
            Record(Turn("Ana", "Hi", id="2"), position=1),
        ]
    )

    assert [turn.id for turn in index.turns] == ["2"]
    assert index.next_position == 2


def test_a_turn_has_its_position_and_an_unknown_one_has_none() -> None:
    index = _index([Record(Turn("Ana", "Hi", id="a")), Record(Turn("Ana", "Yes", id="b"))])

    assert (index.position("b"), index.position("z")) == (1, None)


def test_an_index_without_vectors_gives_cosines_of_zero() -> None:
    index = _index([Record(Turn("Ana", "Hi", id="a"))])

    assert index.vectors(1) is None
    assert index.cosines(_QUERIES, turns=1).tolist() == [[0.0], [0.0]]


def test_vectors_of_another_model_are_not_searched() -> None:
    index = _index([Record(Turn("Ana", "Hi", id="a"), np.ones(3, np.float32), "other/3")])

    assert index.embedded(1) == 0


def test_an_index_knows_the_places_of_a_log_with_holes() -> None:
    index = _index(
        [
            Record(Turn("Ana", "one", id="a"), position=3),
            Record(Turn("", "Bo joined", id="s", kind="system"), position=5),
            Record(Turn("Ana", "two", id="b"), position=8),
        ]
    )

    assert index.without_vector == [3, 8]
    assert index.lines_at([8, 3]) == ["Ana: two", "Ana: one"]
    assert index.next_position == 9


def test_adding_nothing_leaves_the_next_position() -> None:
    index = _index([Record(Turn("Ana", "one", id="a"), position=3)], [])

    assert index.next_position == 4


@given(_records(), st.data())
def test_vectors_that_come_later_give_the_same_index(
    records: list[Record], data: st.DataObject
) -> None:
    """Some of the vectors are filled in after the index was asked, the rest were there."""
    spread = [replace(record, position=3 * record.position + 1) for record in records]
    ours = {r.position: r.vector for r in spread if r.vector is not None and _is_ours(r)}
    later = data.draw(st.sets(st.sampled_from(sorted(ours)))) if ours else set()
    index = _index(
        [
            replace(record, vector=None, vector_model=None) if record.position in later else record
            for record in spread
        ],
        asked=data.draw(st.booleans()),
    )
    index.fill_vectors({position: ours[position] for position in later})

    _assert_same(_everything(index, len(records)), _everything(_index(records), len(records)))
    assert index.without_vector == [r.position for r in spread if not _is_ours(r)]


def _is_ours(record: Record) -> bool:
    return record.vector is not None and record.vector_model == _MODEL


def test_vectors_of_another_width_are_left_out_when_they_come_later() -> None:
    index = _index([Record(Turn("Ana", "a", id=id), position=at) for at, id in enumerate("abc")])
    index.fill_vectors({0: np.ones(3, np.float32)})
    index.fill_vectors({1: np.ones(4, np.float32), 2: np.ones(3, np.float32)})

    assert index.without_vector == [1]


def test_vectors_of_two_widths_that_come_together_are_those_of_the_first() -> None:
    index = _index([Record(Turn("Ana", "a", id=id), position=at) for at, id in enumerate("ab")])
    index.fill_vectors({0: np.ones(3, np.float32), 1: np.ones(4, np.float32)})

    assert index.without_vector == [1]
