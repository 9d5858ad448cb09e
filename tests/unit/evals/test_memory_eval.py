"""Memory methods over a bench: what they are given, what is counted, what is refused."""

import dataclasses
import io
from collections.abc import Sequence
from pathlib import Path
from typing import Any, cast

import pytest
from rich.console import Console

from remember_graph.errors import BenchFormatError, ConfigError
from remember_graph.evals.baselines import Recent
from remember_graph.evals.bench import load_bench
from remember_graph.evals.bench_types import Bench
from remember_graph.evals.memory_eval import evaluate_memory
from remember_graph.evals.memory_report import report
from remember_graph.evals.memory_table import memory_table
from remember_graph.evals.methods import MemoryCase, MemoryMethod
from remember_graph.types import Turn


class Listed(MemoryMethod):
    """Always the same memory; keeps what it was asked."""

    name = "listed"
    uses_detections = False

    def __init__(self, *ids: str, uses_detections: bool = False) -> None:
        self.ids = list(ids)
        self.uses_detections = uses_detections
        self.calls: list[tuple[str, int | str]] = []
        self.cases: list[MemoryCase] = []

    def start_stream(self, turns: Sequence[Turn], tokens: Sequence[int]) -> None:
        self.calls.append(("start", len(turns)))

    def prepare(self, case: MemoryCase) -> None:
        self.calls.append(("prepare", case.window_id))

    def build(self, case: MemoryCase) -> list[str]:
        self.calls.append(("build", case.budget))
        self.cases.append(case)
        return self.ids


def test_recent_at_30_tokens_holds_one_gap_of_four(bench: Bench) -> None:
    (made,) = report("tiny", None, evaluate_memory(bench, [Recent()], budgets=[30]))["runs"]
    run = cast("dict[str, Any]", made)  # a required key is taken out

    build_ms = run.pop("build_ms")
    # garden-w0: u2 (30 tokens) alone; garden-w1: u4 (10), as 40 more do not fit, and u4 is its
    # evidence; office-w0: u1 (25) alone. Over garden (1 of 3) and office (0 of 1) the drawn
    # recalls are 1/3, 1/4 and 0.
    assert run == {
        "method": "recent",
        "detections": None,
        "budget": 30,
        "history_tokens": None,
        "n": 4,
        "recall": 0.25,
        "ci95": [0.0, 0.3333],
        "by_kind": {
            "referential": {"n": 2, "recall": 0.0},
            "attribute": {"n": 1, "recall": 0.0},
            "relational": {"n": 1, "recall": 1.0},
        },
        "by_domain": {
            "chit-chat": {"n": 3, "recall": 0.3333},
            "workplace": {"n": 1, "recall": 0.0},
        },
        "memory_tokens_mean": 21.7,
    }
    assert 0 <= build_ms["p50"] <= build_ms["p95"]


def test_recent_at_50_tokens_holds_every_gap(bench: Bench) -> None:
    (run,) = evaluate_memory(bench, [Recent()], budgets=[50])

    # u1 and u2 cost 50; u4 and u3 cost 50; u1 and u0 of the office cost 40.
    assert [window.memory_tokens for window in run.windows] == [50, 50, 40]
    assert all(gap.recalled for window in run.windows for gap in window.gaps)


def test_runs_come_by_method_and_then_by_budget(bench: Bench) -> None:
    runs = evaluate_memory(bench, [Recent(), Listed()], budgets=[50, 30])

    assert [(run.method, run.budget) for run in runs] == [
        ("recent", 50),
        ("recent", 30),
        ("listed", 50),
        ("listed", 30),
    ]


def test_a_stream_is_started_once_and_a_window_prepared_once_for_all_budgets(bench: Bench) -> None:
    method = Listed()

    evaluate_memory(bench, [method], budgets=[50, 30])

    builds = [("build", 50), ("build", 30)]
    assert method.calls == [
        ("start", 6),
        ("prepare", "garden-w0"),
        *builds,
        ("prepare", "garden-w1"),
        *builds,
        ("start", 3),
        ("prepare", "office-w0"),
        *builds,
    ]


def test_a_case_holds_the_turns_before_the_window_and_the_window(bench: Bench) -> None:
    method = Listed()

    evaluate_memory(bench, [method], budgets=[30])

    first = method.cases[0]
    assert [turn.id for turn in first.history] == ["u0", "u1", "u2"]
    assert first.history_tokens == (10, 20, 30)
    assert [turn.id for turn in first.window] == ["u3", "u4"]
    assert first.gaps is None


def test_recorded_detections_are_in_the_case_of_a_method_that_uses_them(bench: Bench) -> None:
    method = Listed(uses_detections=True)

    (run,) = evaluate_memory(bench, [method], budgets=[30])

    assert run.detections == "recorded"
    assert method.cases[0].gaps == bench.recorded_gaps("garden-w0")


