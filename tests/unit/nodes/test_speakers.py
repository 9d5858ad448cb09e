"""Which speakers a text names."""

from __future__ import annotations

from remember_graph.nodes.speakers import named_speakers


def _named(text: str, *speakers: str) -> list[str]:
    row = named_speakers([text], speakers)[0]
    return [speaker for speaker, said in zip(speakers, row, strict=True) if said]


def test_a_whole_name_names_its_speaker() -> None:
    assert _named("What did Ana Ruiz propose?", "Ana Ruiz", "Ben") == ["Ana Ruiz"]


def test_a_first_name_that_is_nobody_elses_names_its_speaker() -> None:
    assert _named("What did Ana propose?", "Ana Ruiz", "Ben Ruiz") == ["Ana Ruiz"]


def test_a_first_name_that_two_share_names_neither() -> None:
    assert _named("What did Ana propose?", "Ana Ruiz", "Ana Weber") == []


def test_a_whole_name_tells_two_of_one_first_name_apart() -> None:
    assert _named("What did Ana Weber propose?", "Ana Ruiz", "Ana Weber") == ["Ana Weber"]


def test_a_last_name_alone_names_nobody() -> None:
    assert _named("What did Ruiz propose?", "Ana Ruiz") == []


def test_a_name_inside_another_word_names_nobody() -> None:
    assert _named("Bananas for Anatol", "Ana") == []


def test_a_name_is_found_whatever_its_case() -> None:
    assert _named("what did ANA propose?", "Ana") == ["Ana"]


def test_a_name_is_found_beside_punctuation() -> None:
    assert _named("(Ana), then?", "Ana") == ["Ana"]


def test_a_name_with_a_mark_is_found_in_either_unicode_form() -> None:
    assert _named("What did Zoe\u0301 say?", "Zo\u00e9") == ["Zo\u00e9"]


def test_a_speaker_without_a_name_is_never_named() -> None:
    assert _named("What was said?", "", "?") == []


def test_a_whole_name_is_found_in_a_script_without_spaces() -> None:
    assert _named("田中さんは何と言いましたか", "田中", "佐藤") == ["田中"]


def test_the_first_character_of_a_name_names_nobody() -> None:
    assert _named("田んぼはどこですか", "田中", "佐藤") == []


def test_there_is_a_row_a_text_and_a_column_a_speaker() -> None:
    named = named_speakers(["Ben and Ana", "Ana", "nobody"], ["Ana", "Ben"])

    assert named.tolist() == [[1, 1], [1, 0], [0, 0]]


def test_without_texts_or_speakers_the_matrix_is_empty() -> None:
    assert (named_speakers([], ["Ana"]).shape, named_speakers(["Ana"], []).shape) == (
        (0, 1),
        (1, 0),
    )
