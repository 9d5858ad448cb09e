"""How far might recall have been from this with other dialogues of the same make?

The percentile bootstrap over groups (Efron 1979): gaps of one dialogue share its topics, so whole
dialogues are drawn, with replacement. A draw's recall is its hits over its gaps. The seed is
fixed: the same hits always give the same interval.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

DRAWS = 2_000
_SEED = 0
_PERCENTILES = (2.5, 97.5)


def recall_interval(
    hits: Sequence[int], gaps: Sequence[int], *, draws: int = DRAWS
) -> tuple[float, float]:
    """The bounds between which 95 % of the drawn recalls lie.

    One group can only be drawn as it is: both bounds are then its recall.

    Args:
        hits: Gaps recalled in each group.
        gaps: Gaps in each group; groups without any are left out.
        draws: How often groups are drawn.

    Raises:
        ValueError: There is no gap at all.

    Example:
        >>> recall_interval([3], [4])
        (0.75, 0.75)
    """
    of_group = np.array([hits, gaps], dtype=np.int64)
    of_group = of_group[:, of_group[1] > 0]
    groups = of_group.shape[1]
    if not groups:
        raise ValueError("`gaps` must hold a number above 0, got none")
    drawn = np.random.default_rng(_SEED).integers(groups, size=(draws, groups))
    drawn_hits, drawn_gaps = of_group[:, drawn].sum(axis=2)
    low, high = np.percentile(drawn_hits / drawn_gaps, _PERCENTILES)
    return float(low), float(high)
