"""Reading a bench folder."""

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from remember_graph.errors import BenchFormatError
from remember_graph.evals.bench import load_bench
from remember_graph.evals.bench_types import Bench, BenchGap
from remember_graph.types import Turn

Change = Callable[[Callable[[dict[str, Any]], object]], None]


def test_a_bench_has_the_name_of_its_folder(bench: Bench) -> None:
    assert bench.name == "tiny"


def test_turns_and_their_tokens_are_those_of_the_file(bench: Bench) -> None:
    office = bench.dialogues["office"]

    assert office.turns[1] == Turn("Di", "Lunch?", id="u1")
    assert office.tokens == (15, 25, 5)
    assert (office.domain, office.source) == ("workplace", "invented")


def test_windows_keep_the_order_of_the_file(bench: Bench) -> None:
    assert [window.id for window in bench.windows] == ["garden-w1", "office-w0", "garden-w0"]


def test_a_gap_holds_what_its_line_says(bench: Bench) -> None:
    assert bench.windows[0].gaps == (
        BenchGap(
            id="garden-w1-g0",
            utterance=("u5",),
            kind="relational",
            missing="what it is",
            resolution="what was said",
            evidence=(("u4",),),
            votes=3,
        ),
    )


def test_recorded_detections_are_the_dicts_of_the_file(bench: Bench) -> None:
    assert bench.recorded_gaps("office-w0") == [
        {
            "turn_id": "u2",
            "kind": "referential",
            "missing": "it",
            "query": "what is repaired",
            "anchors": ["it"],
            "salience": 0.5,
        }
    ]


def test_recorded_selections_are_lists_of_turn_ids(bench: Bench) -> None:
    assert bench.selections == {"garden-w0": (("u1", "u0"),)}


def test_a_bench_without_recordings_loads(bench_folder: Path) -> None:
    (bench_folder / "detections.jsonl").unlink()
    (bench_folder / "selections.jsonl").unlink()

    bench = load_bench(bench_folder)

    assert (bench.detections, bench.selections) == (None, None)


def test_asking_for_detections_that_were_not_recorded_names_the_file(bench_folder: Path) -> None:
    (bench_folder / "detections.jsonl").unlink()

    with pytest.raises(BenchFormatError, match=r"detections\.jsonl: no such file"):
        load_bench(bench_folder).recorded_gaps("garden-w0")


def test_asking_for_the_detections_of_a_window_without_a_line_names_the_window(
    bench_folder: Path,
) -> None:
    (bench_folder / "detections.jsonl").write_text("")

    with pytest.raises(BenchFormatError, match="no line for window 'garden-w0'"):
        load_bench(bench_folder).recorded_gaps("garden-w0")


def test_recordings_for_windows_that_are_not_there_are_passed_over(bench_folder: Path) -> None:
    only = (bench_folder / "windows.jsonl").read_text().splitlines()[0]
    (bench_folder / "windows.jsonl").write_text(only)

    assert load_bench(bench_folder).detections == {"garden-w1": []}


def test_a_byte_order_mark_and_empty_lines_do_no_harm(bench_folder: Path) -> None:
    path = bench_folder / "windows.jsonl"
    path.write_bytes(b"\xef\xbb\xbf\n" + path.read_bytes().replace(b"\n", b"\r\n\r\n"))

    assert len(load_bench(bench_folder).windows) == 3


def test_a_line_separator_inside_a_text_does_not_end_its_line(
    bench_folder: Path, change_window: Change
) -> None:
    change_window(lambda window: window["gaps"][0].update(missing="one\u2028two"))
    path = bench_folder / "windows.jsonl"
    path.write_text(path.read_text().replace("\\u2028", "\u2028"), encoding="utf-8")

    assert load_bench(bench_folder).windows[2].gaps[0].missing == "one\u2028two"


def test_a_missing_folder_is_named(tmp_path: Path) -> None:
    with pytest.raises(BenchFormatError, match="nowhere: no such folder"):
        load_bench(tmp_path / "nowhere")


