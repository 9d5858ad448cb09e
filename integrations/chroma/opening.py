"""Opening a log together with its Chroma, and closing both."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path

from remember_graph.errors import HistoryError
from remember_graph.integrations.chroma.client import Connection, open_folder, open_server
from remember_graph.integrations.chroma.lock import FolderLock
from remember_graph.integrations.chroma.log import ChromaLog


class OpenChroma:
    """A log and its Chroma, for as long as they are open and in the process that opened them.

    Attributes:
        connection: To Chroma.
    """

    def __init__(
        self, log: ChromaLog, connection: Connection, lock: FolderLock | None = None
    ) -> None:
        self.connection = connection
        self._log = log
        self._lock = lock
        self._closed = False
        self._pid = os.getpid()

    @property
    def is_ours(self) -> bool:
        """Whether this process opened it; a forked child must not touch it."""
        return os.getpid() == self._pid

    @property
    def log(self) -> ChromaLog:
        """The log.

        Raises:
            HistoryError: It is closed, or this is a forked child of the process that opened it.
        """
        if not self.is_ours:  # Chroma would hang, and SQLite forbids it
            raise HistoryError(
                f"{self.connection.place} was opened before os.fork() and cannot be used in the "
                "child: open the memory after the fork, or start processes by spawn"
            )
        if self._closed:
            raise HistoryError(f"{self.connection.place} is closed")
        return self._log

    def close(self) -> None:
        """Release everything; nothing in a forked child, where it is the parent's."""
        if self._closed or not self.is_ours:
            return
        self._closed = True
        try:
            self.connection.close()
        finally:
            self._log.close()
            if self._lock is not None:
                self._lock.release()


def open_embedded(folder: Path) -> OpenChroma:
    """Chroma in this process: its files, the log and a lock in one folder.

    Raises:
        MissingExtraError: chromadb is not installed.
        HistoryError: The folder cannot be used, or somebody uses it.
    """
    try:
        (folder / "chroma").mkdir(parents=True, exist_ok=True)
    except OSError as error:
        reason = error.strerror or str(error)
        raise HistoryError(f"cannot open the Chroma folder {folder}: {reason}") from error
    lock = FolderLock(folder)
    try:
        return _with_log(folder / "turns.db", open_folder(folder / "chroma"), lock)
    except BaseException:
        lock.release()
        raise


def open_over_http(
    host: str, port: int, *, log: Path, ssl: bool, headers: Mapping[str, str] | None
) -> OpenChroma:
    """A Chroma server, and the log in a file.

    Raises:
        MissingExtraError: chromadb is not installed.
        HistoryError: The server does not answer or the log cannot be opened.
    """
    return _with_log(log, open_server(host, port, ssl=ssl, headers=headers))


def _with_log(log: Path, connection: Connection, lock: FolderLock | None = None) -> OpenChroma:
    try:
        return OpenChroma(ChromaLog(log), connection, lock)
    except BaseException:
        connection.close()
        raise
