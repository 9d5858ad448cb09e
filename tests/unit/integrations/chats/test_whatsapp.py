"""WhatsApp's text export."""

import zipfile
from collections.abc import Callable
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from remember_graph.errors import ChatFormatError
from remember_graph.integrations.chats import Chat, LineCount, read_chat
from remember_graph.integrations.chats.whatsapp_headers import read_head

NARROW = "\u202f"  # between the time and PM since 2023
HARD = "\xa0"
LRM, RLM, ZWSP = "\u200e", "\u200f", "\u200b"


@pytest.fixture
def read(tmp_path: Path) -> Callable[..., Chat]:
    def read_text(text: str, **options: Any) -> Chat:
        path = tmp_path / "chat.txt"
        path.write_bytes(text.encode("utf-8", "surrogatepass"))
        return read_chat(path, format="whatsapp", **options)

    return read_text


HEADS = [
    # line, hour, minute, second, the text behind the head
    ("12/03/24, 10:15 - Ana: hi", 10, 15, 0),
    ("[12/03/24, 10:15:30] Ana: hi", 10, 15, 30),
    (f"12/3/24, 9:15{NARROW}PM - Ana: hi", 21, 15, 0),
    (f"[12/3/24, 9:15:07{NARROW}AM] Ana: hi", 9, 15, 7),
    (f"12/3/24, 9:15{HARD}p.{HARD}m. - Ana: hi", 21, 15, 0),
    ("12/3/24, 9:15 p. m. - Ana: hi", 21, 15, 0),
    ("12/3/24, 9:15\u2009a.m. - Ana: hi", 9, 15, 0),
    ("12/3/24, 9:15 am - Ana: hi", 9, 15, 0),
    ("12/3/24, 12:05 AM - Ana: hi", 0, 5, 0),
    ("12/3/24, 12:05 PM - Ana: hi", 12, 5, 0),
    ("12.03.24, 10:15 - Ana: hi", 10, 15, 0),
    ("12.03.2024 um 10:15 - Ana: hi", 10, 15, 0),
    ("12/03/2024 à 10:15 - Ana: hi", 10, 15, 0),
    ("2024-03-12 10 h 15 - Ana: hi", 10, 15, 0),
    ("2024/03/12, 10:15 - Ana: hi", 10, 15, 0),
    ("2024-03-12, 5:46 p.m. - Ana: hi", 17, 46, 0),
    ("[12.03.24, 9:15:30 PM] Ana: hi", 21, 15, 30),
    ("12/3/24 21.15 - Ana: hi", 21, 15, 0),
    (f"{LRM}[12/03/24, 10:15:30] Ana: hi", 10, 15, 30),
    (f"{RLM}{ZWSP}12/03/24, 10:15 - Ana: hi", 10, 15, 0),
    (f"{RLM}١٢{RLM}/٣{RLM}/٢٠٢٤، ٩:١٥ م - Ana: hi", 21, 15, 0),
    ("١٢/٣/٢٠٢٤، ٩:١٥ ص - Ana: hi", 9, 15, 0),
    ("۱۲/۳/۲۰۲۴، ۹:۱۵ ق.ظ. - Ana: hi", 9, 15, 0),
    ("१२/३/२४, ९:१५ pm - Ana: hi", 21, 15, 0),
    ("[2024/3/12 下午9:15:30] Ana: hi", 21, 15, 30),
    ("2024. 3. 12. 오후 9:15 - Ana: hi", 21, 15, 0),
    ("12/3/24, 9:15 π.μ. - Ana: hi", 9, 15, 0),
    ("12/03/24, 10:15 \u2013 Ana: hi", 10, 15, 0),
]


@pytest.mark.parametrize(("line", "hour", "minute", "second"), HEADS)
def test_a_head_is_read_in_every_language(line: str, hour: int, minute: int, second: int) -> None:
    found = read_head(line)

    assert found is not None
    stamp, start = found
    assert (stamp.hour, stamp.minute, stamp.second) == (hour, minute, second)
    assert line[start:] == "Ana: hi"


