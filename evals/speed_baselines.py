"""What window building costs by other means, on the same turns and queries.

`rebuild` is what the paper does for every window: cut chunks, index them with `rank_bm25`, embed
them, score the queries. `chroma` is the dense half with an embedded vector database, `fts5` the
sparse half with SQLite's full-text index; both keep their index, as the product does.
"""

from __future__ import annotations

import importlib.util
import sqlite3
import tempfile
from collections.abc import Callable, Sequence

import numpy as np

from remember_graph.history.chunks import ChunkBounds
from remember_graph.protocols import TextEncoder, Vectors
from remember_graph.terms import extract_terms
from remember_graph.tokens import count_tokens
from remember_graph.types import Turn

Search = Callable[[], object]
"""Answers all queries of a window once."""

_TOP = 30


def rebuild(turns: Sequence[Turn], queries: Sequence[str], encoder: TextEncoder) -> Search:
    """Everything anew at each call."""
    from rank_bm25 import BM25Okapi

    def search() -> object:
        bounds = ChunkBounds()
        bounds.add([count_tokens(turn.line) for turn in turns])
        runs = bounds.runs(len(turns))
        chunks = [
            "\n".join(turn.line for turn in turns[start:end])
            for start, end in zip(runs.starts, runs.ends, strict=True)
        ]
        bm25 = BM25Okapi([extract_terms(chunk) for chunk in chunks])
        sparse = [bm25.get_scores(extract_terms(query)) for query in queries]
        dense = encoder.encode_queries(queries) @ encoder.encode_documents(chunks).T
        return [np.argsort(-scores)[:_TOP] for scores in (*sparse, *dense)]

    return search


def fts5(turns: Sequence[Turn], queries: Sequence[str]) -> Search:
    """The sparse half: BM25 of every turn by SQLite."""
    connection = sqlite3.connect(":memory:")
    connection.execute("CREATE VIRTUAL TABLE turns USING fts5 (line)")
    connection.executemany("INSERT INTO turns VALUES (?)", ((turn.line,) for turn in turns))
    asked = [" OR ".join(f'"{term}"' for term in set(extract_terms(q))) for q in queries]
    query = f"SELECT rowid FROM turns WHERE turns MATCH ? ORDER BY rank LIMIT {_TOP}"
    return lambda: [connection.execute(query, (terms,)).fetchall() for terms in asked]


def chroma_missing() -> str | None:
    """Why Chroma cannot be measured; None where it can."""
    if importlib.util.find_spec("chromadb") is None:
        return "chromadb is not installed; run: pip install 'remember-graph[chroma]'"
    return None


def chroma(vectors: Vectors, queries: Vectors) -> Search:
    """The dense half: nearest turns by an embedded Chroma collection."""
    import chromadb
    from chromadb.config import Settings as ChromaSettings

    folder = tempfile.mkdtemp(prefix="remember-graph-bench-")
    client = chromadb.PersistentClient(
        path=folder, settings=ChromaSettings(anonymized_telemetry=False)
    )
    collection = client.create_collection("turns", configuration={"hnsw": {"space": "cosine"}})
    for at in range(0, len(vectors), 5_000):
        part = vectors[at : at + 5_000]
        collection.add(ids=[str(at + n) for n in range(len(part))], embeddings=part)
    return lambda: collection.query(query_embeddings=queries, n_results=_TOP, include=["distances"])
