"""`Memory` as a user holds it: open, add, catch up; and what every catch-up must keep to."""

from __future__ import annotations

import asyncio
import json
import math
import re
import sqlite3
import sys
import threading
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from langchain_core.embeddings import Embeddings
from langchain_core.language_models import FakeListChatModel

from remember_graph import AddReport, Memory, Settings, Turn
from remember_graph.errors import ConfigError, HistoryError, ModelError
from remember_graph.history.history import History
from remember_graph.tokens import count_tokens

_TURNS = [
    Turn("Ana", "The town hall is booked for the harvest dinner on Saturday.", id="1"),
    Turn("Ben", "My cousin Cleo lends us her blue rowing boat for forty crowns.", id="2"),
    Turn("Ana", "The mayor wants to hear the brass band before the dinner starts.", id="3"),
    Turn("Dora", "I baked three apple cakes and froze them for the dinner.", id="4"),
    Turn("Ben", "She will lend us the boat on Friday after all.", id="5"),
    Turn("Ana", "Then I tell the mayor that the brass band plays at six.", id="6"),
]
# Two turns: 12 and 14 tokens, `Ben:` and `Ana:` and the full stop included.
_WINDOW_OF_TWO = 30


def _open(path: Any = None, **options: Any) -> Memory:
    return Memory.open(path, **{"embeddings": "none", **options})


def _catch_up(turns: Sequence[Turn], **options: Any) -> Any:
    """The catch-up of turns that are added to a new memory."""
    settings = options.pop("settings", Settings(window=_WINDOW_OF_TWO))
    with _open(settings=settings, **options) as memory:
        memory.add("party", turns)
        return memory.catch_up("party")


def _without_times(result: Any) -> dict[str, Any]:
    return {key: value for key, value in result.items() if key != "timings_ms"}


@pytest.fixture(params=["memory", "file", "path", "url"])
def place(request: pytest.FixtureRequest, tmp_path: Path) -> Any:
    """Whatever `Memory.open` takes as a place."""
    file = tmp_path / "a history.db"
    places = {"memory": None, "file": str(file), "path": file, "url": f"sqlite:///{file}"}
    return places[request.param]


# Adding


def test_what_is_added_is_reported(place: Any) -> None:
    with _open(place) as memory:
        assert memory.add("party", _TURNS) == AddReport(added=6)


def test_adding_twice_changes_nothing(place: Any) -> None:
    with _open(place) as memory:
        memory.add("party", _TURNS)
        before = memory.catch_up("party")

        assert memory.add("party", _TURNS) == AddReport(added=0, known=6)
        assert _without_times(memory.catch_up("party")) == _without_times(before)


def test_a_longer_export_adds_what_is_new(place: Any) -> None:
    with _open(place) as memory:
        memory.add("party", _TURNS[:4])

        assert memory.add("party", _TURNS) == AddReport(added=2, known=4)


def test_a_longer_export_leads_to_what_it_would_have_led_to_at_once(place: Any) -> None:
    with _open(place, settings=Settings(window=_WINDOW_OF_TWO)) as memory:
        for end in (2, 4, 6):
            memory.add("party", _TURNS[:end])
            result = memory.catch_up("party")

    assert _without_times(result) == _without_times(_catch_up(_TURNS))


def test_turns_can_be_mappings() -> None:
    with _open() as memory:
        assert memory.add("party", [{"speaker": "Ana", "text": "Yes."}]) == AddReport(added=1)


def test_turns_can_come_one_by_one() -> None:
    with _open() as memory:
        assert memory.add("party", (turn for turn in _TURNS)).added == 6


def test_a_mapping_without_text_is_refused() -> None:
    with _open() as memory, pytest.raises(ConfigError, match="`text` of a turn is missing"):
        memory.add("party", [{"speaker": "Ana"}])


@pytest.mark.parametrize("stream", ["", None, 7])
def test_a_stream_must_have_a_name(stream: Any) -> None:
    with _open() as memory, pytest.raises(ConfigError, match="`stream` must be a non-empty str"):
        memory.add(stream, _TURNS)


def test_a_catch_up_needs_a_tenant_with_a_name() -> None:
    with _open() as memory, pytest.raises(ConfigError, match="`tenant` must be a non-empty str"):
        memory.catch_up("party", tenant="")


