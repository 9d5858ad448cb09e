"""The tables in PostgreSQL and the way from older ones to them.

The tables have a schema of their own, whose table `schema_version` holds their number. Turns and
vectors lie in 16 partitions by stream, so that what touches a stream leaves most others alone.
"""

from __future__ import annotations

from typing import NamedTuple

from remember_graph.errors import HistoryError
from remember_graph.integrations.postgres.driver import psycopg
from remember_graph.integrations.postgres.server import Connection, Server, prepare_session, reason

PARTITIONS = 16
_EXTENSION = "vector"
_OLDEST_EXTENSION = (0, 7)  # the first with `halfvec`
_OLDEST_SERVER = 13
_MIGRATION_LOCK = 0x72656D67  # "remg": one lock for all schemas, since they share the extension

# Keys compare by their bytes, which no update of the operating system's locales changes. There
# are no foreign keys: whoever writes to a stream holds its row, and a check per turn is slow.
# Every edit and removal changes the generation or deletes the stream, and so notes in the same
# transaction that bytes of the stream are to be wiped; whoever wipes next does it.
_FIRST = """
CREATE TABLE streams (
    id BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    tenant TEXT COLLATE "C" NOT NULL,
    name TEXT COLLATE "C" NOT NULL,
    generation BIGINT NOT NULL DEFAULT 1,
    next_position BIGINT NOT NULL DEFAULT 0,
    max_age_s DOUBLE PRECISION,
    max_turns BIGINT,
    UNIQUE (tenant, name)
) WITH (fillfactor = 70);
CREATE TABLE turns (
    stream_id BIGINT NOT NULL,
    position BIGINT NOT NULL,
    turn_id TEXT COLLATE "C" NOT NULL,
    speaker TEXT NOT NULL,
    text TEXT NOT NULL,
    time TEXT,
    kind TEXT NOT NULL,
    reply_to TEXT,
    thread TEXT,
    edited INTEGER NOT NULL,
    tokens BIGINT,
    terms TEXT,
    counts BYTEA,
    derived_by TEXT,
    hidden INTEGER NOT NULL DEFAULT 0,
    PRIMARY KEY (stream_id, position),
    UNIQUE (stream_id, turn_id)
) PARTITION BY HASH (stream_id);
CREATE TABLE vectors (
    stream_id BIGINT NOT NULL,
    model TEXT COLLATE "C" NOT NULL,
    position BIGINT NOT NULL,
    vector HALFVEC NOT NULL,
    PRIMARY KEY (stream_id, model, position)
) PARTITION BY HASH (stream_id);
ALTER TABLE vectors ALTER COLUMN vector SET STORAGE MAIN;
CREATE TABLE summaries (
    id BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    stream_id BIGINT NOT NULL,
    created TEXT NOT NULL,
    result TEXT,
    stale TEXT
);
CREATE INDEX summaries_of_stream ON summaries (stream_id, id);
CREATE TABLE summary_turns (
    summary_id BIGINT NOT NULL,
    turn_id TEXT COLLATE "C" NOT NULL,
    PRIMARY KEY (summary_id, turn_id)
);
CREATE TABLE removals (
    stream_id BIGINT PRIMARY KEY,
    times BIGINT NOT NULL DEFAULT 1
);
CREATE FUNCTION note_removal() RETURNS trigger LANGUAGE plpgsql SET search_path FROM CURRENT AS $$
BEGIN
    INSERT INTO removals (stream_id) VALUES (OLD.id)
        ON CONFLICT (stream_id) DO UPDATE SET times = removals.times + 1;
    RETURN NULL;
END $$;
CREATE TRIGGER note_removal AFTER UPDATE OF generation OR DELETE ON streams
    FOR EACH ROW EXECUTE FUNCTION note_removal();
"""

_PARTITIONED = ("turns", "vectors")
_HOLDING_TEXT = {
    "streams": "tenant name",
    "turns": "turn_id speaker text time kind reply_to thread terms counts derived_by",
    "vectors": "model vector",
    "summaries": "created result stale",
    "summary_turns": "turn_id",
}


def _partitions() -> str:
    return "".join(
        f"CREATE TABLE {table}_{number} PARTITION OF {table} "
        f"FOR VALUES WITH (MODULUS {PARTITIONS}, REMAINDER {number});\n"
        for table in _PARTITIONED
        for number in range(PARTITIONS)
    )


def _without_statistics() -> str:
    """Statistics of a column are samples of its values: copies that outlive their rows."""
    return "".join(
        f"ALTER TABLE {table} "
        + ", ".join(f"ALTER COLUMN {column} SET STATISTICS 0" for column in columns.split())
        + ";\n"
        for table, columns in _HOLDING_TEXT.items()
    )


