"""What the commands share to talk to a person: streams, errors, progress."""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn, TimeRemainingColumn

from remember_graph.errors import ConfigError

_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]")
_PIPED_WIDTH = 140  # of tables; text in a pipe or a file is not wrapped at all

Advance = Callable[[int, int], None]


def prepare_streams() -> None:
    """Let any text be printed, whatever the terminal's encoding."""
    for stream in (sys.stdout, sys.stderr):
        reconfigure = getattr(stream, "reconfigure", None)
        if reconfigure is not None:
            reconfigure(errors="backslashreplace")


def printable(text: str) -> str:
    """The text without control characters: what people wrote must not steer a terminal."""
    return _CONTROL.sub("\ufffd", text)


def output() -> Console:
    """The console for results; lines are wrapped for a terminal alone."""
    if sys.stdout.isatty():
        return Console(highlight=False)
    return Console(highlight=False, soft_wrap=True, width=_PIPED_WIDTH)


def messages() -> Console:
    """The console for everything that is not a result."""
    return Console(stderr=True, highlight=False, soft_wrap=True)


def print_error(message: str) -> None:
    """One line on stderr."""
    messages().print(printable(f"error: {message}"), markup=False, style="red")


def print_note(message: str) -> None:
    """One line on stderr, dimmed."""
    messages().print(printable(f"note: {message}"), markup=False, style="dim")


def print_json(document: Any) -> None:  # noqa: ANN401 - any JSON value
    """One JSON document on stdout, escaped where the terminal's encoding has no such letters."""
    everything = (sys.stdout.encoding or "").lower().startswith("utf")
    sys.stdout.write(_as_text(document, ascii_only=not everything))


def write_json(document: Any, path: Path) -> None:  # noqa: ANN401 - any JSON value
    """One JSON document in a file; what stands in the way is named."""
    try:
        path.write_text(_as_text(document), "utf-8")
    except OSError as error:
        raise ConfigError(f"--out {path} cannot be written: {error.strerror or error}") from error


def _as_text(document: Any, *, ascii_only: bool = False) -> str:  # noqa: ANN401
    return json.dumps(document, ensure_ascii=ascii_only, indent=2) + "\n"


@contextmanager
def progress(label: str) -> Iterator[Advance]:
    """A progress bar on stderr; nothing where stderr is not a terminal."""
    if not sys.stderr.isatty():
        yield lambda done, total: None
        return
    bar = Progress(
        TextColumn(label),
        BarColumn(),
        TaskProgressColumn(),
        TimeRemainingColumn(),
        console=messages(),
        transient=True,
    )
    with bar:
        task = bar.add_task(label, total=None)

        def advance(done: int, total: int) -> None:
            bar.update(task, completed=done, total=total)

        yield advance