def test_a_method_that_detects_by_itself_is_given_none(bench: Bench) -> None:
    method = Listed(uses_detections=True)

    (run,) = evaluate_memory(bench, [method], budgets=[30], detections="local")

    assert run.detections == "local"
    assert method.cases[0].gaps is None


def test_recorded_detections_that_are_not_there_are_refused(bench_folder: Path) -> None:
    (bench_folder / "detections.jsonl").unlink()
    method = Listed(uses_detections=True)

    with pytest.raises(BenchFormatError, match="recorded detections need it"):
        evaluate_memory(load_bench(bench_folder), [method], budgets=[30])


def test_missing_detections_do_not_matter_to_a_method_without(bench_folder: Path) -> None:
    (bench_folder / "detections.jsonl").unlink()

    (run,) = evaluate_memory(load_bench(bench_folder), [Recent()], budgets=[30])

    assert run.detections is None


def test_histories_are_filled_up_to_the_length_asked_for(bench: Bench) -> None:
    method = Listed("x/u0")

    (run,) = evaluate_memory(bench, [method], budgets=[100], history_tokens=150)

    assert run.history_tokens == 150
    # 100 + 60, 100 + 110, and for the office 100 + 100 + 40.
    assert [sum(case.history_tokens) for case in method.cases] == [160, 210, 240]


def test_distractors_leave_recent_what_it_was(bench: Bench) -> None:
    (alone,) = evaluate_memory(bench, [Recent()], budgets=[30])
    (longer,) = evaluate_memory(bench, [Recent()], budgets=[30], history_tokens=150)

    assert [w.gaps for w in alone.windows] == [w.gaps for w in longer.windows]


def test_progress_counts_the_windows_of_all_methods(bench: Bench) -> None:
    seen: list[tuple[int, int]] = []

    evaluate_memory(
        bench,
        [Recent(), Listed()],
        budgets=[50, 30],
        on_progress=lambda done, total: seen.append((done, total)),
    )

    assert seen == [(done, 6) for done in range(1, 7)]


@pytest.mark.parametrize(
    ("ids", "message"),
    [
        (["u3"], "holds 'u3'; only turns of the history are allowed"),
        (["u0", "u0"], "holds a turn twice"),
        (["u0", "u1", "u2"], "has 60 tokens; the budget allows 50"),
    ],
)
def test_a_memory_that_breaks_a_rule_stops_the_run(
    bench: Bench, ids: list[str], message: str
) -> None:
    with pytest.raises(RuntimeError, match=f"method 'listed', window 'garden-w0'.*{message}"):
        evaluate_memory(bench, [Listed(*ids)], budgets=[50])


@pytest.mark.parametrize("budgets", [[], [1024, 0]])
def test_budgets_below_one_are_refused(bench: Bench, budgets: list[int]) -> None:
    with pytest.raises(ConfigError, match="`budgets` must be one or more numbers >= 1"):
        evaluate_memory(bench, [Recent()], budgets=budgets)


def test_a_report_names_the_bench_and_the_embeddings(bench: Bench) -> None:
    made = report("tiny", "wordllama", evaluate_memory(bench, [Recent()], budgets=[30]))

    assert (made["bench"], made["embeddings"]) == ("tiny", "wordllama")


def test_a_domain_without_gaps_is_left_out_of_the_report(bench: Bench) -> None:
    (run,) = evaluate_memory(bench, [Recent()], budgets=[30])
    emptied = dataclasses.replace(
        run,
        windows=tuple(
            dataclasses.replace(window, gaps=()) if window.domain == "workplace" else window
            for window in run.windows
        ),
    )

    (made,) = report("tiny", None, [emptied])["runs"]

    assert list(made["by_domain"]) == ["chit-chat"]
    assert made["n"] == 3


def test_the_table_shows_a_row_a_run(bench: Bench) -> None:
    runs = evaluate_memory(bench, [Recent()], budgets=[30, 1024], history_tokens=150)
    output = io.StringIO()

    Console(file=output, width=200).print(memory_table(report("tiny", None, runs)))

    lines = [line for line in output.getvalue().splitlines() if "recent" in line]
    assert lines[0].split()[:7] == [
        "recent",
        "-",
        "30",
        "150",
        "4",
        "0.25",
        "0.00-0.33",
    ]
    assert "1,024" in lines[1]


def test_the_table_marks_what_a_run_has_no_gaps_for(bench: Bench) -> None:
    runs = report("tiny", None, evaluate_memory(bench, [Recent()], budgets=[30, 50]))
    del runs["runs"][1]["by_kind"]["attribute"]
    output = io.StringIO()

    Console(file=output, width=200).print(memory_table(runs))

    row = [line for line in output.getvalue().splitlines() if "recent" in line][1]
    assert row.split()[7:10] == ["1.00", "-", "1.00"]
