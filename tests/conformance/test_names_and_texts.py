"""Any text is a name, and texts that look alike stay apart."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from remember_graph.history.store import Namespace, Record, TurnStore
from remember_graph.types import Turn

if TYPE_CHECKING:  # the tests run as modules that cannot import each other
    from tests.conformance.conftest import Log

NAMESPACE = Namespace("default", "chat")

_ODD_TEXTS = {
    "blank": " ",
    "empty": "",
    "nul": "a\0b",
    "leading nul": "\0",
    "emoji": "\N{FAMILY}\N{ZERO WIDTH JOINER}\N{PARTY POPPER}",
    "quotes": "a'b\"c`; DROP TABLE turns; --",
    "percent": "100%_?:x",
    "long": "x" * 100_000,
    "control": "\x01\x1f\x7f\n\r",
    "noncharacter": "\uffff\U0010ffff",
    "decomposed": "e\u0301",
    "right to left": "\u202eשלום",
}


@pytest.mark.parametrize("odd", _ODD_TEXTS.values(), ids=list(_ODD_TEXTS))
def test_any_text_is_an_id_a_stream_a_tenant_and_a_text(store: TurnStore, odd: str) -> None:
    namespace = Namespace(odd, odd)
    turn = Turn(odd, odd, odd, odd, reply_to=odd, thread=odd)
    store.append(namespace, [Record(turn)])

    assert store.known(namespace, [odd]) == {odd: turn}
    assert store.streams() == [(namespace, 1)]


def test_ids_that_look_alike_stay_different(log: Log) -> None:
    ids = ["a", "A", "a ", "a\0", "\u00e9", "e\u0301", "1", "01", "1.0", ""]

    assert log.fill(ids) == len(ids)
    assert log.ids() == ids


def test_an_id_that_no_turn_can_have_is_unknown(store: TurnStore, log: Log) -> None:
    log.fill("a")

    assert set(store.known(NAMESPACE, ["\ud800", "a"])) == {"a"}
