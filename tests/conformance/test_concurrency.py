"""Threads and connections that write at once."""

from __future__ import annotations

import threading
from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING

from remember_graph.history.store import Namespace

if TYPE_CHECKING:  # the tests run as modules that cannot import each other
    from tests.conformance.conftest import Log

NAMESPACE = Namespace("default", "chat")


def _in_threads(*jobs: Callable[[], object]) -> None:
    failures: list[BaseException] = []

    def run(job: Callable[[], object]) -> None:
        try:
            job()
        except BaseException as error:
            failures.append(error)

    threads = [threading.Thread(target=run, args=(job,)) for job in jobs]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failures == []


def _adder(log: Log, name: str) -> Callable[[], None]:
    def add() -> None:
        for number in range(20):
            log.fill([f"{name}-{number}", f"shared-{number}"])

    return add


def test_threads_that_add_at_once_lose_nothing(log: Log) -> None:
    _in_threads(*(_adder(log, name) for name in "abcd"))

    ids = log.ids()
    assert len(ids) == len(set(ids)) == 4 * 20 + 20


def test_connections_that_add_at_once_lose_nothing(connect: Callable[[], Log]) -> None:
    logs = [connect() for _ in range(3)]
    _in_threads(*(_adder(log, name) for name, log in zip("abc", logs, strict=True)))

    ids = logs[0].ids()
    assert len(ids) == len(set(ids)) == 3 * 20 + 20


def test_positions_stay_apart_where_threads_add_at_once(log: Log) -> None:
    _in_threads(*(_adder(log, name) for name in "abcd"))

    assert sorted(log.places().values()) == list(range(100))


def test_threads_that_forget_at_once_count_every_turn_once(log: Log) -> None:
    log.fill([str(number) for number in range(20)])
    counts: list[int] = []

    def forget() -> None:
        for number in range(20):
            counts.append(log.forget([str(number)]).turns)

    _in_threads(forget, forget, forget)

    assert (len(counts), sum(counts), log.ids()) == (60, 20, [])


def test_a_stream_of_its_own_for_each_thread_that_makes_one(log: Log) -> None:
    names = [Namespace("t", str(number)) for number in range(8)]
    _in_threads(*(partial(log.fill, "ab", name) for name in names))

    assert log.store.streams() == [(name, 2) for name in names]


def test_threads_that_make_one_stream_make_one(log: Log) -> None:
    _in_threads(*(partial(log.fill, [str(number)]) for number in range(8)))

    assert log.store.streams() == [(NAMESPACE, 8)]
