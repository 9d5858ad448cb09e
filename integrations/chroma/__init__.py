"""Vectors in Chroma, beside a log in SQLite."""

from remember_graph.integrations.chroma.store import ChromaStore, open_chroma

__all__ = ["ChromaStore", "open_chroma"]
