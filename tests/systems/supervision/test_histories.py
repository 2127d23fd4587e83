"""Whatever legally happens to a session, the laws hold after every step.

Only legal histories are drawn: an agent stops when it was at work, a continuation arrives or gets lost after
it was said, a person may type at any time. What a world proves is decided by support.histories alone.
"""

from __future__ import annotations

from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule
from msgspec.structs import replace

from sidecar.kernel.effects import Continue
from sidecar.kernel.events import AgentStopped
from sidecar.kernel.goal import LIFETIME_CONTINUATIONS, Goal, GoalStatus
from sidecar.kernel.orders import CommandName, parse_order
from sidecar.kernel.session import Session, SessionKey
from sidecar.kernel.settings import Settings
from sidecar.systems.supervision.policy.orders import Typed, carry_out_order
from sidecar.systems.supervision.policy.sessions import (
    fork_session,
    mark_agent_active,
    reset_after_prompt,
    resume_session,
    take_up_goal,
)
from support.cases import KEY, stopped, task
from support.histories import (
    BY_HOST_RESUME_PAUSED,
    BY_PROMPT,
    BY_RETRY,
    BY_STOP,
    BY_WORD,
    GOALS,
    Line,
    Moves,
    Rounds,
    Work,
    bears,
    proved,
    rarely,
    rounds,
    stretches,
)
from support.play import Played, World, play

HOST_CAP = 8
"""Continuations in a row without a tool call that Claude Code allows."""
LINES = 3
"""Sessions at most: forks, and forks of forks."""
UNASKED = 3
"""Continuations in a row without a goal, where the user named no number."""
TYPED = [
    *(("speak",), ("speak",), ("status",), ("clear",), ("pause",), ("pause", "resume"), ("set",)),
    *(("1",), ("3",), ("20",), ("100",)),
]
TAKEN_UP = [("set",), ("set",), ("set",), ("resume",), ("100",), ("clear", "set"), ("speak",), ("speak",)]
"""What is typed where no goal is active, before the agent goes on."""


