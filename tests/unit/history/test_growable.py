"""The growing array."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from remember_graph.history.growable import GrowableArray

_blocks = st.lists(st.lists(st.integers(-9, 9), max_size=40), max_size=6)


@given(_blocks)
def test_the_view_is_all_that_was_added_in_order(blocks: list[list[int]]) -> None:
    array = GrowableArray(np.int64)
    for block in blocks:
        array.extend(block)

    assert array.view.tolist() == [item for block in blocks for item in block]


@given(_blocks, st.integers(0, 60))
def test_what_is_added_after_truncating_follows_what_was_kept(
    blocks: list[list[int]], kept: int
) -> None:
    array = GrowableArray(np.int64)
    for block in blocks:
        array.extend(block)
    array.truncate(kept)
    array.extend([7])

    assert array.view.tolist() == [*[item for block in blocks for item in block][:kept], 7]


def test_rows_keep_their_width_and_type() -> None:
    array = GrowableArray(np.float32, 3)
    array.extend(np.ones((40, 3)))

    assert array.view.shape == (40, 3)
    assert array.view.dtype == np.float32
