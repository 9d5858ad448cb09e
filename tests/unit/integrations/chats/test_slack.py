"""Slack's workspace export."""

import json
import stat
import zipfile
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest

from remember_graph.errors import ChatFormatError, ConfigError
from remember_graph.integrations.chats import Chat, LineCount, read_chat
from remember_graph.integrations.chats.slack_text import SlackNames, plain_text

T0 = "1710238500.000100"  # 2024-03-12 10:15:00 UTC
T1 = "1710238560.000200"  # one minute later
T2 = "1710238620.000300"  # two minutes later
USERS = [
    {"id": "U1", "name": "ana", "profile": {"display_name": "Ana", "real_name": "Ana Ruiz"}},
    {"id": "U2", "name": "bob", "real_name": "Bob Berg", "profile": {"display_name": ""}},
    {"id": "U3", "name": "cleo"},
]
CHANNELS = [{"id": "C1", "name": "general"}, {"id": "C2", "name": "random"}]


def _message(text: str, ts: str = T0, user: str = "U1", **more: Any) -> dict[str, Any]:
    return {"type": "message", "user": user, "text": text, "ts": ts, **more}


def _write(folder: Path, files: Mapping[str, object]) -> Path:
    for name, value in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(value if isinstance(value, str) else json.dumps(value))
    return folder


@pytest.fixture
def read(tmp_path: Path) -> Callable[..., Chat]:
    def read_records(*records: object) -> Chat:
        files = {
            "users.json": USERS,
            "channels.json": CHANNELS,
            "general/2024-03-12.json": list(records),
        }
        return read_chat(_write(tmp_path / "export", files))

    return read_records


def test_a_message_has_name_text_time_and_its_ts_as_id(read: Callable[..., Chat]) -> None:
    (turn,) = read(_message("hello")).turns

    assert (turn.speaker, turn.text, turn.id) == ("Ana", "hello", T0)
    assert turn.time == "2024-03-12T10:15:00+00:00"


@pytest.mark.parametrize(
    ("user", "name"),
    [("U1", "Ana"), ("U2", "Bob Berg"), ("U3", "cleo"), ("USLACKBOT", "Slackbot"), ("U9", "U9")],
)
def test_a_user_is_shown_by_display_name_then_real_name_then_handle(
    read: Callable[..., Chat], user: str, name: str
) -> None:
    assert read(_message("hello", user=user)).turns[0].speaker == name


def test_two_users_of_one_name_are_told_apart_by_handle(tmp_path: Path) -> None:
    users = [{"id": f"U{n}", "name": f"kim{n}", "real_name": "Kim"} for n in (1, 2)]
    day = [_message("a", T0, "U1"), _message("b", T1, "U2")]
    chat = read_chat(_write(tmp_path, {"users.json": users, "general/2024-03-12.json": day}))

    assert [turn.speaker for turn in chat.turns] == ["Kim (kim1)", "Kim (kim2)"]


@pytest.mark.parametrize(
    ("fields", "name"),
    [
        ({"subtype": "bot_message", "username": "deploy", "bot_id": "B1"}, "deploy"),
        ({"bot_id": "B1", "bot_profile": {"name": "builder"}}, "builder"),
        ({"bot_id": "B1"}, "B1"),
        ({"user": "U8", "user_profile": {"display_name": "Gast"}}, "Gast"),
        ({}, ""),
    ],
)
def test_bots_and_guests_are_named_by_what_the_message_says(
    read: Callable[..., Chat], fields: dict[str, Any], name: str
) -> None:
    record = {"type": "message", "text": "done", "ts": T0, **fields}

    assert read(record).turns[0].speaker == name


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("<@U1> see <#C2|random> and <#C1>", "@Ana see #random and #general"),
        ("<@U9|gast> <@U7>", "@gast @U7"),
        ("<!here> <!channel> <!subteam^S1|@team>", "@here @channel @team"),
        ("<https://a.example/x|the plan>", "the plan (https://a.example/x)"),
        ("<https://a.example/x>", "https://a.example/x"),
        ("<http://a.example|a.example>", "a.example"),
        ("<mailto:ana@a.example|ana@a.example>", "ana@a.example"),
        ("a &lt;b&gt; &amp; c", "a <b> & c"),
        ("&amp;lt;", "&lt;"),
        ("&lt;@U1&gt;", "<@U1>"),
        ("<|> <> 1 < 2", " <> 1 < 2"),
    ],
)
def test_markup_is_shown_as_a_reader_sees_it(text: str, shown: str) -> None:
    names = SlackNames({"U1": "Ana"}, {"C1": "general", "C2": "random"})

    assert plain_text(text, names) == shown


