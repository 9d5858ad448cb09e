"""Placeholder until measured."""
from collections.abc import Sequence
from remember_graph.types import Turn

def report_worth(window: Sequence[Turn], language: str | None = None) -> dict[str, float]:
    return {t.id: float(min(len(t.text), 300)) for t in window}
