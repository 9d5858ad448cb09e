"""`remember-graph forget, retain`: what is removed from a history, now and from now on."""

from __future__ import annotations

import dataclasses
import re
from datetime import timedelta
from typing import Annotated

import typer

from remember_graph.cli.console import output, print_json, printable
from remember_graph.cli.options import JsonOption, check_at_least
from remember_graph.cli.stored import (
    DbOption,
    StreamOption,
    TenantOption,
    check_stream,
    open_history,
)
from remember_graph.errors import ConfigError
from remember_graph.history.store import Forgotten

_UNITS = {"m": "minutes", "h": "hours", "d": "days", "w": "weeks"}
YesOption = Annotated[bool, typer.Option("--yes", help="Do not ask.")]


def forget(
    db: DbOption,
    stream: Annotated[
        str | None, typer.Option("--stream", metavar="NAME", help="Which conversation.")
    ] = None,
    tenant: TenantOption = "default",
    turn: Annotated[
        list[str] | None, typer.Option("--turn", metavar="ID", help="Only this turn. Repeatable.")
    ] = None,
    speaker: Annotated[
        str | None, typer.Option("--speaker", metavar="NAME", help="Only turns of this speaker.")
    ] = None,
    since: Annotated[
        str | None, typer.Option("--since", metavar="TIME", help="Only turns at or after this.")
    ] = None,
    until: Annotated[
        str | None, typer.Option("--until", metavar="TIME", help="Only turns before this.")
    ] = None,
    whole_tenant: Annotated[
        bool, typer.Option("--whole-tenant", help="Every stream of --tenant, in place of --stream.")
    ] = False,
    yes: YesOption = False,
    as_json: JsonOption = False,
) -> None:
    """Remove turns and all that was made of them; without a filter the whole stream."""
    filters = bool(turn or speaker or since or until)
    _check_target(stream, whole_tenant, filters)
    with open_history(db, "none", there=True) as memory:
        if stream is None:
            _confirm(f"every stream of tenant {tenant!r}", yes or as_json)
            removed = memory.forget_tenant(tenant)
        else:
            check_stream(memory, stream, tenant)
            what = "the turns chosen" if filters else "the whole stream"
            _confirm(f"{what} of {stream!r} (tenant {tenant!r})", yes or as_json)
            removed = memory.forget(
                stream, tenant=tenant, ids=turn or None, speaker=speaker, since=since, until=until
            )
    _print_removed(removed, stream, tenant, as_json=as_json)


def retain(
    db: DbOption,
    stream: StreamOption,
    tenant: TenantOption = "default",
    max_age: Annotated[
        str | None,
        typer.Option("--max-age", metavar="AGE", help="Forget older turns: 30m, 12h, 90d, 4w."),
    ] = None,
    max_turns: Annotated[
        int | None, typer.Option("--max-turns", metavar="N", help="Keep only the latest turns.")
    ] = None,
    yes: YesOption = False,
    as_json: JsonOption = False,
) -> None:
    """Keep only so much of a stream, now and from now on; without a bound everything again."""
    check_at_least("--max-turns", max_turns, 1)
    age = None if max_age is None else _age(max_age)
    with open_history(db, "none", there=True) as memory:
        check_stream(memory, stream, tenant)
        if age or max_turns:
            _confirm(f"what is past these bounds of {stream!r}", yes or as_json)
        removed = memory.retain(stream, tenant=tenant, max_age=age, max_turns=max_turns)
    _print_removed(removed, stream, tenant, as_json=as_json)


def _check_target(stream: str | None, whole_tenant: bool, filters: bool) -> None:
    if whole_tenant and (stream is not None or filters):
        raise ConfigError("--whole-tenant removes every stream; it takes no --stream and no filter")
    if stream is None and not whole_tenant:
        raise ConfigError("--stream must be given (or --whole-tenant), got neither")


def _age(text: str) -> timedelta:
    match = re.fullmatch(r"(\d{1,6})([mhdw])", text)
    if match is None or not int(match[1]):
        raise ConfigError(f"--max-age must be like 30m, 12h, 90d or 4w, got {text!r}")
    return timedelta(**{_UNITS[match[2]]: int(match[1])})


def _confirm(what: str, sure: bool) -> None:
    question = f"Remove {what}? This cannot be undone."
    if not sure and not typer.confirm(printable(question), err=True):
        raise ConfigError("nothing was removed: not confirmed (--yes does not ask)")


def _print_removed(removed: Forgotten, stream: str | None, tenant: str, *, as_json: bool) -> None:
    counts = dataclasses.asdict(removed)
    if as_json:
        print_json({"stream": stream, "tenant": tenant, **counts})
    else:
        output().print("removed: " + ", ".join(f"{n} {name}" for name, n in counts.items()))