def test_days_are_one_chat_in_the_order_of_ts(tmp_path: Path) -> None:
    files = {
        "general/2024-03-13.json": [_message("third", T2)],
        "general/2024-03-12.json": [_message("second", T1), _message("first", T0)],
    }
    chat = read_chat(_write(tmp_path, files))

    assert [turn.text for turn in chat.turns] == ["first", "second", "third"]


def test_a_ts_that_is_a_number_keeps_all_its_digits(tmp_path: Path) -> None:
    day = '[{"type": "message", "user": "U1", "text": "x", "ts": 1710238500.000100}]'
    chat = read_chat(_write(tmp_path, {"general/2024-03-12.json": day}))

    assert chat.turns[0].id == "1710238500.000100"


def test_a_message_without_text_has_it_in_its_blocks(read: Callable[..., Chat]) -> None:
    elements = [
        {"type": "text", "text": "a < b "},
        {"type": "user", "user_id": "U2"},
        {"type": "emoji", "name": "wave"},
        {"type": "link", "url": "https://a.example"},
        {"type": "channel", "channel_id": "C2"},
        {"type": "broadcast", "range": "here"},
    ]
    section = {"type": "rich_text_section", "elements": elements}
    blocks = [
        {"type": "header", "text": {"type": "plain_text", "text": "News"}},
        {"type": "rich_text", "elements": [section]},
        {"type": "context", "elements": [{"type": "mrkdwn", "text": "by <@U1> &amp; co"}]},
    ]

    assert read(_message("", blocks=blocks)).turns[0].text == (
        "News\na < b @Bob Berg:wave:https://a.example#random@here\nby @Ana & co"
    )


def test_a_message_without_text_and_blocks_has_it_in_its_attachments(
    read: Callable[..., Chat],
) -> None:
    attachment = {"title": "Alert", "text": "disk", "fields": [{"title": "host", "value": "db1"}]}

    turn = read(_message("", attachments=[attachment, {"fallback": "more"}])).turns[0]

    assert turn.text == "Alert\ndisk\nhost: db1\nmore"


def test_blocks_do_not_repeat_a_text_that_is_there(read: Callable[..., Chat]) -> None:
    blocks = [{"type": "section", "text": {"type": "mrkdwn", "text": "hello"}}]

    assert read(_message("hello", blocks=blocks)).turns[0].text == "hello"


def test_files_are_named_below_the_text(read: Callable[..., Chat]) -> None:
    files = [{"name": "plan.pdf"}, {"title": "Photo"}, {"mode": "tombstone"}]

    assert read(_message("see", files=files)).turns[0].text == (
        "see\n[attachment: plan.pdf]\n[attachment: Photo]\n[attachment]"
    )


def test_the_author_of_a_file_comment_is_found(read: Callable[..., Chat]) -> None:
    record = {
        "type": "message",
        "subtype": "file_comment",
        "ts": T0,
        "text": "<@U2> commented on a file",
        "comment": {"user": "U2", "comment": "good"},
    }
    turn = read(record).turns[0]

    assert (turn.speaker, turn.text) == ("Bob Berg", "good")


