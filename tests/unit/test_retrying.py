"""Only a connection that broke is worth another try."""

from __future__ import annotations

import pytest

from remember_graph.errors import ConfigError, HistoryError, ModelError
from remember_graph.retrying import connection_retries, is_connection_error


def _caused(by: Exception) -> HistoryError:
    error = HistoryError("the history failed")
    error.__cause__ = by
    return error


@pytest.mark.parametrize(
    ("error", "expected"),
    [
        (ConnectionResetError("gone"), True),
        (_caused(ConnectionRefusedError("no server")), True),
        (_caused(ValueError("no")), False),
        (HistoryError("disk full"), False),
        (ConfigError("`k` must be >= 1, got 0"), False),
        (ModelError("429"), False),
        (TimeoutError("slow"), False),
    ],
)
def test_a_connection_error_is_told_by_its_kind_or_cause(error: Exception, expected: bool) -> None:
    assert is_connection_error(error) is expected


def test_drivers_have_classes_of_their_own() -> None:
    psycopg = pytest.importorskip("psycopg")

    assert is_connection_error(_caused(psycopg.OperationalError("server closed the connection")))
    assert not is_connection_error(_caused(psycopg.errors.UniqueViolation("twice")))


def test_there_are_three_tries() -> None:
    assert connection_retries().max_attempts == 3
