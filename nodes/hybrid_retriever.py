"""Which parts of the history may hold what is missing?

Reads `gaps` and the window; writes `candidates`. All gaps are one batch: their queries are
embedded together and scored in one matrix product. `paper`: per gap the top chunks of BM25 and of
cosine, fused by reciprocal rank (ReMEMBER, arXiv 2608.09043). `remember`: every turn of the
history is scored, by itself and by the chunks that hold it, with no cut before. Without history
there is nothing to find; without vectors BM25 searches alone.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol
from weakref import WeakKeyDictionary

import numpy as np
from numpy.typing import NDArray

from remember_graph.context import Run
from remember_graph.errors import ModelError
from remember_graph.history.chunk_index import ChunkIndex, ChunkScores
from remember_graph.history.history import History
from remember_graph.history.stream_index import StreamIndex
from remember_graph.history.token_chunks import TokenChunk
from remember_graph.model_steps import Steps
from remember_graph.nodes.fusion import best_first, reciprocal_rank_fusion
from remember_graph.nodes.gap_scores import probabilities, score_gaps, vector_texts
from remember_graph.nodes.window_scores import score_window
from remember_graph.protocols import TextEncoder, Vectors
from remember_graph.settings import Settings
from remember_graph.state import Candidates, Gap, GraphState
from remember_graph.terms import extract_terms
from remember_graph.view import WindowView, view_of

Floats = NDArray[np.float64]
# A term in a tenth of the turns is shared by chance; of the highest possible idf this is its part.
_RARE_SHARE = 0.4
_Found = tuple[list[Candidates], list[str]]


class Retriever(Protocol):
    """Finds candidates for gaps."""

    def find(self, view: WindowView, gaps: Sequence[Gap], *, by_model: bool) -> _Found:
        """Candidates per gap, and what did not go as it should."""


def embed_queries(
    history: History, index: StreamIndex, texts: Sequence[str]
) -> tuple[Vectors | None, list[str]]:
    """Vectors of the queries in one batch; None, with the reason, where there are none."""
    if history.encoder is None or not texts:
        return None, []
    try:
        vectors = history.encode_queries(texts)
    except ModelError as error:
        return None, [f"retrieval: {error}; searched by words alone"]
    if index.width not in (None, vectors.shape[1]):
        return None, [
            f"retrieval: the stream's vectors have {index.width} numbers, those of "
            f"{history.encoder.id} now {vectors.shape[1]}; searched by words alone"
        ]
    return vectors, []


class PaperRetriever:
    """The published candidate search.

    Args:
        history: The streams.
        settings: Chunk size, lengths of the lists, constants.
    """

    def __init__(self, history: History, settings: Settings) -> None:
        self._history, self._settings = history, settings.retrieve
        self._chunks: WeakKeyDictionary[StreamIndex, ChunkIndex] = WeakKeyDictionary()

    def find(self, view: WindowView, gaps: Sequence[Gap], *, by_model: bool) -> _Found:
        """See `Retriever`: per gap the `top_k` chunks."""
        texts = [gap["query"] for gap in gaps]
        vectors, degraded = embed_queries(self._history, view.index, texts)
        settings = self._settings
        chunks = self._chunks.setdefault(
            view.index, ChunkIndex(settings.chunk_tokens, settings.chunk_overlap)
        )
        try:
            found = self._score(chunks, view, gaps, vectors)
        except ModelError as error:
            degraded = [*degraded, f"retrieval: {error}; chunks are searched by words alone"]
            found = self._score(chunks, view, gaps, None)
        related = related_turns(view, gaps, vectors, self._history.encoder)
        candidates: list[Candidates] = []
        for row, gap in enumerate(gaps):
            lists = [best_first(found.bm25[row], settings.top_k_each).tolist()]
            if found.cosine is not None:
                lists.append(best_first(found.cosine[row], settings.top_k_each).tolist())
            fused = reciprocal_rank_fusion(lists, k=settings.rrf_k)[: settings.top_k]
            spans = [found.chunks[number] for number, _ in fused]
            candidates.append(
                {
                    "gap_id": gap["id"],
                    "related": _ids_of(view, spans, related[row]),
                    "turn_ids": [
                        [turn.id for turn in view.index.turns[span.first : span.last + 1]]
                        for span in spans
                    ],
                    "scores": [score for _, score in fused],
                }
            )
        return candidates, degraded

    def _score(
        self, chunks: ChunkIndex, view: WindowView, gaps: Sequence[Gap], vectors: Vectors | None
    ) -> ChunkScores:
        return chunks.scores(
            view.index,
            [extract_terms(query_with_anchors(gap)) for gap in gaps],
            vectors,
            self._history.encode_documents,
            turns=view.history,
            k1=self._settings.bm25_k1,
            b=self._settings.bm25_b,
        )


class RememberRetriever:
    """Every turn of the history, scored.

    Where a model wrote the queries, each gap gets a ranking by the probability that a turn is its
    evidence. Else, and where no gap was found, the window's turns ask: all of them together for
    the memory, a gap's own turn for its evidence (measured: asking with the local detector's
    queries recalls less).

    Args:
        history: The streams.
        settings: Constants of the scores, length of the rankings.
    """

    def __init__(self, history: History, settings: Settings) -> None:
        self._history, self._settings = history, settings

    def find(self, view: WindowView, gaps: Sequence[Gap], *, by_model: bool) -> _Found:
        """See `Retriever`: per gap the likeliest turns, and the window's where it asks."""
        if by_model and gaps:
            return self._for_gaps(view, gaps)
        return self._for_window(view, gaps)

    def _for_gaps(self, view: WindowView, gaps: Sequence[Gap]) -> _Found:
        vectors, degraded = embed_queries(self._history, view.index, vector_texts(view, gaps))
        likely = probabilities(score_gaps(view, gaps, vectors, self._settings.retrieve))
        related = related_turns(view, gaps, vectors, self._history.encoder)
        rows = zip(gaps, related, likely, strict=True)
        return [self._single_turns(view, gap["id"], *row) for gap, *row in rows], degraded

    def _for_window(self, view: WindowView, gaps: Sequence[Gap]) -> _Found:
        vectors, degraded = embed_queries(
            self._history, view.index, [turn.line for turn in view.turns]
        )
        tokens = np.array([self._settings.count_tokens(turn.line) for turn in view.turns])
        single, pooled = score_window(view, vectors, tokens, self._settings.retrieve)
        place = {turn.id: at for at, turn in enumerate(view.turns)}
        asking = [place[gap["turn_id"]] for gap in gaps]
        related = related_turns(
            view, gaps, None if vectors is None else vectors[asking], self._history.encoder
        )
        candidates = [
            self._single_turns(view, gap["id"], mask, single[at])
            for gap, mask, at in zip(gaps, related, asking, strict=True)
        ]
        nothing = np.zeros(view.history, bool)
        return [*candidates, self._single_turns(view, None, nothing, pooled)], degraded

    def _single_turns(
        self, view: WindowView, gap_id: str | None, related: NDArray[np.bool_], scores: Floats
    ) -> Candidates:
        best = best_first(scores, self._settings.allocate.longest_ranking)
        best = best[np.isfinite(scores[best])]
        turns = view.index.turns
        return {
            "gap_id": gap_id,
            "related": [turns[at].id for at in best[related[best]].tolist()],
            "turn_ids": [[turns[at].id] for at in best.tolist()],
            "scores": scores[best].tolist(),
        }