@pytest.mark.parametrize("subtype", ["channel_join", "channel_leave", "group_topic", "pinned_item"])
def test_joins_and_the_like_are_system_lines(read: Callable[..., Chat], subtype: str) -> None:
    chat = read(_message("<@U1> has joined the channel", subtype=subtype), _message("hi", T1))

    assert [turn.kind for turn in chat.turns] == ["system", "message"]
    assert (chat.turns[0].speaker, chat.turns[0].text) == ("", "@Ana has joined the channel")


@pytest.mark.parametrize("subtype", ["me_message", "bot_message", "thread_broadcast", "new_kind"])
def test_what_people_and_bots_say_is_a_message(read: Callable[..., Chat], subtype: str) -> None:
    assert read(_message("hi", subtype=subtype)).turns[0].kind == "message"


def test_a_reply_names_its_thread_and_the_message_it_answers(read: Callable[..., Chat]) -> None:
    parent, reply = read(_message("q", T0, thread_ts=T0), _message("a", T1, thread_ts=T0)).turns

    assert (parent.thread, parent.reply_to) == (T0, None)
    assert (reply.thread, reply.reply_to) == (T0, T0)


def test_a_reply_that_was_also_sent_to_the_channel_is_one_turn(read: Callable[..., Chat]) -> None:
    chat = read(
        _message("q", T0, thread_ts=T0),
        _message("a", T1, thread_ts=T0),
        _message("a", T2, thread_ts=T0, subtype="thread_broadcast"),
    )

    assert [turn.id for turn in chat.turns] == [T0, T1]
    assert chat.lines == LineCount(records=3, messages=2, system=0, skipped=1, repeated=1)


def test_an_edited_message_is_marked(read: Callable[..., Chat]) -> None:
    assert read(_message("hi", edited={"user": "U1", "ts": T1})).turns[0].edited


def test_the_same_ts_with_other_words_is_kept_under_another_id(read: Callable[..., Chat]) -> None:
    chat = read(_message("one"), _message("two"), _message("one"))

    assert [turn.id for turn in chat.turns] == [T0, T0 + "#2"]
    assert chat.lines.repeated == 1
    assert any("used again for other content" in note for note in chat.notes)


def test_records_without_a_time_are_skipped_and_named(read: Callable[..., Chat]) -> None:
    chat = read(_message("hi"), {"text": "x"}, "y", _message("z", "NaN"))

    assert chat.lines == LineCount(records=4, messages=1, system=0, skipped=3)
    assert any("2024-03-12.json no. 2 (no ts)" in note for note in chat.notes)


def test_a_broken_day_is_skipped_and_named(tmp_path: Path) -> None:
    files = {"general/2024-03-12.json": [_message("hi")], "general/2024-03-13.json": "[{"}
    chat = read_chat(_write(tmp_path, files))

    assert chat.lines == LineCount(records=2, messages=1, system=0, skipped=1)
    assert any("general/2024-03-13.json (no JSON list)" in note for note in chat.notes)


def test_a_broken_list_of_users_costs_only_the_names(tmp_path: Path) -> None:
    files = {"users.json": "{", "general/2024-03-12.json": [_message("hi")]}
    chat = read_chat(_write(tmp_path, files))

    assert chat.turns[0].speaker == "U1"
    assert any("users.json is not valid JSON" in note for note in chat.notes)


@pytest.fixture
def several(tmp_path: Path) -> Path:
    files = {
        "channels.json": CHANNELS,
        "dms.json": [{"id": "D1", "members": ["U1", "U2"]}],
        "users.json": USERS,
        "general/2024-03-12.json": [
            _message("joined", subtype="channel_join", ts=f"171023850{n}.1") for n in range(5)
        ],
        "random/2024-03-12.json": [_message("a", T0), _message("b", T1)],
        "D1/2024-03-12.json": [_message("psst")],
    }
    return _write(tmp_path / "acme", files)


