"""Models from a local folder: tiny random ones, made here, prove the wiring and not the wisdom."""

from __future__ import annotations

import sys
import warnings
from pathlib import Path
from typing import Any

import pytest

from remember_graph import Memory, Settings, Turn
from remember_graph.errors import ConfigError, MissingExtraError
from remember_graph.integrations.huggingface import local_chat, local_embeddings
from remember_graph.settings import DetectSettings, SummarizeSettings

pytestmark = [
    pytest.mark.integration,
    # Not ours: transformers and the LangChain packages around it warn on import and on calls.
    pytest.mark.filterwarnings("ignore"),
]

_TEXTS = ["The hall is booked for Friday.", "Which boat do we take?", "Cleo lends the blue boat."]
_SETTINGS = Settings(
    window=40,
    budget=60,
    detect=DetectSettings(max_gaps=2, max_output_tokens=16),
    summarize=SummarizeSettings(max_sentences=2, max_output_tokens=16),
)
_TURNS = [Turn("Ana", text, id=str(at)) for at, text in enumerate(_TEXTS * 3)]
_TEMPLATE = (
    "{% for m in messages %}{{ m['role'] }}: {{ m['content'] }}\n{% endfor %}"
    "{% if add_generation_prompt %}assistant:{% endif %}"
)


@pytest.fixture(scope="module")
def transformers() -> Any:
    pytest.importorskip("torch", reason="needs extra `huggingface`")
    pytest.importorskip("langchain_huggingface", reason="needs extra `huggingface`")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return pytest.importorskip("transformers", reason="needs extra `huggingface`")


def _tokenizer(transformers: Any, **special: str) -> Any:
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers

    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=400,
        special_tokens=["<pad>", "<end>"],
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
        show_progress=False,
    )
    tokenizer.train_from_iterator(_TEXTS, trainer)
    fast = transformers.PreTrainedTokenizerFast
    return fast(tokenizer_object=tokenizer, pad_token="<pad>", eos_token="<end>", **special)


@pytest.fixture(scope="module")
def chat_folder(transformers: Any, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("chat")
    tokenizer = _tokenizer(transformers)
    tokenizer.chat_template = _TEMPLATE
    tokenizer.save_pretrained(folder)
    config = transformers.GPT2Config(
        vocab_size=len(tokenizer), n_positions=8192, n_embd=32, n_layer=1, n_head=2, eos_token_id=1
    )
    transformers.GPT2LMHeadModel(config).save_pretrained(folder)
    return folder


@pytest.fixture(scope="module")
def embeddings_folder(transformers: Any, tmp_path_factory: pytest.TempPathFactory) -> Path:
    sentence_transformers = pytest.importorskip(
        "sentence_transformers", reason="needs extra `huggingface`"
    )
    bert = tmp_path_factory.mktemp("bert")
    tokenizer = _tokenizer(transformers)
    tokenizer.save_pretrained(bert)
    config = transformers.BertConfig(
        vocab_size=len(tokenizer),
        hidden_size=32,
        num_hidden_layers=1,
        num_attention_heads=2,
        intermediate_size=64,
    )
    transformers.BertModel(config).save_pretrained(bert)
    modules = pytest.importorskip("sentence_transformers.models", reason="of sentence-transformers")
    word = modules.Transformer(str(bert))
    pooling = modules.Pooling(32, "mean")
    folder = tmp_path_factory.mktemp("sentences")
    sentence_transformers.SentenceTransformer(modules=[word, pooling], device="cpu").save(
        str(folder)
    )
    return folder


def _catch_up(model: Any) -> Any:
    with Memory.open(model=model, embeddings="none", settings=_SETTINGS) as memory:
        memory.add("party", _TURNS)
        return memory.catch_up("party")


def test_vectors_of_a_folder_have_the_length_one(embeddings_folder: Path) -> None:
    (vector,) = local_embeddings(embeddings_folder).embed_documents(["The blue boat."])

    assert len(vector) == 32
    assert sum(value * value for value in vector) == pytest.approx(1, abs=1e-5)


def test_a_query_prompt_with_a_line_break_is_put_before_queries_only(
    embeddings_folder: Path,
) -> None:
    plain = local_embeddings(embeddings_folder)
    prompted = local_embeddings(embeddings_folder, query_prompt="Instruct: find\nQuery:")

    assert prompted.embed_query("boat") != pytest.approx(plain.embed_query("boat"))
    assert prompted.embed_documents(["boat"])[0] == pytest.approx(plain.embed_query("boat"))


def test_a_memory_searches_by_them(embeddings_folder: Path) -> None:
    with Memory.open(embeddings=local_embeddings(embeddings_folder)) as memory:
        memory.add("party", _TURNS[:3])
        found = memory.nearest("party", "Ana: Which boat do we take?", k=1)

    assert found[0][0].id == "1"
    assert found[0][1] == pytest.approx(1, abs=1e-4)


def test_a_chat_model_of_a_folder_detects_and_writes_or_the_result_says_why_not(
    chat_folder: Path,
) -> None:
    result = _catch_up(local_chat(chat_folder, max_new_tokens=8))

    assert result["summary"]["sentences"]
    assert result["usage"]["model_calls"] >= 2
    assert not any("failed" in line for line in result["degraded"]), result["degraded"]


def test_a_completion_model_of_the_community_package_works_too(chat_folder: Path) -> None:
    pytest.importorskip("langchain_community", reason="needs extra `community`")
    from langchain_community.llms import HuggingFacePipeline

    llm = HuggingFacePipeline.from_model_id(
        model_id=str(chat_folder), task="text-generation", pipeline_kwargs={"max_new_tokens": 8}
    )
    result = _catch_up(llm)

    assert result["summary"]["sentences"]
    assert result["usage"]["model_calls"] >= 2
    assert not any("failed" in line for line in result["degraded"]), result["degraded"]


@pytest.mark.parametrize("load", [local_chat, local_embeddings])
def test_a_folder_without_a_model_is_told_in_one_line(load: Any, tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"`folder` must be a folder with a model \(") as raised:
        load(tmp_path)

    assert "\n" not in str(raised.value)


def test_a_folder_with_a_broken_model_is_told_in_one_line(
    transformers: Any, tmp_path: Path
) -> None:
    (tmp_path / "config.json").write_text("{}")
    with pytest.raises(ConfigError, match="cannot be loaded: ") as raised:
        local_chat(tmp_path)

    assert "\n" not in str(raised.value)


@pytest.mark.parametrize("load", [local_chat, local_embeddings])
def test_a_missing_package_is_told_with_the_line_that_installs_it(
    load: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "config.json").write_text("{}")
    monkeypatch.setitem(sys.modules, "langchain_huggingface", None)
    with pytest.raises(MissingExtraError, match=r"pip install 'remember-graph\[huggingface\]'"):
        load(tmp_path)
