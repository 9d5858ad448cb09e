"""Models from a local folder, in this process, without the network (extra `huggingface`)."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from remember_graph.chat_models import first_line
from remember_graph.errors import ConfigError, MissingExtraError

if TYPE_CHECKING:
    from langchain_huggingface import ChatHuggingFace, HuggingFaceEmbeddings

_OFFLINE = {"local_files_only": True}
_UNIT = {"normalize_embeddings": True}


def local_embeddings(
    folder: str | Path,
    *,
    query_prompt: str | None = None,
    device: str = "cpu",
    **options: Any,  # noqa: ANN401 - as `HuggingFaceEmbeddings` takes them
) -> HuggingFaceEmbeddings:
    r"""Unit vectors of a sentence-transformers folder.

    Args:
        folder: As `SentenceTransformer.save` writes it.
        query_prompt: Put before queries, as `Instruct: …\nQuery:`. In the text itself its line
            break would be lost.
        device: As torch names it.
        **options: For `HuggingFaceEmbeddings`.

    Raises:
        ConfigError: The folder holds no such model.
        MissingExtraError: A package is not installed.
    """
    path = _model_folder(folder, "modules.json", "config.json")
    query: dict[str, Any] = dict(_UNIT)
    if query_prompt is not None:
        query["prompt"] = query_prompt
    try:
        from langchain_huggingface import HuggingFaceEmbeddings

        return HuggingFaceEmbeddings(
            model=str(path),
            model_kwargs={"device": device, **_OFFLINE},
            encode_kwargs=dict(_UNIT),
            query_encode_kwargs=query,
            **options,
        )
    except ImportError as error:
        raise _missing() from error
    except (OSError, ValueError, KeyError) as error:
        raise _unreadable(folder, error) from error


def local_chat(
    folder: str | Path,
    *,
    max_new_tokens: int = 512,
    device: int = -1,
    **options: Any,  # noqa: ANN401 - as a transformers pipeline takes them
) -> ChatHuggingFace:
    """A chat model of a transformers folder whose tokenizer has a chat template.

    Args:
        folder: As `save_pretrained` of model and tokenizer writes it.
        max_new_tokens: Allowance of an answer.
        device: -1 for the CPU, else the number of the GPU.
        **options: For the text-generation pipeline.

    Raises:
        ConfigError: The folder holds no such model.
        MissingExtraError: A package is not installed.
    """
    path = _model_folder(folder, "config.json")
    arguments = {"max_new_tokens": max_new_tokens, "return_full_text": False, **options}
    try:
        from langchain_huggingface import ChatHuggingFace, HuggingFacePipeline

        pipeline = HuggingFacePipeline.from_model_id(
            model_id=str(path),
            task="text-generation",
            device=device,
            model_kwargs=dict(_OFFLINE),
            pipeline_kwargs=arguments,
        )
        return ChatHuggingFace(llm=pipeline)
    except ImportError as error:
        raise _missing() from error
    except (OSError, ValueError, KeyError) as error:
        raise _unreadable(folder, error) from error


def _model_folder(folder: str | Path, *files: str) -> Path:
    path = Path(folder).expanduser()
    if not any((path / name).is_file() for name in files):
        raise ConfigError(
            f"`folder` must be a folder with a model ({' or '.join(files)} in it), "
            f"got {str(folder)!r}"
        )
    return path.resolve()


def _unreadable(folder: str | Path, error: Exception) -> ConfigError:
    return ConfigError(f"`folder` {str(folder)!r} cannot be loaded: {first_line(error)}")


def _missing() -> MissingExtraError:
    return MissingExtraError(
        "langchain-huggingface or a package it needs is not installed; "
        "run: pip install 'remember-graph[huggingface]'"
    )
