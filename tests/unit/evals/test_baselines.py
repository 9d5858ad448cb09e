"""The baselines that take the window itself as the query."""

import importlib.util
from collections.abc import Sequence

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from rank_bm25 import BM25Okapi

from remember_graph.encoders import load_encoder
from remember_graph.errors import ConfigError
from remember_graph.evals.baselines import (
    BASELINES,
    ChunkMemory,
    Recent,
    take_chunks,
    take_recent,
)
from remember_graph.evals.bench_types import Bench
from remember_graph.evals.chunk_rankings import TermRanking, VectorRanking, chunk_history
from remember_graph.evals.memory_eval import evaluate_memory
from remember_graph.evals.memory_report import report
from remember_graph.evals.methods import MemoryCase, MemoryMethod
from remember_graph.protocols import TextEncoder, Vectors
from remember_graph.settings import RetrieveSettings
from remember_graph.types import Turn

# Every turn below costs 10 tokens, so that each is a chunk of its own.
ONE_TURN_CHUNKS = RetrieveSettings(chunk_tokens=10, chunk_overlap=0)
_tokens = st.lists(st.integers(0, 20), max_size=12)


class HandEncoder:
    """Vectors by the last word of a text, and how often each text was embedded."""

    id = "by hand"

    def __init__(self) -> None:
        self.vectors = {"gate": (1.0, 0.0), "barrow": (0.8, 0.6), "crowns": (0.0, 1.0)}
        self.texts: list[str] = []

    def encode_documents(self, texts: Sequence[str]) -> Vectors:
        self.texts += texts
        return np.array([self.vectors[text.split()[-1]] for text in texts], np.float32)

    def encode_queries(self, texts: Sequence[str]) -> Vectors:
        return np.array([self.vectors[text.split()[-1]] for text in texts], np.float32)


def case(
    history: Sequence[str], window: str, budget: int, tokens: list[int] | None = None
) -> MemoryCase:
    return MemoryCase(
        window_id="w0",
        history=tuple(Turn("Ana", text, id=f"u{at}") for at, text in enumerate(history)),
        history_tokens=tuple(tokens or [10] * len(history)),
        window=(Turn("Ben", window, id="w"),),
        gaps=None,
        budget=budget,
    )


def memory(method: MemoryMethod, of: MemoryCase) -> list[str]:
    method.prepare(of)
    return method.build(of)


def test_recent_stops_at_the_first_turn_that_does_not_fit() -> None:
    # 5 + 4 fit into 10, the 9 before them does not; the 1 before that would.
    assert memory(Recent(), case("abcd", "?", 10, tokens=[1, 9, 4, 5])) == ["u2", "u3"]


def test_recent_of_no_history_is_empty() -> None:
    assert memory(Recent(), case([], "?", 10)) == []


@given(_tokens, st.integers(0, 60), st.integers(0, 60))
def test_more_budget_never_shrinks_recent(tokens: list[int], one: int, other: int) -> None:
    less, more = sorted((one, other))

    assert set(take_recent(tokens, less)) <= set(take_recent(tokens, more))


@given(_tokens, st.integers(0, 60))
def test_recent_keeps_the_budget_and_reaches_the_window(tokens: list[int], budget: int) -> None:
    kept = take_recent(tokens, budget)

    assert sum(tokens[at] for at in kept) <= budget
    assert kept.stop == len(tokens)


@given(_tokens, st.integers(0, 60), st.data())
def test_chunks_give_each_turn_once_and_keep_the_budget(
    tokens: list[int], budget: int, data: st.DataObject
) -> None:
    at = st.integers(0, len(tokens))
    chunks = data.draw(st.lists(st.builds(range, at, at), max_size=6))

    taken = take_chunks(chunks, tokens, budget)

    assert len(set(taken)) == len(taken)
    assert sum(tokens[at] for at in taken) <= budget


def test_a_turn_that_does_not_fit_is_skipped_and_the_next_ones_are_tried() -> None:
    assert take_chunks([range(0, 2), range(1, 4)], [3, 9, 4, 5], budget=12) == [0, 1]
    assert take_chunks([range(1, 4), range(0, 2)], [3, 9, 4, 5], budget=12) == [1, 0]


def test_chunks_are_whole_turns_and_start_back_by_the_overlap() -> None:
    # 50 + 60 + 18 = 128 are full; the 18 fit into an overlap of 32, 60 + 18 do not.
    assert chunk_history([50, 60, 18, 40], RetrieveSettings()) == [range(0, 3), range(2, 4)]


def test_sparse_takes_the_turns_that_share_words_with_the_window_first() -> None:
    sparse = ChunkMemory("sparse", [TermRanking()], ONE_TURN_CHUNKS)
    of = case(["green gate", "a barrow", "forty crowns", "more rain"], "the barrow?", 20)

    # Then the others, which all score zero, from the oldest on.
    assert memory(sparse, of) == ["u1", "u0"]


