"""Kill a process that writes a history at a random moment and count what it had confirmed and lost.

`python tests/manual/kill9.py --trials 200`
"""

from __future__ import annotations

import argparse
import os
import random
import signal
import sqlite3
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from pathlib import Path
from typing import IO

import numpy as np

from remember_graph.history.history import History
from remember_graph.history.sqlite_store import SQLiteStore
from remember_graph.history.store import Namespace
from remember_graph.protocols import Vectors
from remember_graph.types import Turn

_NAMESPACE = Namespace("default", "chat")
_BATCH = 7
_EDIT_EVERY = 5  # batches; an edit moves the write-ahead log into the file, a moment of its own
_LONGEST_LIFE_S = 0.3
_NURSERY = "--nursery"


class _Lengths:
    """Vectors without a model."""

    id = "lengths/2"

    def encode_documents(self, texts: Sequence[str]) -> Vectors:
        """See `TextEncoder`."""
        return np.array([[1.0, len(text) / 1000] for text in texts], np.float32)

    encode_queries = encode_documents


def _turn(number: int) -> Turn:
    return Turn("Ana", f"word{number} " + "and so on " * (number % 50), id=str(number))


def _ingest(path: str) -> None:
    """Add numbered turns for ever; print the number of turns after each confirmed batch."""
    history = History(SQLiteStore(path), encoder=_Lengths())
    for batch in range(sys.maxsize):
        first = batch * _BATCH
        history.add(_NAMESPACE, [_turn(number) for number in range(first, first + _BATCH)])
        _say(str(first + _BATCH))
        if batch % _EDIT_EVERY == 0:
            history.edit(_NAMESPACE, _turn(batch))


def _say(line: str) -> None:
    os.write(1, f"{line}\n".encode())


def _nurse() -> None:
    """Fork a writer for each path that is read: importing once saves seconds a trial."""
    for line in sys.stdin:
        child = os.fork()
        if not child:
            _say(f"pid {os.getpid()}")
            _ingest(line.rstrip("\n"))
        os.waitpid(child, 0)
        _say("gone")


@contextmanager
def _nursery() -> Iterator[subprocess.Popen[str]]:
    command = [sys.executable, str(Path(__file__).resolve()), _NURSERY]
    pipe = subprocess.PIPE
    with subprocess.Popen(command, stdin=pipe, stdout=pipe, text=True) as process:
        try:
            yield process
        finally:
            assert process.stdin is not None
            process.stdin.close()
            process.wait(60)


def _confirmed_until_killed(nursery: subprocess.Popen[str], path: Path, life_s: float) -> int:
    """How many turns a writer that is killed after this time had confirmed."""
    source, answers = nursery.stdin, nursery.stdout
    assert source is not None
    assert answers is not None
    source.write(f"{path}\n")
    source.flush()
    pid = int(answers.readline().removeprefix("pid "))
    time.sleep(life_s)
    os.kill(pid, signal.SIGKILL)
    return _last_number(answers)


def _last_number(answers: IO[str]) -> int:
    confirmed = 0
    for line in iter(answers.readline, "gone\n"):
        if not line:
            raise RuntimeError("the nursery of the writers ended")
        confirmed = int(line)
    return confirmed


def _lost(path: Path, confirmed: int) -> list[str]:
    """What is wrong with a file of which so many turns were confirmed."""
    with closing(History(SQLiteStore(path), encoder=_Lengths())) as history:
        records = history.store.read(_NAMESPACE, vector_model=_Lengths.id)
        index = history.index(_NAMESPACE)
        there = len(records)
        queries = [
            [f"word{number}"] for number in (0, there // 2, there - 1) if 0 <= number < there
        ]
        best = index.postings.scores(queries).argmax(axis=1).tolist() if queries else []
    with closing(sqlite3.connect(path)) as connection:
        (integrity,) = connection.execute("PRAGMA integrity_check").fetchone()
    checks = {
        f"{confirmed - there} of {confirmed} turns are gone": there >= confirmed,
        f"part of a batch is there: {there} turns": there % _BATCH == 0,
        "the turns are others": [r.turn.id for r in records] == [str(n) for n in range(there)],
        "the texts are others": all(r.turn.text == _turn(int(r.turn.id)).text for r in records),
        "a turn lacks its vector": all(record.vector is not None for record in records),
        "a turn lacks its terms": all(record.derived is not None for record in records),
        "a search finds another turn": best == [int(query[0][4:]) for query in queries],
        f"integrity: {integrity}": integrity == "ok",
    }
    return [what for what, holds in checks.items() if not holds]


def run_trials(trials: int, *, seed: int = 0) -> tuple[int, list[str]]:
    """Kill so many writers; how many turns were confirmed in all, and a line for each fault."""
    rng = random.Random(seed)
    total, faults = 0, list[str]()
    with tempfile.TemporaryDirectory() as folder, _nursery() as nursery:
        for trial in range(trials):
            path = Path(folder) / f"{trial}.db"
            confirmed = _confirmed_until_killed(nursery, path, rng.uniform(0, _LONGEST_LIFE_S))
            total += confirmed
            faults += [f"trial {trial}: {what}" for what in _lost(path, confirmed)]
            for file in Path(folder).glob(f"{trial}.db*"):
                file.unlink()
    return total, faults


def main() -> int:
    """The script."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--trials", type=int, default=200)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument(_NURSERY, action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.nursery:
        _nurse()
        return 0
    total, faults = run_trials(options.trials, seed=options.seed)
    lost = len({fault.split(":")[0] for fault in faults})
    lines = [*faults, f"{total} turns were confirmed", f"{options.trials} trials, {lost} lost"]
    sys.stdout.write("\n".join(lines) + "\n")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
