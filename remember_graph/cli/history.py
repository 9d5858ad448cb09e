"""`remember-graph ingest, recall, streams, reindex, export`: a history that is kept."""

from __future__ import annotations

import dataclasses
import json
import sys
from pathlib import Path
from typing import Annotated

import typer

from remember_graph.cli.console import output, print_json, print_note, printable, progress
from remember_graph.cli.options import (
    EmbeddingsOption,
    JsonOption,
    check_at_least,
    check_not_empty,
)
from remember_graph.cli.stored import (
    DbOption,
    StreamOption,
    TenantOption,
    check_stream,
    open_history,
)
from remember_graph.errors import ConfigError
from remember_graph.integrations.chats import FORMATS, read_chat

FileOption = Annotated[
    str | None, typer.Option("--out", metavar="FILE", help="Write here instead of to stdout.")
]


def ingest(
    path: Annotated[str, typer.Argument(metavar="PATH", help="A chat export: file or folder.")],
    db: DbOption,
    stream: Annotated[
        str | None,
        typer.Option(
            "--stream", metavar="NAME", help="Default: the file's stem. Slack: a channel."
        ),
    ] = None,
    tenant: TenantOption = "default",
    format: Annotated[
        str, typer.Option("--format", metavar="NAME", help=f"auto, {', '.join(FORMATS)}.")
    ] = "auto",
    tz: Annotated[
        str | None,
        typer.Option("--tz", metavar="ZONE", help="Time zone of the export, as Europe/Berlin."),
    ] = None,
    embeddings: EmbeddingsOption = "auto",
    as_json: JsonOption = False,
) -> None:
    """Add the turns of an export that are new to a history."""
    check_not_empty("--stream", stream)
    with progress("Reading") as advance:
        chat = read_chat(Path(path), format=format, tz=tz, channel=stream, on_progress=advance)
    name = stream or chat.name
    with open_history(db, embeddings) as memory, progress("Indexing") as advance:
        report = memory.add(name, chat.turns, tenant=tenant, on_progress=advance)
    for note in chat.notes:
        print_note(note)
    if as_json:
        print_json({"stream": name, "tenant": tenant, **dataclasses.asdict(report)})
        return
    changed = f", {len(report.changed)} kept in their first wording" if report.changed else ""
    output().print(
        printable(f"{name}: {report.added} turns added, {report.known} known{changed}"),
        markup=False,
    )


def recall(
    query: Annotated[str, typer.Argument(metavar="QUERY", help="What is looked for.")],
    db: DbOption,
    stream: StreamOption,
    tenant: TenantOption = "default",
    k: Annotated[int, typer.Option("--k", metavar="N", help="Most turns.")] = 10,
    embeddings: EmbeddingsOption = "auto",
    as_json: JsonOption = False,
) -> None:
    """Find the turns of a stream that answer a question."""
    check_at_least("--k", k, 1)
    with open_history(db, embeddings, there=True) as memory:
        check_stream(memory, stream, tenant)
        found = memory.recall(stream, query, tenant=tenant, k=k)
    for reason in found["degraded"]:
        print_note(f"degraded: {reason}")
    if as_json:
        print_json(found)
        return
    for turn in found["turns"]:
        when = f" ({turn['time'][:16].replace('T', ' ')})" if turn["time"] else ""
        line = f"• {turn['speaker']}{when}: {' '.join(turn['text'].split())}  [{turn['turn_id']}]"
        output().print(printable(line), markup=False)
    if not found["turns"]:
        print_note("nothing in the stream is close to the query")


def streams(db: DbOption, as_json: JsonOption = False) -> None:
    """List the streams of a history."""
    with open_history(db, "none", there=True) as memory:
        found = memory.history.store.streams()
    if as_json:
        rows = [{"tenant": name.tenant, "stream": name.stream, "turns": n} for name, n in found]
        print_json({"streams": rows})
        return
    for namespace, count in found:
        line = f"{namespace.stream}  (tenant {namespace.tenant}, {count} turns)"
        output().print(printable(line), markup=False)


def reindex(
    db: DbOption,
    stream: Annotated[
        str | None, typer.Option("--stream", metavar="NAME", help="Default: every stream.")
    ] = None,
    tenant: TenantOption = "default",
    embeddings: EmbeddingsOption = "auto",
    as_json: JsonOption = False,
) -> None:
    """Make the vectors that the embedding model at hand lacks; goes on where it was interrupted."""
    with open_history(db, embeddings, there=True) as memory:
        if memory.history.encoder is None:
            raise ConfigError("--embeddings must name a model for reindex, got none")
        if stream is not None:
            check_stream(memory, stream, tenant)
        chosen = [
            name
            for name, _ in memory.history.store.streams()
            if stream is None or (name.tenant, name.stream) == (tenant, stream)
        ]
        made = {}
        with progress("Embedding") as advance:
            for name in chosen:
                made[name] = memory.history.reindex(name, on_progress=advance)
        model = memory.history.encoder.id
    if as_json:
        rows = [{"tenant": n.tenant, "stream": n.stream, "vectors": c} for n, c in made.items()]
        print_json({"embeddings": model, "streams": rows})
    else:
        output().print(printable(f"{sum(made.values())} vectors made with {model}"), markup=False)


def export(
    db: DbOption,
    stream: StreamOption,
    tenant: TenantOption = "default",
    out: FileOption = None,
    as_json: JsonOption = False,
) -> None:
    """Write every turn of a stream as JSON Lines, which `ingest` reads again."""
    with open_history(db, "none", there=True) as memory:
        check_stream(memory, stream, tenant)
        turns = [turn.to_dict() for turn in memory.log(stream, tenant=tenant)]
    if as_json and out is None:
        print_json({"stream": stream, "tenant": tenant, "turns": turns})
        return
    lines = "".join(json.dumps(turn, ensure_ascii=False) + "\n" for turn in turns)
    if out is None:
        sys.stdout.write(lines)
        return
    try:
        Path(out).write_text(lines, "utf-8")
    except OSError as error:
        raise ConfigError(f"--out {out} cannot be written: {error.strerror or error}") from error
    if as_json:
        print_json({"stream": stream, "tenant": tenant, "turns": len(turns), "out": out})