@pytest.mark.parametrize(
    "line",
    [
        "12/03/2024 we meet",
        "12/03/2024: the dentist",
        "12/03/2024, 10:15",
        "10:15 - Ana: hi",
        "12/03/24, 25:15 - Ana: hi",
        "12/03/24, 10:75 - Ana: hi",
        "[12/03, 10:15] Ana: hi",  # copied out of WhatsApp: without a year
        "12/03/24, 10:15-11:00 at Ana: the plan",
        "",
    ],
)
def test_a_line_that_only_begins_with_a_date_has_no_head(line: str) -> None:
    assert read_head(line) is None


def test_a_message_has_speaker_text_and_a_local_time(read: Callable[..., Chat]) -> None:
    chat = read("25/12/23, 10:15 - Ana Ruiz: Did you book it?\n")

    (turn,) = chat.turns
    assert (turn.speaker, turn.text, turn.time) == (
        "Ana Ruiz",
        "Did you book it?",
        "2023-12-25T10:15:00",
    )
    assert turn.kind == "message"


def test_a_zone_makes_times_aware(read: Callable[..., Chat]) -> None:
    chat = read("25/07/23, 10:15 - Ana: hi", tz="Europe/Berlin")

    assert chat.turns[0].time == "2023-07-25T10:15:00+02:00"


def test_without_a_zone_a_note_says_so(read: Callable[..., Chat]) -> None:
    assert "Times have no zone; pass --tz to say which." in read("25/07/23, 10:15 - A: x").notes


def test_the_zone_does_not_change_ids(read: Callable[..., Chat]) -> None:
    line = "25/07/23, 10:15 - Ana: hi"

    assert read(line).turns[0].id == read(line, tz="+02:00").turns[0].id


def test_the_hour_that_comes_twice_is_the_second_one_when_the_clock_went_back(
    read: Callable[..., Chat],
) -> None:
    text = "29/10/23, 02:50 - Ana: before\n29/10/23, 02:10 - Ana: after\n"

    times = [turn.time for turn in read(text, tz="Europe/Berlin").turns]

    assert times == ["2023-10-29T02:50:00+02:00", "2023-10-29T02:10:00+01:00"]


def test_a_day_above_12_decides_the_whole_file(read: Callable[..., Chat]) -> None:
    chat = read("1/2/24, 10:15 - Ana: one\n1/13/24, 10:15 - Ana: two\n")

    assert [turn.time for turn in chat.turns] == ["2024-01-02T10:15:00", "2024-01-13T10:15:00"]
    assert chat.notes[0] == "Dates are read month first: line 2 has 1/13/24."


def test_the_course_of_time_decides_where_no_day_is_above_12(read: Callable[..., Chat]) -> None:
    chat = read("3/9/24, 10:15 - A: x\n4/2/24, 10:15 - A: y\n")

    assert [turn.time for turn in chat.turns] == ["2024-03-09T10:15:00", "2024-04-02T10:15:00"]
    assert chat.notes[0] == (
        "Dates are read month first: read day first, line 2 would go back in time."
    )


def test_dates_that_lie_close_together_are_the_better_guess(read: Callable[..., Chat]) -> None:
    chat = read("1/2/24, 10:15 - A: x\n1/3/24, 10:15 - A: y\n1/4/24, 10:15 - A: z\n")

    assert chat.turns[2].time == "2024-01-04T10:15:00"
    assert "guessed to be month first" in chat.notes[0]


def test_a_single_ambiguous_date_is_guessed_by_custom_and_called_a_guess(
    read: Callable[..., Chat],
) -> None:
    european = read("3/4/24, 21:15 - A: x")
    american = read("3/4/24, 9:15 PM - A: x")

    assert european.turns[0].time == "2024-04-03T21:15:00"
    assert american.turns[0].time == "2024-03-04T21:15:00"
    assert european.notes[0] == ("Dates are guessed to be day first: no date in the file tells.")


