"""The compose file names every port and says of every server when it is healthy."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

yaml = pytest.importorskip("yaml", reason="the compose file is YAML")

_DEPLOY = Path(__file__).parents[2] / "deploy"
_SERVICES: dict[str, Any] = yaml.safe_load((_DEPLOY / "compose.yaml").read_text("utf-8"))[
    "services"
]
_PORTS = {"chat": 8000, "embed": 8001, "postgres": 5432, "langgraph": 2024}


def test_there_are_four_servers() -> None:
    assert set(_SERVICES) == set(_PORTS)


@pytest.mark.parametrize(("name", "port"), _PORTS.items())
def test_a_server_listens_on_the_loopback_interface_only(name: str, port: int) -> None:
    assert _SERVICES[name]["ports"] == [f"127.0.0.1:{port}:{port}"]


@pytest.mark.parametrize("name", _PORTS)
def test_a_server_says_when_it_is_healthy(name: str) -> None:
    check = _SERVICES[name]["healthcheck"]

    assert check["test"][0] == "CMD"
    assert check["retries"] >= 20


@pytest.mark.parametrize(("name", "path"), [("chat", "/health"), ("embed", "/health")])
def test_vllm_listens_where_its_health_is_asked(name: str, path: str) -> None:
    service = _SERVICES[name]

    assert f"--port {_PORTS[name]}" in service["command"]
    assert service["healthcheck"]["test"][-1] == f"http://127.0.0.1:{_PORTS[name]}{path}"


def test_the_langgraph_server_waits_for_the_others() -> None:
    waits = _SERVICES["langgraph"]["depends_on"]

    assert waits == {
        name: {"condition": "service_healthy"} for name in ("chat", "embed", "postgres")
    }


def test_no_password_is_in_the_file() -> None:
    password = _SERVICES["postgres"]["environment"]["POSTGRES_PASSWORD"]

    assert password == "${POSTGRES_PASSWORD:?set it in .env}"


def test_the_graph_that_is_served_is_there() -> None:
    file, name = json.loads((_DEPLOY / "langgraph.json").read_text("utf-8"))["graphs"][
        "remember"
    ].split(":")

    assert f"def {name}(" in (_DEPLOY / file).read_text("utf-8")


def test_every_server_is_in_the_readme() -> None:
    text = (_DEPLOY / "README.md").read_text("utf-8")

    assert all(f"| `{name}`" in text and f"| {port} |" in text for name, port in _PORTS.items())
