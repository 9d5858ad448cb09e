"""Chats as JSON and JSON Lines."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from remember_graph.errors import ChatFormatError
from remember_graph.integrations.chats import Chat, LineCount, read_chat
from remember_graph.types import Turn


@pytest.fixture
def read(tmp_path: Path) -> Callable[..., Chat]:
    def read_text(text: str, **options: Any) -> Chat:
        path = tmp_path / "chat.jsonl"
        path.write_text(text, encoding="utf-8")
        return read_chat(path, format="jsonl", **options)

    return read_text


@pytest.fixture
def turn_of(read: Callable[..., Chat]) -> Callable[..., Turn]:
    def one(record: dict[str, Any], **options: Any) -> Turn:
        (turn,) = read(json.dumps(record), **options).turns
        return turn

    return one


HI = {"role": "user", "content": "hi"}
HELLO = {"role": "assistant", "content": "hello"}
LAYOUTS = [
    f"{json.dumps(HI)}\n{json.dumps(HELLO)}\n",
    f"\ufeff{json.dumps(HI)}\r\n\r\n  \n{json.dumps(HELLO)}",
    json.dumps([HI, HELLO]),
    json.dumps([HI, HELLO], indent=2),
    json.dumps({"messages": [HI, HELLO]}),
    json.dumps({"title": "x", "messages": [HI, HELLO]}, indent=2),
    json.dumps({"messages": [HI]}) + "\n" + json.dumps({"messages": [HELLO]}),
]


@pytest.mark.parametrize("text", LAYOUTS)
def test_each_layout_gives_the_same_turns(read: Callable[..., Chat], text: str) -> None:
    chat = read(text)

    assert [turn.line for turn in chat.turns] == ["user: hi", "assistant: hello"]
    assert chat.lines == LineCount(records=2, messages=2, system=0)


@pytest.mark.parametrize(
    ("record", "speaker", "text"),
    [
        ({"role": "user", "name": "Ana", "content": "hi"}, "Ana", "hi"),
        ({"role": "assistant", "content": "hi"}, "assistant", "hi"),
        ({"speaker": "Ana", "text": "hi"}, "Ana", "hi"),
        ({"from": "Ana", "message": "hi"}, "Ana", "hi"),
        ({"user": "Ana", "content": "hi"}, "Ana", "hi"),
        ({"author": {"nickname": "Ana", "name": "ana1"}, "content": "hi"}, "Ana", "hi"),
        ({"name": "Ana", "text": "hi"}, "Ana", "hi"),
        ({"from": None, "text": "hi"}, "", "hi"),
        ({"message": {"role": "user", "content": "hi"}, "id": 7}, "user", "hi"),
        ({"speaker": "Zoe\u0308", "text": "cafe\u0301"}, "Zo\u00eb", "caf\u00e9"),
        ({"from": "Ana", "text": ["see ", {"type": "link", "text": "a.b"}]}, "Ana", "see a.b"),
    ],
)
def test_speaker_and_text_are_found_under_the_usual_keys(
    turn_of: Callable[..., Turn], record: dict[str, Any], speaker: str, text: str
) -> None:
    turn = turn_of(record)

    assert (turn.speaker, turn.text) == (speaker, text)


@pytest.mark.parametrize(
    ("content", "text"),
    [
        (None, ""),
        ("", ""),
        ([{"type": "text", "text": "one"}, {"type": "text", "text": "two"}], "one\ntwo"),
        (
            [{"type": "text", "text": "see"}, {"type": "image_url", "image_url": {"url": "data:"}}],
            "see\n[attachment: image]",
        ),
        ([{"type": "input_audio"}], "[attachment: audio]"),
        ([{"type": "reasoning", "summary": []}], ""),
        ([{"type": "tool_use", "name": "f", "input": {"a": 1}}], '[calls f({"a": 1})]'),
        ([{"type": "text", "text": {"value": "deep"}}], "deep"),
        ([None, 3, {}], ""),
    ],
)
def test_content_can_be_missing_or_a_list_of_parts(
    turn_of: Callable[..., Turn], content: object, text: str
) -> None:
    assert turn_of({"role": "assistant", "content": content}).text == text


def test_tool_calls_are_shown_below_the_text(turn_of: Callable[..., Turn]) -> None:
    calls = [{"id": "1", "function": {"name": "find", "arguments": '{"q": "x"}'}}]
    record = {"role": "assistant", "content": "wait", "tool_calls": calls}

    assert turn_of(record).text == 'wait\n[calls find({"q": "x"})]'


def test_long_arguments_of_a_call_are_clipped(turn_of: Callable[..., Turn]) -> None:
    call = {"name": "find", "arguments": "x" * 201}

    assert turn_of({"role": "assistant", "function_call": call}).text == (
        f"[calls find({'x' * 200}…)]"
    )


@pytest.mark.parametrize("role", ["system", "developer"])
def test_instructions_are_system_turns(read: Callable[..., Chat], role: str) -> None:
    chat = read(json.dumps([{"role": role, "content": "be kind"}, HI]))

    assert [turn.kind for turn in chat.turns] == ["system", "message"]


@pytest.mark.parametrize(
    ("key", "value", "time"),
    [
        ("time", "2024-03-12T10:15:00", "2024-03-12T10:15:00"),
        ("timestamp", "2024-03-12T10:15:00Z", "2024-03-12T10:15:00+00:00"),
        ("created_at", 1710238500, "2024-03-12T10:15:00+00:00"),
        ("created_at", 1710238500000, "2024-03-12T10:15:00+00:00"),
        ("ts", "1710238500.5", "2024-03-12T10:15:00.500000+00:00"),
        ("date", "2024/03/12 10:15", "2024-03-12T10:15:00"),
        ("date", "Tue, 12 Mar 2024 10:15:00 +0100", "2024-03-12T10:15:00+01:00"),
        ("time", None, None),
    ],
)
def test_times_are_read_in_their_usual_forms(
    turn_of: Callable[..., Turn], key: str, value: object, time: str | None
) -> None:
    assert turn_of({**HI, key: value}).time == time


@pytest.mark.parametrize("value", ["soon", 12.5, True, [1], 1e300, float("inf"), float("nan")])
def test_a_time_in_an_unknown_form_is_left_empty_and_told(
    read: Callable[..., Chat], value: object
) -> None:
    chat = read(json.dumps({**HI, "time": value}))

    assert chat.turns[0].time is None
    assert chat.notes == ("Times in an unknown form, left empty: 1 (the first in line 1).",)


def test_the_zone_is_given_to_naive_times_and_others_are_converted(
    read: Callable[..., Chat],
) -> None:
    records = [{**HI, "time": "2024-03-12T10:15"}, {**HI, "time": "2024-03-12T10:15Z"}]

    assert [turn.time for turn in read(json.dumps(records), tz="+01:00").turns] == [
        "2024-03-12T10:15:00+01:00",
        "2024-03-12T11:15:00+01:00",
    ]


def test_an_id_of_the_export_is_kept_as_text(read: Callable[..., Chat]) -> None:
    chat = read(json.dumps([{**HI, "id": "m1"}, {**HI, "id": 2}, HI]))

    assert [turn.id for turn in chat.turns][:2] == ["m1", "2"]
    assert chat.turns[2].id.startswith("t")


def test_a_record_that_comes_twice_is_one_turn(read: Callable[..., Chat]) -> None:
    chat = read(json.dumps([{**HI, "id": "1"}, {**HI, "id": "1"}]))

    assert chat.lines == LineCount(records=2, messages=1, system=0, skipped=1, repeated=1)
    assert chat.notes == ("Records with the id and content of an earlier one, left out: 1 (1).",)


def test_an_id_that_is_used_again_for_other_words_loses_nothing(read: Callable[..., Chat]) -> None:
    records = [{**HI, "id": "1"}, {**HELLO, "id": "1"}, {**HELLO, "id": "1"}, {**HI, "id": "1#2"}]
    chat = read(json.dumps(records))

    assert [turn.id for turn in chat.turns] == ["1", "1#2", "1#2#2"]
    assert chat.lines.repeated == 1


def test_lines_that_are_no_message_are_skipped_and_named(read: Callable[..., Chat]) -> None:
    chat = read(f'{json.dumps(HI)}\n{{"role"\n\n7\n{{"a": 1}}\n{json.dumps(HELLO)}\n')

    assert chat.lines == LineCount(records=5, messages=2, system=0, skipped=3)
    assert chat.notes == (
        "3 records could not be read: line 2 (no JSON), line 4 (no message), line 5 (no message).",
    )


def test_a_broken_first_line_does_not_cost_the_file(read: Callable[..., Chat]) -> None:
    chat = read(f'{{"role": "us\n{json.dumps(HI)}\n')

    assert chat.lines == LineCount(records=2, messages=1, system=0, skipped=1)


def test_a_line_of_a_megabyte_is_read(turn_of: Callable[..., Turn]) -> None:
    assert len(turn_of({"role": "user", "content": "x" * 1_000_000}).text) == 1_000_000


def test_half_a_surrogate_pair_is_replaced_everywhere(read: Callable[..., Chat]) -> None:
    (turn,) = read(r'{"speaker": "A\ud800", "text": "b\udfff", "id": "\ud800"}').turns

    assert (turn.speaker, turn.text, turn.id) == ("A\ufffd", "b\ufffd", "\ufffd")


@pytest.mark.parametrize("text", ["[]", '{"messages": []}', "[1, 2]", '{"a": 1}'])
def test_json_without_a_message_is_an_error(read: Callable[..., Chat], text: str) -> None:
    with pytest.raises(ChatFormatError, match="holds no message in the format jsonl"):
        read(text)


def test_a_cut_array_is_an_error_that_says_where(read: Callable[..., Chat]) -> None:
    with pytest.raises(ChatFormatError, match=r"is not valid JSON: .*line 1 column"):
        read('[{"role": "user", "content": "hi"}, {"ro')


_records = st.lists(
    st.fixed_dictionaries(
        {"role": st.sampled_from(["user", "system"]), "content": st.sampled_from(["a", "b"])},
        optional={"id": st.sampled_from(["1", "2", "1#2"]), "time": st.just("2024-03-12")},
    ),
    max_size=8,
)


@given(old=_records, new=_records)
def test_a_longer_export_gives_the_old_messages_their_old_ids(
    tmp_path_factory: pytest.TempPathFactory, old: list[dict[str, Any]], new: list[dict[str, Any]]
) -> None:
    path = tmp_path_factory.mktemp("prefix") / "chat.jsonl"
    start = [HI]  # so that neither is empty
    ids = []
    for records in (start + old, start + old + new):
        path.write_text("\n".join(map(json.dumps, records)))
        ids.append([turn.id for turn in read_chat(path, format="jsonl").turns])

    short, long = ids
    assert long[: len(short)] == short