@pytest.mark.parametrize(
    ("part", "message"),
    [
        ("windows.jsonl", r"windows\.jsonl: no such file"),
        ("dialogues", "dialogues: no such folder"),
    ],
)
def test_a_missing_part_is_named(bench_folder: Path, part: str, message: str) -> None:
    (bench_folder / part).rename(bench_folder / "elsewhere")

    with pytest.raises(BenchFormatError, match=message):
        load_bench(bench_folder)


def test_a_folder_in_the_place_of_a_file_is_reported(bench_folder: Path) -> None:
    (bench_folder / "windows.jsonl").unlink()
    (bench_folder / "windows.jsonl").mkdir()

    with pytest.raises(BenchFormatError, match=r"windows\.jsonl: cannot be read"):
        load_bench(bench_folder)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "no windows"),
        (b"{}\n", r"windows\.jsonl line 1: `dialogue` is missing; it must be a string"),
        (b"\n{oops\n", r"windows\.jsonl line 2: not JSON: Expecting property name"),
        (b"[]\n", r"windows\.jsonl line 1: must be a JSON object, got list"),
        (b"\xff\n", r"windows\.jsonl: not UTF-8 at byte 0"),
        (b"[" * 100_000, r"windows\.jsonl line 1: not JSON that can be read"),
    ],
)
def test_a_broken_windows_file_is_reported_with_its_line(
    bench_folder: Path, content: bytes, message: str
) -> None:
    (bench_folder / "windows.jsonl").write_bytes(content)

    with pytest.raises(BenchFormatError, match=message):
        load_bench(bench_folder)


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"dialogue": "attic"}, "`dialogue` 'attic' is unknown"),
        ({"first": "u9"}, "`first` 'u9' is not a turn of 'garden'"),
        ({"last": "u9"}, "`last` 'u9' is not a turn of 'garden'"),
        ({"first": "u4", "last": "u3"}, "`last` 'u3' is before `first` 'u4'"),
        ({"id": "garden-w1"}, "`id` 'garden-w1' is there twice"),
        ({"id": ""}, '`id` must be a string that is not empty, got ""'),
        ({"history_tokens": -1}, "`history_tokens` must be a whole number >= 0, got -1"),
        ({"salient": [["u0"]]}, "`salient` names 'u0', which is not a turn in the window"),
        ({"gaps": "none"}, '`gaps` must be a list of objects, got "none"'),
    ],
)
def test_a_wrong_window_is_reported_with_its_line(
    bench_folder: Path, change_window: Change, fields: dict[str, Any], message: str
) -> None:
    change_window(lambda window: window.update(fields))

    with pytest.raises(BenchFormatError, match=rf"windows\.jsonl line 3: {re.escape(message)}"):
        load_bench(bench_folder)


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"kind": "vague"}, "`kind` must be one of referential, attribute, relational"),
        ({"evidence": []}, "`evidence` must be a list of lists with at least one turn id each"),
        ({"evidence": [[]]}, "`evidence` must be a list of lists with at least one turn id each"),
        ({"evidence": ["u0"]}, '`evidence` must be a list of lists of strings, got ["u0"]'),
        ({"evidence": [["u9"]]}, "`evidence` names 'u9', which is not a turn before the window"),
        ({"evidence": [["u3"]]}, "`evidence` names 'u3', which is not a turn before the window"),
        ({"utterance": ["u5"]}, "`utterance` names 'u5', which is not a turn in the window"),
        ({"utterance": "u3"}, '`utterance` must be a list of strings, got "u3"'),
        ({"votes": True}, "`votes` must be a whole number >= 0, got true"),
    ],
)
def test_a_wrong_gap_is_reported_with_its_place(
    bench_folder: Path, change_window: Change, fields: dict[str, Any], message: str
) -> None:
    change_window(lambda window: window["gaps"][1].update(fields))

    with pytest.raises(
        BenchFormatError, match=rf"windows\.jsonl line 3, gaps\[1\]: {re.escape(message)}"
    ):
        load_bench(bench_folder)