def test_a_date_that_reads_the_same_both_ways_needs_no_note(read: Callable[..., Chat]) -> None:
    assert read("3/3/24, 21:15 - A: x", tz="UTC").notes == ()


def test_a_short_year_can_come_first(read: Callable[..., Chat]) -> None:
    chat = read("24/3/28, 10:15 - A: x\n24/4/2, 10:15 - A: y\n")

    assert [turn.time for turn in chat.turns] == ["2024-03-28T10:15:00", "2024-04-02T10:15:00"]


def test_the_lines_of_a_message_stay_together_with_their_blank_lines(
    read: Callable[..., Chat],
) -> None:
    chat = read("13/03/24, 10:15 - Ana: The list:\n\n- milk\n12/03/2024 too late\r\nx: y\n")

    assert [turn.text for turn in chat.turns] == ["The list:\n\n- milk\n12/03/2024 too late\nx: y"]


def test_a_pasted_message_from_long_ago_is_text_of_the_message_above(
    read: Callable[..., Chat],
) -> None:
    chat = read(
        "13/03/24, 10:15 - Ana: you wrote:\n"
        "01/02/24, 08:00 - Bob: I will pay\n"
        "13/03/24, 10:17 - Bob: did I\n"
    )

    assert [turn.text for turn in chat.turns] == [
        "you wrote:\n01/02/24, 08:00 - Bob: I will pay",
        "did I",
    ]
    assert any("kept as text of the message above: 2." in note for note in chat.notes)


def test_a_plan_for_a_later_day_is_text_of_the_message_above(read: Callable[..., Chat]) -> None:
    chat = read(
        "13/03/24, 10:15 - Ana: dates:\n"
        "25/12/24, 18:00 - dinner\n"
        "13/03/24, 10:17 - Bob: fine\n"
        "13/03/24, 10:18 - Ana: good\n"
    )

    assert [turn.text for turn in chat.turns] == [
        "dates:\n25/12/24, 18:00 - dinner",
        "fine",
        "good",
    ]


def test_a_message_that_arrives_some_hours_late_is_a_message(read: Callable[..., Chat]) -> None:
    chat = read("13/03/24, 20:15 - Ana: a\n13/03/24, 09:00 - Bob: b\n13/03/24, 20:17 - Ana: c\n")

    assert [turn.speaker for turn in chat.turns] == ["Ana", "Bob", "Ana"]


def test_an_older_chat_appended_to_the_file_is_not_swallowed(read: Callable[..., Chat]) -> None:
    old = "".join(f"{day:02}/01/23, 10:15 - Bob: {day}\n" for day in range(1, 29))
    new = "".join(f"{day:02}/01/24, 10:15 - Ana: {day}\n" for day in range(1, 30))

    assert read(new + old).lines.messages == 57


def test_lines_in_the_other_layout_are_text(read: Callable[..., Chat]) -> None:
    chat = read(
        "[13/03/24, 10:15:00] Ana: look\n"
        "13/03/24, 10:14 - Bob: from my other phone\n"
        "[13/03/24, 10:16:00] Bob: ok\n"
    )

    assert len(chat.turns) == 2


@pytest.mark.parametrize(
    ("line", "speaker", "text"),
    [
        ("Ana: at 10:30: the bus", "Ana", "at 10:30: the bus"),
        (f"~{NARROW}Zoe: hi", "Zoe", "hi"),
        ("~ Zoe: hi", "Zoe", "hi"),
        ("\u202a+49\xa0170\xa01234567\u202c: hi", "+49 170 1234567", "hi"),
        (f"Ana: {RLM}hi{LRM}", "Ana", "hi"),
        ("Ana:", "Ana", ""),
        ("Zoe\u0308: cafe\u0301", "Zo\u00eb", "caf\u00e9"),
        ("Ana: family \U0001f468\u200d\U0001f469", "Ana", "family \U0001f468\u200d\U0001f469"),
    ],
)
def test_name_and_text_are_told_apart(
    read: Callable[..., Chat], line: str, speaker: str, text: str
) -> None:
    turn = read(f"13/03/24, 10:15 - {line}\n13/03/24, 10:16 - Bob: end").turns[0]

    assert (turn.speaker, turn.text, turn.kind) == (speaker, text, "message")


