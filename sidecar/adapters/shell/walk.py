"""What becomes of a command's failure: the line is walked through with every end that a command can have.

For one command at a time: each way through the line is a State, in which every command may succeed or fail;
the state remembers whether the watched command came to run and whether it failed. DECIDES needs every way on
which it failed to end in an exit code other than 0. A form, a builtin or a variable that is not followed
marks the ways through it as lost, and what is lost proves nothing. The words are those of bash; zsh differs
in nothing used here but `status`, which it does not let be assigned.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from msgspec import Struct

from sidecar.adapters.shell.builtins import Meaning, calmed, condition, exit_value, meaning, sets
from sidecar.adapters.shell.forms import (
    AndOr,
    Behind,
    Case,
    Define,
    Form,
    If,
    Line,
    Loop,
    Lost,
    Not,
    Pipe,
    Script,
    Seq,
    Simple,
    Sub,
    Test,
)
from sidecar.adapters.shell.states import (
    EFFECTS,
    Exits,
    State,
    States,
    assigning,
    each,
    forgetting,
    forked,
    joined,
    negated,
    observed,
    stray,
    succeeding,
    unchanged,
)
from sidecar.model.command import Fate

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

STEPS: Final = 5_000
"""Commands times ways that are gone through for one line; beyond it nothing is known."""
CALLS: Final = 3
"""Functions within functions."""
PARTS: Final = 6
"""Parts of a pipe whose ends are kept apart for PIPESTATUS."""


class Ending(Struct, frozen=True):
    """What the ends of a line say about one command; see model.command.Run."""

    fate: Fate
    implied: bool = False
    blamed: bool = False


class TooLongError(Exception):
    """The line has more ways than we go through."""


def endings(line: Line, commands: int) -> tuple[Ending, ...]:
    """What becomes of each command of a line."""
    walk = _Walk(line)
    found: list[Ending] = []
    for at in range(commands):
        try:
            found.append(walk.ending(at))
        except TooLongError:
            found.append(Ending(Fate.UNKNOWN))
    return tuple(found)


class _Walk:
    def __init__(self, line: Line) -> None:
        self._line = line
        self._watched = -1
        self._left = STEPS
        self._calls = 0
        self._forms: dict[type, Callable[[Any, States, Exits], States]] = {
            AndOr: self._and_or,
            Behind: lambda form, states, exits: each(self._apart(form.body, states, exits), succeeding),
            Case: self._case,
            Define: lambda _, states, __: each(states, succeeding),
            If: self._if,
            Loop: self._loop,
            Lost: lambda _, states, __: each(states, stray),
            Not: lambda form, states, exits: each(
                self._go(form.body, states, exits.inner(guarded=True)), negated
            ),
            Pipe: lambda form, states, exits: self._checked(self._pipe(form.parts, states, exits), exits),
            Seq: self._sequence,
            Simple: self._simple,
            Sub: lambda form, states, exits: self._checked(self._apart(form.body, states, exits), exits),
            Test: lambda form, states, exits: self._test(
                form.text, self._inside(form.inside, states, exits), exits
            ),
        }

    def ending(self, at: int) -> Ending:
        """Walk the line with an eye on one command."""
        self._watched, self._calls = at, 0
        ended: set[State] = set()
        final = self._go(self._line.body, frozenset({State()}), Exits(ended)) | ended
        failed = [state for state in final if state.failed]
        if any(not state.bad and not state.lost for state in failed):
            return Ending(Fate.SWALLOWED)
        if not failed or any(state.lost for state in failed):
            return Ending(Fate.UNKNOWN)
        return Ending(
            Fate.DECIDES,
            implied=all(state.came and not state.lost for state in final if not state.bad or state.lost),
            blamed=all(state.failed for state in final if (state.bad and state.calm) or state.lost),
        )

    def _go(self, form: Form, states: States, exits: Exits) -> States:
        self._left -= len(states) + 1
        if self._left < 0:
            raise TooLongError
        return self._forms[type(form)](form, states, exits) if states else states

    def _sequence(self, form: Seq, states: States, exits: Exits) -> States:
        for part in form.parts:
            states = self._go(part, states, exits)
        return states

    def _and_or(self, form: AndOr, states: States, exits: Exits) -> States:
        left = self._go(form.left, states, exits.inner(guarded=True))
        on = frozenset(state for state in left if state.bad is not form.both)
        return (left - on) | self._go(form.right, on, exits)

    def _if(self, form: If, states: States, exits: Exits) -> States:
        asked = self._go(form.condition, states, exits.inner(guarded=True))
        good = frozenset(state for state in asked if not state.bad)
        then = self._go(form.body, good, exits)
        bad = asked - good
        return then | (
            each(bad, succeeding) if form.otherwise is None else self._go(form.otherwise, bad, exits)
        )

    def _case(self, form: Case, states: States, exits: Exits) -> States:
        states = self._inside(form.inside, states, exits)
        none = each(states, succeeding)
        return none.union(*(self._go(body, states, exits) for body in form.bodies))

    def _loop(self, form: Loop, states: States, exits: Exits) -> States:
        """Go round until no new state comes."""
        inner = exits.inner(guarded=False)
        inner.broken, inner.continued = set(), set()
        waiting = self._inside(form.inside, states, exits)
        if form.name:
            waiting = each(waiting, lambda state: forgetting(state, form.name))
        seen: set[State] = set()
        done = set(each(waiting, succeeding))
        while waiting:
            seen |= waiting
            if form.condition is not None:
                asked = self._go(form.condition, waiting, inner.inner(guarded=True))
                done |= asked | each(asked, succeeding)
                waiting = frozenset(state for state in asked if not state.bad)
            after = self._go(form.body, waiting, inner) | each(inner.continued, succeeding)
            done |= after
            waiting = after - seen
        return frozenset(done) | each(inner.broken, succeeding)

    def _apart(
        self, form: Form, states: States, exits: Exits, change: Callable[[State], State] = unchanged
    ) -> States:
        """Go through a form in a shell of its own: what it sets is gone afterwards."""
        found: set[State] = set()
        for state in states:
            ended: set[State] = set()
            inner = self._go(form, frozenset({change(state)}), Exits(ended, guarded=exits.guarded))
            found |= {
                end._replace(errexit=state.errexit, pipefail=state.pipefail, known=calmed(state.known))
                for end in inner | ended
            }
        return frozenset(found)

    def _inside(self, forms: Iterable[Form], states: States, exits: Exits) -> States:
        """Substitutions; bash does not let them inherit `set -e`."""
        for form in forms:
            states = self._apart(form, states, exits, lambda state: state._replace(errexit=False))
        return states

    def _pipe(self, parts: tuple[Form, ...], states: States, exits: Exits) -> States:
        """Every combination of how the parts end."""
        found: set[State] = set()
        keep = self._line.pipestatus and len(parts) <= PARTS
        for state in states:
            start = state._replace(bad=False, known=calmed(state.known))
            ways = {(start, False)}
            for number, part in enumerate(parts):
                ends = self._apart(part, frozenset({start}), exits)
                label = f"PIPESTATUS[{number}]" if keep else ""
                ways = {(joined(way, end, label), worst or end.bad) for way, worst in ways for end in ends}
                self._left -= len(ways)
            found |= {way._replace(bad=worst if state.pipefail else way.bad) for way, worst in ways}
        return frozenset(found)

    def _checked(self, states: States, exits: Exits) -> States:
        """Take out the ways that `set -e` ends here."""
        if exits.guarded:
            return states
        ends = {state for state in states if state.bad and state.errexit}
        exits.ended |= ends
        return states - ends

    def _test(self, text: str, states: States, exits: Exits) -> States:
        found: set[State] = set()
        for state in states:
            truth = condition(text, state.known, bad=state.bad)
            known = frozenset() if truth is None and "((" in text else calmed(state.known)
            found |= {
                state._replace(bad=bad, known=known)
                for bad in (False, True)
                if truth is None or bad is not truth
            }
        return self._checked(frozenset(found), exits)

    def _simple(self, form: Simple, states: States, exits: Exits) -> States:
        states = self._inside(form.inside, states, exits)
        if not form.argv:
            return self._checked(each(states, lambda state: assigning(state, form)), exits)
        if sets(form):
            states = each(states, lambda state: state._replace(known=frozenset()))
        done = each(self._does(form, states, exits), lambda state: state._replace(known=calmed(state.known)))
        return self._checked(each(done, observed) if form.at == self._watched else done, exits)

    def _does(self, form: Simple, states: States, exits: Exits) -> States:
        """What a command does to the shell."""
        if form.script is not None and form.fixed:
            return self._script(form.script, states)
        if form.argv[0] in self._line.functions or not form.fixed:
            return self._call(self._line.functions.get(form.argv[0]), states, exits)
        argv, what = meaning(form.argv)
        if what is Meaning.LEAVES:
            return self._leaves(argv, states, exits)
        if what is Meaning.TEST:
            return self._test(" ".join(argv), states, exits.inner(guarded=True))
        if what is Meaning.EXEC:
            watching = form.at == self._watched
            exits.ended |= each(forked(states), observed if watching else unchanged)
            return frozenset()
        return EFFECTS[what](states, argv)

    def _leaves(self, argv: tuple[str, ...], states: States, exits: Exits) -> States:
        """`exit`, `return`, `break` and `continue`."""
        doors = {
            "exit": exits.ended,
            "return": exits.returned,
            "break": exits.broken,
            "continue": exits.continued,
        }
        door = doors[argv[0]]
        if door is None or (argv[0] in {"break", "continue"} and argv[1:]):
            return each(forked(states), stray)
        for state in states:
            bad = exit_value(argv, state.known, bad=state.bad)
            door |= each(forked({state}), stray) if bad is None else {state._replace(bad=bad)}
        return frozenset()

    def _call(self, body: Form | None, states: States, exits: Exits) -> States:
        """Go through a function."""
        if body is None or self._calls >= CALLS:
            return each(forked(states), stray)
        inner = Exits(exits.ended, guarded=exits.guarded)
        inner.returned = set()
        self._calls += 1
        done = self._go(body, states, inner)
        self._calls -= 1
        return done | inner.returned

    def _script(self, script: Script, states: States) -> States:
        """Go through a line in a shell of its own, which may also fail to start."""

        def fresh(state: State) -> State:
            return state._replace(
                bad=False, errexit=script.errexit, pipefail=script.pipefail, known=frozenset()
            )

        started = self._apart(script.body, states, Exits(set()), fresh)
        return started | each(states, lambda state: state._replace(bad=True, calm=False))
