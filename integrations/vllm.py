"""Chat and embedding models of a running `vllm serve`, through its OpenAI-compatible API.

Nothing of vLLM is imported: the server may be on another machine. Whether it answers is asked
when the model is made, so that a wrong address is told with the command that starts a server.
"""

from __future__ import annotations

import json
from http.client import HTTPException
from typing import TYPE_CHECKING, Any
from urllib.error import HTTPError
from urllib.parse import urlsplit
from urllib.request import Request, urlopen

from remember_graph.errors import ConfigError, MissingExtraError, ModelError

if TYPE_CHECKING:
    from langchain_openai import ChatOpenAI, OpenAIEmbeddings

_CHECK_S = 5
_PORT = 8000
_CHAT = {"temperature": 0, "timeout": 60, "max_retries": 1, "max_tokens": 1024}


def vllm_chat(
    base_url: str = "http://127.0.0.1:8000",
    model: str | None = None,
    *,
    api_key: str = "EMPTY",
    check: bool = True,
    **options: Any,  # noqa: ANN401 - as `ChatOpenAI` takes them
) -> ChatOpenAI:
    """A chat model of the server: it does not think aloud, and its answers have an allowance.

    The detector and the summarizer constrain its answers by `response_format`, and read what
    there is of one that ended at its allowance.

    Args:
        base_url: With or without `/v1`.
        model: As served; default the first that the server names.
        api_key: Where the server was started with one.
        check: Whether the server is asked first; without, `model` must be given.
        **options: For `ChatOpenAI`; they go before the ones set here.

    Raises:
        ModelError: Nothing answers there, or it serves no such model.
        ConfigError: An argument is not what it should be.
        MissingExtraError: langchain-openai is not installed.
    """
    root, name = _served(base_url, model, api_key, check, "")
    try:
        from langchain_openai import ChatOpenAI
    except ImportError as error:
        raise _missing() from error
    extra = {"chat_template_kwargs": {"enable_thinking": False}, **options.pop("extra_body", {})}
    return ChatOpenAI(
        model=name,
        base_url=f"{root}/v1",
        api_key=api_key,  # type: ignore[arg-type]  # made a secret by pydantic
        extra_body=extra,
        **{**_CHAT, **options},
    )


def vllm_embeddings(
    base_url: str = "http://127.0.0.1:8001",
    model: str | None = None,
    *,
    api_key: str = "EMPTY",
    check: bool = True,
    **options: Any,  # noqa: ANN401 - as `OpenAIEmbeddings` takes them
) -> OpenAIEmbeddings:
    """An embedding model of the server; texts are sent as they are, and the server counts them.

    Args:
        base_url: With or without `/v1`.
        model: As served; default the first that the server names.
        api_key: Where the server was started with one.
        check: Whether the server is asked first; without, `model` must be given.
        **options: For `OpenAIEmbeddings`; they go before the ones set here.

    Raises:
        ModelError: Nothing answers there, or it serves no such model.
        ConfigError: An argument is not what it should be.
        MissingExtraError: langchain-openai is not installed.
    """
    root, name = _served(base_url, model, api_key, check, " --runner pooling")
    try:
        from langchain_openai import OpenAIEmbeddings
    except ImportError as error:
        raise _missing() from error
    # Else the client cuts texts by a tokenizer that it downloads, and sends token ids of it.
    settings = {"check_embedding_ctx_length": False, "timeout": 60, "max_retries": 1, **options}
    return OpenAIEmbeddings(
        model=name,
        base_url=f"{root}/v1",
        api_key=api_key,  # type: ignore[arg-type]
        **settings,
    )


def _served(
    base_url: str, model: str | None, api_key: str, check: bool, flags: str
) -> tuple[str, str]:
    """The server's address without `/v1`, and the model's name there."""
    root = _root(base_url)
    if not check:
        if not model:
            raise ConfigError(f"`model` must be given with `check=False`, got {model!r}")
        return root, model
    start = f"start one: vllm serve {model or 'MODEL'} --port {_port(root)}{flags}"
    _get(f"{root}/health", api_key, start)
    names = _names(_get(f"{root}/v1/models", api_key, start))
    if not names or (model and model not in names):
        raise ModelError(
            f"`model` {model!r} is not served at {root}: GET {root}/v1/models names "
            f"{', '.join(names) or 'none'}; {start}"
        )
    return root, model or names[0]


def _root(base_url: str) -> str:
    root = base_url.rstrip("/").removesuffix("/v1")
    try:
        parts = urlsplit(root)
        is_address = parts.scheme in ("http", "https") and bool(parts.hostname)
        _ = parts.port
    except ValueError:
        is_address = False
    if not is_address:
        raise ConfigError(f"`base_url` must be http(s)://HOST:PORT, got {base_url!r}")
    return root


def _port(root: str) -> int:
    return urlsplit(root).port or _PORT


def _get(url: str, api_key: str, start: str) -> bytes:
    request = Request(url, headers={"Authorization": f"Bearer {api_key}"})
    try:
        with urlopen(request, timeout=_CHECK_S) as answer:
            body: bytes = answer.read()
            return body
    except HTTPError as error:
        error.close()
        told = f"{error.code} {error.reason}"
    except (OSError, HTTPException) as error:
        told = str(getattr(error, "reason", None) or error) or type(error).__name__
    raise ModelError(f"no vLLM server is ready: GET {url} gave {told}; {start}")


def _names(body: bytes) -> list[str]:
    try:
        return [str(item["id"]) for item in json.loads(body)["data"]]
    except (ValueError, TypeError, KeyError):
        return []


def _missing() -> MissingExtraError:
    return MissingExtraError(
        "langchain-openai is not installed; run: pip install 'remember-graph[openai]'"
    )
