"""The PostgreSQL driver, where it is installed."""

from remember_graph.errors import MissingExtraError

try:
    import psycopg as psycopg
    import psycopg_pool as psycopg_pool
except ImportError as error:
    raise MissingExtraError(
        f"{error.name or 'psycopg'} is not installed; run: pip install 'remember-graph[postgres]'"
    ) from error
