"""Whose conversation an agent's run is, as the options `stream` and `tenant` say."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable
from typing import Any

from langgraph.config import get_config

from remember_graph.chat_models import first_line
from remember_graph.errors import ConfigError
from remember_graph.history.store import Namespace
from remember_graph.types import well_formed

DEFAULT_NAME = "default"

NameOption = str | Callable[[Any], str] | None
"""A name, what reads one off a run's `Runtime`, or None."""

_PLAIN = re.compile(r"[A-Za-z0-9_-]{1,40}")
_OTHER = re.compile(r"[^A-Za-z0-9_-]+")


def thread_of(runtime: Any) -> str | None:  # noqa: ANN401 - tests and other hosts have their own
    """The thread id of a run, where it has one."""
    if hasattr(runtime, "execution_info"):
        thread = getattr(runtime.execution_info, "thread_id", None)
    else:
        thread = _configured_thread()
    return str(thread) if thread else None


def _configured_thread() -> Any:  # noqa: ANN401
    """As LangGraph 1.0 tells it, whose runtime does not."""
    try:
        return (get_config().get("configurable") or {}).get("thread_id")
    except RuntimeError:  # not inside a run
        return None


class RunNames:
    """Reads stream and tenant off a run.

    Args:
        stream: None for the run's thread id, `default` where it has none.
        tenant: None for `default`.

    Raises:
        ConfigError: An option is neither a non-empty str, nor callable, nor None.

    Example:
        >>> RunNames("notes", lambda runtime: runtime["user"]).of({"user": "ana"})
        Namespace(tenant='ana', stream='notes')
    """

    def __init__(self, stream: NameOption = None, tenant: NameOption = None) -> None:
        for name, option in (("stream", stream), ("tenant", tenant)):
            if option is None or callable(option) or (isinstance(option, str) and option):
                continue
            raise ConfigError(
                f"`{name}` must be a non-empty str, a callable of the runtime, or None, "
                f"got {option!r}"
            )
        self._stream, self._tenant = stream, tenant

    def of(self, runtime: Any) -> Namespace:  # noqa: ANN401
        """Where the run's conversation is.

        Raises:
            ConfigError: A callable failed or gave no name. Nothing else takes its place, since
                that might be somebody else's conversation.
        """
        tenant = _read("tenant", self._tenant, runtime) or DEFAULT_NAME
        stream = _read("stream", self._stream, runtime) or thread_of(runtime) or DEFAULT_NAME
        return Namespace(well_formed(tenant), well_formed(stream))

    def label(self) -> str:
        """The options in letters, digits, `_`, `-` and brackets; empty where both are None.

        Example:
            >>> RunNames("notes", "ana@example.org").label()
            '[stream-notes][tenant-ana-example-org-86b9260a]'
        """
        options = (("stream", self._stream), ("tenant", self._tenant))
        return "".join(f"[{name}-{_slug(option)}]" for name, option in options if option)


def _read(name: str, option: NameOption, runtime: Any) -> str | None:  # noqa: ANN401
    if not callable(option):
        return option
    try:
        value = option(runtime)
    except Exception as error:  # the user's own code
        raise ConfigError(
            f"`{name}` could not be read off the run: {type(error).__name__}: {first_line(error)}"
        ) from error
    if not isinstance(value, str) or not value:
        raise ConfigError(f"`{name}` must give a non-empty str for a run, got {value!r}")
    return value


def _slug(option: str | Callable[[Any], str]) -> str:
    """The option's own words, with a hash where they had to be changed."""
    kind = type(option).__qualname__
    text = option if isinstance(option, str) else str(getattr(option, "__qualname__", kind))
    if _PLAIN.fullmatch(text):
        return text
    words = _OTHER.sub("-", text)[:24].strip("-")
    digest = hashlib.sha256(well_formed(text).encode()).hexdigest()[:8]
    return f"{words}-{digest}".lstrip("-")
