"""A catch-up for a person to read: sentences with the turns they rest on, then what stays open."""

from __future__ import annotations

from collections.abc import Mapping

from rich.text import Text

from remember_graph.cli.console import output, printable
from remember_graph.state import CatchUp, Gap, Sentence
from remember_graph.types import Turn

_OPEN = {
    "unresolved": "something earlier may say it, and the summary does not state it",
    "not_in_history": "nothing earlier says it",
}


def print_catch_up(result: CatchUp, turns: Mapping[str, Turn]) -> None:
    """Print the result on stdout."""
    console = output()
    console.print(_headline(result, turns))
    console.print()
    for sentence in result["summary"]["sentences"]:
        console.print(_sentence(sentence))
    open_gaps = [gap for gap in result["gaps"] if gap["status"] in _OPEN]
    if open_gaps:
        console.print()
        console.print(Text("Not clear from what is told here:", style="bold"))
        for gap in open_gaps:
            console.print(_gap(gap, turns))
    console.print()
    console.print(_footer(result))


def _headline(result: CatchUp, turns: Mapping[str, Turn]) -> Text:
    window = [turns[id] for id in result["window"] if id in turns]
    times = [turn.time[:16].replace("T", " ") for turn in window if turn.time]
    when = f", {times[0]} to {times[-1]}" if times else ""
    text = Text(printable(f"Catch-up of {result['stream']}"), style="bold")
    text.append(f": the latest {len(result['window'])} turns{when}", style="not bold")
    return text


def _sentence(sentence: Sentence) -> Text:
    text = Text("• ")
    first, *rest = printable(sentence["text"]).split("\n")
    text.append(first)
    for line in rest:
        text.append("\n" + line, style="dim")
    cites = ", ".join(sentence["cites"]) or "no turn"
    text.append(printable(f"  [{cites}]"), style="cyan")
    if sentence["status"] == "unsupported":
        text.append(" (unsupported)", style="yellow")
    return text


def _gap(gap: Gap, turns: Mapping[str, Turn]) -> Text:
    speaker = turns[gap["turn_id"]].speaker if gap["turn_id"] in turns else ""
    who = f"{speaker}: " if speaker else ""
    text = Text(printable(f"• {who}{gap['missing'] or gap['query']}"))
    text.append(f" ({_OPEN[gap['status']]})", style="dim")
    text.append(printable(f"  [{gap['turn_id']}]"), style="cyan")
    return text


def _footer(result: CatchUp) -> Text:
    usage = result["usage"]
    writer = {"model": "written by the model", "extractive": "quoted, not written: no model used"}
    resolved = sum(gap["status"] == "resolved" for gap in result["gaps"])
    return Text(
        f"{writer[result['summary']['writer']]}; memory {usage['memory_tokens']} of "
        f"{usage['budget']} tokens; {resolved} of {len(result['gaps'])} gaps answered from earlier "
        f"turns; {usage['model_calls']} model calls",
        style="dim",
    )
