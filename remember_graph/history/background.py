"""Work on streams in a thread of its own, so that who asks for it need not wait."""

from __future__ import annotations

import threading
from collections.abc import Callable

from remember_graph.errors import RememberGraphError
from remember_graph.history.store import Namespace


class Background:
    """Does one thing for the streams it is asked for, one after the other.

    The thread starts with the first stream and does not keep the process alive: what is not done
    when the process ends is found as missing and done by a later one.

    Args:
        work: Called with a stream; should look at `stopping` from time to time. An error of ours
            is kept in `failures` until the stream is done.
    """

    def __init__(self, work: Callable[[Namespace], object]) -> None:
        self._work = work
        self._changed = threading.Condition()
        self._waiting: dict[Namespace, None] = {}  # a dict keeps the order and holds each once
        self._busy = False
        self._thread: threading.Thread | None = None
        self.failures: dict[Namespace, str] = {}
        self.stopping = False

    def ask(self, namespace: Namespace) -> None:
        """Have the stream worked on; a stream that already waits keeps its place."""
        with self._changed:
            if self.stopping:
                return
            self._waiting[namespace] = None
            if self._thread is None:
                self._thread = threading.Thread(
                    target=self._run, name="remember-graph-embedding", daemon=True
                )
                self._thread.start()
            self._changed.notify_all()

    def wait(self, timeout: float | None = None) -> bool:
        """Until nothing is left to do; False where the seconds ran out before."""
        with self._changed:
            return self._changed.wait_for(lambda: not (self._waiting or self._busy), timeout)

    def close(self) -> None:
        """Stop after what is being done; what waits is left."""
        with self._changed:
            self.stopping = True
            self._waiting.clear()
            self._changed.notify_all()
        if self._thread is not None and self._thread is not threading.current_thread():
            self._thread.join()

    def _run(self) -> None:
        while (namespace := self._next()) is not None:
            try:
                self._work(namespace)
                self.failures.pop(namespace, None)
            except RememberGraphError as error:  # whoever asks for the stream next is told
                self.failures[namespace] = str(error)

    def _next(self) -> Namespace | None:
        with self._changed:
            self._busy = False
            self._changed.notify_all()
            self._changed.wait_for(lambda: self._waiting or self.stopping)
            if self.stopping:
                return None
            self._busy = True
            namespace = next(iter(self._waiting))
            del self._waiting[namespace]
            return namespace
