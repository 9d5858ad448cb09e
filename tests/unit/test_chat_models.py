"""Calls to chat and completion models, and their loading."""

from __future__ import annotations

import asyncio
import importlib.util
from typing import Any, cast

import pytest
from langchain_core.language_models.fake import FakeListLLM
from langchain_core.messages import AIMessage

from remember_graph.chat_models import ChatModel, Message, Reply, load_chat_model
from remember_graph.errors import ConfigError, MissingExtraError, ModelError

_PROMPT = (Message("system", "Be brief."), Message("user", "Hi"))


def test_a_chat_model_gets_the_messages_in_their_roles(scripted: Any) -> None:
    model = scripted("Hello")

    assert ChatModel(model).call(_PROMPT, max_tokens=10) == Reply("Hello")
    assert [(m.type, m.content) for m in model.prompts[0]] == [
        ("system", "Be brief."),
        ("human", "Hi"),
    ]


def test_the_async_twin_replies_the_same(scripted: Any) -> None:
    assert asyncio.run(ChatModel(scripted("Hello")).acall(_PROMPT, max_tokens=10)) == Reply("Hello")


def test_a_call_carries_the_tag_that_keeps_it_out_of_streams(scripted: Any) -> None:
    model = scripted("Hello")
    ChatModel(model).call(_PROMPT, max_tokens=10)

    assert "nostream" in model.calls[0]["tags"]


def test_a_completion_model_gets_one_text() -> None:
    assert ChatModel(FakeListLLM(responses=["Hello"])).call(_PROMPT, max_tokens=10) == Reply(
        "Hello"
    )


@pytest.mark.parametrize("key", ["finish_reason", "stop_reason", "done_reason"])
@pytest.mark.parametrize("reason", ["length", "max_tokens"])
def test_a_reply_that_ended_at_its_allowance_is_cut(scripted: Any, key: str, reason: str) -> None:
    answer = AIMessage("Hel", response_metadata={key: reason})

    assert ChatModel(scripted(answer)).call(_PROMPT, max_tokens=1).cut


def test_a_reply_that_ended_by_itself_is_not_cut(scripted: Any) -> None:
    answer = AIMessage("Hello", response_metadata={"finish_reason": "stop"})

    assert not ChatModel(scripted(answer)).call(_PROMPT, max_tokens=9).cut


def test_tokens_are_those_the_server_counted(scripted: Any) -> None:
    usage: Any = {"input_tokens": 7, "output_tokens": 2, "total_tokens": 9}
    reply = ChatModel(scripted(AIMessage("Hello", usage_metadata=usage))).call(
        _PROMPT, max_tokens=9
    )

    assert (reply.input_tokens, reply.output_tokens) == (7, 2)


def test_tokens_that_the_server_leaves_open_are_0(scripted: Any) -> None:
    answer = AIMessage("Hello")
    answer.usage_metadata = cast(Any, {"input_tokens": None, "output_tokens": None})

    reply = ChatModel(scripted(answer)).call(_PROMPT, max_tokens=9)

    assert (reply.input_tokens, reply.output_tokens) == (0, 0)


def test_a_reply_in_parts_is_the_text_of_its_parts(scripted: Any) -> None:
    parts: Any = [
        {"type": "reasoning", "reasoning": "hm"},
        {"type": "text", "text": "Hel"},
        "lo",
        {"type": "image_url", "image_url": {"url": "x"}},
    ]

    assert ChatModel(scripted(AIMessage(parts))).call(_PROMPT, max_tokens=9).text == "Hello"


def test_a_failure_is_one_error_in_one_line(scripted: Any) -> None:
    model = ChatModel(scripted(RuntimeError("no connection\nto the server")))

    with pytest.raises(ModelError, match=r"failed: RuntimeError: no connection$") as caught:
        model.call(_PROMPT, max_tokens=9)
    assert not caught.value.rejected


def test_the_async_twin_fails_the_same(scripted: Any) -> None:
    model = ChatModel(scripted(RuntimeError("no connection")))

    with pytest.raises(ModelError, match=r"failed: RuntimeError: no connection$"):
        asyncio.run(model.acall(_PROMPT, max_tokens=9))


