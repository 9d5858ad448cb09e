"""Memory that recovers what the latest stretch of a conversation leaves unsaid."""

from remember_graph.errors import RememberGraphError
from remember_graph.graph import build_graph
from remember_graph.memory import Memory
from remember_graph.settings import Settings
from remember_graph.state import CatchUp
from remember_graph.types import AddReport, Turn

__all__ = [
    "AddReport",
    "CatchUp",
    "Memory",
    "RememberGraphError",
    "Settings",
    "Turn",
    "build_graph",
]
