"""What the memory did for each thread of an agent, for whoever wants to look."""

from __future__ import annotations

import copy
from typing import TypedDict

from remember_graph.integrations.bounded import Bounded
from remember_graph.integrations.run_names import DEFAULT_NAME
from remember_graph.integrations.turn_recall import Found
from remember_graph.state import Gap

_THREADS = 256  # whose last report is kept


class MemoryReport(TypedDict):
    """What the memory did in a thread's latest user turn, as plain JSON."""

    middleware: str
    """The name of the middleware, where an agent has several."""
    thread: str
    memory: list[str]
    """Ids of the turns that were put into the model's request."""
    gaps: list[Gap]
    degraded: list[str]
    """One line for each thing that did not go as it should."""


class MemoryReports:
    """The latest report of each thread.

    Args:
        middleware: Its name.
    """

    def __init__(self, middleware: str) -> None:
        self._middleware = middleware
        self._latest = Bounded[str, MemoryReport](_THREADS)

    def latest(self, thread: str | None) -> MemoryReport | None:
        """A copy of the thread's report; None where there is none yet."""
        return copy.deepcopy(self._latest.get(thread or DEFAULT_NAME))

    def begin(self, thread: str | None) -> None:
        """A user's turn begins."""
        self._put(thread, [], [], [])

    def found(self, thread: str | None, found: Found) -> MemoryReport:
        """The report, with what was recalled."""
        before = self._latest.get(thread or DEFAULT_NAME)
        degraded = [*(before["degraded"] if before else []), *found.gathered["degraded"]]
        ids = [turn["turn_id"] for turn in found.unseen]
        return self._put(thread, ids, found.gathered["gaps"], degraded)

    def failed(self, thread: str | None, line: str) -> MemoryReport:
        """The report, with what went wrong."""
        before = self._latest.get(thread or DEFAULT_NAME)
        if before is None:
            return self._put(thread, [], [], [line])
        return self._put(thread, before["memory"], before["gaps"], [*before["degraded"], line])

    def _put(
        self, thread: str | None, memory: list[str], gaps: list[Gap], degraded: list[str]
    ) -> MemoryReport:
        name = thread or DEFAULT_NAME
        report: MemoryReport = {
            "middleware": self._middleware,
            "thread": name,
            "memory": memory,
            "gaps": gaps,
            "degraded": degraded,
        }
        return copy.deepcopy(self._latest.put(name, report))
