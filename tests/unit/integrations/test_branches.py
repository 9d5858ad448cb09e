"""Which turns of a log belong to a conversation as its messages now stand."""

from __future__ import annotations

from dataclasses import dataclass, field

import hypothesis.strategies as st
from hypothesis import given

from remember_graph.integrations.branches import Changes, Logged, changes
from remember_graph.types import Turn


def _turn(id: str, before: str | None = None, text: str | None = None) -> Turn:
    return Turn("user", text or f"Says {id}", id=id, reply_to=before)


def _chain(*ids: str) -> list[Turn]:
    return [_turn(id, before) for id, before in zip(ids, [None, *ids], strict=False)]


def _logged(*ids: str) -> list[Logged]:
    return [Logged(turn) for turn in _chain(*ids)]


def test_an_unchanged_conversation_changes_nothing() -> None:
    assert changes(_logged("1", "2"), _chain("1", "2")) == Changes()


def test_new_turns_are_added() -> None:
    assert changes(_logged("1"), _chain("1", "2", "3")) == Changes(add=_chain("1", "2", "3")[1:])


def test_a_regenerated_answer_hides_the_one_before() -> None:
    found = changes(_logged("1", "2"), [_turn("1"), _turn("2b", "1")])

    assert found == Changes(add=[_turn("2b", "1")], hide=["2"])


def test_a_replaced_text_is_an_edit() -> None:
    found = changes(_logged("1", "2"), [_turn("1"), _turn("2", "1", "Other")])

    assert found == Changes(edit=[_turn("2", "1", "Other")])


def test_a_removed_turn_is_hidden_and_those_around_it_stay() -> None:
    assert changes(_logged("1", "2", "3"), [_turn("1"), _turn("3", "1")]) == Changes(hide=["2"])


def test_turns_that_were_cut_away_at_the_start_stay() -> None:
    assert changes(_logged("1", "2", "3"), [_turn("3")]) == Changes()


def test_where_all_were_cut_away_the_next_follows_the_last() -> None:
    assert changes(_logged("1", "2"), [_turn("3")]) == Changes(add=[_turn("3", "2")])


def test_a_fork_from_an_earlier_point_hides_what_came_after_it() -> None:
    found = changes(_logged("1", "2", "3", "4"), [*_chain("1", "2"), _turn("5", "2")])

    assert found == Changes(add=[_turn("5", "2")], hide=["3", "4"])


def test_going_back_to_a_branch_that_was_cut_shows_what_was_cut_away_of_it() -> None:
    log = [
        Logged(_turn("1")),
        Logged(_turn("2", "1"), hidden=True),
        Logged(_turn("3", "2"), hidden=True),
        Logged(_turn("4", "1")),  # the other branch
    ]

    found = changes(log, [_turn("3")])

    assert found == Changes(hide=["4"], show=["2", "3"])


def test_a_turn_that_was_forgotten_does_not_hide_those_before_it() -> None:
    log = [Logged(_turn("1")), Logged(_turn("2", "1")), Logged(_turn("4", "3"))]

    assert changes(log, [_turn("4")]) == Changes()


def test_turns_that_answer_each_other_in_a_circle_end() -> None:
    log = [Logged(_turn("1", "2")), Logged(_turn("2", "1"))]

    assert changes(log, [_turn("2", "1")]) == Changes()


@dataclass
class _Agent:
    """A conversation whose state is cut, forked and continued; knows what should be visible."""

    branch: list[Turn] = field(default_factory=list)  # from the first turn on, cut or not
    cut: int = 0
    checkpoints: list[tuple[list[Turn], int]] = field(default_factory=list)

    def say(self, id: str) -> None:
        before = self.branch[-1].id if self.branch else None
        self.branch = [*self.branch, _turn(id, before)]
        self.checkpoints.append((self.branch, self.cut))

    def messages(self) -> list[Turn]:
        kept = self.branch[self.cut :]
        return [_turn(kept[0].id), *kept[1:]] if kept else []


def _applied(log: list[Logged], found: Changes) -> list[Logged]:
    hidden = {one.turn.id: one.hidden for one in log}
    hidden |= dict.fromkeys(found.hide, True) | dict.fromkeys(found.show, False)
    kept = [Logged(one.turn, hidden[one.turn.id]) for one in log]
    return [*kept, *(Logged(turn) for turn in found.add)]


@given(st.lists(st.sampled_from(["say", "cut", "fork"]), max_size=30), st.randoms())
def test_whatever_is_cut_and_forked_exactly_the_present_branch_is_visible(
    steps: list[str], rng: object
) -> None:
    agent, log = _Agent(), list[Logged]()
    for number, step in enumerate(steps):
        if step == "say":
            agent.say(str(number))
        elif step == "cut" and agent.branch:  # a summary takes the place of all but the last
            agent.cut = rng.randint(agent.cut, len(agent.branch) - 1)  # type: ignore[attr-defined]
            agent.checkpoints.append((agent.branch, agent.cut))
        elif step == "fork" and agent.checkpoints:
            agent.branch, agent.cut = rng.choice(agent.checkpoints)  # type: ignore[attr-defined]
        if agent.branch:
            log = _applied(log, changes(log, agent.messages()))

    visible = [one.turn.id for one in log if not one.hidden]
    assert sorted(visible) == sorted(turn.id for turn in agent.branch)
