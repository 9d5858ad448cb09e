"""Everything in PostgreSQL with pgvector."""

from remember_graph.integrations.postgres.store import PostgresStore

__all__ = ["PostgresStore"]
