"""The tables of the SQLite file and the way from older ones to them.

`PRAGMA user_version` holds the schema's number. What can be derived from the text is left empty by
a migration and made again when it is needed.
"""

from __future__ import annotations

import sqlite3

SCHEMA_VERSION = 4

_FIRST = """
CREATE TABLE streams (
    id INTEGER PRIMARY KEY,
    tenant TEXT NOT NULL,
    name TEXT NOT NULL,
    UNIQUE (tenant, name)
);
CREATE TABLE turns (
    stream_id INTEGER NOT NULL REFERENCES streams (id),
    position INTEGER NOT NULL,
    turn_id TEXT NOT NULL,
    speaker TEXT NOT NULL,
    text TEXT NOT NULL,
    time TEXT,
    kind TEXT NOT NULL,
    reply_to TEXT,
    thread TEXT,
    edited INTEGER NOT NULL,
    vector BLOB,
    vector_model TEXT,
    PRIMARY KEY (stream_id, position),
    UNIQUE (stream_id, turn_id)
) WITHOUT ROWID;
"""

# Vectors move to a table of their own (several models side by side, half precision), a stream
# gets a generation and the next free position, a turn what was derived from its text.
_SECOND = """
ALTER TABLE streams ADD COLUMN generation INTEGER NOT NULL DEFAULT 1;
ALTER TABLE streams ADD COLUMN next_position INTEGER NOT NULL DEFAULT 0;
UPDATE streams SET next_position =
    (SELECT COALESCE(MAX(position) + 1, 0) FROM turns WHERE stream_id = streams.id);
ALTER TABLE turns ADD COLUMN tokens INTEGER;
ALTER TABLE turns ADD COLUMN terms TEXT;
ALTER TABLE turns ADD COLUMN counts BLOB;
ALTER TABLE turns ADD COLUMN derived_by TEXT;
CREATE TABLE vectors (
    stream_id INTEGER NOT NULL REFERENCES streams (id),
    model TEXT NOT NULL,
    position INTEGER NOT NULL,
    vector BLOB NOT NULL,
    PRIMARY KEY (stream_id, model, position)
) WITHOUT ROWID;
INSERT INTO vectors (stream_id, model, position, vector)
    SELECT stream_id, vector_model, position, half(vector) FROM turns WHERE vector IS NOT NULL;
ALTER TABLE turns DROP COLUMN vector;
ALTER TABLE turns DROP COLUMN vector_model;
CREATE TABLE summaries (
    id INTEGER PRIMARY KEY,
    stream_id INTEGER NOT NULL REFERENCES streams (id),
    created TEXT NOT NULL,
    result TEXT,
    stale TEXT
);
CREATE INDEX summaries_of_stream ON summaries (stream_id, id);
CREATE TABLE summary_turns (
    summary_id INTEGER NOT NULL REFERENCES summaries (id),
    turn_id TEXT NOT NULL,
    PRIMARY KEY (summary_id, turn_id)
) WITHOUT ROWID;
"""

_THIRD = """
ALTER TABLE streams ADD COLUMN max_age_s REAL;
ALTER TABLE streams ADD COLUMN max_turns INTEGER;
"""

_FOURTH = "ALTER TABLE turns ADD COLUMN hidden INTEGER NOT NULL DEFAULT 0"

_MIGRATIONS = (_FIRST, _SECOND, _THIRD, _FOURTH)


def migrate(connection: sqlite3.Connection, version: int) -> None:
    """Bring the file from its version to the present one, inside the caller's transaction."""
    for number in range(version, SCHEMA_VERSION):
        for statement in _MIGRATIONS[number].split(";"):
            connection.execute(statement)
        connection.execute(f"PRAGMA user_version = {number + 1}")
