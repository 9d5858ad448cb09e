"""`remember-graph eval …`: measurements on annotated conversations."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any, cast

import typer

from remember_graph.cli.console import output, print_json, print_note, progress, write_json
from remember_graph.cli.options import (
    BaseUrlOption,
    EmbeddingsOption,
    JsonOption,
    ModelOption,
    chat_model,
    check_at_least,
)
from remember_graph.encoders import load_encoder
from remember_graph.errors import ConfigError

METHODS = ("recent", "sparse", "dense", "hybrid", "paper", "remember")
DETECTIONS = ("recorded", "local", "model")

evaluate = typer.Typer(no_args_is_help=True, rich_markup_mode=None)


@evaluate.callback()
def _root() -> None:
    """Measure on annotated conversations."""


@evaluate.command("memory")
def memory(
    bench: Annotated[
        str, typer.Option("--bench", metavar="DIR", help="A folder in the bench format.")
    ],
    methods: Annotated[
        str | None,
        typer.Option("--methods", metavar="LIST", help=f"Of {','.join(METHODS)}. Default: all."),
    ] = None,
    detections: Annotated[
        str, typer.Option("--detections", metavar="NAME", help=f"{', '.join(DETECTIONS)}.")
    ] = "recorded",
    budget: Annotated[
        list[int] | None,
        typer.Option("--budget", metavar="TOKENS", help="Repeatable. Default: 1024."),
    ] = None,
    history_tokens: Annotated[
        int | None,
        typer.Option("--history-tokens", metavar="TOKENS", help="Distractors fill up to this."),
    ] = None,
    embeddings: EmbeddingsOption = "auto",
    vectors: Annotated[
        str,
        typer.Option(
            "--vectors",
            metavar="PRECISION",
            help="float32, or as a store keeps them: float16 (SQLite, PostgreSQL), int8.",
        ),
    ] = "float32",
    model: ModelOption = None,
    base_url: BaseUrlOption = None,
    as_json: JsonOption = False,
    out: Annotated[
        Path | None, typer.Option("--out", metavar="FILE", help="Also write the JSON here.")
    ] = None,
) -> None:
    """Share of annotated gaps whose evidence a memory of so many tokens holds."""
    names = _check_methods(",".join(METHODS) if methods is None else methods)
    budgets = budget or [1024]
    for tokens in budgets:
        check_at_least("--budget", tokens, 1)
    check_at_least("--history-tokens", history_tokens, 1)
    if detections not in DETECTIONS:
        raise ConfigError(
            f"--detections must be one of {', '.join(DETECTIONS)}, got {detections!r}"
        )
    if detections == "model" and model is None:
        raise ConfigError("--detections model needs --model PROVIDER:NAME, got none")

    # Only here, so that `catchup` does not load what only measurements need.
    from remember_graph.evals.bench import load_bench
    from remember_graph.evals.memory_eval import evaluate_memory
    from remember_graph.evals.memory_methods import NEED_VECTORS, create_methods
    from remember_graph.evals.memory_report import report
    from remember_graph.evals.memory_table import memory_table
    from remember_graph.evals.rounded_encoder import PRECISIONS, RoundedEncoder

    if vectors not in PRECISIONS:
        raise ConfigError(f"--vectors must be one of {', '.join(PRECISIONS)}, got {vectors!r}")
    loaded = load_bench(Path(bench))
    encoder = load_encoder(embeddings)
    if encoder is not None and vectors != "float32":
        encoder = RoundedEncoder(encoder, vectors)
    if encoder is None and methods is None:
        names = [name for name in names if name not in NEED_VECTORS]
        print_note(f"no embeddings: {' and '.join(sorted(NEED_VECTORS))} are left out")
    with progress("Measuring") as advance:
        runs = evaluate_memory(
            loaded,
            create_methods(names, encoder, cast("Any", detections), chat_model(model, base_url)),
            budgets=budgets,
            history_tokens=history_tokens,
            detections=cast("Any", detections),
            on_progress=advance,
        )
    document = report(loaded.name, encoder.id if encoder else None, runs)
    if out is not None:
        write_json(document, out)
    if as_json:
        print_json(document)
    else:
        output().print(memory_table(document))


def _check_methods(methods: str) -> list[str]:
    names = [name.strip() for name in methods.split(",") if name.strip()]
    unknown = [name for name in names if name not in METHODS]
    if unknown or not names:
        raise ConfigError(f"--methods must be a list of {', '.join(METHODS)}, got {methods!r}")
    return list(dict.fromkeys(names))
