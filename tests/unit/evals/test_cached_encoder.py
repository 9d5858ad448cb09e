"""An encoder that embeds each document once."""

from collections.abc import Sequence

import numpy as np

from remember_graph.evals.cached_encoder import CachedEncoder
from remember_graph.protocols import Vectors


class Lengths:
    """One number a text, its length; keeps what it was asked."""

    id = "lengths"

    def __init__(self) -> None:
        self.asked: list[list[str]] = []

    def encode_documents(self, texts: Sequence[str]) -> Vectors:
        self.asked.append(list(texts))
        return np.array([[len(text)] for text in texts], np.float32).reshape(-1, 1)

    def encode_queries(self, texts: Sequence[str]) -> Vectors:
        return self.encode_documents(texts)


def test_a_document_is_embedded_once() -> None:
    inner = Lengths()
    encoder = CachedEncoder(inner)

    encoder.encode_documents(["a", "bb", "a"])
    encoder.encode_documents(["bb", "ccc"])
    encoder.encode_documents(["a"])

    assert inner.asked == [["a", "bb"], ["ccc"]]


def test_vectors_come_in_the_order_of_the_texts() -> None:
    encoder = CachedEncoder(Lengths())
    encoder.encode_documents(["bb"])

    assert encoder.encode_documents(["ccc", "bb", "a", "bb"]).tolist() == [[3], [2], [1], [2]]


def test_no_documents_give_no_rows_of_the_right_width() -> None:
    assert CachedEncoder(Lengths()).encode_documents([]).shape == (0, 1)


def test_queries_are_embedded_every_time() -> None:
    inner = Lengths()
    encoder = CachedEncoder(inner)

    encoder.encode_queries(["a"])
    encoder.encode_queries(["a"])

    assert inner.asked == [["a"], ["a"]]


def test_the_id_is_that_of_the_encoder_within() -> None:
    assert CachedEncoder(Lengths()).id == "lengths"
