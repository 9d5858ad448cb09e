"""Evidence recall of one memory."""

from hypothesis import given
from hypothesis import strategies as st

from remember_graph.evals.metrics.evidence_recall import (
    EvidenceRecall,
    evidence_recall,
    recalled,
)

_ids = st.sampled_from(["u0", "u1", "u2", "u3"])
_evidence = st.lists(st.lists(_ids, min_size=1, max_size=3), min_size=1, max_size=3)
_gaps = st.dictionaries(st.sampled_from("abc"), _evidence, min_size=1)
_memory = st.lists(_ids, unique=True)


def test_every_turn_of_one_list_suffices() -> None:
    assert recalled([["u0", "u1"], ["u7"]], ["u7"])


def test_parts_of_two_lists_do_not_suffice() -> None:
    assert not recalled([["u0", "u1"], ["u2", "u3"]], ["u0", "u2"])


def test_a_single_pass_over_evidence_and_memory_is_enough() -> None:
    assert recalled(iter([iter(["u0"])]), ("u0",))


def test_the_reason_names_what_the_nearest_alternative_lacks() -> None:
    gaps = {"g0": [["u0"]], "g1": [["u1", "u2", "u3"], ["u0", "u4"]]}

    assert evidence_recall(gaps, ["u0"]) == EvidenceRecall(0.5, "1 of 2 gaps recalled; g1 lacks u4")


def test_no_gaps_give_no_score() -> None:
    assert evidence_recall({}, ["u0"]) == EvidenceRecall(None, "no gaps")


@given(_gaps, _memory)
def test_recall_is_a_share(gaps: dict[str, list[list[str]]], memory: list[str]) -> None:
    score = evidence_recall(gaps, memory).score

    assert score is not None
    assert 0 <= score <= 1


@given(_gaps, _memory)
def test_recall_is_the_share_of_recalled_gaps(
    gaps: dict[str, list[list[str]]], memory: list[str]
) -> None:
    hits = sum(recalled(evidence, memory) for evidence in gaps.values())

    assert evidence_recall(gaps, memory).score == hits / len(gaps)


@given(_gaps, _memory, _ids)
def test_one_more_turn_never_lowers_recall(
    gaps: dict[str, list[list[str]]], memory: list[str], turn_id: str
) -> None:
    before, after = (evidence_recall(gaps, ids).score for ids in (memory, [*memory, turn_id]))

    assert before is not None
    assert after is not None
    assert before <= after