def test_a_failure_without_a_message_names_its_class(scripted: Any) -> None:
    with pytest.raises(ModelError, match=r"failed: TimeoutError$"):
        ChatModel(scripted(TimeoutError())).call(_PROMPT, max_tokens=9)


@pytest.mark.parametrize(
    ("status", "rejected"), [(400, True), (422, True), (401, False), (500, False)]
)
def test_only_a_refused_request_is_rejected(scripted: Any, status: int, rejected: bool) -> None:
    error = RuntimeError("no")
    error.status_code = status  # type: ignore[attr-defined]

    with pytest.raises(ModelError, match="no") as caught:
        ChatModel(scripted(error)).call(_PROMPT, max_tokens=9)
    assert caught.value.rejected is rejected


def test_what_cannot_be_called_is_no_model() -> None:
    with pytest.raises(ConfigError, match=r"`model` must be provider:name, .*, got int"):
        load_chat_model(7)


def test_a_loaded_model_is_itself(scripted: Any) -> None:
    model = ChatModel(scripted())

    assert load_chat_model(model) is model


def test_no_model_is_none() -> None:
    assert load_chat_model(None) is None


def test_an_address_without_a_model_is_refused() -> None:
    with pytest.raises(ConfigError, match="`base_url` 'http://x' needs a `model`"):
        load_chat_model(None, base_url="http://x")


@pytest.mark.parametrize("loaded", [False, True])
def test_an_address_beside_a_model_object_is_refused(scripted: Any, loaded: bool) -> None:
    model = ChatModel(scripted()) if loaded else scripted()

    with pytest.raises(ConfigError, match="`base_url` 'http://x' needs a `model` given as"):
        load_chat_model(model, base_url="http://x")


@pytest.mark.parametrize("name", ["gpt-5-mini", "openai:", ":x", ""])
def test_a_name_without_a_provider_says_how_it_is_written(name: str) -> None:
    with pytest.raises(ConfigError, match="must be provider:name"):
        load_chat_model(name)


def test_an_unknown_provider_is_named() -> None:
    with pytest.raises(ConfigError, match=r"`model` 'nope:x' is not known: .*nope"):
        load_chat_model("nope:x")


@pytest.mark.parametrize(
    ("name", "package"),
    [
        ("ollama:llama3", "langchain-ollama"),
        ("google_genai:x", "langchain-google-genai"),
        ("bedrock:x", "langchain-aws"),
        ("nvidia:x", "langchain-nvidia-ai-endpoints"),
    ],
)
def test_a_missing_package_is_named_with_the_pip_line(name: str, package: str) -> None:
    if importlib.util.find_spec(package.replace("-", "_")):
        pytest.skip(f"{package} is installed")

    with pytest.raises(MissingExtraError, match=f"run: pip install {package}$"):
        load_chat_model(name)


def test_a_refusal_without_words_is_still_an_error_of_ours(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*args: object, **options: object) -> None:
        raise ValueError

    monkeypatch.setattr("langchain.chat_models.init_chat_model", refuse)

    with pytest.raises(ConfigError, match="`model` 'openai:x' is not known"):
        load_chat_model("openai:x")


class TestOpenAI:
    """The OpenAI-compatible client."""

    @pytest.fixture(autouse=True)
    def package(self) -> None:
        pytest.importorskip("langchain_openai", reason="needs the extra `openai`")

    def test_a_server_of_ones_own_needs_no_key(self) -> None:
        model = load_chat_model("openai:local", base_url="http://127.0.0.1:9/v1")

        assert model is not None
        assert model.name == "local"

    def test_a_missing_key_is_said(self) -> None:
        with pytest.raises(ModelError, match=r"`model` 'openai:x' could not be set up: .*api_key"):
            load_chat_model("openai:x")

    def test_a_server_that_is_not_there_is_named_with_its_address(self) -> None:
        from langchain_openai import ChatOpenAI
        from pydantic import SecretStr

        client = ChatOpenAI(
            model="local", base_url="http://127.0.0.1:9/v1", api_key=SecretStr("x"), max_retries=0
        )

        with pytest.raises(ModelError, match=r"model local at http://127\.0\.0\.1:9/v1 failed"):
            ChatModel(client).call(_PROMPT, max_tokens=9)