_MIGRATIONS = (_FIRST + _partitions() + _without_statistics(),)


class Opened(NamedTuple):
    """What was found in the database.

    Attributes:
        search_path: The schemas in which the tables and the extension are.
        extension: The version of pgvector.
    """

    search_path: tuple[str, ...]
    extension: tuple[int, ...]


def open_schema(connection: Connection, server: Server, schema: str) -> Opened:
    """Make the tables, or bring them to the present version, where that is needed.

    Raises:
        HistoryError: It cannot be done, or the tables are of a newer release.
    """
    try:
        _check_server(connection, server)
        if _version(connection, server, schema) < len(_MIGRATIONS):
            _migrate(connection, server, schema)
        return _opened(connection, server, schema)
    except psycopg.Error as error:
        raise HistoryError(
            f"cannot open the schema {schema} of {server.place}: {reason(error)}"
        ) from error


def _check_server(connection: Connection, server: Server) -> None:
    version = connection.info.server_version // 10_000
    if version < _OLDEST_SERVER:
        raise HistoryError(
            f"{server.place} is version {version}: version {_OLDEST_SERVER} or later is needed"
        )
    encoding = connection.info.parameter_status("server_encoding")
    if encoding != "UTF8":
        raise HistoryError(
            f"{server.place} has the encoding {encoding}: a database with UTF8 is needed"
        )


def _version(connection: Connection, server: Server, schema: str) -> int:
    """The number of the tables; 0 where there are none."""
    table = f'"{schema}".schema_version'
    if connection.execute("SELECT to_regclass(%s)", (table,)).fetchone() == (None,):
        return 0
    row = connection.execute(f"SELECT version FROM {table}".encode()).fetchone()
    version = int(row[0]) if row else 0
    if version > len(_MIGRATIONS):
        raise HistoryError(
            f"the schema {schema} of {server.place} has version {version}, "
            f"this release reads up to {len(_MIGRATIONS)}: upgrade remember-graph"
        )
    return version


def _migrate(connection: Connection, server: Server, schema: str) -> None:
    """Bring the tables to the present version, all or nothing.

    Many processes may come to a new database at once: who holds the lock looks again.
    """
    with connection.transaction():
        connection.execute("SELECT set_config('lock_timeout', '60s', true)")
        connection.execute("SELECT pg_advisory_xact_lock(%s)", (_MIGRATION_LOCK,))
        version = _version(connection, server, schema)
        if version == 0:
            _make_extension(connection, server)
            connection.execute(f'CREATE SCHEMA IF NOT EXISTS "{schema}"'.encode())
        opened = _opened(connection, server, schema)
        prepare_session(connection, opened.search_path)
        if version == 0:
            connection.execute("CREATE TABLE schema_version (version INTEGER NOT NULL)")
            connection.execute("INSERT INTO schema_version VALUES (0)")
        for statements in _MIGRATIONS[version:]:
            connection.execute(statements.encode())
        connection.execute("UPDATE schema_version SET version = %s", (len(_MIGRATIONS),))


def _make_extension(connection: Connection, server: Server) -> None:
    try:
        connection.execute(f"CREATE EXTENSION IF NOT EXISTS {_EXTENSION}".encode())
    except psycopg.errors.InsufficientPrivilege as error:
        raise HistoryError(
            f"{server.place} lacks the extension {_EXTENSION}, and this login may not create it: "
            f"let an administrator run CREATE EXTENSION {_EXTENSION} in this database"
        ) from error
    except (psycopg.errors.FeatureNotSupported, psycopg.errors.UndefinedFile) as error:
        raise HistoryError(
            f"{server.place} lacks the extension {_EXTENSION} ({reason(error)}): "
            "install pgvector 0.7 or later on the server"
        ) from error


def _opened(connection: Connection, server: Server, schema: str) -> Opened:
    """Where the tables and the extension are; refuses an extension that is too old."""
    row = connection.execute(
        "SELECT extversion, nspname FROM pg_extension e JOIN pg_namespace n "
        "ON n.oid = e.extnamespace WHERE extname = %s",
        (_EXTENSION,),
    ).fetchone()
    if row is None:
        raise HistoryError(f"{server.place} lost the extension {_EXTENSION}: create it again")
    version = tuple(int(part) for part in row[0].split(".")[:2])
    if version < _OLDEST_EXTENSION:
        raise HistoryError(
            f"{server.place} has pgvector {row[0]}, 0.7 or later is needed: "
            f"install it on the server and run ALTER EXTENSION {_EXTENSION} UPDATE"
        )
    return Opened(tuple(dict.fromkeys((schema, row[1]))), version)
