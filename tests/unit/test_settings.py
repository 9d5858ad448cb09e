"""Settings and their messages."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, cast

import pytest

from remember_graph.errors import ConfigError
from remember_graph.settings import (
    AllocateSettings,
    DetectSettings,
    RetrieveSettings,
    Settings,
    SummarizeSettings,
)


def test_the_defaults_are_valid() -> None:
    assert Settings() == Settings(preset="remember", budget=1024, window=1024)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Settings(budget=0), "`budget` must be >= 1, got 0"),
        (lambda: Settings(window=-1), "`window` must be >= 1, got -1"),
        (lambda: Settings(budget=True), "`budget` must be .*, got True"),
        (lambda: Settings(budget=cast(Any, 1.5)), "`budget` must be an int, got 1.5"),
        (lambda: Settings(budget=cast(Any, "9")), "`budget` must be an int, got '9'"),
        (lambda: Settings(preset=cast(Any, "best")), "`preset` must be remember or paper, got 'b"),
        (lambda: Settings(count_tokens=cast(Any, 3)), "`count_tokens` must be callable, got 3"),
        (lambda: DetectSettings(max_gaps=0), "`max_gaps` must be >= 1, got 0"),
        (
            lambda: DetectSettings(max_anchors=cast(Any, "8")),
            "`max_anchors` must be an int, got '8'",
        ),
        (lambda: RetrieveSettings(bm25_k1=-0.1), "`bm25_k1` must be >= 0, got -0.1"),
        (lambda: RetrieveSettings(bm25_k1=math.inf), "`bm25_k1` must be a finite number, got inf"),
        (lambda: RetrieveSettings(bm25_k1=True), "`bm25_k1` must be a finite number, got True"),
        (lambda: RetrieveSettings(rrf_k=cast(Any, 60.0)), "`rrf_k` must be an int, got 60.0"),
        (lambda: RetrieveSettings(chunk_overlap=-1), "`chunk_overlap` must be >= 0, got -1"),
        (lambda: RetrieveSettings(bm25_b=1.1), "`bm25_b` must be between 0 and 1, got 1.1"),
        (lambda: RetrieveSettings(bm25_b=math.nan), "`bm25_b` must be between 0 and 1, got nan"),
        (
            lambda: RetrieveSettings(chunk_tokens=32, chunk_overlap=32),
            r"`chunk_overlap` must be less than `chunk_tokens` \(32\), got 32",
        ),
        (lambda: AllocateSettings(recent_share=-1), "`recent_share` must be between 0 and 1"),
        (lambda: AllocateSettings(longest_ranking=0), "`longest_ranking` must be >= 1, got 0"),
        (lambda: SummarizeSettings(quote_chars=39), "`quote_chars` must be >= 40, got 39"),
    ],
)
def test_a_bad_value_is_named_with_what_is_allowed(
    make: Callable[[], object], message: str
) -> None:
    with pytest.raises(ConfigError, match=message):
        make()


@pytest.mark.parametrize("name", ["max_gaps", "max_anchors", "max_output_tokens"])
def test_a_number_of_things_cannot_be_a_fraction(name: str) -> None:
    with pytest.raises(ConfigError, match=f"`{name}` must be an int"):
        DetectSettings(**cast(Any, {name: 1.5}))


def test_not_a_number_is_no_saturation() -> None:
    with pytest.raises(ConfigError, match="`bm25_k1` must be"):
        RetrieveSettings(bm25_k1=math.nan)


def test_true_is_no_share() -> None:
    with pytest.raises(ConfigError, match="`recent_share` must be between 0 and 1, got True"):
        AllocateSettings(recent_share=True)


def test_replace_gives_a_changed_copy() -> None:
    settings = Settings(budget=10)

    assert settings.replace(budget=20).budget == 20
    assert settings.budget == 10


def test_replace_checks_again() -> None:
    with pytest.raises(ConfigError, match="`budget` must be >= 1, got 0"):
        Settings().replace(budget=0)
