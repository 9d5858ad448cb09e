"""The names of `remember_graph`: few, sorted, and none but those that are exported."""

from __future__ import annotations

import inspect
import types

import remember_graph


def test_the_exported_names_are_sorted() -> None:
    assert list(remember_graph.__all__) == sorted(remember_graph.__all__)


def test_there_are_at_most_twelve_names() -> None:
    assert 1 <= len(remember_graph.__all__) <= 12


def test_what_is_exported_is_what_is_visible() -> None:
    # Submodules become attributes as soon as anything imports them.
    visible = {
        name
        for name, value in vars(remember_graph).items()
        if not name.startswith("_") and not isinstance(value, types.ModuleType)
    }

    assert visible == set(remember_graph.__all__)


def test_every_name_is_documented() -> None:
    for name in remember_graph.__all__:
        value = getattr(remember_graph, name)
        assert (inspect.getdoc(value) or "").strip(), name
        assert value.__module__.startswith("remember_graph."), name
