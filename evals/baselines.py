"""The baselines of the paper's table that take no detections: the window itself is the query.

`recent` takes the turns just before the window. `sparse`, `dense` and `hybrid` rank chunks (as in
ReMEMBER, arXiv 2608.09043: 128 tokens, 32 of overlap; here runs of whole turns) and take the
turns of the best ones while they fit. Build time holds the window's own terms and vector, the
ranking and the filling; for `sparse` also the statistics of `rank_bm25`, which cannot be kept.
Terms of the history and vectors of its chunks are there before, as in a product.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from remember_graph.errors import ConfigError
from remember_graph.evals.chunk_rankings import TermRanking, VectorRanking, chunk_history
from remember_graph.evals.methods import MemoryCase, MemoryMethod
from remember_graph.nodes.fusion import reciprocal_rank_fusion
from remember_graph.protocols import TextEncoder
from remember_graph.settings import RetrieveSettings


def take_recent(tokens: Sequence[int], budget: int) -> range:
    """Positions of the last turns that fit the budget together, without a hole.

    Example:
        >>> take_recent([1, 9, 4, 5], budget=10)
        range(2, 4)
    """
    start, left = len(tokens), budget
    while start and tokens[start - 1] <= left:
        start -= 1
        left -= tokens[start]
    return range(start, len(tokens))


def take_chunks(chunks: Iterable[range], tokens: Sequence[int], budget: int) -> list[int]:
    """Positions of the turns of the chunks, best chunk first; what does not fit is skipped.

    Example:
        >>> take_chunks([range(2, 4), range(0, 3)], [3, 9, 4, 5], budget=12)
        [2, 3, 0]
    """
    taken: dict[int, None] = {}
    left = budget
    for chunk in chunks:
        for at in chunk:
            if at not in taken and tokens[at] <= left:
                taken[at] = None
                left -= tokens[at]
    return list(taken)


class Recent(MemoryMethod):
    """The turns just before the window, as many as fit."""

    name = "recent"
    uses_detections = False

    def build(self, case: MemoryCase) -> list[str]:
        """See `MemoryMethod`."""
        kept = take_recent(case.history_tokens, case.budget)
        return [turn.id for turn in case.history[kept.start : kept.stop]]


class ChunkMemory(MemoryMethod):
    """The turns of the chunks that rank best for the window.

    Args:
        name: See `MemoryMethod`.
        rankings: Two or more are fused by reciprocal rank (Cormack et al. 2009).
        settings: Chunk sizes, and what is fused.
    """

    uses_detections = False

    def __init__(
        self,
        name: str,
        rankings: Sequence[TermRanking | VectorRanking],
        settings: RetrieveSettings | None = None,
    ) -> None:
        self._name = name
        self._rankings = rankings
        self._settings = settings or RetrieveSettings()
        self._chunks: list[range] = []

    @property
    def name(self) -> str:
        """See `MemoryMethod`."""
        return self._name

    def prepare(self, case: MemoryCase) -> None:
        """See `MemoryMethod`."""
        self._chunks = chunk_history(case.history_tokens, self._settings)
        for ranking in self._rankings:
            ranking.prepare(case, self._chunks)

    def build(self, case: MemoryCase) -> list[str]:
        """See `MemoryMethod`."""
        order = self._rank(case)
        chunks = (self._chunks[number] for number in order)
        return [case.history[at].id for at in take_chunks(chunks, case.history_tokens, case.budget)]

    def _rank(self, case: MemoryCase) -> list[int]:
        rankings = [ranking.rank(case.window) for ranking in self._rankings]
        if len(rankings) == 1:
            return rankings[0]
        best = [ranking[: self._settings.top_k_each] for ranking in rankings]
        return [chunk for chunk, _ in reciprocal_rank_fusion(best, k=self._settings.rrf_k)]


def _recent(encoder: TextEncoder | None) -> MemoryMethod:
    return Recent()


def _sparse(encoder: TextEncoder | None) -> MemoryMethod:
    return ChunkMemory("sparse", [TermRanking()])


def _dense(encoder: TextEncoder | None) -> MemoryMethod:
    return ChunkMemory("dense", [VectorRanking(_needed(encoder, "dense"))])


def _hybrid(encoder: TextEncoder | None) -> MemoryMethod:
    return ChunkMemory("hybrid", [TermRanking(), VectorRanking(_needed(encoder, "hybrid"))])


def _needed(encoder: TextEncoder | None, method: str) -> TextEncoder:
    if encoder is None:
        raise ConfigError(f"method {method!r} needs embeddings, got none; name an embedding model")
    return encoder


BASELINES: dict[str, Callable[[TextEncoder | None], MemoryMethod]] = {
    "recent": _recent,
    "sparse": _sparse,
    "dense": _dense,
    "hybrid": _hybrid,
}
"""Method name -> a function that makes it, given the encoder (None where there is none)."""