@pytest.mark.parametrize(
    "name", ["a/b.c@d", "💃 fête", "x" * 500, "'; DROP TABLE turns; --", "\ud800"]
)
def test_any_string_names_a_stream(name: str, place: Any) -> None:
    with _open(place) as memory:
        memory.add(name, _TURNS, tenant=name)

        assert len(memory.catch_up(name, tenant=name)["window"]) == 6


def test_progress_is_told(place: Any) -> None:
    seen: list[tuple[int, int]] = []
    with _open(place) as memory:
        memory.add("party", _TURNS, on_progress=lambda done, total: seen.append((done, total)))

    assert seen[-1] == (6, 6)


# Places


def test_a_file_keeps_the_history_after_it_is_closed(tmp_path: Path) -> None:
    with _open(tmp_path / "h.db") as memory:
        memory.add("party", _TURNS)
        before = memory.catch_up("party")

    with _open(tmp_path / "h.db") as memory:
        assert _without_times(memory.catch_up("party")) == _without_times(before)


def test_a_url_names_the_same_file_as_its_path(tmp_path: Path) -> None:
    with _open(f"sqlite:///{tmp_path}/a%20history.db") as memory:
        memory.add("party", _TURNS)

    with _open(tmp_path / "a history.db") as memory:
        assert memory.add("party", _TURNS).known == 6


def test_two_memories_on_one_file_see_what_the_other_adds(tmp_path: Path) -> None:
    with _open(tmp_path / "h.db") as one, _open(tmp_path / "h.db") as two:
        one.add("party", _TURNS[:3])
        two.catch_up("party")
        one.add("party", _TURNS[3:])

        assert two.catch_up("party")["window"] == ["1", "2", "3", "4", "5", "6"]


@pytest.mark.parametrize("url", ["mysql://localhost/x", "sqlite://x", "http://x/y"])
def test_a_url_of_another_kind_is_refused(url: str) -> None:
    with pytest.raises(ConfigError, match=re.escape(f"got '{url}'")):
        _open(url)


def test_a_file_in_a_folder_that_is_not_there_is_refused(tmp_path: Path) -> None:
    with pytest.raises(HistoryError, match=r"cannot open the history file .*nowhere"):
        _open(tmp_path / "nowhere" / "h.db")


def test_a_folder_is_no_history_file(tmp_path: Path) -> None:
    with pytest.raises(HistoryError, match="cannot open the history file"):
        _open(tmp_path)


def test_a_file_that_is_no_database_is_refused(tmp_path: Path) -> None:
    (tmp_path / "h.db").write_bytes(b"not a database, but more than a header's length\n" * 40)

    with pytest.raises(HistoryError, match="not a database"):
        _open(tmp_path / "h.db")


def test_a_database_of_another_program_is_left_alone(tmp_path: Path) -> None:
    connection = sqlite3.connect(tmp_path / "h.db")
    connection.execute("CREATE TABLE songs (name TEXT)")
    connection.commit()
    connection.close()

    with pytest.raises(HistoryError, match="database of another program"):
        _open(tmp_path / "h.db")


def test_a_memory_that_is_closed_says_so(tmp_path: Path) -> None:
    memory = _open(tmp_path / "h.db")
    memory.close()

    with pytest.raises(HistoryError, match="is closed"):
        memory.add("party", _TURNS)


# Tenants and streams


def test_tenants_have_their_own_histories(place: Any) -> None:
    with _open(place) as memory:
        memory.add("party", _TURNS[:3], tenant="one")
        memory.add("party", _TURNS[3:], tenant="two")

        assert memory.catch_up("party", tenant="one")["window"] == ["1", "2", "3"]
        assert memory.catch_up("party", tenant="two")["window"] == ["4", "5", "6"]


def test_the_same_id_may_say_something_else_in_another_stream(place: Any) -> None:
    with _open(place) as memory:
        memory.add("party", [Turn("Ana", "Yes.", id="1")])

        assert memory.add("work", [Turn("Ana", "No.", id="1")]) == AddReport(added=1)


def test_a_stream_without_turns_gives_an_empty_result(place: Any) -> None:
    with _open(place) as memory:
        result = memory.catch_up("nothing")

    assert (result["window"], result["memory"], result["gaps"]) == ([], [], [])
    assert result["degraded"] == ["window: the stream has no turns"]


def test_one_turn_is_a_window_without_history() -> None:
    result = _catch_up([Turn("Ana", "We ship on the third of May.", id="1")])

    assert result["window"] == ["1"]
    assert result["memory"] == result["gaps"] == []
    assert result["degraded"] == ["history: there is nothing before the window"]
    assert [sentence["cites"] for sentence in result["summary"]["sentences"]] == [["1"]]


