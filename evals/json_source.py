"""JSON files whose complaints are one line: which file and line, what was found, what is allowed.

A bench is often made or cut by hand, so each field is checked when it is read and never later.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from remember_graph.errors import BenchFormatError
from remember_graph.types import well_formed

_SHOWN_CHARS = 60


@dataclass(frozen=True, slots=True)
class JsonObject:
    """One JSON object and where it stands.

    Attributes:
        where: File and line, and the way from there into the document.
        fields: The object.
    """

    where: str
    fields: Mapping[str, Any]

    def error(self, message: str) -> BenchFormatError:
        """The error that this object is not what it should be."""
        return BenchFormatError(f"{self.where}: {message}")

    def text(self, key: str, default: str | None = None) -> str:
        """A string; with a default where it may be left out or null."""
        value = self.fields.get(key)
        if value is None and default is not None:
            return default
        if not isinstance(value, str):
            raise self._wrong(key, "a string")
        return well_formed(value)

    def name(self, key: str) -> str:
        """A string that is not empty."""
        value = self.text(key)
        if not value:
            raise self._wrong(key, "a string that is not empty")
        return value

    def choice(self, key: str, allowed: Sequence[str]) -> str:
        """One of the allowed strings."""
        value = self.text(key)
        if value not in allowed:
            raise self._wrong(key, f"one of {', '.join(allowed)}")
        return value

    def count(self, key: str, default: int | None = None) -> int:
        """A whole number, 0 or more."""
        value = self.fields.get(key)
        if value is None and default is not None:
            return default
        if isinstance(value, bool) or not isinstance(value, int) or value < 0:
            raise self._wrong(key, "a whole number >= 0")
        return value

    def number(self, key: str, default: float) -> float:
        """A number; the default where it is left out."""
        value = self.fields.get(key, default)
        if isinstance(value, bool) or not isinstance(value, int | float):
            raise self._wrong(key, "a number")
        return value

    def objects(self, key: str) -> list[JsonObject]:
        """A list of objects; empty where it is allowed to be."""
        value = self.fields.get(key)
        if not isinstance(value, list) or not all(isinstance(item, dict) for item in value):
            raise self._wrong(key, "a list of objects")
        return [JsonObject(f"{self.where}, {key}[{at}]", item) for at, item in enumerate(value)]

    def texts(self, key: str) -> tuple[str, ...]:
        """A list of strings; empty where it is left out."""
        value = self.fields.get(key, [])
        if not _are_texts(value):
            raise self._wrong(key, "a list of strings")
        return tuple(map(well_formed, value))

    def text_lists(self, key: str) -> tuple[tuple[str, ...], ...]:
        """A list of lists of strings; empty where it is left out."""
        value = self.fields.get(key, [])
        if not isinstance(value, list) or not all(map(_are_texts, value)):
            raise self._wrong(key, "a list of lists of strings")
        return tuple(tuple(map(well_formed, texts)) for texts in value)

    def _wrong(self, key: str, allowed: str) -> BenchFormatError:
        if key not in self.fields:
            return self.error(f"`{key}` is missing; it must be {allowed}")
        found = json.dumps(self.fields[key])
        if len(found) > _SHOWN_CHARS:
            found = found[:_SHOWN_CHARS] + "…"
        return self.error(f"`{key}` must be {allowed}, got {found}")


def _are_texts(value: object) -> bool:
    return isinstance(value, list) and all(isinstance(item, str) for item in value)


def read_object(path: Path) -> JsonObject:
    """The one object that a file holds.

    Raises:
        BenchFormatError: The file is missing, cannot be read, or holds something else.
    """
    return _parse(_read(path), path, first_line=1, where=str(path))


def read_lines(path: Path) -> list[JsonObject]:
    """The objects of a file that holds one a line; empty lines are passed over.

    Raises:
        BenchFormatError: The file is missing, cannot be read, or a line is not an object.
    """
    return [
        _parse(line, path, first_line=number, where=f"{path} line {number}")
        for number, line in enumerate(_read(path).split("\n"), start=1)
        if line.strip()
    ]


def _read(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8-sig")
    except FileNotFoundError as error:
        raise BenchFormatError(f"{path}: no such file; the bench format needs it") from error
    except OSError as error:
        raise BenchFormatError(f"{path}: cannot be read: {error.strerror or error}") from error
    except UnicodeDecodeError as error:
        raise BenchFormatError(f"{path}: not UTF-8 at byte {error.start}") from error


def _parse(text: str, path: Path, *, first_line: int, where: str) -> JsonObject:
    try:
        value = json.loads(text)
    except json.JSONDecodeError as error:
        line = first_line + error.lineno - 1
        raise BenchFormatError(f"{path} line {line}: not JSON: {error.msg}") from error
    except (ValueError, RecursionError) as error:  # a number of 5,000 digits, nesting without end
        raise BenchFormatError(f"{where}: not JSON that can be read: {error}") from error
    if not isinstance(value, dict):
        raise BenchFormatError(f"{where}: must be a JSON object, got {type(value).__name__}")
    return JsonObject(where, value)
