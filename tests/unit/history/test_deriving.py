"""What is derived of a turn, and when what was kept is taken."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from remember_graph.history.deriving import Deriver
from remember_graph.history.sql_rows import derived_of, turn_row
from remember_graph.history.sqlite_store import SQLiteStore
from remember_graph.history.store import Derived, Namespace, Record
from remember_graph.terms import extract_terms
from remember_graph.types import Turn

_TURN = Turn("Ana", "the band and the hall", id="a")


def _letters(text: str) -> int:
    return len(text)


def test_terms_are_distinct_and_counted() -> None:
    derived = Deriver().make(_TURN)

    assert dict(zip(derived.terms, derived.counts, strict=True)) == {
        "ana": 1,
        "the": 2,
        "band": 1,
        "and": 1,
        "hall": 1,
    }


def test_tokens_are_those_of_the_line_under_the_counter() -> None:
    assert Deriver(_letters).make(_TURN).tokens == len("Ana: the band and the hall")


def test_kept_values_of_this_release_are_taken() -> None:
    deriver = Deriver()
    kept = replace(deriver.make(_TURN), tokens=12_345)

    assert deriver.of(Record(_TURN, derived=kept)) is kept


def test_kept_values_of_another_release_are_made_again() -> None:
    deriver = Deriver()
    kept = Derived(12_345, ("old",), (1,), by="0")

    assert deriver.of(Record(_TURN, derived=kept)) == deriver.make(_TURN)


def test_values_of_a_callers_counter_are_never_taken_from_a_record() -> None:
    kept = Deriver().make(_TURN)
    own = Deriver(_letters).make(_TURN)

    assert Deriver(_letters).of(Record(_TURN, derived=kept)).tokens == own.tokens
    assert Deriver(len).of(Record(_TURN, derived=own)) is not own
    assert Deriver().of(Record(_TURN, derived=own)) == kept


def test_a_record_without_kept_values_is_derived() -> None:
    assert Deriver().of(Record(_TURN)) == Deriver().make(_TURN)


@given(st.text(), st.text(max_size=5))
def test_what_is_derived_of_any_text_comes_back_from_a_row(text: str, speaker: str) -> None:
    record = Record(Turn(speaker, text, id="a"))
    derived = Deriver().make(record.turn)

    assert derived_of(turn_row(replace(record, derived=derived))) == derived
    assert Counter(dict(zip(derived.terms, derived.counts, strict=True))) == Counter(
        extract_terms(record.turn.line)
    )


def test_kept_values_of_a_file_are_taken_only_from_this_release(tmp_path: Path) -> None:
    namespace = Namespace("default", "chat")
    store = SQLiteStore(tmp_path / "history.db")
    deriver = Deriver()
    kept = replace(deriver.make(_TURN), tokens=12_345)
    other = replace(kept, by="0")
    store.append(namespace, [Record(_TURN, derived=kept)])
    store.append(namespace, [Record(replace(_TURN, id="b"), derived=other)])

    tokens = [deriver.of(record).tokens for record in store.read(namespace)]
    store.close()
    assert tokens == [12_345, deriver.make(_TURN).tokens]
