"""Ids for turns without one."""

import hashlib

from hypothesis import given
from hypothesis import strategies as st

from remember_graph.turn_ids import assign_ids
from remember_graph.types import Turn

_words = st.sampled_from(["", "a", "ab", "b", "c", "ok\n", "\ud800", "é"])
_turns = st.lists(
    st.builds(
        Turn,
        speaker=_words,
        text=_words,
        time=st.sampled_from([None, "2024-03-12T10:15:00"]),
        id=st.sampled_from(["", "", "7"]),
    ),
    max_size=12,
)


def test_an_id_is_t_and_16_hex_digits_of_the_hash_of_speaker_time_and_text() -> None:
    digest = hashlib.sha256(b'["Ana", null, "hi"]').hexdigest()

    (turn,) = assign_ids([Turn("Ana", "hi")])

    assert turn.id == "t" + digest[:16]


def test_a_turn_with_an_id_keeps_it() -> None:
    assert assign_ids([Turn("Ana", "hi", id="7")]) == [Turn("Ana", "hi", id="7")]


def test_the_second_and_third_of_the_same_words_at_the_same_time_are_numbered() -> None:
    first, second, third = assign_ids([Turn("Ana", "ok")] * 3)

    assert second.id == first.id + "-2"
    assert third.id == first.id + "-3"


def test_turns_with_ids_are_not_counted_as_occurrences() -> None:
    _, plain = assign_ids([Turn("Ana", "ok", id="7"), Turn("Ana", "ok")])

    assert "-" not in plain.id


def test_the_border_between_speaker_and_text_matters() -> None:
    one, other = assign_ids([Turn("ab", "c"), Turn("a", "bc")])

    assert one.id != other.id


def test_no_time_and_an_empty_time_differ() -> None:
    one, other = assign_ids([Turn("Ana", "ok", time=None), Turn("Ana", "ok", time="")])

    assert one.id != other.id


def test_composed_and_decomposed_letters_give_the_same_id() -> None:
    (composed,) = assign_ids([Turn("Zo\u00eb", "caf\u00e9")])
    (decomposed,) = assign_ids([Turn("Zoe\u0308", "cafe\u0301")])

    assert composed.id == decomposed.id


@given(_turns, _turns)
def test_a_longer_chat_gives_the_old_turns_their_old_ids(old: list[Turn], new: list[Turn]) -> None:
    assert assign_ids(old + new)[: len(old)] == assign_ids(old)


@given(_turns)
def test_turns_without_an_id_get_one_that_no_other_of_them_has(turns: list[Turn]) -> None:
    given_ids = [
        after.id for before, after in zip(turns, assign_ids(turns), strict=True) if not before.id
    ]

    assert all(given_ids)
    assert len(set(given_ids)) == len(given_ids)
