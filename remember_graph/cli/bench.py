"""`remember-graph bench`: how fast the history is on this machine."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from remember_graph.cli.console import output, print_json, progress, write_json
from remember_graph.cli.options import EmbeddingsOption, JsonOption, check_not_empty
from remember_graph.encoders import load_encoder
from remember_graph.errors import ConfigError
from remember_graph.history.opening import FORMS

if TYPE_CHECKING:
    from remember_graph.evals.speed_rows import Row


def bench(
    full: Annotated[bool, typer.Option("--full", help="Also at 10,000,000 tokens.")] = False,
    db: Annotated[
        str | None,
        typer.Option("--db", metavar="PATH_OR_URL", help=f"Only how fast this store is: {FORMS}."),
    ] = None,
    embeddings: EmbeddingsOption = "auto",
    as_json: JsonOption = False,
    out: Annotated[
        Path | None, typer.Option("--out", metavar="FILE", help="Also write the JSON here.")
    ] = None,
) -> None:
    """Measure ingest, window building and start-up beside other ways to do the same."""
    from remember_graph.evals.speed import measure_speed
    from remember_graph.evals.speed_stores import measure_store

    check_not_empty("--db", db)
    if db is not None and full:
        raise ConfigError("--full measures long histories in a file; it takes no --db")
    encoder = load_encoder(embeddings)
    if db is not None:
        report = measure_store(db, encoder)
    else:
        with progress("Measuring") as advance:
            report = measure_speed(encoder, full=full, on_progress=advance)
    if out is not None:
        write_json(report, out)
    if as_json:
        print_json(report)
        return
    for row in report["rows"]:
        output().print(_line(row), markup=False)


def _line(row: Row) -> str:
    tokens = f"{row['history_tokens']:>10,}" if row["history_tokens"] else " " * 10
    line = f"{row['name']:<32}{tokens} tokens  {row['value']:>12,} {row['unit']}"
    if row["baseline"] is None:
        return line
    if row["baseline_value"] is None:
        return f"{line}   [{row['baseline']}]"
    return f"{line}   {row['baseline']}: {row['baseline_value']:,} (x {row['ratio']})"
