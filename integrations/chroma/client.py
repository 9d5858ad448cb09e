"""Opening and closing Chroma, and its many errors as one."""

from __future__ import annotations

import ctypes
import os
import weakref
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from remember_graph.errors import HistoryError, MissingExtraError

_CONNECT_S = 10.0
_ANSWER_S = 60.0  # of Chroma's own there is none: a server that hangs would hang the caller


_open: weakref.WeakSet[Connection] = weakref.WeakSet()


class ChromaError(HistoryError):
    """Chroma could not be reached or failed; the log is not concerned."""


class Connection:
    """An open client.

    Attributes:
        client: The `chromadb` client.
        place: Where it works, as messages say it.
        not_found: What Chroma raises where a collection is not there.
    """

    def __init__(self, client: Any, place: str) -> None:  # noqa: ANN401 - chromadb has no types
        from chromadb.errors import NotFoundError

        self.client = client
        self.place = place
        self.not_found: type[Exception] = NotFoundError
        _open.add(self)

    def translated(self) -> Any:  # noqa: ANN401 - a context manager
        """Turns whatever Chroma raises into a `ChromaError` of one line."""
        return _translated(f"{self.place} failed")

    def close(self) -> None:
        """Release the files or connections; a second call does nothing."""
        with self.translated():
            for session in _sessions(self.client):
                session.close()
            self.client.close()


def _keep_in_child() -> None:
    """Never free an inherited Chroma: that waits for threads which a forked child does not have."""
    for connection in _open:
        bindings = getattr(getattr(connection.client, "_server", None), "bindings", None)
        if bindings is not None:
            ctypes.pythonapi.Py_IncRef(ctypes.py_object(bindings))


if hasattr(os, "register_at_fork"):  # Windows has no fork
    os.register_at_fork(after_in_child=_keep_in_child)


def open_folder(folder: Path) -> Connection:
    """Chroma in this process, its files in the folder.

    Raises:
        MissingExtraError: chromadb is not installed.
        HistoryError: The folder cannot be used.
    """
    chromadb = _chromadb()
    with _translated(f"cannot open the Chroma folder {folder}"):
        client = chromadb.PersistentClient(str(folder), settings=_settings())
    return Connection(client, f"the Chroma folder {folder}")


def open_server(
    host: str, port: int, *, ssl: bool = False, headers: Mapping[str, str] | None = None
) -> Connection:
    """A client of a Chroma server.

    Raises:
        MissingExtraError: chromadb is not installed.
        HistoryError: No Chroma server answers there.
    """
    chromadb = _chromadb()
    import httpx  # comes with chromadb

    url = f"{'https' if ssl else 'http'}://{host}:{port}"
    with _translated(f"no Chroma server answers at {url} (start one with `chroma run`)"):
        # First with a limit of time, which the making of Chroma's client does not have.
        beat = f"{url}/api/v2/heartbeat"
        sent = dict(headers or {})
        httpx.get(beat, headers=sent, timeout=_CONNECT_S, verify=ssl).raise_for_status()
        # Without TLS there is nothing to verify; reading the certificates takes most of the time.
        settings = _settings() if ssl else _settings(chroma_server_ssl_verify=False)
        client = chromadb.HttpClient(host, port, ssl=ssl, headers=sent, settings=settings)
    for session in _sessions(client):
        session.timeout = httpx.Timeout(_ANSWER_S, connect=_CONNECT_S)
    return Connection(client, f"the Chroma server at {url}")


def _chromadb() -> Any:  # noqa: ANN401 - a module without types
    try:
        import chromadb
    except ImportError as error:
        raise MissingExtraError(
            "chromadb is not installed; run: pip install 'remember-graph[chroma]'"
        ) from error
    return chromadb


def _settings(**more: Any) -> Any:  # noqa: ANN401 - chromadb has no types
    from chromadb.config import Settings

    return Settings(anonymized_telemetry=False, **more)


def _sessions(client: Any) -> Iterator[Any]:  # noqa: ANN401 - chromadb has no types
    """The HTTP sessions of a client, which it neither limits in time nor closes."""
    for owner in (client, getattr(client, "_admin_client", None)):
        session = getattr(getattr(owner, "_server", None), "_session", None)
        if session is not None:
            yield session


@contextmanager
def _translated(what: str) -> Iterator[None]:
    try:
        yield
    except HistoryError:
        raise
    except Exception as error:  # Chroma's own, those of its HTTP client and of Python
        lines = str(error).strip().splitlines() or [""]
        raise ChromaError(f"{what}: {type(error).__name__}: {lines[0][:200]}") from error
