"""Longer histories by turns of other conversations."""

from pathlib import Path

import pytest

from remember_graph.errors import BenchFormatError
from remember_graph.evals.bench_types import Bench
from remember_graph.evals.distractors import (
    Distractors,
    distractors_needed,
    load_distractors,
    with_distractors,
)
from remember_graph.evals.streams import bench_streams


@pytest.fixture
def distractors(bench: Bench) -> Distractors:
    return load_distractors(bench.path)


def test_distractors_stand_in_the_order_of_their_files_under_their_dialogues_name(
    distractors: Distractors,
) -> None:
    assert [turn.id for turn in distractors.turns] == ["x/u0", "x/u1", "y/u0"]
    assert distractors.tokens == (100, 100, 50)


def test_a_bench_without_distractors_has_none(tmp_path: Path) -> None:
    assert load_distractors(tmp_path) == Distractors()


# The history before turn u3 has 10 + 20 + 30 = 60 tokens of its own.
@pytest.mark.parametrize(
    ("minimum_tokens", "count"), [(0, 0), (60, 0), (61, 1), (160, 1), (161, 2), (310, 3)]
)
def test_as_many_distractor_turns_are_taken_as_the_length_needs(
    bench: Bench, distractors: Distractors, minimum_tokens: int, count: int
) -> None:
    garden = bench.dialogues["garden"]

    assert distractors_needed(garden, distractors, minimum_tokens, first="u3") == count


def test_more_than_all_distractors_is_refused_with_what_there_is(
    bench: Bench, distractors: Distractors
) -> None:
    with pytest.raises(BenchFormatError, match="own 60 and the 250 of all distractors make 310"):
        distractors_needed(bench.dialogues["garden"], distractors, 311, first="u3")


def test_distractor_turns_come_before_the_dialogue(bench: Bench, distractors: Distractors) -> None:
    longer = with_distractors(bench.dialogues["office"], distractors, 2)

    assert [turn.id for turn in longer.turns] == ["x/u0", "x/u1", "u0", "u1", "u2"]
    assert longer.tokens == (100, 100, 15, 25, 5)
    assert longer.positions["u2"] == 4


def test_without_a_length_each_dialogue_is_one_stream_with_its_windows_in_order(
    bench: Bench,
) -> None:
    streams = list(bench_streams(bench))

    assert [[window.id for window in stream.windows] for stream in streams] == [
        ["garden-w0", "garden-w1"],
        ["office-w0"],
    ]
    assert [len(stream.conversation.turns) for stream in streams] == [6, 3]


def test_windows_that_need_the_same_distractors_share_a_stream(bench: Bench) -> None:
    # Own histories of 60 and 110 tokens: one distractor turn of 100 makes both 150 and more.
    garden, _ = bench_streams(bench, 150)

    assert [window.id for window in garden.windows] == ["garden-w0", "garden-w1"]
    assert garden.conversation.turns[0].id == "x/u0"
    assert len(garden.conversation.turns) == 7


def test_windows_that_need_other_distractors_have_streams_of_their_own(bench: Bench) -> None:
    # 60 + 100 + 100 reach 200 for the first window, 110 + 100 for the second.
    first, second, _ = bench_streams(bench, 200)

    assert [len(stream.conversation.turns) for stream in (first, second)] == [8, 7]