def test_system_turns_are_no_part_of_a_catch_up() -> None:
    joined = Turn("", "Eve joined the group of Ana about the boat.", id="s", kind="system")

    result = _catch_up([*_TURNS[:3], joined, *_TURNS[3:], Turn("", "x", id="t", kind="system")])

    assert _without_times(result) == _without_times(_catch_up(_TURNS))


# Small settings


def test_a_budget_of_one_token_leaves_the_memory_empty_and_says_so() -> None:
    result = _catch_up(_TURNS, settings=Settings(window=_WINDOW_OF_TWO, budget=1))

    assert result["memory"] == []
    assert result["usage"]["memory_tokens"] == 0
    assert any(
        re.match(r"memory: no turn fits the budget of 1 tokens, the shortest has \d+", line)
        for line in result["degraded"]
    )


def test_a_window_of_one_token_is_the_last_turn_cut() -> None:
    result = _catch_up(_TURNS, settings=Settings(window=1))

    assert result["window"] == ["6"]
    assert "window: its only turn is longer than 1 tokens; cut" in result["degraded"]


@pytest.mark.parametrize("preset", ["remember", "paper"])
def test_turns_without_text_do_no_harm(preset: Any) -> None:
    turns = [Turn("", "", id=str(n)) for n in range(5)]

    result = _catch_up(turns, settings=Settings(preset=preset, window=1, budget=5))

    assert result["summary"]["sentences"] == []


def test_a_counter_of_ones_own_is_used_everywhere() -> None:
    result = _catch_up(_TURNS, settings=Settings(window=2, budget=3, count_tokens=lambda _: 1))

    assert result["window"] == ["5", "6"]
    assert len(result["memory"]) == result["usage"]["memory_tokens"] == 3
    assert result["usage"]["window_tokens"] == 2


# Embeddings


class _Broken(Embeddings):
    """Raises for documents, for queries, or for both."""

    def __init__(self, documents: bool = True, queries: bool = True) -> None:
        self.documents, self.queries = documents, queries

    def embed_documents(self, texts: list[str]) -> list[list[float]]:
        if self.documents:
            raise ConnectionError("no embeddings today")
        return [[1.0, float(len(text))] for text in texts]

    def embed_query(self, text: str) -> list[float]:
        if self.queries:
            raise ConnectionError("no embeddings today")
        return [1.0, float(len(text))]


def test_without_embeddings_the_result_says_so() -> None:
    assert _catch_up(_TURNS)["degraded"] == [
        "embeddings: none; the history is searched by words alone"
    ]


def test_with_embeddings_nothing_is_degraded(hash_encoder: Any) -> None:
    assert _catch_up(_TURNS, embeddings=hash_encoder)["degraded"] == []


@pytest.mark.parametrize("preset", ["remember", "paper"])
@pytest.mark.parametrize(
    "broken",
    [_Broken(), _Broken(documents=False), _Broken(queries=False)],
    ids=["all", "queries", "documents"],
)
def test_a_broken_embedding_model_leaves_a_result_that_says_so(preset: Any, broken: Any) -> None:
    settings = Settings(preset=preset, window=_WINDOW_OF_TWO)

    result = _catch_up(_TURNS, embeddings=broken, settings=settings)

    assert result["summary"]["sentences"]
    assert result["memory"]
    assert any("embeddings" in line or "embedding model" in line for line in result["degraded"])


def test_an_embedding_model_that_breaks_between_two_runs_leaves_a_result(tmp_path: Path) -> None:
    with _open(tmp_path / "h.db", embeddings=_Broken(False, False)) as memory:
        memory.add("party", _TURNS[:3])
    with _open(tmp_path / "h.db", embeddings=_Broken()) as memory:
        memory.add("party", _TURNS[3:])

        assert memory.catch_up("party")["summary"]["sentences"]


@pytest.mark.parametrize("answer", [[[math.nan]] * 6, [[1.0]], [], [[1.0], [1.0, 2.0]] * 3])
def test_an_embedding_model_that_answers_nonsense_leaves_a_result(answer: Any) -> None:
    class Nonsense(_Broken):
        def embed_documents(self, texts: list[str]) -> list[list[float]]:
            return list(answer)

    assert _catch_up(_TURNS, embeddings=Nonsense())["summary"]["sentences"]


