"""The commands and their names."""

from __future__ import annotations

from importlib.metadata import version
from typing import Annotated

import typer

from remember_graph.cli.bench import bench
from remember_graph.cli.catchup import catchup
from remember_graph.cli.evaluate import evaluate
from remember_graph.cli.forgetting import forget, retain
from remember_graph.cli.history import export, ingest, recall, reindex, streams

app = typer.Typer(
    name="remember-graph",
    help="Memory for conversations: catch up on a chat, measure what is recovered.",
    add_completion=False,
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)
app.command("catchup")(catchup)
app.command("bench")(bench)
for command in (ingest, recall, streams, forget, retain, reindex, export):
    app.command(command.__name__)(command)
app.add_typer(evaluate, name="eval", help="Measure on annotated conversations.")


def _print_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"remember-graph {version('remember-graph')}")
        raise typer.Exit()


@app.callback()
def _root(
    show_version: Annotated[
        bool,
        typer.Option(
            "--version", callback=_print_version, is_eager=True, help="Print the version."
        ),
    ] = False,
) -> None:
    """Options of the program itself."""
