"""One process at a time in a folder: two that write to Chroma's files corrupt them silently."""

from __future__ import annotations

import sqlite3
from pathlib import Path

from remember_graph.errors import HistoryError


class FolderLock:
    """Held from its making to `release`, or until the process ends in any way.

    It is the lock of an empty SQLite database: the operating system drops it with the process, a
    forked child does not inherit it, and it keeps out a second holder in the same process too.

    Args:
        folder: The folder, which is there.

    Raises:
        HistoryError: Somebody holds it, or the folder cannot be written.
    """

    def __init__(self, folder: Path) -> None:
        try:
            self._connection = sqlite3.connect(
                folder / "chroma.lock", timeout=0, isolation_level=None, check_same_thread=False
            )
        except sqlite3.Error as error:
            raise _cannot_lock(folder, error) from error
        try:
            self._connection.execute("BEGIN EXCLUSIVE")
        except sqlite3.Error as error:
            self._connection.close()
            raise _cannot_lock(folder, error) from error

    def release(self) -> None:
        """Let the next one in; a second call does nothing."""
        self._connection.close()


def _cannot_lock(folder: Path, error: sqlite3.Error) -> HistoryError:
    if "locked" not in str(error):
        return HistoryError(f"cannot open the Chroma folder {folder}: {error}")
    return HistoryError(
        f"the Chroma folder {folder} is in use by another process or another store of this one; "
        f"close that, or start `chroma run --path {folder / 'chroma'}` and let all of them open "
        f"chroma+http://HOST:PORT/{folder / 'turns.db'}"
    )