def test_turns_of_another_embedding_model_are_named(tmp_path: Path, hash_encoder: Any) -> None:
    with _open(tmp_path / "h.db", embeddings=_Broken(False, False)) as memory:
        memory.add("party", _TURNS)
    settings = Settings(window=_WINDOW_OF_TWO)
    with _open(tmp_path / "h.db", embeddings=hash_encoder, settings=settings) as memory:
        degraded = memory.catch_up("party")["degraded"]

    assert degraded == [
        "embeddings: 4 of 4 history turns have no vector of hash/24; "
        "those are searched by words alone; there are vectors of _Broken; "
        "`remember-graph reindex` makes them"
    ]


class _Changing:
    """The model of one name that now has vectors of another width."""

    id = "hash/24"

    def __init__(self, width: int) -> None:
        self.width = width

    def encode_documents(self, texts: Sequence[str]) -> Any:
        return np.full((len(texts), self.width), self.width**-0.5, np.float32)

    encode_queries = encode_documents


@pytest.mark.parametrize("preset", ["remember", "paper"])
def test_vectors_of_another_width_under_the_same_name_do_no_harm(
    tmp_path: Path, preset: Any
) -> None:
    settings = Settings(preset=preset, window=_WINDOW_OF_TWO)
    with _open(tmp_path / "h.db", embeddings=_Changing(24), settings=settings) as memory:
        memory.add("party", _TURNS[:5])
    with _open(tmp_path / "h.db", embeddings=_Changing(12), settings=settings) as memory:
        memory.add("party", _TURNS)

        assert memory.catch_up("party")["summary"]["sentences"]


def test_an_unknown_embedding_name_is_refused() -> None:
    with pytest.raises(ConfigError, match="`embeddings` must be one of auto"):
        _open(embeddings="best")


# Async


def test_the_async_twins_do_the_same(place: Any) -> None:
    async def use() -> tuple[AddReport, Any]:
        with _open(place, settings=Settings(window=_WINDOW_OF_TWO)) as memory:
            return await memory.aadd("party", _TURNS), await memory.acatch_up("party")

    added, result = asyncio.run(use())

    assert added == AddReport(added=6)
    assert _without_times(result) == _without_times(_catch_up(_TURNS))


def test_many_catch_ups_can_be_awaited_at_once(hash_encoder: Any) -> None:
    async def use() -> list[Any]:
        settings = Settings(window=_WINDOW_OF_TWO)
        with _open(embeddings=hash_encoder, settings=settings) as memory:
            await asyncio.gather(*(memory.aadd(f"s{n}", _TURNS) for n in range(8)))
            return await asyncio.gather(*(memory.acatch_up(f"s{n}") for n in range(8)))

    results = asyncio.run(use())

    expected = _without_times(_catch_up(_TURNS, embeddings=hash_encoder))
    for number, result in enumerate(results):
        assert _without_times(result) == {**expected, "stream": f"s{number}"}


# Threads


@pytest.fixture
def hasty_threads() -> Iterator[None]:
    """Threads take turns after a few instructions, so that races show."""
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    yield
    sys.setswitchinterval(before)


def _all_at_once(*tasks: Callable[[], Any]) -> list[Exception]:
    """What the tasks raised, each run in a thread of its own."""
    raised: list[Exception] = []
    start = threading.Barrier(len(tasks))

    def guarded(task: Callable[[], Any]) -> None:
        start.wait()
        try:
            task()
        except Exception as error:
            raised.append(error)

    threads = [threading.Thread(target=guarded, args=(task,)) for task in tasks]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return raised


def _long_chat(turns: int) -> list[Turn]:
    words = "boat band cake mayor hall dinner crowns umbrella cousin Friday".split()
    return [
        Turn(
            f"P{n % 4}",
            f"the {words[n % 10]} of {words[n * 7 % 10]} number {n} and the {words[n * 3 % 10]}",
            id=str(n),
        )
        for n in range(turns)
    ]


