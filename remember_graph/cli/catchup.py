"""`remember-graph catchup PATH`: read an export, print what its latest window is about."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from remember_graph.cli.catchup_text import print_catch_up
from remember_graph.cli.console import print_json, print_note, progress
from remember_graph.cli.options import (
    BaseUrlOption,
    EmbeddingsOption,
    JsonOption,
    ModelOption,
    chat_model,
    check_at_least,
    check_not_empty,
    check_preset,
)
from remember_graph.history.opening import FORMS
from remember_graph.integrations.chats import FORMATS, Chat, read_chat
from remember_graph.memory import Memory
from remember_graph.settings import Settings


def catchup(
    path: Annotated[str, typer.Argument(metavar="PATH", help="A chat export: file or folder.")],
    format: Annotated[
        str, typer.Option("--format", metavar="NAME", help=f"auto, {', '.join(FORMATS)}.")
    ] = "auto",
    preset: Annotated[
        str, typer.Option("--preset", metavar="NAME", help="remember or paper.")
    ] = "remember",
    budget: Annotated[
        int, typer.Option("--budget", metavar="TOKENS", help="Most tokens of memory.")
    ] = 1024,
    window: Annotated[
        int, typer.Option("--window", metavar="TOKENS", help="Tokens of the latest window.")
    ] = 1024,
    model: ModelOption = None,
    base_url: BaseUrlOption = None,
    embeddings: EmbeddingsOption = "auto",
    language: Annotated[
        str | None,
        typer.Option("--language", metavar="NAME", help="Of the summary. Default: the chat's."),
    ] = None,
    tz: Annotated[
        str | None,
        typer.Option("--tz", metavar="ZONE", help="Time zone of the export, as Europe/Berlin."),
    ] = None,
    stream: Annotated[
        str | None,
        typer.Option(
            "--stream", metavar="NAME", help="Default: the file's stem. Slack: a channel."
        ),
    ] = None,
    tenant: Annotated[
        str, typer.Option("--tenant", metavar="NAME", help="Whose conversation.")
    ] = "default",
    db: Annotated[
        str | None,
        typer.Option("--db", metavar="PATH_OR_URL", help=f"Keep the history: {FORMS}."),
    ] = None,
    as_json: JsonOption = False,
) -> None:
    """Summarise the latest part of a chat so that it is understood without scrolling back."""
    check_at_least("--budget", budget, 1)
    check_at_least("--window", window, 1)
    check_not_empty("--stream", stream)
    check_not_empty("--db", db)
    settings = Settings(
        preset=check_preset(preset), budget=budget, window=window, language=language
    )
    chat_model_ = chat_model(model, base_url)
    chat = _read(path, format, tz, stream)
    name = stream or chat.name
    with Memory.open(db, model=chat_model_, embeddings=embeddings, settings=settings) as memory:
        with progress("Indexing") as advance:
            memory.add(name, chat.turns, tenant=tenant, on_progress=advance)
        result = memory.catch_up(name, tenant=tenant)
        # From the history, which may hold turns that this export no longer has.
        named = [*result["window"], *(gap["turn_id"] for gap in result["gaps"])]
        turns = memory.turns(name, named, tenant=tenant)
    for note in (*chat.notes, *(f"degraded: {reason}" for reason in result["degraded"])):
        print_note(note)
    if as_json:
        print_json(result)
    else:
        print_catch_up(result, turns)


def _read(path: str, format: str, tz: str | None, stream: str | None) -> Chat:
    with progress("Reading") as advance:
        return read_chat(Path(path), format=format, tz=tz, channel=stream, on_progress=advance)
