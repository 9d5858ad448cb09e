"""Document vectors in the precision of a store."""

from collections.abc import Sequence

import numpy as np
import pytest

from remember_graph.evals.rounded_encoder import RoundedEncoder
from remember_graph.protocols import Vectors

_VECTOR = [1.0, 1 / 3, -0.001]


class _Fixed:
    id = "fixed"
    unrelated_below = 0.25

    def encode_documents(self, texts: Sequence[str]) -> Vectors:
        return np.array([_VECTOR] * len(texts), np.float32).reshape(-1, 3)

    encode_queries = encode_documents


@pytest.mark.parametrize(
    ("precision", "expected"),
    [
        ("float32", _VECTOR),
        ("float16", [1.0, 1365 / 4096, -0.001]),  # 11 significant bits: 1/3 is 1365 / 2^12
        ("int8", [1.0, 42 / 127, 0.0]),  # 127 / 3 = 42.3, 0.127 rounds to 0
    ],
)
def test_documents_are_rounded(precision: str, expected: list[float]) -> None:
    (vector,) = RoundedEncoder(_Fixed(), precision).encode_documents(["a"])

    assert vector.dtype == np.float32
    assert vector.tolist() == pytest.approx(expected, abs=1e-6)


def test_queries_are_not_rounded() -> None:
    (vector,) = RoundedEncoder(_Fixed(), "int8").encode_queries(["a"])

    assert vector.tolist() == pytest.approx(_VECTOR)


def test_no_documents_give_no_vectors() -> None:
    assert RoundedEncoder(_Fixed(), "int8").encode_documents([]).shape == (0, 3)


def test_a_vector_of_zeros_stays_one() -> None:
    class Zeros(_Fixed):
        def encode_documents(self, texts: Sequence[str]) -> Vectors:
            return np.zeros((len(texts), 3), np.float32)

    assert RoundedEncoder(Zeros(), "int8").encode_documents(["a"]).tolist() == [[0, 0, 0]]


def test_the_precision_is_part_of_the_name_and_the_floor_is_the_models() -> None:
    encoder = RoundedEncoder(_Fixed(), "float16")

    assert (encoder.id, encoder.unrelated_below) == ("fixed as float16", 0.25)