@pytest.mark.usefixtures("hasty_threads")
@pytest.mark.parametrize("preset", ["remember", "paper"])
def test_threads_add_and_catch_up_on_one_memory(
    tmp_path: Path, hash_encoder: Any, preset: Any
) -> None:
    chat = _long_chat(120)
    settings = Settings(preset=preset, window=60, budget=200)
    results: list[Any] = []
    with _open(tmp_path / "h.db", embeddings=hash_encoder, settings=settings) as memory:

        def add(which: int) -> None:
            for turn in chat[which::3]:
                memory.add("party", [turn])

        def catch_up() -> None:
            for _ in range(12):
                results.append(memory.catch_up("party"))

        raised = _all_at_once(
            lambda: add(0), lambda: add(1), lambda: add(2), catch_up, catch_up, catch_up
        )

        assert raised == []
        assert memory.add("party", chat) == AddReport(added=0, known=120)
        for result in results:
            _check_rules(result, {turn.id: turn for turn in chat}, settings)
            assert not any("no vector" in line for line in result["degraded"])


@pytest.mark.usefixtures("hasty_threads")
def test_threads_catch_up_on_many_streams_of_one_memory(hash_encoder: Any) -> None:
    # 8 windows of about 90 turns: more than the 512 queries whose vectors are remembered, so that
    # what one thread remembers is forgotten by another.
    chats = {
        f"s{n}": [Turn("Ana", f"{n} {turn.text}", id=turn.id) for turn in _long_chat(120)]
        for n in range(8)
    }
    settings = Settings(window=90, budget=20, count_tokens=lambda _: 1)
    with _open(embeddings=hash_encoder, settings=settings) as memory:
        for name, chat in chats.items():
            memory.add(name, chat)

        def catch_up(name: str) -> None:
            for _ in range(3):
                memory.catch_up(name)

        assert _all_at_once(*(lambda name=name: catch_up(name) for name in chats)) == []


def test_vectors_that_another_thread_makes_forgotten_are_not_lost(hash_encoder: Any) -> None:
    entered, others_done = threading.Event(), threading.Event()

    class Slow:
        id = "slow"

        def encode_documents(self, texts: Sequence[str]) -> Any:
            return hash_encoder.encode_documents(texts)

        def encode_queries(self, texts: Sequence[str]) -> Any:
            if "new" in texts:
                entered.set()
                others_done.wait(timeout=60)
            return hash_encoder.encode_queries(texts)

    history = History(encoder=Slow())
    history.encode_queries(["old"])

    def others() -> None:
        entered.wait(timeout=60)
        history.encode_queries([f"query {n}" for n in range(600)])
        others_done.set()

    raised = _all_at_once(lambda: history.encode_queries(["old", "new"]), others)

    assert raised == []


# What every catch-up keeps to


def _check_rules(result: Any, turns: dict[str, Turn], settings: Settings) -> None:
    """The promises of the result that hold for any input."""
    count = settings.count_tokens
    order = list(turns)
    window, memory, gaps = result["window"], result["memory"], result["gaps"]
    in_memory = [turn["turn_id"] for turn in memory]

    assert json.loads(json.dumps(result, allow_nan=False)) == result
    # Whole turns of the history, once each, within the budget.
    assert len(set(in_memory)) == len(in_memory)
    assert not set(in_memory) & set(window)
    assert all((turn["speaker"], turn["text"]) == _said(turns, turn["turn_id"]) for turn in memory)
    assert all(turn["tokens"] == count(turns[turn["turn_id"]].line) for turn in memory)
    assert sum(turn["tokens"] for turn in memory) == result["usage"]["memory_tokens"]
    assert result["usage"]["memory_tokens"] <= settings.budget == result["usage"]["budget"]
    if len(window) > 1:
        lines = [turns[id].line for id in window]
        assert result["usage"]["window_tokens"] == sum(map(count, lines)) <= settings.window
    # Gaps rest on the memory, and their reasons and statuses say what is so.
    known = {gap["id"]: gap for gap in gaps}
    assert len(known) == len(gaps) <= settings.detect.max_gaps
    stated = {id for sentence in result["summary"]["sentences"] for id in sentence["gap_ids"]}
    assert stated <= set(known)
    for gap in gaps:
        assert gap["turn_id"] in window
        assert set(gap["evidence"]) <= set(in_memory)
        assert gap["status"] == (
            "not_in_history"
            if not gap["evidence"]
            else "resolved"
            if gap["id"] in stated
            else "unresolved"
        )
        assert 0 <= gap["salience"] <= 1
        assert gap["query"]
    for turn in memory:
        assert turn["gap_ids"] == [gap["id"] for gap in gaps if turn["turn_id"] in gap["evidence"]]
        assert (turn["reason"] == "gap") == bool(turn["gap_ids"])
    # Sentences rest on what was in sight.
    for sentence in result["summary"]["sentences"]:
        assert sentence["text"].strip()
        assert set(sentence["cites"]) <= {*window, *in_memory}
        assert (sentence["status"] == "supported") <= bool(sentence["cites"])
        for id in sentence["gap_ids"]:
            assert set(known[id]["evidence"]) & set(sentence["cites"])
    if in_memory and len(order) == len(window) + len(in_memory):
        assert in_memory + window == order


