"""What a run is told beside its input."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime
from types import SimpleNamespace
from typing import Any

import pytest

from remember_graph.context import RememberContext, read_context
from remember_graph.errors import ConfigError


@dataclass
class _Foreign:
    user_id: str
    tenant: Any = None
    budget: Any = None
    now: Any = None


def test_our_own_context_is_taken_as_it_is() -> None:
    context = RememberContext("acme", "team", 100, "Ana", "2024-05-01")

    assert read_context(context) is context


def test_a_mapping_is_read_by_its_keys() -> None:
    assert read_context({"tenant": "acme", "stream": "team", "budget": 7}) == RememberContext(
        "acme", "team", 7
    )


@pytest.mark.parametrize(
    ("foreign", "expected"),
    [
        (None, RememberContext()),
        (_Foreign("u"), RememberContext()),
        (_Foreign("u", tenant="acme"), RememberContext("acme")),
        (_Foreign("u", tenant=7, budget="lots"), RememberContext()),
        (_Foreign("u", budget=0), RememberContext()),
        (_Foreign("u", budget=True), RememberContext()),
        (_Foreign("u", now="later"), RememberContext()),
        (
            _Foreign("u", now=datetime(2024, 5, 1, tzinfo=UTC)),
            RememberContext(now="2024-05-01T00:00:00+00:00"),
        ),
        (SimpleNamespace(tenant="acme"), RememberContext("acme")),
        ("text", RememberContext()),
    ],
)
def test_of_a_foreign_context_only_what_fits_is_read(
    foreign: Any, expected: RememberContext
) -> None:
    assert read_context(foreign) == expected


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"tenant": 7}, "`tenant` must be a str or None, got 7"),
        ({"budget": 0}, "`budget` must be an int >= 1 or None, got 0"),
        ({"budget": True}, "`budget` must be an int >= 1 or None, got True"),
        ({"now": "later"}, "`now` must be an ISO 8601 time"),
    ],
)
def test_a_wrong_value_is_refused(values: dict[str, Any], message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        RememberContext(**values)
