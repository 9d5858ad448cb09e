"""Which failures of a node are worth another try: a connection that broke, and nothing else."""

from __future__ import annotations

from langgraph.types import RetryPolicy

# Drivers that do not raise Python's own class for it.
_OTHERS = frozenset(
    {"OperationalError", "InterfaceError", "ConnectError", "ReadError", "RemoteProtocolError"}
)
_DRIVERS = ("psycopg", "httpx", "httpcore")


def is_connection_error(error: BaseException) -> bool:
    """Whether the error is, or was caused by, a connection that broke.

    Example:
        >>> is_connection_error(ConnectionResetError()), is_connection_error(ValueError())
        (True, False)
    """
    at: BaseException | None = error
    while at is not None:
        if isinstance(at, ConnectionError) or _is_of_a_driver(type(at)):
            return True
        at = at.__cause__
    return False


def _is_of_a_driver(kind: type) -> bool:
    return any(
        base.__name__ in _OTHERS and base.__module__.split(".")[0] in _DRIVERS
        for base in kind.__mro__
    )


def connection_retries() -> RetryPolicy:
    """Three tries in all, a fraction of a second apart."""
    return RetryPolicy(max_attempts=3, initial_interval=0.2, retry_on=is_connection_error)
