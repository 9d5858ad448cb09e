"""The text of a Slack message as a reader sees it: names for ids, labels for links.

Slack escapes `&`, `<` and `>`, so that everything in angle brackets is its own markup; the
escapes are undone once, after the markup. A message without text has it in blocks or in
attachments; with a text, these only repeat it.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

_MARKUP = re.compile(r"<([^<>]+)>")
_ENTITIES = {"&amp;": "&", "&lt;": "<", "&gt;": ">"}
_ENTITY = re.compile("|".join(_ENTITIES))
_MAX_DEPTH = 20  # of blocks in blocks; real ones have four
_INLINE_BOXES = ("rich_text_section", "rich_text_preformatted", "rich_text_quote")


@dataclass(frozen=True, slots=True)
class SlackNames:
    """The names behind ids.

    Attributes:
        users: By user or bot id.
        channels: By channel id.
    """

    users: Mapping[str, str]
    channels: Mapping[str, str]

    def mention(self, sign: str, id: str, label: str = "") -> str:
        """A mention as text: `@Ana`, `#general`."""
        names = self.users if sign == "@" else self.channels
        return sign + (names.get(id) or label.lstrip("@#") or id)


def plain_text(text: str, names: SlackNames) -> str:
    """Slack's markup as plain text.

    Example:
        >>> plain_text("<@U1>: a &lt; b", SlackNames({"U1": "Ana"}, {}))
        '@Ana: a < b'
    """
    resolved = _MARKUP.sub(lambda match: _resolve(match[1], names), text)
    return _ENTITY.sub(lambda match: _ENTITIES[match[0]], resolved)


def _resolve(markup: str, names: SlackNames) -> str:
    target, _, label = markup.partition("|")
    if target.startswith(("@", "#")):
        return names.mention(target[0], target[1:], label)
    if target.startswith("!"):  # <!here>, <!subteam^S1|@team>, <!date^…|12 March>
        return label or "@" + target[1:].split("^")[0]
    address = target.removeprefix("mailto:")
    if not label or re.sub(r"^https?://", "", address).rstrip("/") == label.rstrip("/"):
        return label or address
    return label if label == address else f"{label} ({address})"


def message_text(record: Mapping[str, Any], names: SlackNames) -> str:
    """The text of a message, with one `[attachment: name]` line for each file."""
    text = _string(record.get("text"))
    shown = plain_text(text, names) if text.strip() else _from_parts(record, names)
    return "\n".join(part for part in (shown, *_file_lines(record)) if part)


def _from_parts(record: Mapping[str, Any], names: SlackNames) -> str:
    lines = list(_block_lines(record.get("blocks"), names))
    if not any(line.strip() for line in lines):
        for attachment in _mappings(record.get("attachments")):
            lines += _attachment_lines(attachment, names)
    return "\n".join(line for line in lines if line.strip())


def _attachment_lines(attachment: Mapping[str, Any], names: SlackNames) -> list[str]:
    parts = [_string(attachment.get(key)) for key in ("pretext", "title", "text")]
    for row in _mappings(attachment.get("fields")):
        title, value = _string(row.get("title")), _string(row.get("value"))
        parts.append(f"{title}: {value}" if title and value else title or value)
    lines = [plain_text(part, names) for part in parts if part]
    lines = lines or list(_block_lines(attachment.get("blocks"), names))
    return lines or [plain_text(_string(attachment.get("fallback")), names)]


def _block_lines(blocks: object, names: SlackNames, depth: int = 0) -> Iterator[str]:
    """One line for each piece of text that stands for itself."""
    if depth > _MAX_DEPTH:
        return
    for block in _mappings(blocks):
        if str(block.get("type")) in _INLINE_BOXES:
            yield "".join(_inline(part, names) for part in _mappings(block.get("elements")))
            continue
        text = block.get("text")
        if isinstance(text, Mapping):  # a text object: a section, a header
            yield plain_text(_string(text.get("text")), names)
        elif text:  # a text object itself, inside a context
            yield plain_text(_string(text), names)
        yield from _block_lines(block.get("fields"), names, depth + 1)
        yield from _block_lines(block.get("elements"), names, depth + 1)


def _inline(part: Mapping[str, Any], names: SlackNames) -> str:
    """A piece of rich text; its text is not escaped."""
    kind = part.get("type")
    if kind == "user":
        return names.mention("@", _string(part.get("user_id")))
    if kind == "channel":
        return names.mention("#", _string(part.get("channel_id")))
    if kind == "broadcast":
        return "@" + _string(part.get("range"))
    if kind == "emoji":
        return f":{_string(part.get('name'))}:"
    return _string(part.get("text")) or _string(part.get("url")) or _string(part.get("fallback"))


def _file_lines(record: Mapping[str, Any]) -> list[str]:
    files = [*_mappings(record.get("files")), *_mappings([record.get("file")])]
    names = (_string(file.get("name")) or _string(file.get("title")) for file in files)
    return [f"[attachment: {name}]" if name else "[attachment]" for name in names]


def _mappings(value: object) -> Iterable[Mapping[str, Any]]:
    return [item for item in value if isinstance(item, dict)] if isinstance(value, list) else []


def _string(value: object) -> str:
    return value if isinstance(value, str) else ""