def related_turns(
    view: WindowView,
    gaps: Sequence[Gap],
    vectors: Vectors | None,
    encoder: TextEncoder | None,
) -> NDArray[np.bool_]:
    """Which turns of the history are close enough to each gap to be its evidence.

    Where the encoder says what is unrelated: those whose cosine with the gap's vector is above,
    and, where there is any such turn at all, those that share a rare anchor. Without: those that
    share a rare anchor. A speaker's name is no anchor. Shape (gaps, history turns).
    """
    names = {term for speaker in view.index.speakers for term in extract_terms(speaker)}
    anchors = [
        [term for term in extract_terms(" ".join(gap["anchors"])) if term not in names]
        for gap in gaps
    ]
    shared = view.index.postings.match(anchors, turns=view.history).rarest()
    sharing: NDArray[np.bool_] = shared >= _RARE_SHARE * np.log1p((view.history - 0.5) / 1.5)
    sharing &= shared > 0
    floor = getattr(encoder, "unrelated_below", None)
    if vectors is None or floor is None or not view.index.embedded(view.history):
        return sharing
    close = view.index.cosines(vectors[: len(gaps)], turns=view.history) >= floor
    related: NDArray[np.bool_] = close | (sharing & close.any(axis=1, keepdims=True))
    return related


def _ids_of(view: WindowView, spans: Sequence[TokenChunk], mask: NDArray[np.bool_]) -> list[str]:
    """Ids of the turns of some chunks for which the mask is set."""
    places = dict.fromkeys(at for span in spans for at in range(span.first, span.last + 1))
    return [view.index.turns[at].id for at in places if mask[at]]


def query_with_anchors(gap: Gap) -> str:
    """What BM25 is asked: the query and the words an earlier turn would hold."""
    return " ".join((gap["query"], *gap["anchors"]))


class Retrieve:
    """The stage `retrieve`.

    Args:
        history: The streams.
        retriever: Finds the candidates.
    """

    def __init__(self, history: History, retriever: Retriever) -> None:
        self._history, self._retriever = history, retriever

    def __call__(self, state: GraphState, run: Run) -> Steps[dict[str, Any]]:
        """The candidates of all gaps."""
        view = view_of(state, self._history)
        if not view.history:
            return {"candidates": []}
        with view.index.lock:
            candidates, degraded = self._retriever.find(
                view, state["gaps"], by_model=state["detector"] == "model"
            )
        return {"candidates": candidates, "degraded": [*state["degraded"], *degraded]}
        yield  # a stage is a generator, this one asks no model
