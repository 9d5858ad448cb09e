"""From a path or URL to the store it names."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from urllib.parse import unquote

from remember_graph.errors import ConfigError
from remember_graph.history.in_memory_store import InMemoryStore
from remember_graph.history.sqlite_store import SQLiteStore
from remember_graph.history.store import TurnStore

_SQLITE = "sqlite:///"
FORMS = "a file, sqlite:///PATH, postgresql://…, chroma:///FOLDER or chroma+http://HOST:PORT/PATH"


def sqlite_path(path_or_url: str | Path) -> str | None:
    """The file that is named; None where it is another kind of store."""
    text = str(path_or_url)
    if text.startswith(_SQLITE):
        return unquote(text.removeprefix(_SQLITE))
    return None if "://" in text else text


def open_store(path_or_url: str | Path | None) -> TurnStore:
    """The store; in memory for None.

    Raises:
        ConfigError: The URL is of no kind that is known.
        MissingExtraError: A package for it is not installed.
        HistoryError: It cannot be opened.
    """
    if path_or_url is None:
        return InMemoryStore()
    text = str(path_or_url)
    path = sqlite_path(text)
    if path:  # SQLite takes an empty name for a file that it throws away
        return SQLiteStore(path)
    open_it = _SCHEMES.get(text.partition("://")[0]) if path is None else None
    if open_it is None:
        raise ConfigError(f"`path_or_url` must be {FORMS}, got {_without_password(text)!r}")
    return open_it(text)


def _without_password(url: str) -> str:
    scheme, mark, rest = url.partition("://")
    login, at, place = rest.rpartition("@")
    return f"{scheme}{mark}{login.partition(':')[0]}{at}{place}" if at else url


def _postgres(url: str) -> TurnStore:
    from remember_graph.integrations.postgres import PostgresStore

    return PostgresStore(url)


def _chroma(url: str) -> TurnStore:
    from remember_graph.integrations.chroma import open_chroma

    return open_chroma(url)


_SCHEMES: dict[str, Callable[[str], TurnStore]] = {
    "postgresql": _postgres,
    "postgres": _postgres,
    "chroma": _chroma,
    "chroma+http": _chroma,
    "chroma+https": _chroma,
}
