"""Vectors of wordllama: a static model of 16 MB that its wheel carries; English-centred."""

from __future__ import annotations

import logging
import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np

from remember_graph.errors import MissingExtraError
from remember_graph.protocols import Vectors

DIMENSION = 256

# A word with the spaces before it, but for the one that sets it apart from the word before.
_WORD = re.compile(" ( *[^ ]*)")
_WHOLE = re.compile(r"<s>|</s>|<unk>|\u2581| \Z")
_WORDS_KEPT, _LONGEST_KEPT = 65_536, 32  # letters; in scripts without spaces a text is one word


@contextmanager
def _logging_left_alone() -> Iterator[None]:
    """Wordllama sets up the root logger on import, which is its user's to do."""
    root = logging.getLogger()
    handlers, level = list(root.handlers), root.level
    try:
        yield
    finally:
        root.handlers[:] = handlers
        root.setLevel(level)


class WordLlamaEncoder:
    """Unit vectors of static word embeddings, about 20,000 turns a second on two cores.

    Raises:
        MissingExtraError: wordllama is not installed.
    """

    id = f"wordllama/l2_supercat_{DIMENSION}"
    # Of detectors' queries, 9 in 10 reach it with some turn of their own history, and 1 in 10 with
    # some turn of a foreign one of the same length (3 dialogues, 260 turns each).
    unrelated_below = 0.33

    def __init__(self) -> None:
        try:
            with _logging_left_alone():
                import wordllama
        except ImportError as error:
            raise MissingExtraError(
                "wordllama is not installed; run: pip install 'remember-graph[local]'"
            ) from error
        # Without `cache_dir` it looks for its model elsewhere first, then on the network.
        self._model: Any = wordllama.WordLlama.load(
            trunc_dim=DIMENSION,
            cache_dir=Path(wordllama.__file__).parent,
            disable_download=True,
        )
        self._model.tokenizer.no_padding()
        self._known: dict[str, list[int]] = {}

    def encode_documents(self, texts: Sequence[str]) -> Vectors:
        """See `TextEncoder`."""
        vectors = np.zeros((len(texts), DIMENSION), np.float32)
        for row, tokens in zip(vectors, self._tokenise(texts), strict=True):
            self._model.embedding[tokens].sum(axis=0, out=row)
        lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
        # A text without tokens has no direction: it stays zero and is found by its words.
        return (vectors / np.where(lengths > 0, lengths, 1.0)).astype(np.float32)

    def _tokenise(self, texts: Sequence[str]) -> list[list[int]]:
        """The tokens of each text, put together from those of its words, which are remembered.

        No token of this model reaches over a space, so a text's tokens are those of its words;
        but a special token changes what stands beside it, a last space is a token by itself, and
        U+2581 is what stands for a space.
        """
        split = [[text] if _WHOLE.search(text) else _WORD.findall(f" {text}") for text in texts]
        known = self._known
        fresh = [word for word in dict.fromkeys(chain.from_iterable(split)) if word not in known]
        encoded = self._model.tokenizer.encode_batch(fresh, add_special_tokens=False)
        made = dict(zip(fresh, (word.ids for word in encoded), strict=True))
        known.update((word, ids) for word, ids in made.items() if len(word) <= _LONGEST_KEPT)
        if len(known) > _WORDS_KEPT:
            self._known = {}  # not emptied: another thread may be reading it
        return [
            [token for word in words for token in (made if word in made else known)[word]]
            for words in split
        ]

    def encode_queries(self, texts: Sequence[str]) -> Vectors:
        """See `TextEncoder`; the model knows no difference between queries and documents."""
        return self.encode_documents(texts)
