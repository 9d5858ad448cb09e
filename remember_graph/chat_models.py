"""Calls to a chat or completion model: one question, one plain reply, every failure one error.

Structured output is asked for where the server can constrain it (an OpenAI-compatible endpoint)
and never relied on: the reply is text, and who asked parses it. Calls carry LangGraph's
no-stream tag, so that no token of them reaches the stream of a surrounding agent.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, cast

from remember_graph.errors import ConfigError, MissingExtraError, ModelError

# LangGraph's `TAG_NOSTREAM`, spelled out: importing it would load the whole library here.
_NO_STREAM_TAG = "nostream"
_TIMEOUT_S = 120
# LangChain knows which package a provider is in, and says it in the message of its ImportError.
_PIP_PACKAGE = re.compile(r"pip install (?:-U )?([\w.-]*\w)")


@dataclass(frozen=True, slots=True)
class Message:
    """One message of a prompt: `role` is `system` or `user`."""

    role: str
    text: str


@dataclass(frozen=True, slots=True)
class Reply:
    """What a model answered.

    Attributes:
        text: The answer.
        input_tokens: As the server counts, 0 where it does not say.
        output_tokens: As the server counts, 0 where it does not say.
        cut: Whether the answer ended at its allowance.
    """

    text: str
    input_tokens: int = 0
    output_tokens: int = 0
    cut: bool = False


class ChatModel:
    """A LangChain model, called with plain messages.

    Args:
        model: A `BaseChatModel` or a completion-style `BaseLLM`.
    """

    def __init__(self, model: Any) -> None:  # noqa: ANN401 - chat and completion models share no base
        if not hasattr(model, "invoke"):
            raise ConfigError(
                "`model` must be provider:name, a LangChain chat model or LLM, "
                f"got {type(model).__name__}"
            )
        self._model = model
        self.name = str(
            getattr(model, "model_name", None)
            or getattr(model, "model", None)
            or type(model).__name__
        )

    def call(
        self,
        messages: Sequence[Message],
        *,
        max_tokens: int,
        schema: Mapping[str, Any] | None = None,
    ) -> Reply:
        """The model's reply.

        Args:
            messages: The prompt.
            max_tokens: Allowance of the answer, where the model has such a setting.
            schema: JSON schema of the answer, where the server can enforce one.

        Raises:
            ModelError: It could not be reached, or failed.
        """
        try:
            answer = self._bound(max_tokens, schema).invoke(self._prompt(messages), _CONFIG)
        except Exception as error:  # every provider raises its own classes
            raise self._failure(error) from error
        return _reply(answer)

    async def acall(
        self,
        messages: Sequence[Message],
        *,
        max_tokens: int,
        schema: Mapping[str, Any] | None = None,
    ) -> Reply:
        """The async twin of `call`."""
        try:
            answer = await self._bound(max_tokens, schema).ainvoke(self._prompt(messages), _CONFIG)
        except Exception as error:
            raise self._failure(error) from error
        return _reply(answer)

    def _bound(self, max_tokens: int, schema: Mapping[str, Any] | None) -> Any:  # noqa: ANN401
        if not _is_openai_compatible(self._model):
            return self._model
        body = dict(getattr(self._model, "extra_body", None) or {})
        # In `extra_body`, since the client turns `response_format` into another call, which
        # raises on an answer that ends at its allowance and so loses it.
        if schema is not None:
            body["response_format"] = {
                "type": "json_schema",
                "json_schema": {"name": "answer", "schema": dict(schema)},
            }
        return self._model.bind(extra_body=body, max_tokens=max_tokens)

    def _prompt(self, messages: Sequence[Message]) -> Any:  # noqa: ANN401
        if _is_chat_model(self._model):
            return [(message.role, message.text) for message in messages]
        return "\n\n".join(message.text for message in messages) + "\n\n"

    def _failure(self, error: Exception) -> ModelError:
        where = getattr(self._model, "openai_api_base", None)
        at = f" at {where}" if where else ""
        name, line = type(error).__name__, first_line(error)
        reason = line if line == name else f"{name}: {line}"
        return ModelError(
            f"model {self.name}{at} failed: {reason}",
            rejected=getattr(error, "status_code", None) in (400, 422),
        )


_CONFIG: Any = {"tags": [_NO_STREAM_TAG], "metadata": {"lc_source": "remember_graph"}}


def _is_chat_model(model: Any) -> bool:  # noqa: ANN401
    from langchain_core.language_models import BaseLLM

    return not isinstance(model, BaseLLM)


def _is_openai_compatible(model: Any) -> bool:  # noqa: ANN401
    return any(base.__name__ == "BaseChatOpenAI" for base in type(model).__mro__)


def _reply(answer: Any) -> Reply:  # noqa: ANN401
    if isinstance(answer, str):
        return Reply(answer)
    usage = getattr(answer, "usage_metadata", None) or {}
    details = getattr(answer, "response_metadata", None) or {}
    reason = (
        details.get("finish_reason") or details.get("stop_reason") or details.get("done_reason")
    )
    return Reply(
        _text_of(answer),
        int(usage.get("input_tokens") or 0),  # some servers send null
        int(usage.get("output_tokens") or 0),
        reason in ("length", "max_tokens"),
    )


def _text_of(answer: Any) -> str:  # noqa: ANN401
    content = getattr(answer, "content", answer)
    if isinstance(content, str):
        return content
    if isinstance(content, list):
        parts = (part if isinstance(part, str) else part.get("text", "") for part in content)
        return "".join(part for part in parts if isinstance(part, str))
    return ""


def load_chat_model(
    spec: Any,  # noqa: ANN401 - a name or an object
    *,
    base_url: str | None = None,
    api_key: str | None = None,
) -> ChatModel | None:
    """The model that `spec` names.

    Args:
        spec: `provider:name` as LangChain's `init_chat_model` reads it, a LangChain model, a
            `ChatModel`, or None for none.
        base_url: Where an OpenAI-compatible server listens; only with a name.
        api_key: For that server; most of one's own ask for none.

    Raises:
        ConfigError: The name cannot be read, or a base URL stands without one.
        MissingExtraError: The provider's package is not installed.
        ModelError: The provider refused to make it.
    """
    if spec is None:
        if base_url is not None:
            raise ConfigError(f"`base_url` {base_url!r} needs a `model`, got none")
        return None
    if base_url is not None and not isinstance(spec, str):
        raise ConfigError(
            f"`base_url` {base_url!r} needs a `model` given as provider:name, "
            f"got {type(spec).__name__}, which knows its own address"
        )
    if isinstance(spec, ChatModel):
        return spec
    return ChatModel(_from_name(spec, base_url, api_key) if isinstance(spec, str) else spec)


def _from_name(name: str, base_url: str | None, api_key: str | None) -> Any:  # noqa: ANN401
    provider, colon, model = name.partition(":")
    if not (colon and provider and model):
        raise ConfigError(f"`model` must be provider:name (as openai:gpt-5-mini), got {name!r}")
    from langchain.chat_models import init_chat_model

    options: dict[str, Any] = {"temperature": 0, "timeout": _TIMEOUT_S, "max_retries": 1}
    if provider == "ollama":
        options = {"temperature": 0}  # its client takes neither of the others
    if base_url is not None:
        options["base_url"] = base_url
        if provider == "openai":
            options["api_key"] = api_key or "EMPTY"  # the client insists on one
    try:
        return cast("Any", init_chat_model)(model, model_provider=provider, **options)
    except Exception as error:  # every provider raises its own classes
        raise setup_error(f"`model` {name!r}", error) from error


def setup_error(what: str, error: Exception) -> ConfigError | MissingExtraError | ModelError:
    """The error of ours, in one line, for what LangChain raised on making a model by its name.

    Args:
        what: The argument and its value, as the message begins.
        error: As it came.
    """
    if isinstance(error, ImportError):
        named = _PIP_PACKAGE.search(str(error))
        how = f"run: pip install {_dashed(named.group(1))}" if named else first_line(error)
        return MissingExtraError(f"{what} needs a package that is not installed; {how}")
    if isinstance(error, ValueError):
        return ConfigError(f"{what} is not known: {first_line(error)}")
    return ModelError(f"{what} could not be set up: {first_line(error)}")


def _dashed(package: str) -> str:
    """The name that pip shows; older releases of LangChain name the module."""
    return package.replace("_", "-")


def first_line(error: Exception) -> str:
    r"""The first line of an error's message, or its class where it has none.

    Example:
        >>> first_line(ValueError("no such model\nknown are: x, y")), first_line(TimeoutError())
        ('no such model', 'TimeoutError')
    """
    lines = str(error).strip().splitlines()
    return lines[0] if lines else type(error).__name__
