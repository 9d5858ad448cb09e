"""JSON out of what models write."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from remember_graph.lenient_json import find_items, strip_thinking

_ITEMS = [{"turn": 1, "query": "who"}, {"turn": 2, "query": "what"}]
_LIST = json.dumps(_ITEMS)
_WRAPPED = json.dumps({"gaps": _ITEMS})


@pytest.mark.parametrize(
    "answer",
    [
        _WRAPPED,
        _LIST,
        json.dumps({"gaps": _ITEMS}, indent=2),
        f"```json\n{_WRAPPED}\n```",
        f"```\n{_LIST}\n```",
        f"Sure! Here they are:\n{_WRAPPED}\nAnything else?",
        f"<think>Maybe [1] or {{2}}?</think>{_WRAPPED}",
        f"<THINKING>\nhm\n</THINKING>\n{_WRAPPED}",
        f"the block was opened in the prompt</think>\n{_WRAPPED}",
        f"{_WRAPPED}\n<think>and now",
        f'<think>{{"gaps": []}} would be wrong</think>{_WRAPPED}',
        _WRAPPED.replace("}]", "},]"),
        _WRAPPED.replace("}, {", ",},\n{"),
        _WRAPPED[:-1],  # the last brace is missing
        _WRAPPED[:-2],  # and the bracket
        _WRAPPED[:-2] + ', {"turn": 3, "que',
        _WRAPPED[:-2] + ', {"turn": 3, "query": "a [b] {c',
        f"[1] is the first turn. {_WRAPPED}",
        f'{{"result": {_WRAPPED}}}',
    ],
)
def test_whole_items_are_found_whatever_stands_around_them(answer: str) -> None:
    assert find_items(answer, "gaps") == _ITEMS


@pytest.mark.parametrize(
    "answer", ['{"gaps": []}', "[]", "```json\n[]\n```", '<think>x</think>{"gaps": []}']
)
def test_an_answer_that_there_are_none_is_an_empty_list(answer: str) -> None:
    assert find_items(answer, "gaps") == []


@pytest.mark.parametrize(
    "answer",
    [
        "",
        "I see no gaps.",
        '{"gaps": null}',
        '{"gaps": "none"}',
        "[1, 2]",
        '{"gaps": [{"a',
        "{",
        "<think>",
    ],
)
def test_an_answer_without_a_list_is_none(answer: str) -> None:
    assert find_items(answer, "gaps") is None


def test_an_empty_object_is_no_list() -> None:
    assert find_items("{}", "gaps") is None


@pytest.mark.parametrize("answer", ["I see none: []", "- [ ] look for gaps", '["x", []]'])
def test_an_empty_list_beside_other_text_says_nothing(answer: str) -> None:
    assert find_items(answer, "gaps") is None


def test_an_item_in_the_middle_that_cannot_be_read_is_left_out() -> None:
    assert find_items('{"gaps": [{"a": 1}, {"b": oops}, {"c": 3}]}', "gaps") == [{"a": 1}, {"c": 3}]


@pytest.mark.parametrize("between", ["", ",", "\n", " and "])
def test_objects_in_no_list_are_items(between: str) -> None:
    answer = f'{{"turn": 1, "anchors": []}}{between}{{"turn": 2}}'

    assert find_items(answer, "gaps") == [{"turn": 1, "anchors": []}, {"turn": 2}]


def test_a_list_that_is_drafted_before_the_thinking_ends_is_no_answer() -> None:
    assert find_items(f'maybe {{"gaps": [{{"x": 1}}, </think>{_WRAPPED}', "gaps") == _ITEMS


def test_things_that_are_no_objects_are_left_out() -> None:
    assert find_items('{"gaps": [{"a": 1}, 2, "three", null]}', "gaps") == [{"a": 1}]


def test_a_raw_line_break_inside_a_text_is_kept() -> None:
    assert find_items('[{"a": "one\ntwo"}]', "gaps") == [{"a": "one\ntwo"}]


@pytest.mark.parametrize(
    ("answer", "text"),
    [(r'[{"a": "it\'s"}]', r"it\'s"), (r'[{"a": "\d+"}]', r"\d+"), (r'[{"a": "\u12"}]', r"\u12")],
)
def test_an_escape_that_json_does_not_know_stands_for_itself(answer: str, text: str) -> None:
    assert find_items(answer, "gaps") == [{"a": text}]


def test_an_escaped_backslash_is_read() -> None:
    items = [{"a": "C:\\data"}]

    assert find_items(json.dumps(items), "gaps") == items


def test_a_comma_before_a_bracket_inside_a_text_is_kept() -> None:
    assert find_items('[{"a": "x,]"}]', "gaps") == [{"a": "x,]"}]


@pytest.mark.parametrize("text", ["the <think> tag", "closes </think> here"])
def test_a_thinking_tag_inside_a_text_cuts_nothing(text: str) -> None:
    items = [{"a": text}]

    assert find_items(json.dumps(items), "gaps") == items


def test_a_list_cut_off_after_an_item_with_an_empty_list_keeps_the_item() -> None:
    answer = '{"gaps": [{"turn": 1, "anchors": []}, {"turn": 2, "anch'

    assert find_items(answer, "gaps") == [{"turn": 1, "anchors": []}]


def test_an_empty_check_box_in_the_prose_is_not_the_answer() -> None:
    assert find_items(f"- [ ] look for gaps\n{_WRAPPED}", "gaps") == _ITEMS


def test_an_object_inside_the_item_that_was_cut_off_is_no_item() -> None:
    assert find_items('{"gaps": [{"a": 1}, {"b": {"c": 2}, "d', "gaps") == [{"a": 1}]


_answers = st.lists(
    st.sampled_from([*'[]{}":,\\ \n1ae', "gaps", "null", "<think>", "</think>", "\\u", "é", "```"])
).map("".join)


@given(_answers)
def test_no_answer_raises(answer: str) -> None:
    found = find_items(answer, "gaps")

    assert found is None or all(isinstance(item, dict) for item in found)


_pieces = st.sampled_from(
    ['"', "\\", ",]", ",}", "[]", "<think>", "</think>", "```", "{", '"gaps": [']
)
_text = st.lists(st.characters(codec="utf-8") | _pieces, max_size=6).map("".join)
_items = st.lists(
    st.dictionaries(_text.filter(lambda k: k != "gaps"), _text, min_size=1), min_size=1
)


@given(_items)
def test_what_json_writes_is_read(items: list[dict[str, Any]]) -> None:
    assert find_items(json.dumps({"gaps": items}, ensure_ascii=False), "gaps") == items


@given(_items, st.data())
def test_of_an_answer_cut_anywhere_the_whole_items_before_the_cut_are_read(
    items: list[dict[str, Any]], data: st.DataObject
) -> None:
    whole = data.draw(st.integers(1, len(items)))
    begun = json.dumps({"gaps": items[:whole]}, ensure_ascii=False)[:-2]
    more = data.draw(st.sampled_from(["", ",", ', {"', ', {"a": "b', ', {"a": "b"']))

    assert find_items(begun + more, "gaps") == items[:whole]


@pytest.mark.parametrize(
    "answer",
    [
        "[" * 50_000,
        '{"a":' * 50_000,
        "<think>" * 20_000,
        "</think" * 50_000,
        '{"gaps": [' + '{"a" b}, ' * 20_000,
        '{"gaps": ["' + "\\" * 200_000,
    ],
)
def test_deep_and_long_answers_return(answer: str) -> None:
    assert find_items(answer, "gaps") is None


def test_a_thousand_items_of_a_list_cut_off_are_read() -> None:
    assert find_items('{"gaps": [' + '{"a": 1}, ' * 1_000, "gaps") == [{"a": 1}] * 1_000


@pytest.mark.parametrize(
    ("text", "answer"),
    [
        ("plain", "plain"),
        ("<think>a</think>b", "b"),
        ("<think>a</think>b<reasoning>c</reasoning>d", "bd"),
        ("a</think>b", "b"),
        ("a<think>b", "a"),
        ("<think>a", ""),
        ("", ""),
    ],
)
def test_thinking_is_taken_off(text: str, answer: str) -> None:
    assert strip_thinking(text) == answer
