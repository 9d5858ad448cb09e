"""The options that name a stored history and a stream in it, declared and checked once."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from remember_graph.cli.options import check_not_empty
from remember_graph.errors import ConfigError, HistoryError
from remember_graph.history.opening import FORMS, sqlite_path
from remember_graph.memory import Memory

DbOption = Annotated[
    str, typer.Option("--db", metavar="PATH_OR_URL", help=f"The history: {FORMS}.")
]
StreamOption = Annotated[str, typer.Option("--stream", metavar="NAME", help="Which conversation.")]
TenantOption = Annotated[str, typer.Option("--tenant", metavar="NAME", help="Whose conversation.")]


def open_history(db: str, embeddings: str, *, there: bool = False) -> Memory:
    """The memory over a store; where it is only read, a file that is not there is not made."""
    check_not_empty("--db", db)
    path = sqlite_path(db)
    if there and path and not Path(path).exists():
        raise HistoryError(f"cannot open the history file {path}: there is no such file")
    return Memory.open(db, embeddings=embeddings)


def check_stream(memory: Memory, stream: str, tenant: str) -> None:
    """Refuse a stream that the history does not have."""
    check_not_empty("--stream", stream)
    there = memory.history.store.streams()
    if (tenant, stream) not in [tuple(name) for name, _ in there]:
        known = ", ".join(repr(name.stream) for name, _ in there if name.tenant == tenant)
        raise ConfigError(
            f"--stream must name a stream of tenant {tenant!r} ({known or 'it has none'}), "
            f"got {stream!r}"
        )