def test_sparse_ranks_as_rank_bm25_does() -> None:
    lines = ["the gate the gate", "the green barrow", "forty crowns for the gate", "more rain"]
    of = case(lines, "the green gate, the crowns", 40)
    ranking = TermRanking()
    ranking.prepare(of, chunk_history(of.history_tokens, ONE_TURN_CHUNKS))

    documents = [["ana", *line.split()] for line in lines]
    scores = BM25Okapi(documents).get_scores(["ben", "the", "green", "gate", "the", "crowns"])

    assert ranking.rank(of.window) == np.argsort(-scores, kind="stable").tolist()


def test_sparse_puts_the_turns_of_a_chunk_in_the_order_they_were_said() -> None:
    settings = RetrieveSettings(chunk_tokens=20, chunk_overlap=0)
    sparse = ChunkMemory("sparse", [TermRanking()], settings)
    history = ["green gate", "a fence", "forty crowns", "the barrow", "more rain", "less sun"]

    assert memory(sparse, case(history, "barrow?", 30)) == ["u2", "u3", "u0"]


def test_sparse_without_any_word_goes_by_age() -> None:
    sparse = ChunkMemory("sparse", [TermRanking()], ONE_TURN_CHUNKS)
    speechless = MemoryCase("w0", (Turn("", "…", id="u0"),), (10,), (Turn("", "?"),), None, 10)

    assert memory(sparse, speechless) == ["u0"]


def test_dense_goes_by_the_cosine_with_the_window() -> None:
    dense = ChunkMemory("dense", [VectorRanking(HandEncoder())], ONE_TURN_CHUNKS)
    of = case(["forty crowns", "a barrow", "green gate"], "which gate", 20)

    # Cosines with the gate: 0, 0.8, 1.
    assert memory(dense, of) == ["u2", "u1"]


def test_a_chunk_is_embedded_as_lines_and_only_once() -> None:
    encoder = HandEncoder()
    settings = RetrieveSettings(chunk_tokens=20, chunk_overlap=0)
    dense = ChunkMemory("dense", [VectorRanking(encoder)], settings)
    of = case(["green gate", "a barrow"], "which gate", 20)

    memory(dense, of)
    memory(dense, of)

    assert encoder.texts == ["Ana: green gate\nAna: a barrow"]


def test_hybrid_adds_the_reciprocal_ranks_of_both() -> None:
    rankings: list[TermRanking | VectorRanking] = [TermRanking(), VectorRanking(HandEncoder())]
    hybrid = ChunkMemory("hybrid", rankings, ONE_TURN_CHUNKS)
    of = case(["red gate", "old crowns", "old barrow", "blue crowns"], "old gate", 20)

    # By words: "gate" is rarer than "old", so u0, then u1 and u2 alike, then u3.
    # By cosine: u0 1, u2 0.8, then u1 and u3 alike with 0.
    # u0 2/61; u1 1/62 + 1/63; u2 1/63 + 1/62: equal, and u1 came first; u3 1/64 + 1/64.
    assert memory(hybrid, of) == ["u0", "u1"]


@pytest.mark.parametrize("name", ["sparse", "dense", "hybrid"])
def test_no_history_gives_an_empty_memory(name: str) -> None:
    assert memory(BASELINES[name](HandEncoder()), case([], "which gate", 20)) == []


@pytest.mark.parametrize("name", ["dense", "hybrid"])
def test_what_goes_by_vectors_refuses_to_do_without(name: str) -> None:
    with pytest.raises(ConfigError, match=f"'{name}' needs embeddings"):
        BASELINES[name](None)


@pytest.mark.parametrize("name", list(BASELINES))
def test_a_baseline_goes_by_the_name_it_is_registered_under(name: str) -> None:
    method = BASELINES[name](HandEncoder())

    assert method.name == name
    assert not method.uses_detections


def _recall(bench: Bench, names: list[str], encoder: TextEncoder | None) -> list[float]:
    methods = [BASELINES[name](encoder) for name in names]
    runs = report(bench.name, None, evaluate_memory(bench, methods, budgets=[1024]))["runs"]
    return [run["recall"] for run in runs]


def test_recent_recalls_on_the_gap_benchmark_what_the_trial_did(gapbench: Bench) -> None:
    assert _recall(gapbench, ["recent"], None) == pytest.approx([0.48], abs=0.06)


def test_chunk_baselines_recall_on_the_gap_benchmark_what_the_trial_did(gapbench: Bench) -> None:
    if importlib.util.find_spec("wordllama") is None:
        pytest.skip("wordllama is not installed")
    names = ["sparse", "dense", "hybrid"]

    recalls = _recall(gapbench, names, load_encoder("wordllama"))

    assert recalls == pytest.approx([0.25, 0.16, 0.18], abs=0.06)