def test_the_channel_with_the_most_messages_is_read_and_the_others_are_named(several: Path) -> None:
    chat = read_chat(several)

    assert chat.name == "random"
    assert chat.notes == (
        "Read the channel random, which has the most messages; "
        "--stream chooses another: Ana, Bob Berg, general.",
    )


@pytest.mark.parametrize("wanted", ["random", "#random", "Random", "C2"])
def test_a_channel_is_chosen_by_name(several: Path, wanted: str) -> None:
    chat = read_chat(several, channel=wanted)

    assert (chat.name, chat.lines.messages, chat.notes) == ("random", 2, ())


@pytest.mark.parametrize("wanted", ["D1", "Ana, Bob Berg"])
def test_a_direct_conversation_is_named_after_its_members(several: Path, wanted: str) -> None:
    assert read_chat(several, channel=wanted).name == "Ana, Bob Berg"


def test_an_unknown_channel_is_an_error_that_lists_what_there_is(several: Path) -> None:
    with pytest.raises(ConfigError, match=r"`--stream`.*Ana, Bob Berg, general, random.*'dev'"):
        read_chat(several, channel="dev")


def test_the_folder_of_one_channel_is_an_export(tmp_path: Path) -> None:
    chat = read_chat(_write(tmp_path / "general", {"2024-03-12.json": [_message("hi")]}))

    assert (chat.format, chat.name, chat.lines.messages) == ("slack", "general", 1)


def test_one_day_of_a_channel_is_an_export(tmp_path: Path) -> None:
    path = _write(tmp_path, {"2024-03-12.json": [_message("hi")]}) / "2024-03-12.json"

    assert read_chat(path).format == "slack"


def test_a_zip_with_a_folder_around_is_read(tmp_path: Path) -> None:
    path = tmp_path / "acme.zip"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("acme/users.json", json.dumps(USERS))
        archive.writestr("acme/general/2024-03-12.json", json.dumps([_message("hi")]))
        archive.writestr("__MACOSX/general/2024-03-12.json", "junk")

    chat = read_chat(path, tz="+02:00")

    assert (chat.name, chat.turns[0].speaker) == ("general", "Ana")
    assert chat.turns[0].time == "2024-03-12T12:15:00+02:00"


@pytest.mark.parametrize("name", ["../x.json", "/etc/x.json", "a/../../x.json", "C:/x", "..\\x"])
def test_a_zip_that_points_outside_is_refused(tmp_path: Path, name: str) -> None:
    path = tmp_path / "acme.zip"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("general/2024-03-12.json", json.dumps([_message("hi")]))
        archive.writestr(name, "[]")

    with pytest.raises(ChatFormatError, match="entry outside of itself"):
        read_chat(path)


def test_links_are_not_followed(tmp_path: Path) -> None:
    secret = _write(tmp_path / "secret", {"2024-03-13.json": [_message("secret", T1)]})
    folder = _write(tmp_path / "acme", {"general/2024-03-12.json": [_message("hi")]})
    (folder / "general" / "2024-03-13.json").symlink_to(secret / "2024-03-13.json")
    (folder / "other").symlink_to(secret)

    chat = read_chat(folder)

    assert chat.lines.records == 1
    assert "Links inside the export were not followed: 2." in chat.notes


def test_links_in_a_zip_are_not_read(tmp_path: Path) -> None:
    path = tmp_path / "acme.zip"
    link = zipfile.ZipInfo("general/2024-03-13.json")
    link.external_attr = (stat.S_IFLNK | 0o777) << 16
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("general/2024-03-12.json", json.dumps([_message("hi")]))
        archive.writestr(link, "/etc/passwd")

    assert read_chat(path).lines.records == 1


def test_a_longer_export_gives_the_old_messages_their_old_ids(read: Callable[..., Chat]) -> None:
    day = [_message("one"), _message("two"), _message("three", T1), _message("four", T2)]
    old = [turn.id for turn in read(*day[:3]).turns]

    assert [turn.id for turn in read(*day).turns][:3] == old
