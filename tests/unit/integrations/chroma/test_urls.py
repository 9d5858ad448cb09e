"""What the URLs say, and what is said of wrong ones."""

from __future__ import annotations

from pathlib import Path

import pytest

from remember_graph.errors import ConfigError
from remember_graph.history.store import Namespace, Record
from remember_graph.integrations.chroma import open_chroma
from remember_graph.integrations.chroma.url import FolderUrl, ServerUrl, parse_url
from remember_graph.types import Turn


@pytest.mark.parametrize(
    ("url", "folder"),
    [
        ("chroma:///memory", "memory"),
        ("chroma:///a/b", "a/b"),
        ("chroma:////var/memory", "/var/memory"),
        ("chroma:///my%20chats/%C3%A9", "my chats/é"),
        ("chroma:///a?b#c", "a?b#c"),
    ],
)
def test_a_folder_is_named_relative_or_absolute(url: str, folder: str) -> None:
    assert parse_url(url) == FolderUrl(folder)


@pytest.mark.parametrize(
    ("url", "server"),
    [
        ("chroma+http://h:8000/a.db", ServerUrl("h", 8000, False, "a.db")),
        ("chroma+http://h:8000//v/a.db", ServerUrl("h", 8000, False, "/v/a.db")),
        ("chroma+https://h.example:443/a%20b.db", ServerUrl("h.example", 443, True, "a b.db")),
        ("chroma+http://h:1", ServerUrl("h", 1, False, "remember-graph.db")),
        ("chroma+http://h:65535/", ServerUrl("h", 65_535, False, "remember-graph.db")),
        ("chroma+http://[::1]:8000/a.db", ServerUrl("[::1]", 8000, False, "a.db")),
    ],
)
def test_a_server_is_named_with_its_log(url: str, server: ServerUrl) -> None:
    assert parse_url(url) == server


@pytest.mark.parametrize(
    "url",
    [
        "chroma://",
        "chroma:///",
        "chroma://memory",
        "chroma://host/memory",
        "chroma:///a%00b",
        "chroma+http://",
        "chroma+http:///a.db",
        "chroma+http://host/a.db",
        "chroma+http://host:/a.db",
        "chroma+http://host:port/a.db",
        "chroma+http://host:0/a.db",
        "chroma+http://host:65536/a.db",
        "chroma+http://:8000/a.db",
        "chroma+http://host:8000?a.db",
        "chroma+http://host:8000/a%00.db",
        "chroma+ftp://host:8000/a.db",
        "http://host:8000",
        "chroma",
    ],
)
def test_another_form_is_refused_in_one_line(url: str) -> None:
    with pytest.raises(ConfigError, match="chroma") as caught:
        open_chroma(url)

    assert url in str(caught.value)
    assert len(str(caught.value).splitlines()) == 1


def test_a_login_is_refused_without_being_shown() -> None:
    with pytest.raises(ConfigError) as caught:
        open_chroma("chroma+http://ana:geheim@host:8000/a.db")

    assert "geheim" not in str(caught.value)
    assert "host:8000/a.db" in str(caught.value)


def test_a_relative_folder_is_made_where_the_process_stands(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    store = open_chroma("chroma:///deep/my%20memory")
    store.append(Namespace("t", "s"), [Record(Turn("Ana", "Hi", id="a"))])
    store.close()

    assert (tmp_path / "deep/my memory/turns.db").is_file()
    assert (tmp_path / "deep/my memory/chroma").is_dir()


def test_an_absolute_url_opens_the_same_again(tmp_path: Path) -> None:
    url = f"chroma:///{tmp_path}/memory"
    store = open_chroma(url)
    store.append(Namespace("t", "s"), [Record(Turn("Ana", "Hi", id="a"))])
    store.close()
    again = open_chroma(url)

    assert again.count(Namespace("t", "s")) == 1
    again.close()


def test_a_server_url_opens_its_log(tmp_path: Path, server_port: int) -> None:
    store = open_chroma(f"chroma+http://127.0.0.1:{server_port}/{tmp_path}/my%20turns.db")
    store.close()

    assert (tmp_path / "my turns.db").is_file()
