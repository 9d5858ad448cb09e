"""What a run is told beside its input: whose memory, how much of it, for whom, as of when."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from remember_graph.errors import ConfigError
from remember_graph.history.selecting import parse_time


@dataclass(frozen=True)
class RememberContext:
    """The graph's `context_schema`: `graph.invoke(input, context={"tenant": "acme"})`.

    Attributes:
        tenant: Whose memory; goes before the input's, which may come from a user.
        stream: Which conversation; goes before the input's.
        budget: Most tokens of memory; default that of the settings.
        reader: Who will read the summary; a model is told, and speaks to them.
        now: ISO 8601; later turns are not seen.

    Raises:
        ConfigError: A value is of the wrong kind.

    Example:
        >>> RememberContext(budget=0)
        Traceback (most recent call last):
        remember_graph.errors.ConfigError: `budget` must be an int >= 1 or None, got 0
    """

    tenant: str | None = None
    stream: str | None = None
    budget: int | None = None
    reader: str | None = None
    now: str | None = None

    def __post_init__(self) -> None:
        for name in ("tenant", "stream", "reader", "now"):
            value = getattr(self, name)
            if value is not None and not isinstance(value, str):
                raise ConfigError(f"`{name}` must be a str or None, got {value!r}")
        if not _is_budget(self.budget):
            raise ConfigError(f"`budget` must be an int >= 1 or None, got {self.budget!r}")
        if self.now is not None:
            parse_time(self.now, "now")


@dataclass(frozen=True, slots=True)
class Run:
    """What a stage knows of the run it is part of.

    Attributes:
        thread_id: Of the run; empty where it has none.
        context: What it was told.
    """

    thread_id: str = ""
    context: RememberContext = field(default_factory=RememberContext)


def _is_budget(value: Any) -> bool:  # noqa: ANN401
    whole = isinstance(value, int) and not isinstance(value, bool)
    return value is None or (whole and value >= 1)


def read_context(value: Any) -> RememberContext:  # noqa: ANN401 - whatever a user's graph has
    """The context of a run; what a foreign one does not have, or has as something else, is None.

    A graph that runs inside a user's graph gets that graph's context, of any type.

    Example:
        >>> read_context({"tenant": "acme", "budget": "lots", "user_id": 7})
        RememberContext(tenant='acme', stream=None, budget=None, reader=None, now=None)
    """
    if isinstance(value, RememberContext):
        return value
    found = {name: _get(value, name) for name in ("tenant", "stream", "reader", "now")}
    texts = {name: text for name, text in found.items() if isinstance(text, str)}
    if isinstance(found["now"], datetime):
        texts["now"] = found["now"].isoformat()
    budget = _get(value, "budget")
    try:
        return RememberContext(**texts, budget=budget if _is_budget(budget) else None)
    except ConfigError:  # a `now` of another meaning
        del texts["now"]
        return RememberContext(**texts, budget=budget if _is_budget(budget) else None)


def _get(value: Any, name: str) -> Any:  # noqa: ANN401
    return value.get(name) if isinstance(value, Mapping) else getattr(value, name, None)
