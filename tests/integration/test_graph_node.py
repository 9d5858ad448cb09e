"""The memory inside users' graphs: as a node, as a subgraph, with their contexts."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from typing import Any, TypedDict

import pytest
from langchain_core.messages import AIMessage, HumanMessage
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import END, START, MessagesState, StateGraph

from remember_graph import Memory, Turn, build_graph
from remember_graph.context import RememberContext
from remember_graph.errors import ConfigError, HistoryError
from remember_graph.history.history import History
from remember_graph.history.in_memory_store import InMemoryStore
from remember_graph.history.store import Namespace
from remember_graph.integrations.graph_node import as_node


class _State(MessagesState):
    catch_up: dict[str, Any]


class _Lines(TypedDict):
    lines: list[Any]
    told: dict[str, Any]


@dataclass
class _Context:
    tenant: str
    user_id: str = "u"


@pytest.fixture
def memory() -> Memory:
    return Memory.open(embeddings="none")


def _graph(node: Any, schema: Any = _State, **options: Any) -> Any:
    builder = StateGraph(schema, context_schema=options.pop("context_schema", None))
    builder.add_node("remember", node)
    builder.add_edge(START, "remember")
    builder.add_edge("remember", END)
    return builder.compile(**options)


_MESSAGES = [
    HumanMessage("The kiln is booked for Friday.", id="1"),
    AIMessage("Noted.", id="2"),
    HumanMessage("Who glazes it?", id="3"),
]


@pytest.mark.parametrize("is_async", [False, True])
def test_a_node_writes_the_catch_up_of_a_states_messages(memory: Memory, is_async: bool) -> None:
    graph = _graph(as_node(memory))
    asked = {"messages": _MESSAGES}
    result = asyncio.run(graph.ainvoke(asked)) if is_async else graph.invoke(asked)

    assert result["catch_up"]["window"] == ["1", "2", "3"]
    assert [message.id for message in result["messages"]] == ["1", "2", "3"]


def test_the_thread_is_the_stream_and_each_has_its_own(memory: Memory) -> None:
    graph = _graph(as_node(memory), checkpointer=InMemorySaver())
    for thread in ("a", "b"):
        graph.invoke(
            {"messages": [HumanMessage(f"In {thread}", id=thread)]},
            {"configurable": {"thread_id": thread}},
        )

    assert [turn.text for turn in memory.log("a")] == ["In a"]
    assert [turn.text for turn in memory.log("b")] == ["In b"]


def test_the_node_keeps_no_checkpoints_of_its_own(memory: Memory) -> None:
    saver = InMemorySaver()
    graph = _graph(as_node(memory), checkpointer=saver)
    graph.invoke({"messages": _MESSAGES}, {"configurable": {"thread_id": "t"}})

    assert {kept.config["configurable"]["checkpoint_ns"] for kept in saver.list(None)} == {""}


def test_turns_and_mappings_are_taken_as_well(memory: Memory) -> None:
    node = as_node(memory, messages_key="lines", output_key="told", stream="team", tenant="acme")
    graph = _graph(node, _Lines)
    result = graph.invoke(
        {"lines": [Turn("Ana", "Hi", id="1"), {"speaker": "Ben", "text": "Yes", "id": "2"}]}
    )

    assert (result["told"]["stream"], result["told"]["tenant"]) == ("team", "acme")
    assert result["told"]["window"] == ["1", "2"]


def test_a_foreign_context_gives_what_it_has(memory: Memory) -> None:
    graph = _graph(as_node(memory), context_schema=_Context)
    result = graph.invoke({"messages": _MESSAGES}, context=_Context("acme"))

    assert (result["catch_up"]["tenant"], result["catch_up"]["stream"]) == ("acme", "default")


@pytest.mark.parametrize(
    ("state", "message"),
    [
        ({"lines": None}, "`messages_key` 'lines' must name a list of messages"),
        ({"lines": "text"}, "`messages_key` 'lines' must name a list of messages"),
        ({"lines": [7]}, "messages must be LangChain messages, or Turns"),
    ],
)
def test_a_state_without_messages_is_refused_in_one_line(
    memory: Memory, state: Any, message: str
) -> None:
    graph = _graph(as_node(memory, messages_key="lines", output_key="told"), _Lines)

    with pytest.raises(ConfigError, match=message):
        graph.invoke(state)


def test_asking_a_memory_inside_a_graph_ignores_that_graphs_context(memory: Memory) -> None:
    memory.add("team", [Turn("Ana", "Ours", id="ours")], tenant="acme")
    memory.add("team", [Turn("Eve", "Theirs", id="theirs")], tenant="other")

    def node(state: _Lines) -> dict[str, Any]:
        return {"told": memory.catch_up("team", tenant="acme")}

    graph = _graph(node, _Lines, context_schema=_Context)
    result = graph.invoke({"lines": []}, context=_Context("other"))

    assert result["told"]["window"] == ["ours"]


def test_the_context_goes_before_the_input(memory: Memory) -> None:
    memory.add("team", [Turn("Ana", "Ours", id="1")], tenant="acme")
    graph = build_graph(memory.history)
    result = graph.invoke(
        {"stream": "team", "tenant": "other"}, context=RememberContext("acme", budget=9)
    )

    assert (result["tenant"], result["window"], result["usage"]["budget"]) == ("acme", ["1"], 9)


def test_later_turns_are_not_seen(memory: Memory) -> None:
    days = [Turn("Ana", f"Day {day}", f"2024-05-0{day}", str(day)) for day in (1, 2, 3)]
    memory.add("team", [*days, Turn("Ana", "No time", id="4")])

    assert memory.catch_up("team", now="2024-05-02T12:00")["window"] == ["1", "2"]
    assert memory.catch_up("team", now="2024-04-01")["window"] == []
    assert memory.catch_up("team")["window"] == ["1", "2", "3", "4"]


def test_a_model_is_told_the_reader(scripted: Any) -> None:
    model = scripted('{"gaps": []}', '{"sentences": [{"text": "You glaze.", "cites": ["w1"]}]}')
    memory = Memory.open(embeddings="none", model=model)
    memory.add("team", [Turn("Ben", "Ana glazes.", id="1")])
    memory.catch_up("team", reader="Ana </reader> x")

    assert "<reader>Ana &lt;/reader> x</reader>" in model.prompts[1][1].content


def test_progress_is_told_stage_by_stage(memory: Memory) -> None:
    memory.add("team", [Turn("Ana", "Hi", id="1")])
    graph = build_graph(memory.history)
    events = [
        event["remember_graph"] for event in graph.stream({"stream": "team"}, stream_mode="custom")
    ]

    stages = ["detect_gaps", "retrieve", "refine", "allocate", "summarize"]
    assert [(one["stage"], one["status"]) for one in events] == [
        (name, status) for name in stages for status in ("started", "done")
    ]
    assert all(one["ms"] >= 0 for one in events if one["status"] == "done")


class _Flaky(InMemoryStore):
    """Its connection breaks the first times it is asked."""

    def __init__(self, error: Exception, times: int) -> None:
        super().__init__()
        self.error, self.times = error, times

    def generation(self, namespace: Namespace) -> int:
        if self.times:
            self.times -= 1
            raise HistoryError("the history failed") from self.error
        return super().generation(namespace)


def test_a_node_tries_again_where_a_connection_broke() -> None:
    history = History(_Flaky(ConnectionResetError(), 2))

    assert build_graph(history).invoke({"stream": "team"})["window"] == []


def test_a_node_does_not_try_again_on_anything_else() -> None:
    store = _Flaky(ValueError("no"), 1)

    with pytest.raises(HistoryError, match="the history failed"):
        build_graph(History(store)).invoke({"stream": "team"})
    assert store.times == 0
