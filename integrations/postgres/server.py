"""A PostgreSQL server: where it is, how to connect, and what its failures mean."""

from __future__ import annotations

from typing import Any

from remember_graph.errors import ConfigError, HistoryError
from remember_graph.integrations.postgres.driver import psycopg
from remember_graph.integrations.postgres.values import adapters

Connection = psycopg.Connection[Any]

# What a URL does not say. A server that vanished is noticed within half a minute.
_DEFAULTS: dict[str, str | int] = {
    "connect_timeout": 5,
    "keepalives_idle": 10,
    "keepalives_interval": 5,
    "keepalives_count": 3,
    "tcp_user_timeout": 20_000,
    "application_name": "remember_graph",
}
_LOCK_TIMEOUT = "60s"
_FORM = "postgresql://USER:PASSWORD@HOST:PORT/DATABASE"


class TryAgainError(HistoryError):
    """Nothing was stored, and the same call may succeed now."""


class Server:
    """A database of a server, named by a URL.

    Attributes:
        place: Its host and name, for messages; never the password.

    Raises:
        ConfigError: The URL cannot be read.
    """

    def __init__(self, url: str) -> None:
        given = _parameters(url)
        host = given.get("host") or given.get("hostaddr") or "the local server"
        port = f":{given['port']}" if "port" in given else ""
        database = f"database {given['dbname']}" if given.get("dbname") else "its default database"
        self.place = f"PostgreSQL at {host}{port}, {database}"
        self._parameters = {**_DEFAULTS, **given, "client_encoding": "UTF8"}

    @property
    def parameters(self) -> dict[str, Any]:
        """What `psycopg.connect` is called with."""
        return {**self._parameters, "autocommit": True, "context": adapters()}

    def connect(self) -> Connection:
        """A connection of its own.

        Raises:
            HistoryError: There is none to be had.
        """
        try:
            return psycopg.connect(**self.parameters)
        except psycopg.Error as error:
            raise HistoryError(
                f"cannot connect to {self.place}: {reason(error)}; "
                "check that the server runs and that the URL names it and a login it accepts"
            ) from error

    def failed(self, error: psycopg.Error, *, repeatable: bool = False) -> HistoryError:
        """The failure as an error of this package.

        Args:
            error: What psycopg raised.
            repeatable: Nothing was stored where the connection was lost.
        """
        state = error.sqlstate or ""
        is_lost = isinstance(error, psycopg.OperationalError) and state[:2] in ("", "08", "57")
        kind = TryAgainError if state[:2] == "40" or (is_lost and repeatable) else HistoryError
        return kind(f"{self.place} failed: {reason(error)}{_ADVICE.get(state, '')}")


_ADVICE = {
    "54000": "; an id, or the name of a tenant, stream or model, has more than about 2,600 bytes",
    "55P03": "; another process kept it locked, call again",
}


def reason(error: psycopg.Error) -> str:
    """One line; without the details, which quote values of rows."""
    text = error.diag.message_primary or str(error) or type(error).__name__
    lines = [line.strip() for line in text.splitlines()]
    return " ".join(line for line in lines if line)


def prepare_session(connection: Connection, schemas: tuple[str, ...]) -> None:
    """Let names mean those of these schemas, and let nothing wait for a lock for ever."""
    settings = {
        "search_path": ", ".join(f'"{schema}"' for schema in schemas),
        "lock_timeout": _LOCK_TIMEOUT,
        "jit": "off",
    }
    calls = ", ".join(f"set_config('{name}', %s, false)" for name in settings)
    connection.execute(f"SELECT {calls}".encode(), list(settings.values()))


def _parameters(url: str) -> dict[str, Any]:
    # A password with an unescaped @ or / would be taken for a host, a port or a database, and
    # stand in every message. So nothing of what was found is quoted either.
    unreadable = ConfigError(
        f"the PostgreSQL URL cannot be read: it must be {_FORM}, "
        "with special characters in its parts percent-encoded (@ is %40, / is %2F)"
    )
    try:
        given = psycopg.conninfo.conninfo_to_dict(url)
    except psycopg.Error:
        raise unreadable from None
    places = "".join(str(given.get(name, "")) for name in ("host", "hostaddr", "dbname"))
    ports = str(given.get("port", "")).replace(",", "")
    if "@" in places or (ports and not ports.isdecimal()):
        raise unreadable
    return dict(given)