@pytest.mark.parametrize(
    "line",
    [
        "Messages and calls are end-to-end encrypted.",
        "Ana added Bob",
        'Ana changed the subject from "Trip: May" to "Trip: June"',
        "Ana changed the subject from “Trip: May” to “Trip: June”",
    ],
)
def test_lines_of_the_program_are_system_lines_without_a_speaker(
    read: Callable[..., Chat], line: str
) -> None:
    turn = read(f"13/03/24, 10:15 - {line}\n13/03/24, 10:16 - Bob: end").turns[0]

    assert (turn.speaker, turn.text, turn.kind) == ("", line, "system")


def test_a_notice_that_ios_puts_under_a_name_is_a_system_line(read: Callable[..., Chat]) -> None:
    chat = read(
        f"[13/03/24, 10:15:00] Trip: {LRM}Messages and calls are end-to-end encrypted.\n"
        "[13/03/24, 10:16:00] Ana: it says end-to-end encrypted\n"
    )

    assert [turn.kind for turn in chat.turns] == ["system", "message"]


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("<Media omitted>", "[attachment]"),
        ("<Medien ausgeschlossen>", "[attachment]"),
        ("<Multimedia omitido>", "[attachment]"),
        ("<Médias omis>", "[attachment]"),
        ("<Mídia oculta>", "[attachment]"),
        ("<Без медиафайлов>", "[attachment]"),
        (f"{LRM}image omitted", "[attachment]"),
        (f"{LRM}Bild weggelassen", "[attachment]"),
        (f"{LRM}imagen omitida", "[attachment]"),
        (f"{LRM}imagem ocultada", "[attachment]"),
        (f"{LRM}图片已忽略", "[attachment]"),
        (f"Plan.pdf • {LRM}3 pages {LRM}document omitted", "[attachment: Plan.pdf]"),
        ("IMG-20240312-WA0001.jpg (file attached)", "[attachment: IMG-20240312-WA0001.jpg]"),
        (f"{LRM}PTT-1.opus (Datei angehängt)", "[attachment: PTT-1.opus]"),
        ("IMG-1.jpg (file attached)\nthe view", "[attachment: IMG-1.jpg]\nthe view"),
        (f"{LRM}<attached: 00012-PHOTO.jpg>", "[attachment: 00012-PHOTO.jpg]"),
        (f"the view {LRM}<adjunto: 1.jpg>", "the view [attachment: 1.jpg]"),
        ("<附件\uff1a1.jpg>", "[attachment: 1.jpg]"),
        ("I said: the image omitted the cat", "I said: the image omitted the cat"),
        ("see <a: b.txt> for it", "see <a: b.txt> for it"),
    ],
)
def test_placeholders_of_files_become_attachments(
    read: Callable[..., Chat], text: str, shown: str
) -> None:
    turn = read(f"13/03/24, 10:15 - Ana: {text}\n").turns[0]

    assert (turn.text, turn.kind) == (shown, "message")


@pytest.mark.parametrize(
    "marker",
    [
        "This message was deleted",
        "This message was deleted.",
        "You deleted this message",
        "Se eliminó este mensaje.",
        "Diese Nachricht wurde gelöscht.",
        f"{LRM}Ce message a été supprimé",
    ],
)
def test_the_marker_of_a_deleted_message_is_kept_as_a_system_line(
    read: Callable[..., Chat], marker: str
) -> None:
    text = f"13/03/24, 10:15 - Ana: {marker}\n13/03/24, 10:16 - Bob: x"
    turn = read(text).turns[0]

    assert (turn.speaker, turn.text, turn.kind) == ("Ana", marker.strip(LRM), "system")


