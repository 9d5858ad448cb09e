"""What the URLs of a store in Chroma say."""

from __future__ import annotations

import re
from typing import NamedTuple
from urllib.parse import unquote

from remember_graph.errors import ConfigError

FORMS = "chroma:///FOLDER, chroma+http://HOST:PORT/LOG_PATH or chroma+https://HOST:PORT/LOG_PATH"
DEFAULT_LOG = "remember-graph.db"

_SERVER = re.compile(r"(?P<host>\[[0-9a-fA-F:.%]+\]|[^\s:/?#@\[\]]+):(?P<port>[0-9]{1,5})")


class FolderUrl(NamedTuple):
    """Chroma in this process, its files and the log in one folder."""

    folder: str


class ServerUrl(NamedTuple):
    """A Chroma server, with the log in a SQLite file."""

    host: str
    port: int
    ssl: bool
    log: str


def parse_url(url: str) -> FolderUrl | ServerUrl:
    """What the URL names; paths are percent-decoded, one that begins with a slash is absolute.

    Example:
        >>> parse_url("chroma+http://127.0.0.1:8000//var/lib/chat.db")
        ServerUrl(host='127.0.0.1', port=8000, ssl=False, log='/var/lib/chat.db')

    Raises:
        ConfigError: It is of another form.
    """
    scheme, _, rest = url.partition("://")
    if scheme == "chroma":
        return _folder(url, rest)
    if scheme in ("chroma+http", "chroma+https"):
        return _server(url, rest, ssl=scheme.endswith("s"))
    raise ConfigError(f"a Chroma URL must be {FORMS}, got {shown(url)!r}")


def _folder(url: str, rest: str) -> FolderUrl:
    folder = unquote(rest.removeprefix("/"))
    if not rest.startswith("/") or not _is_path(folder):
        raise ConfigError(
            "a Chroma folder must be chroma:///FOLDER, with four slashes for an absolute one, "
            f"got {shown(url)!r}"
        )
    return FolderUrl(folder)


def _server(url: str, rest: str, *, ssl: bool) -> ServerUrl:
    place, _, path = rest.partition("/")
    parts = _SERVER.fullmatch(place)
    log = unquote(path) or DEFAULT_LOG
    if parts is None or not 0 < int(parts["port"]) < 65_536 or not _is_path(log):
        raise ConfigError(
            "a Chroma server must be chroma+http://HOST:PORT/LOG_PATH or chroma+https://…, with "
            f"two slashes before an absolute path, got {shown(url)!r}"
        )
    return ServerUrl(parts["host"], int(parts["port"]), ssl, log)


def _is_path(text: str) -> bool:
    return bool(text) and "\0" not in text


def shown(url: str) -> str:
    """The URL without a login, for messages."""
    scheme, mark, rest = url.partition("://")
    place, slash, path = rest.partition("/")
    return f"{scheme}{mark}{place.rpartition('@')[2]}{slash}{path}"
