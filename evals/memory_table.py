"""A memory report as a table for a terminal."""

from __future__ import annotations

from rich.box import SIMPLE
from rich.table import Table

from remember_graph.evals.memory_report import MemoryReport, PartReport, RunReport

_LONGEST_HEADING = 9


def _shorten(heading: str) -> str:
    """A heading that leaves room for its neighbours."""
    if len(heading) <= _LONGEST_HEADING:
        return heading
    return heading[: _LONGEST_HEADING - 1] + "."


def memory_table(report: MemoryReport) -> Table:
    """One row a run; what all rows share is in the title.

    Args:
        report: As `report` made it.
    """
    runs = report["runs"]
    embeddings = report["embeddings"] or "none"
    table = Table(
        title=f"Evidence recall on {report['bench']}, embeddings {embeddings}",
        caption="95 % interval: bootstrap over dialogues; build: median / 95th percentile in ms",
        box=SIMPLE,
        padding=(0, 1, 0, 0),  # a row should fit a terminal of 130 columns
    )
    kinds = _names([run["by_kind"] for run in runs])
    domains = _names([run["by_domain"] for run in runs])
    for heading in ("method", "detections"):
        table.add_column(heading, no_wrap=True)
    parts = [_shorten(part) for part in (*kinds, *domains)]
    for heading in ("budget", "history", "gaps", "recall", "95 %", *parts, "tokens", "build"):
        table.add_column(heading, justify="right", no_wrap=True)
    for run in runs:
        table.add_row(*_cells(run, kinds, domains))
    return table


def _names(parts: list[dict[str, PartReport]]) -> list[str]:
    return list(dict.fromkeys(name for part in parts for name in part))


def _cells(run: RunReport, kinds: list[str], domains: list[str]) -> list[str]:
    low, high = run["ci95"]
    history = run["history_tokens"]
    build = run["build_ms"]
    return [
        run["method"],
        run["detections"] or "-",
        f"{run['budget']:,}",
        "own" if history is None else f"{history:,}",
        str(run["n"]),
        f"{run['recall']:.2f}",
        f"{low:.2f}-{high:.2f}",
        *(_recall(run["by_kind"].get(kind)) for kind in kinds),
        *(_recall(run["by_domain"].get(domain)) for domain in domains),
        f"{run['memory_tokens_mean']:,.0f}",
        f"{build['p50']:.0f} / {build['p95']:.0f}",
    ]


def _recall(part: PartReport | None) -> str:
    return "-" if part is None else f"{part['recall']:.2f}"
