"""All settings, checked when they are made: one frozen dataclass a stage, one that holds them."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Literal, Self, get_args

from remember_graph.errors import ConfigError
from remember_graph.tokens import count_tokens

Preset = Literal["remember", "paper"]
PRESETS: tuple[str, ...] = get_args(Preset)


def _check_count(owner: object, minimum: int, *names: str) -> None:
    for name in names:
        value = getattr(owner, name)
        if isinstance(value, bool) or not isinstance(value, int):
            raise ConfigError(f"`{name}` must be an int, got {value!r}")
        if value < minimum:
            raise ConfigError(f"`{name}` must be >= {minimum}, got {value!r}")


def _check_factor(owner: object, *names: str) -> None:
    for name in names:
        value = getattr(owner, name)
        if not _is_number(value) or not -math.inf < value < math.inf:  # nan is not, either
            raise ConfigError(f"`{name}` must be a finite number, got {value!r}")
        if value < 0:
            raise ConfigError(f"`{name}` must be >= 0, got {value!r}")


def _check_share(owner: object, *names: str) -> None:
    for name in names:
        value = getattr(owner, name)
        if not _is_number(value) or not 0 <= value <= 1:
            raise ConfigError(f"`{name}` must be between 0 and 1, got {value!r}")


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


@dataclass(frozen=True, slots=True)
class DetectSettings:
    """Gap detection.

    Attributes:
        max_gaps: Gaps kept a window, the most salient first.
        max_anchors: Anchors kept a gap.
        max_output_tokens: Allowance of the model's answer.
    """

    max_gaps: int = 12
    max_anchors: int = 8
    max_output_tokens: int = 2048

    def __post_init__(self) -> None:
        _check_count(self, 1, "max_gaps", "max_anchors", "max_output_tokens")


@dataclass(frozen=True, slots=True)
class RetrieveSettings:
    """Candidate search.

    Attributes:
        chunk_tokens: Most tokens in a chunk.
        chunk_overlap: Tokens that neighbouring chunks share.
        top_k_each: Chunks each retriever returns (`paper`).
        top_k: Chunks kept after fusion (`paper`).
        rrf_k: The constant of reciprocal rank fusion (Cormack et al. 2009).
        bm25_k1: Saturation of a term's count.
        bm25_b: Length normalisation for chunks.
        bm25_b_turns: Length normalisation for single turns (`remember`).
    """

    chunk_tokens: int = 128
    chunk_overlap: int = 32
    top_k_each: int = 30
    top_k: int = 8
    rrf_k: int = 60
    bm25_k1: float = 1.5
    bm25_b: float = 0.75
    bm25_b_turns: float = 0.3

    def __post_init__(self) -> None:
        _check_count(self, 1, "chunk_tokens", "top_k_each", "top_k", "rrf_k")
        _check_count(self, 0, "chunk_overlap")
        _check_factor(self, "bm25_k1")
        _check_share(self, "bm25_b", "bm25_b_turns")
        if self.chunk_overlap >= self.chunk_tokens:
            raise ConfigError(
                f"`chunk_overlap` must be less than `chunk_tokens` ({self.chunk_tokens}), "
                f"got {self.chunk_overlap}"
            )


@dataclass(frozen=True, slots=True)
class AllocateSettings:
    """Filling the budget.

    Attributes:
        recent_share: Part of the budget for the turns just before the window (`remember`).
        recent_share_pooled: The same where the window as a whole asks, without a model.
        longest_ranking: Turns of a gap's ranking that are looked at.
    """

    recent_share: float = 0.125
    recent_share_pooled: float = 0.3
    longest_ranking: int = 150

    def __post_init__(self) -> None:
        _check_share(self, "recent_share", "recent_share_pooled")
        _check_count(self, 1, "longest_ranking")


@dataclass(frozen=True, slots=True)
class SummarizeSettings:
    """Writing the summary.

    Attributes:
        max_sentences: Sentences of the extractive composer, and asked of a model.
        max_output_tokens: Allowance of the model's answer.
        quote_chars: Longest quotation in an extractive sentence.
    """

    max_sentences: int = 12
    max_output_tokens: int = 1024
    quote_chars: int = 240

    def __post_init__(self) -> None:
        _check_count(self, 1, "max_sentences", "max_output_tokens")
        _check_count(self, 40, "quote_chars")


@dataclass(frozen=True, slots=True)
class Settings:
    """How a catch-up is made.

    Attributes:
        preset: `remember` (ours) or `paper` (the published method to the letter).
        budget: Most tokens of memory.
        window: About how many tokens the window has; whole turns.
        language: Language of the summary, as a name or code; None follows the chat.
        count_tokens: Counts every text that a budget applies to.
        detect: Gap detection.
        retrieve: Candidate search.
        allocate: Filling the budget.
        summarize: Writing the summary.

    Raises:
        ConfigError: A value is out of range.

    Example:
        >>> Settings(budget=512).budget
        512
        >>> Settings(budget=0)
        Traceback (most recent call last):
        remember_graph.errors.ConfigError: `budget` must be >= 1, got 0
    """

    preset: Preset = "remember"
    budget: int = 1024
    window: int = 1024
    language: str | None = None
    count_tokens: Callable[[str], int] = count_tokens
    detect: DetectSettings = field(default_factory=DetectSettings)
    retrieve: RetrieveSettings = field(default_factory=RetrieveSettings)
    allocate: AllocateSettings = field(default_factory=AllocateSettings)
    summarize: SummarizeSettings = field(default_factory=SummarizeSettings)

    def __post_init__(self) -> None:
        if self.preset not in PRESETS:
            allowed = " or ".join(PRESETS)
            raise ConfigError(f"`preset` must be {allowed}, got {self.preset!r}")
        _check_count(self, 1, "budget", "window")
        if not callable(self.count_tokens):
            raise ConfigError(f"`count_tokens` must be callable, got {self.count_tokens!r}")

    def replace(self, **changes: Any) -> Self:  # noqa: ANN401 - the fields' own types
        """A copy with some fields changed, checked again."""
        return dataclasses.replace(self, **changes)
