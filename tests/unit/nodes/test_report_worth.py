"""Which turns are worth reporting, told without a model."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from remember_graph.nodes.report_worth import report_worth
from remember_graph.types import Turn


def _worth(*lines: str, language: str | None = "en") -> list[float]:
    """The worth of each `speaker: text` line."""
    parts = [line.split(": ", 1) for line in lines]
    turns = [Turn(speaker, text, id=str(at)) for at, (speaker, text) in enumerate(parts)]
    return list(report_worth(turns, language).values())


def test_an_empty_window_has_no_worth() -> None:
    assert report_worth([], "en") == {}


def test_every_turn_is_named_by_its_id() -> None:
    turns = [Turn("Mira", "Hi", id="a"), Turn("Tom", "The boat is sold.", id="b")]

    assert list(report_worth(turns, "en")) == ["a", "b"]


def test_the_worth_is_what_the_turn_tells_plus_what_is_new_and_what_it_counts() -> None:
    # 6 words about the speaker, 1.25 each; new: ship and 3 (we, it, on, may are function words);
    # a number is 0.25.
    expected = math.log1p(6 * 1.25) + 0.5 * math.log1p(2) + 0.25

    assert _worth("Mira: We ship it on 3 May.") == [pytest.approx(expected)]


def test_a_decision_stands_above_the_chatter_around_it() -> None:
    worth = _worth(
        "Mira: Haha, what a funny picture of the two of you!",
        "Tom: It was such a lovely evening, thanks!",
        "Mira: We decided to move the launch from Tuesday to Friday because the printer broke.",
        "Tom: Sounds good!",
    )

    assert max(worth) == worth[2]


@pytest.mark.parametrize(
    "text",
    [
        "Hi!",
        "Good morning!",
        "Hey, how are you? So nice to see you!",
        "Thanks so much, that's awesome!",
        "Wow, I love it!",
        "Okay, great. Bye!",
        "lol",
        "Yeah.",
        "Um, uh, okay so",
        "",
        "🎉🎉🎉",
        "[attachment: IMG_2031.jpg]",
        "[shares a picture: a photo of a boat]",
    ],
)
def test_greetings_thanks_reactions_and_bare_attachments_are_never_reported(text: str) -> None:
    assert _worth(f"Mira: {text}") == [0.0]


def test_lines_of_the_chat_program_are_never_reported() -> None:
    turn = Turn("", "Mira added Tom and Ines to the group Boat Club.", id="1", kind="system")

    assert report_worth([turn], "en") == {"1": 0.0}


def test_a_greeting_by_name_is_never_reported() -> None:
    assert _worth("Tom Brandt: Hi", "Mira: Good morning Tom, how are you?")[1] == 0.0


def test_a_reaction_does_not_hide_the_statement_after_it() -> None:
    assert _worth("Mira: Wow, thanks! The harbour is closed until March.")[0] > 0


def test_a_word_of_agreement_does_not_hide_what_is_agreed() -> None:
    (worth,) = _worth("Mira: Great, then the boat goes to Lisbon.")

    assert worth > 0


def test_a_repeated_turn_is_worth_less_than_its_first_saying() -> None:
    first, _, again = _worth(
        "Mira: The harbour fee rises to 90 euros.",
        "Tom: What?",
        "Ines: The harbour fee rises to 90 euros.",
    )

    assert 0 < again < first


def test_an_answer_is_worth_more_than_the_same_words_unasked() -> None:
    _, asked = _worth("Tom: When?", "Mira: On the second Sunday of June.")
    _, unasked = _worth("Tom: Hm.", "Mira: On the second Sunday of June.")

    assert asked == pytest.approx(unasked + 0.5)


def test_a_short_answer_is_reported_although_a_short_remark_is_not() -> None:
    assert _worth("Tom: Which day?", "Mira: Tuesday.")[1] > 0
    assert _worth("Tom: Hm.", "Mira: Tuesday.")[1] == 0.0


def test_a_question_back_is_no_answer() -> None:
    _, after_question = _worth("Tom: When?", "Mira: Which of the boats?")
    _, after_remark = _worth("Tom: Hm.", "Mira: Which of the boats?")

    assert after_question == after_remark


def test_nobody_answers_their_own_question() -> None:
    _, own = _worth("Mira: When?", "Mira: Tuesday.")

    assert own == 0.0


def test_a_statement_is_worth_more_than_the_question_for_it() -> None:
    (stated,) = _worth("Mira: The harbour is closed until March.")
    (asked,) = _worth("Mira: The harbour is closed until March?")

    assert stated > asked > 0


def test_the_same_speaker_going_on_is_worth_more_than_somebody_else_starting() -> None:
    *_, goes_on = _worth("Mira: Hm.", "Mira: The mast is broken in two places.")
    *_, starts = _worth("Tom: Hm.", "Mira: The mast is broken in two places.")

    assert goes_on == pytest.approx(starts + 0.5)


def test_a_turn_next_to_a_better_one_gives_way() -> None:
    better = "Tom: The insurer pays for the mast, the sails and both of the engines after all."
    (alone,) = _worth("Mira: The mast is broken in two places.")
    beside, _ = _worth("Mira: The mast is broken in two places.", better)

    assert beside == pytest.approx(alone - 0.5)


@pytest.mark.parametrize("text", ["It costs 40 a day.", "It costs forty dollars a day."])
def test_amounts_count_in_digits_and_in_words(text: str) -> None:
    assert _worth(f"Mira: {text}") > _worth("Mira: It costs little a day.")


def test_talk_about_the_other_person_is_worth_less_than_news_of_oneself() -> None:
    assert _worth("Mira: My boat lies in Lisbon.") > _worth("Mira: Your boat lies in Lisbon.")


def test_english_cues_are_not_looked_for_in_other_languages() -> None:
    # "still" is a cue in English; 7 words, of which der and zum are function words in German.
    (worth,) = _worth("Mira: Der Hafen liegt still bis zum Frühjahr.", language="de")

    assert worth == pytest.approx(math.log1p(7) + 0.5 * math.log1p(5))


@pytest.mark.parametrize(
    ("language", "greeting", "decision"),
    [
        ("de", "Hallo zusammen!", "Wir verschieben das Treffen auf Freitag, den 14. Juni."),
        (None, "おはよう！", "会議は金曜日の午後三時に変更することに決まりました。"),
        (None, "สวัสดี", "เราตกลงเลื่อนประชุมไปวันศุกร์เวลาบ่ายสามโมง"),
        (None, "안녕!", "회의를 금요일 오후 세 시로 옮기기로 했습니다."),
        (None, "नमस्ते!", "हमने बैठक को शुक्रवार तक टालने का निर्णय लिया है।"),
        (None, "مرحبا!", "قررنا تأجيل الاجتماع إلى يوم الجمعة القادم."),
    ],
)
def test_other_languages_tell_a_decision_from_a_greeting(
    language: str | None, greeting: str, decision: str
) -> None:
    hello, decided = _worth(f"Mira: {greeting}", f"Tom: {decision}", language=language)

    assert hello == 0.0
    assert decided > 0


def test_the_full_width_question_mark_asks() -> None:
    _, asked = _worth("美羅: いつ？", "富夫: 金曜日です", language=None)
    _, unasked = _worth("美羅: うん", "富夫: 金曜日です", language=None)

    assert asked > unasked


def test_the_same_window_gives_the_same_worth() -> None:
    lines = ("Mira: We go on Friday.", "Tom: Why not on Sunday?", "Mira: The tide.")

    assert _worth(*lines) == _worth(*lines)


_TURNS = st.lists(
    st.builds(
        Turn,
        speaker=st.sampled_from(["", "Mira", "Tom"]),
        text=st.text() | st.sampled_from(["Thanks!", "When?", "We go on 3 May.", "三時に？"]),
        kind=st.sampled_from(["message", "system"]),
    ),
    max_size=8,
)


@given(_TURNS, st.sampled_from(["en", "de", None]))
def test_every_turn_gets_a_finite_worth_of_at_least_zero(
    turns: list[Turn], language: str | None
) -> None:
    window = [
        Turn(turn.speaker, turn.text, id=str(place), kind=turn.kind)
        for place, turn in enumerate(turns)
    ]

    worth = report_worth(window, language)

    assert list(worth) == [turn.id for turn in window]
    assert all(math.isfinite(value) and value >= 0 for value in worth.values())
