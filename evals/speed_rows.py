"""What a measurement of speed is made of: rows, the machine, percentiles."""

from __future__ import annotations

import os
import platform
import time
from collections.abc import Callable
from typing import TypedDict, cast

import numpy as np


class Row(TypedDict):
    """One measurement."""

    name: str
    history_tokens: int | None
    value: float | None
    unit: str
    baseline: str | None
    """What it is compared with, or why there is nothing."""
    baseline_value: float | None
    ratio: float | None
    """Baseline over value for times; above 1 the product is faster."""


class SpeedReport(TypedDict):
    """What `bench --json` prints."""

    machine: dict[str, str | int]
    rows: list[Row]


def machine() -> dict[str, str | int]:
    """What it was measured on."""
    return {
        "python": platform.python_version(),
        "processor": platform.machine(),
        "cores": os.cpu_count() or 0,
        "numpy": np.__version__,
    }


def row(
    name: str,
    value: float | None,
    unit: str,
    tokens: int | None = None,
    baseline: str | None = None,
    baseline_value: float | None = None,
) -> Row:
    """A row; what divides the product by its baseline is left out where one of them is missing."""
    both = value is not None and baseline_value is not None and value > 0
    ratio = round(cast("float", baseline_value) / cast("float", value), 2) if both else None
    return {
        "name": name,
        "history_tokens": tokens,
        "value": None if value is None else round(value, 3),
        "unit": unit,
        "baseline": baseline,
        "baseline_value": None if baseline_value is None else round(baseline_value, 3),
        "ratio": ratio,
    }


def percentiles(call: Callable[[], object], times: int) -> tuple[float, float]:
    """Median and 95th percentile in milliseconds, after one call that warms up."""
    call()
    taken = []
    for _ in range(times):
        started = time.perf_counter()
        call()
        taken.append((time.perf_counter() - started) * 1_000)
    return float(np.percentile(taken, 50)), float(np.percentile(taken, 95))
