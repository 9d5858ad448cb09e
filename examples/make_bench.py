"""Makes `lantern-bench/` of the example chat and its annotated gaps.

Run it as `python examples/make_bench.py`.

The chat is read as a user's export would be; line numbers and quotes of the annotations become
turn ids. Tokens are counted by the product's own counter.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from remember_graph import Turn
from remember_graph.integrations.chats import read_chat
from remember_graph.tokens import count_tokens

FOLDER = Path(__file__).parent
NAME = "lantern-festival"


def turns_by_line(turns: tuple[Turn, ...], export: str) -> dict[int, Turn]:
    """The turn that starts on each line of the export (1-based)."""
    starts: dict[int, Turn] = {}
    lines = export.splitlines()
    at = 0
    for turn in turns:
        first = turn.text.split("\n")[0]
        while not (first in lines[at] or turn.kind == "system" or first.startswith("[attachment")):
            at += 1
        starts[at + 1] = turn
        at += 1 + turn.text.count("\n")
    return starts


def make() -> dict[str, str]:
    """The files of the bench, by their path in its folder."""
    chat = read_chat(FOLDER / f"{NAME}.txt")
    notes = json.loads((FOLDER / f"{NAME}.gaps.json").read_text("utf-8"))
    export = (FOLDER / f"{NAME}.txt").read_text("utf-8")
    at = {line: turn.id for line, turn in turns_by_line(chat.turns, export).items()}
    messages = [turn for turn in chat.turns if turn.kind == "message"]
    cost = {turn.id: count_tokens(turn.line) for turn in messages}

    def id_of(place: Mapping[str, Any]) -> str:
        return at[int(place["line"])]

    dialogue = {
        "id": NAME,
        "domain": "workplace",
        "source": "written for this project",
        "turns": [
            {"id": t.id, "speaker": t.speaker, "time": t.time, "text": t.text, "tokens": cost[t.id]}
            for t in messages
        ],
        "questions": [],
    }
    order = [turn.id for turn in messages]
    windows, detections = [], []
    for window in notes["windows"]:
        name = f"{NAME}-{window['id']}"
        gaps = [
            {
                "id": f"{name}-{gap['id']}",
                "utterance": [id_of(gap["utterance"])],
                "kind": gap["kind"],
                "missing": gap["missing"],
                "resolution": gap["resolution"],
                "evidence": [[id_of(place) for place in way] for way in gap["evidence"]],
                "votes": 1,
            }
            for gap in window["gaps"]
        ]
        first, last = id_of(window["first"]), id_of(window["last"])
        windows.append(
            {
                "id": name,
                "dialogue": NAME,
                "domain": "workplace",
                "first": first,
                "last": last,
                "history_tokens": sum(cost[id] for id in order[: order.index(first)]),
                "salient": [[id_of(place)] for place in window["salient"]],
                "gaps": gaps,
            }
        )
        asked = [*window["gaps"], *window.get("not_in_history", [])]
        detections.append(
            {
                "window": name,
                "gaps": [
                    {
                        "turn_id": id_of(gap["utterance"]),
                        "kind": gap["kind"],
                        "missing": gap["missing"],
                        **gap["detection"],
                    }
                    for gap in asked
                ],
            }
        )

    def rows(items: list[dict[str, Any]]) -> str:
        return "".join(json.dumps(item, ensure_ascii=False) + "\n" for item in items)

    return {
        f"dialogues/{NAME}.json": json.dumps(dialogue, ensure_ascii=False, indent=1) + "\n",
        "windows.jsonl": rows(windows),
        "detections.jsonl": rows(detections),
    }


if __name__ == "__main__":
    for name, text in make().items():
        path = FOLDER / "lantern-bench" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, "utf-8")