class Histories(RuleBasedStateMachine):
    """Draws what hosts, agents, judges and people do."""

    def __init__(self) -> None:
        super().__init__()
        self.lines: list[Line] = [Line(Session(key=KEY))]
        self.now = 0
        self.at = 1000.0
        self.ids: set[str] = set()
        self.settings = Settings()

    @property
    def line(self) -> Line:
        return self.lines[self.now]

    @initialize(
        shadow=rarely(),
        budget=st.sampled_from([1, 2, 16, 100]),
        paused=rarely(),
        goal=st.sampled_from(["", *GOALS]),
        worn=rarely(),
    )
    def a_session_begins(self, *, shadow: bool, budget: int, paused: bool, goal: str, worn: bool) -> None:
        self.settings = Settings(
            mode="shadow" if shadow else "on",
            max_attempts=budget,
            goal_max_seconds=10**6,
            resume_paused=paused,
        )
        if not goal:
            return
        self._goal_is_set(goal)
        if worn and self.line.session.goal:  # it was resumed many times
            old = replace(self.line.session.goal, lifetime=LIFETIME_CONTINUATIONS - 3)
            self.line.session = replace(self.line.session, goal=old)
            self.line.lifetime = old.lifetime

    # what people do

    @rule(words=st.sampled_from(TYPED), goal=st.sampled_from(GOALS))
    def a_person_types(self, words: tuple[str, ...], goal: str) -> None:
        for word in words:
            if word == "speak":
                self._speak(works=True)
            elif word.isdigit():
                self._budget_is_typed(word)
            elif word == "set" or self.line.session.goal is None:
                self._goal_is_set(goal)
            else:
                self._word_is_typed(word)

    def _budget_is_typed(self, number: str) -> None:
        before = self.line.session
        self._type("retry", number)
        self._moved_along(before, BY_RETRY)

    def _goal_is_set(self, goal: str) -> None:
        self._type("goal", goal)
        line = self.line
        line.arrived = line.lifetime = 0
        line.unsettled.clear()
        line.at_work = True
        assert line.status is GoalStatus.ACTIVE

    def _word_is_typed(self, word: str) -> None:
        before = self.line.session
        self._type("goal", word)
        self._moved_along(before, BY_WORD[word])
        if word == "clear" and before.goal and before.goal.status is not GoalStatus.CLEARED:
            self.line.unsettled.clear()

    def _type(self, name: CommandName, arguments: str) -> None:
        self._speak(works=False)
        order, typed = parse_order(name, arguments), Typed(self.at, 0)
        self.line.session, reply = carry_out_order(self.line.session, self.settings, order, typed)
        assert not reply.refused or (self.line.status, arguments) == (GoalStatus.EXHAUSTED, "resume")

    def _speak(self, *, works: bool) -> None:
        line, pending = self.line, self.line.session.pending
        before = line.session = reset_after_prompt(line.session, self.at)
        if works:
            line.session = take_up_goal(before, self.settings)
            self._moved_along(before, BY_PROMPT)
        line.unasked = line.blocks = 0
        line.said, line.at_work = "", works  # what is not delivered by now never will be
        if pending and not pending.for_goal:
            line.unsettled.discard(pending.id)

    # what the host does

    @rule(which=st.integers(0, 2), what=st.sampled_from(["front", "resume", "fork"]))
    def the_host_brings_a_session_to_the_front(self, which: int, what: str) -> None:
        self.now = which % len(self.lines)
        if what == "resume":
            self._resume()
        elif what == "fork" and len(self.lines) < LINES:
            self._fork()

    def _resume(self) -> None:
        line, before = self.line, self.line.session
        line.said, line.at_work = "", False
        line.session = resume_session(before, self.settings)
        self._moved_along(before, BY_HOST_RESUME_PAUSED if self.settings.resume_paused else set())
        if before.goal and before.goal.status is GoalStatus.ACTIVE:
            line.arrived = line.outstanding

    def _fork(self) -> None:
        parent = self.line.session
        key = SessionKey(KEY.host, f"s{len(self.lines) + 1}")
        child = Line(fork_session(parent, key, "/fork"), lifetime=parent.goal.lifetime if parent.goal else 0)
        assert (child.session.key, child.session.pending) == (key, None)
        assert child.status in (None, GoalStatus.ACTIVE, GoalStatus.PAUSED, GoalStatus.STALLED)
        self.lines.append(child)

    # what the agent does

    @rule(first=st.sampled_from(TAKEN_UP), goal=st.sampled_from(GOALS), stretch=stretches)
    def the_agent_works_and_stops(self, first: tuple[str, ...], goal: str, stretch: list[Work]) -> None:
        for work in stretch:
            if self.line.status is not GoalStatus.ACTIVE:
                self.a_person_types(first, goal)
            self._set_to_work(lost=work.lost)
            self.at += work.seconds
            background = (task(f"b{self.line.stops}"),) if work.busy else ()
            stop = stopped(read_only=work.plan, headless=work.headless, background=background)
            self._stop(work.world, stop)

    @rule(rounds=rounds)
    def the_agent_goes_round(self, rounds: Rounds) -> None:
        for _ in range(rounds.number):
            self._set_to_work(lost=False)
            self._stop(rounds.world(self.line.stops), stopped())
            if not self.line.said:
                return

    def _set_to_work(self, *, lost: bool) -> None:
        line = self.line
        if line.said and lost:  # a background task ended, and the host itself set the agent to work
            line.said = ""
            line.session = mark_agent_active(line.session, self.at)
        elif line.said:
            self._deliver()
        elif not line.at_work:
            self._speak(works=True)

    def _deliver(self) -> None:
        line, pending = self.line, self.line.session.pending
        assert pending is not None
        line.shown.add(line.said)
        line.said = ""
        line.blocks += 1
        if pending.for_goal:
            line.arrived += 1
            line.lifetime += 1
        else:
            line.unasked += 1

    def _stop(self, world: World, stop: AgentStopped) -> None:
        line, before = self.line, self.line.session
        line.stops += 1
        line.at_work = False
        if world.turn.calls_since_arrival:
            line.blocks = 0
        turn = replace(world.turn, arrived=tuple(sorted(line.shown)), last_message_id=f"m{line.stops}")
        world = replace(world, turn=turn)
        played = play(before, world, stop=stop, settings=self.settings, at=self.at)
        line.session = played.session
        if played.orders:
            line.unsettled.clear()
        self._moved_along(before, BY_STOP)
        done = line.status in (GoalStatus.ACHIEVED, GoalStatus.JUDGED)
        if before.goal and done and before.goal.status is not line.status:
            assert proved(world, played, before.goal.condition)
            assert line.status is GoalStatus.JUDGED or bears(played, before.goal)
            assert line.status is GoalStatus.ACHIEVED or played.case is not None
        if isinstance(played.ruling, Continue):
            self._said(played, before.goal)

    def _said(self, played: Played, before: Goal | None) -> None:
        line, said, pending = self.line, played.sent_back.feedback, played.session.pending
        assert self.settings.mode == "on"
        assert pending is not None
        assert pending.id == said.id
        assert said.id not in self.ids
        self.ids.add(said.id)
        line.said = said.id
        line.unsettled.add(said.id)
        assert pending.for_goal == (before is not None and before.status is GoalStatus.ACTIVE)
        assert before is None or before.status is not GoalStatus.PAUSED
        used = line.arrived if pending.for_goal else line.unasked
        budget = line.session.retry or (self.settings.max_attempts if pending.for_goal else UNASKED)
        assert (said.number, said.budget) == (used + 1, budget)
        assert used < budget
        if pending.for_goal:
            line.allowed = budget

    def _moved_along(self, before: Session, table: Moves) -> None:
        old, new = before.goal, self.line.session.goal
        assert (old is None) == (new is None)
        if old is None or new is None:
            return
        assert old.status is new.status or (old.status, new.status) in table
        assert (old.id, old.condition, old.checks) == (new.id, new.condition, new.checks)
        assert old.lifetime <= new.lifetime

    # what always holds

    @invariant()
    def exactly_what_arrived_is_charged(self) -> None:
        for line in self.lines:
            goal = line.session.goal
            if goal is not None and goal.status is not GoalStatus.CLEARED:
                assert goal.spent.continuations == line.arrived - line.outstanding
                assert goal.lifetime == line.lifetime - line.outstanding

    @invariant()
    def no_budget_is_overdrawn(self) -> None:
        for line in self.lines:
            goal = line.session.goal
            assert goal is None or goal.spent.continuations <= line.allowed
            assert goal is None or goal.lifetime <= LIFETIME_CONTINUATIONS

    @invariant()
    def at_most_one_continuation_is_on_its_way(self) -> None:
        for line in self.lines:
            pending = line.session.pending
            assert line.unsettled == ({pending.id} if pending else set())

    @invariant()
    def the_hosts_own_cap_never_bites(self) -> None:
        assert all(line.blocks < HOST_CAP for line in self.lines)


TestHistories = Histories.TestCase
TestHistories.settings = hypothesis_settings(stateful_step_count=40)