def _said(turns: dict[str, Turn], id: str) -> tuple[str, str]:
    return turns[id].speaker, turns[id].text


_WORDS = st.sampled_from(
    "boat Cleo dinner forty crowns we ship instead she it 3pm plan again agreed".split()
    + "会議 は 三時 明日 船 約束 した 変更 町 祭".split()
    + "เรือ ประชุม พรุ่งนี้ เงิน เปลี่ยน แล้ว".split()
    + ["🚤", "🎉🎉", "👩‍👩‍👧", "é", "٣", "—", "C++", "<b>", "\n", "</window>"]
)
_TEXTS = st.lists(_WORDS, max_size=25).map(" ".join)
_CHATS = st.lists(
    st.tuples(st.sampled_from(["Ana", "Ben", "陳", "สมชาย", "🙂", ""]), _TEXTS),
    min_size=1,
    max_size=25,
).map(lambda said: [Turn(who, text, id=f"t{n}") for n, (who, text) in enumerate(said)])
_COUNTERS = st.sampled_from(
    [
        count_tokens,
        len,
        lambda text: len(text.split()),
        lambda text: len(text.encode()) // 4 + 1,
        lambda text: 1,
    ]
)


def _settings(draw: Any) -> Settings:
    return Settings(
        preset=draw(st.sampled_from(["remember", "paper"])),
        budget=draw(st.integers(1, 200)),
        window=draw(st.integers(1, 120)),
        count_tokens=draw(_COUNTERS),
    )


@given(data=st.data(), chat=_CHATS)
def test_every_catch_up_without_a_model_keeps_to_the_rules(data: Any, chat: list[Turn]) -> None:
    settings = _settings(data.draw)

    result = _catch_up(chat, settings=settings)

    _check_rules(result, {turn.id: turn for turn in chat}, settings)
    assert result["usage"]["model_calls"] == 0
    assert result["summary"]["writer"] == "extractive"


@st.composite
def _gap_answers(draw: Any) -> str:
    gaps = [
        {
            "turn": draw(st.integers(0, 6)),
            "kind": draw(st.sampled_from(["referential", "attribute", "relational", "other"])),
            "missing": draw(_TEXTS),
            "query": draw(_TEXTS),
            "anchors": draw(st.lists(_WORDS, max_size=3)),
            "salience": draw(st.floats(-1, 2)),
        }
        for _ in range(draw(st.integers(0, 4)))
    ]
    return json.dumps({"gaps": gaps})


@st.composite
def _summary_answers(draw: Any) -> str:
    handles = st.sampled_from(["w1", "w2", "w3", "m1", "m2", "m3", "m9", "w99", "x", "t3"])
    sentences = [
        {"text": draw(_TEXTS), "cites": draw(st.lists(handles, max_size=4))}
        for _ in range(draw(st.integers(0, 4)))
    ]
    return json.dumps({"sentences": sentences})


@given(data=st.data(), chat=_CHATS, gaps=_gap_answers(), summary=_summary_answers())
def test_every_catch_up_with_a_model_keeps_to_the_rules(
    data: Any, chat: list[Turn], gaps: str, summary: str
) -> None:
    settings = _settings(data.draw)
    # The detector's answer comes first; a repair of it is answered by the summary and fails.
    model = FakeListChatModel(responses=[gaps, summary])

    result = _catch_up(chat, settings=settings, model=model, embeddings=_Broken(False, False))

    _check_rules(result, {turn.id: turn for turn in chat}, settings)
    assert 2 <= result["usage"]["model_calls"] <= 3


def test_a_model_that_a_name_does_not_name_is_refused() -> None:
    with pytest.raises(ConfigError, match=r"`model` must be provider:name .*got 'gpt'"):
        _open(model="gpt")


def test_a_provider_that_raises_while_it_is_made_is_one_error() -> None:
    pytest.importorskip("langchain_openai")

    with pytest.raises((ModelError, ConfigError), match="openai:gpt-5-mini"):
        _open(model="openai:gpt-5-mini")  # no key in the environment of the tests
