"""What things are called in Chroma: nothing but hashes that only the log's owner can make.

All are keyed with a secret of the log, so nobody who reads Chroma can try names or texts against
them, and two logs never meet on one server.
"""

from __future__ import annotations

from collections.abc import Mapping
from hashlib import blake2b

from remember_graph.history.store import Namespace
from remember_graph.types import Turn


class Names:
    """Names of collections, streams and vectors.

    Args:
        secret: The log's secret.
    """

    def __init__(self, secret: bytes) -> None:
        self._secret = secret

    def owner(self, tenant: str) -> str:
        """The name of a tenant."""
        return self._hash("tenant", tenant)

    def collection(self, owner: str, model: str, width: int) -> str:
        """The collection of a tenant's vectors of one model and width."""
        return f"remember-graph-{self._hash('collection', owner, model, str(width))}"

    def stream(self, namespace: Namespace) -> str:
        """The name of a stream, which all its vectors carry."""
        return self._hash("stream", *namespace)

    def vectors(self, namespace: Namespace, turns: Mapping[int, Turn]) -> dict[str, int]:
        """The ids that the vectors of these turns have, each with the position of its turn.

        An id holds a digest of the turn's line: a vector of another text, left by whatever crash
        or race, has another id and is never found.
        """
        stream = self.stream(namespace)
        return {
            f"{stream}.{at}.{self._hash('line', stream, str(at), turn.line)}": at
            for at, turn in turns.items()
        }

    def _hash(self, *parts: str) -> str:
        hashed = blake2b(key=self._secret, digest_size=16)
        for part in parts:
            data = part.encode("utf-8", "surrogatepass")
            hashed.update(len(data).to_bytes(8, "big") + data)
        return hashed.hexdigest()


def position_of(id: str) -> int:
    """The position in the id of a vector."""
    return int(id.split(".")[1])