def test_the_mark_of_an_edited_message_becomes_a_flag(read: Callable[..., Chat]) -> None:
    turn = read(f"13/03/24, 10:15 - Ana: at five {LRM}<This message was edited>\n").turns[0]

    assert (turn.text, turn.edited) == ("at five", True)


def test_what_lies_before_the_first_message_is_skipped_and_named(read: Callable[..., Chat]) -> None:
    chat = read("exported by me\n\n13/03/24, 10:15 - Ana: hi\n13/03/24, 10:15 - Ana left\n")

    assert chat.lines == LineCount(records=3, messages=1, system=1, skipped=1)
    assert "1 line could not be read: 1." in chat.notes


def test_an_export_at_whatsapps_limit_may_begin_in_the_middle(read: Callable[..., Chat]) -> None:
    chat = read("13/03/24, 10:15 - Ana: hi\n" * 10_000)

    assert any("older ones may be missing" in note for note in chat.notes)


def test_undecodable_bytes_are_replaced_and_told(tmp_path: Path) -> None:
    path = tmp_path / "chat.txt"
    path.write_bytes("13/03/24, 10:15 - Ana: schön".encode("latin-1"))

    chat = read_chat(path)

    assert chat.turns[0].text == "sch\ufffdn"
    assert "Undecodable bytes were replaced by U+FFFD: 1 time." in chat.notes


def test_a_text_without_a_message_is_an_error(read: Callable[..., Chat]) -> None:
    with pytest.raises(ChatFormatError, match="holds no message in the format whatsapp"):
        read("just some words\n")


def test_only_program_lines_are_no_chat(read: Callable[..., Chat]) -> None:
    with pytest.raises(ChatFormatError, match="other records: 1"):
        read("13/03/24, 10:15 - Ana left\n")


def test_a_zip_with_media_is_read_and_named_after_the_zip(tmp_path: Path) -> None:
    path = tmp_path / "WhatsApp Chat - Ana.zip"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("_chat.txt", "[13/03/24, 10:15:00] Ana: hi\n")
        archive.writestr("notes.txt", "a file that was sent\n")
        archive.writestr("00012-PHOTO.jpg", b"\xff\xd8")

    chat = read_chat(path)

    assert (chat.format, chat.name, chat.lines.messages) == ("whatsapp", "WhatsApp Chat - Ana", 1)


def test_an_unpacked_folder_is_read(tmp_path: Path) -> None:
    folder = tmp_path / "WhatsApp Chat - Ana"
    folder.mkdir()
    (folder / "_chat.txt").write_text("[13/03/24, 10:15:00] Ana: hi\n")

    assert read_chat(folder).name == "WhatsApp Chat - Ana"
    assert read_chat(folder / "_chat.txt").name == "WhatsApp Chat - Ana"


_messages = st.lists(
    st.tuples(
        st.integers(0, 5_000),
        st.sampled_from(["Ana", "Bob", "Zoë"]),
        st.sampled_from(["ok", "at 5: fine", "two\nlines", "", "<Media omitted>", "13/01/24 x"]),
    ),
    min_size=1,
    max_size=20,
)


@given(old=_messages, new=_messages)
def test_a_longer_export_gives_the_old_messages_their_old_ids(
    tmp_path_factory: pytest.TempPathFactory,
    old: list[tuple[int, str, str]],
    new: list[tuple[int, str, str]],
) -> None:
    folder = tmp_path_factory.mktemp("prefix")
    lines, now = [], datetime(2024, 1, 13)
    for minutes, speaker, text in old + new:
        now += timedelta(minutes=minutes)
        lines.append(f"{now:%d/%m/%y, %H:%M} - {speaker}: {text}\n")

    short = _ids(folder / "short.txt", lines[: len(old)])
    long = _ids(folder / "long.txt", lines)

    assert long[: len(old)] == short


def _ids(path: Path, lines: list[str]) -> list[str]:
    path.write_text("".join(lines), encoding="utf-8")
    return [turn.id for turn in read_chat(path, format="whatsapp").turns]
