"""The files of an export, whether it is one file, a folder or a zip.

Nothing is unpacked to disk. A zip with an entry that points outside of it is refused, links are
not followed, and whatever a broken archive raises while it is read becomes a `ChatFormatError`.
"""

from __future__ import annotations

import io
import lzma
import os
import re
import stat
import zipfile
import zlib
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, BinaryIO, Literal, cast

from remember_graph.errors import ChatFormatError
from remember_graph.integrations.chats.decode import one_line

Progress = Callable[[int, int], None]

HEAD_BYTES = 65_536
_MAX_DEPTH = 3  # a wrapper folder, a channel, its day files
# What the archive code of the standard library raises on damaged or encrypted data.
_ARCHIVE_ERRORS = (
    OSError,
    EOFError,
    RuntimeError,
    ValueError,
    zipfile.BadZipFile,
    zlib.error,
    lzma.LZMAError,
)


@dataclass(slots=True)
class ExportFiles:
    """The files of one export by name, with `/` between folders.

    Attributes:
        path: What the user named.
        kind: How the files are held.
        sizes: The size in bytes of each file.
        notes: What was left aside while listing them.
        on_progress: Called with the bytes read so far and the bytes to be read.
    """

    path: Path
    kind: Literal["file", "folder", "zip"]
    sizes: Mapping[str, int]
    opener: Callable[[str], IO[bytes]]
    notes: list[str] = field(default_factory=list)
    on_progress: Progress | None = None
    _done: int = 0
    _total: int = 0

    @property
    def name(self) -> str:
        """The export's own name, without an ending."""
        name = self.path.name if self.kind == "folder" else self.path.stem
        return name.encode("utf-8", "replace").decode("utf-8") or "chat"

    def plan(self, names: list[str]) -> None:
        """Says which files will be read, for the progress."""
        self._done = 0
        self._total = sum(self.sizes[name] for name in names)

    def open(self, name: str) -> BinaryIO:
        """A stream of the file's bytes that reports its progress."""
        try:
            source = self.opener(name)
        except _ARCHIVE_ERRORS as error:
            raise self._unreadable(name, error) from error
        return cast("BinaryIO", io.BufferedReader(_Watched(source, name, self), HEAD_BYTES))

    def head(self, name: str) -> bytes:
        """The first bytes of a file; they do not count as progress."""
        try:
            with self.opener(name) as source:
                return source.read(HEAD_BYTES)
        except _ARCHIVE_ERRORS as error:
            raise self._unreadable(name, error) from error

    def report(self, count: int) -> None:
        """Tells the caller that so many more bytes were read."""
        self._done += count
        # Lists that are read before the plan are small. A zip can be wrong about sizes.
        if self.on_progress is not None and self._total:
            self.on_progress(self._done, max(self._total, self._done))

    def _unreadable(self, name: str, error: Exception) -> ChatFormatError:
        inside = "" if self.kind == "file" else f" in `{one_line(name)}`"
        return ChatFormatError(f"{label(self.path)} cannot be read{inside}: {_reason(error)}.")


class _Watched(io.RawIOBase):
    """The bytes of a stream, with its errors and its progress translated."""

    def __init__(self, source: IO[bytes], name: str, files: ExportFiles) -> None:
        self._source = source
        self._name = name
        self._files = files

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: memoryview) -> int:  # type: ignore[override]
        try:
            data = self._source.read(len(buffer))
        except _ARCHIVE_ERRORS as error:
            raise self._files._unreadable(self._name, error) from error
        buffer[: len(data)] = data
        self._files.report(len(data))
        return len(data)

    def close(self) -> None:
        self._source.close()
        super().close()


def label(path: Path) -> str:
    """The path as it stands in a message: on one line, whatever its name holds."""
    return f"`{one_line(str(path))}`"


def _reason(error: Exception) -> str:
    """What the system says, without the path it repeats."""
    told = getattr(error, "strerror", None) or str(error) or type(error).__name__
    return one_line(told).rstrip(".")


@contextmanager
def open_export(path: Path, on_progress: Progress | None = None) -> Iterator[ExportFiles]:
    """The files at a path; a zip stays open as long as the context.

    Raises:
        ChatFormatError: There is nothing at the path, or it cannot be listed.
    """
    try:
        mode = path.stat().st_mode
    except (OSError, ValueError) as error:
        raise ChatFormatError(f"{label(path)} cannot be opened: {_reason(error)}.") from error
    if stat.S_ISDIR(mode):
        sizes, notes = _folder_sizes(path)
        yield ExportFiles(
            path, "folder", sizes, lambda name: (path / name).open("rb"), notes, on_progress
        )
    elif not stat.S_ISREG(mode):
        raise ChatFormatError(f"{label(path)} is neither a file nor a folder.")
    elif _is_zip(path):
        with _open_zip(path) as archive:
            yield _zip_files(path, archive, on_progress)
    else:
        sizes = {path.name: path.stat().st_size}
        yield ExportFiles(path, "file", sizes, lambda _: path.open("rb"), [], on_progress)


def _folder_sizes(folder: Path) -> tuple[dict[str, int], list[str]]:
    sizes: dict[str, int] = {}
    links = 0
    for where, folders, names in os.walk(folder):
        here = Path(where)
        links += sum((here / name).is_symlink() for name in [*folders, *names])
        if len(here.relative_to(folder).parts) >= _MAX_DEPTH:
            folders.clear()
        for name in names:
            file = here / name
            if not file.is_symlink() and file.is_file():
                sizes[file.relative_to(folder).as_posix()] = file.stat().st_size
    return dict(sorted(sizes.items())), _link_notes(links)


def _link_notes(count: int) -> list[str]:
    return [f"Links inside the export were not followed: {count}."] if count else []


def _is_zip(path: Path) -> bool:
    # By the first bytes and by the name: a damaged zip shall be called that. Not by
    # `zipfile.is_zipfile`: it takes any file that has something appended for one.
    try:
        with path.open("rb") as file:
            return file.read(4) in (b"PK\x03\x04", b"PK\x05\x06") or path.suffix.lower() == ".zip"
    except OSError as error:
        raise ChatFormatError(f"{label(path)} cannot be opened: {_reason(error)}.") from error


def _open_zip(path: Path) -> zipfile.ZipFile:
    try:
        return zipfile.ZipFile(path)
    except _ARCHIVE_ERRORS as error:
        raise ChatFormatError(
            f"{label(path)} is not a zip that can be read: {_reason(error)}."
        ) from error


def _zip_files(path: Path, archive: zipfile.ZipFile, on_progress: Progress | None) -> ExportFiles:
    entries: dict[str, zipfile.ZipInfo] = {}
    links = 0
    for info in archive.infolist():
        name = info.filename.replace("\\", "/")  # archives made on Windows
        if name.startswith("/") or ".." in name.split("/") or re.match("[A-Za-z]:", name):
            raise ChatFormatError(
                f"{label(path)} has an entry outside of itself: {name!r}; "
                "names must be relative and without `..`."
            )
        if stat.S_ISLNK(info.external_attr >> 16):
            links += 1
        elif not info.is_dir():
            entries[name] = info
    return ExportFiles(
        path,
        "zip",
        {name: entries[name].file_size for name in sorted(entries)},
        lambda name: archive.open(entries[name]),
        _link_notes(links),
        on_progress,
    )