def test_a_bench_in_which_nothing_can_be_recalled_is_refused(
    bench_folder: Path, change_window: Change
) -> None:
    change_window(lambda window: window.update(gaps=[]))
    lines = (bench_folder / "windows.jsonl").read_text().splitlines()
    (bench_folder / "windows.jsonl").write_text(lines[2])

    with pytest.raises(BenchFormatError, match="no window has a gap"):
        load_bench(bench_folder)


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"tokens": -3}, "`tokens` must be a whole number >= 0, got -3"),
        ({"tokens": 2.5}, "`tokens` must be a whole number >= 0, got 2.5"),
        ({"id": "u0"}, "`id` 'u0' is there twice"),
        ({"text": None}, "`text` must be a string, got null"),
        ({"text": ["x" * 99]}, '`text` must be a string, got ["' + "x" * 58 + "…"),
        ({"time": 12}, "`time` must be a string, got 12"),
    ],
)
def test_a_wrong_turn_is_reported_with_its_place(
    bench_folder: Path, change_dialogue: Change, fields: dict[str, Any], message: str
) -> None:
    change_dialogue(lambda dialogue: dialogue["turns"][2].update(fields))

    with pytest.raises(BenchFormatError, match=rf"garden\.json, turns\[2\]: {re.escape(message)}"):
        load_bench(bench_folder)


def test_a_turn_without_tokens_is_reported(bench_folder: Path, change_dialogue: Change) -> None:
    change_dialogue(lambda dialogue: dialogue["turns"][0].pop("tokens"))

    with pytest.raises(BenchFormatError, match=r"turns\[0\]: `tokens` is missing"):
        load_bench(bench_folder)


def test_a_broken_dialogue_is_reported_with_its_line(bench_folder: Path) -> None:
    (bench_folder / "dialogues" / "garden.json").write_text('{\n"id": "garden",\n')

    with pytest.raises(BenchFormatError, match=r"garden\.json line 3: not JSON"):
        load_bench(bench_folder)


def test_two_dialogues_of_one_id_are_refused(bench_folder: Path, change_dialogue: Change) -> None:
    change_dialogue(lambda dialogue: dialogue.update(id="office"))

    with pytest.raises(BenchFormatError, match=r"'office' is that of garden\.json too"):
        load_bench(bench_folder)


@pytest.mark.parametrize(
    ("gap", "message"),
    [
        ({"turn_id": "u0"}, "`turn_id` 'u0' is not a turn of the window"),
        ({"query": None}, "`query` must be a string, got null"),
        ({"kind": "vague"}, "`kind` must be one of referential, attribute, relational"),
        ({"anchors": "it"}, "`anchors` must be a list of strings"),
        ({"salience": "high"}, '`salience` must be a number, got "high"'),
        ({"missing": 4}, "`missing` must be a string, got 4"),
    ],
)
def test_a_wrong_detection_is_reported_with_its_place(
    bench_folder: Path, gap: dict[str, Any], message: str
) -> None:
    right = {"turn_id": "u3", "kind": "attribute", "query": "which one"}
    line = json.dumps({"window": "garden-w0", "gaps": [right | gap]})
    (bench_folder / "detections.jsonl").write_text(line)

    with pytest.raises(
        BenchFormatError, match=rf"detections\.jsonl line 1, gaps\[0\]: {re.escape(message)}"
    ):
        load_bench(bench_folder)


def test_two_lines_of_detections_for_one_window_are_refused(bench_folder: Path) -> None:
    path = bench_folder / "detections.jsonl"
    path.write_text(path.read_text() * 2)

    with pytest.raises(BenchFormatError, match="line 4: `window` 'garden-w0' is there twice"):
        load_bench(bench_folder)


def test_the_gap_benchmark_has_54_windows_and_214_gaps(gapbench: Bench) -> None:
    assert len(gapbench.windows) == 54
    assert sum(len(window.gaps) for window in gapbench.windows) == 214


def test_the_gap_benchmark_counts_histories_as_it_says(gapbench: Bench) -> None:
    for window in gapbench.windows:
        dialogue = gapbench.dialogues[window.dialogue]
        before = dialogue.tokens[: dialogue.positions[window.first]]
        assert sum(before) == window.history_tokens
