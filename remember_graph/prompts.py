"""Prompt files, and turns written into them as quoted data.

What people wrote is data, never an instruction: it appears only in the user role, between tags,
one line a turn under a short handle, so that no text can pose as another turn or close the tag.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import cache
from importlib.resources import files
from string import Template

from remember_graph.chat_models import Message
from remember_graph.types import Turn

# Possessive: blanks are never given back, so that a long run of them takes linear time.
_TAGS = re.compile(
    r"<(?=\s*+(?:/\s*+)?(?:window|memory|earlier_turns|gaps|rules|reader)\b)", re.IGNORECASE
)
_PARTS = re.compile(r"^## (system|user)\n", re.MULTILINE)


@cache
def _parts(name: str) -> dict[str, Template]:
    text = (files("remember_graph.nodes") / "prompts" / f"{name}.md").read_text("utf-8")
    pieces = _PARTS.split(text)  # head, role, text, role, text
    return {
        role: Template(body.strip()) for role, body in zip(pieces[1::2], pieces[2::2], strict=True)
    }


def render(name: str, **values: str) -> tuple[Message, ...]:
    """The messages of a prompt file; a placeholder without a value raises KeyError."""
    return tuple(
        Message(role, template.substitute(values)) for role, template in _parts(name).items()
    )


def prompt_version(name: str) -> str:
    """The version line at the top of a prompt file."""
    text = (files("remember_graph.nodes") / "prompts" / f"{name}.md").read_text("utf-8")
    return text.split("\n", 1)[0].removeprefix("version:").strip()


def one_line(text: str) -> str:
    """The text on one line, unable to open or close a tag of ours."""
    lines = (line.strip() for line in text.splitlines())
    return _TAGS.sub("&lt;", " ⏎ ".join(line for line in lines if line))


def quote_turns(turns: Sequence[Turn], prefix: str = "") -> str:
    r"""One line a turn: `[handle] speaker (time): text`, handles counting from 1.

    Example:
        >>> quote_turns([Turn("Ana", "Yes.\nThe blue one.", time="2024-05-01T10:00:00")], "w")
        '[w1] Ana (2024-05-01 10:00): Yes. ⏎ The blue one.'
    """
    return "\n".join(
        f"[{prefix}{number}] {_who_and_when(turn)}: {one_line(turn.text)}"
        for number, turn in enumerate(turns, start=1)
    )


def _who_and_when(turn: Turn) -> str:
    who = one_line(turn.speaker) or "?"
    return f"{who} ({one_line(turn.time[:16].replace('T', ' '))})" if turn.time else who
