"""What becomes of a command's failure: walks through the line with every outcome that a command can have.

One command is watched at a time. Each possible execution of the line is a ShellState, in which every command
may succeed or fail; it records whether the watched command ran and whether it failed. DECIDES requires that
every execution in which it failed ends in a nonzero exit code. A form, a builtin or a variable that is not
followed marks the executions through it as lost, and a lost execution proves nothing. The semantics are those
of bash; zsh differs in nothing used here but `status`, which it does not allow to be assigned.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from msgspec import Struct

from sidecar.kernel.turn import FailureHandling
from sidecar.platform.shell.builtins import (
    CommandMeaning,
    classify_command,
    evaluate_condition,
    forget_pipestatus,
    is_failing_exit,
    sets_variables,
)
from sidecar.platform.shell.forms import (
    AndOrList,
    BackgroundCommand,
    CaseClause,
    CommandSequence,
    ConditionTest,
    FunctionDefinition,
    IfClause,
    InlineScript,
    LoopClause,
    Negation,
    ParsedLine,
    Pipeline,
    ShellForm,
    SimpleCommand,
    Subshell,
    UnknownForm,
)
from sidecar.platform.shell.states import (
    MEANING_TRANSITIONS,
    ExitStates,
    ShellState,
    ShellStates,
    apply_assignments,
    forget_variable,
    fork_states,
    join_pipe_parts,
    keep_state,
    map_states,
    mark_lost,
    mark_observed,
    mark_succeeded,
    negate_exit,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable


STEPS_LIMIT: Final = 5_000
"""Maximum commands times states that are walked for one line; beyond it the result is unknown."""
CALL_DEPTH_LIMIT: Final = 3
"""Maximum nesting of function calls that is followed."""
PIPE_PARTS_LIMIT: Final = 6
"""Maximum parts of a pipeline whose exit codes are tracked for PIPESTATUS."""


class CommandEnding(Struct, frozen=True):
    """What the possible ends of a line say about one command; see kernel.turn.CommandRun."""

    fate: FailureHandling
    implied: bool = False
    blamed: bool = False


class TooManyStatesError(Exception):
    """The line has more states than STEPS_LIMIT allows."""


def command_endings(line: ParsedLine, commands: int) -> tuple[CommandEnding, ...]:
    """What becomes of each command of a line."""
    walk = _ShellWalk(line)
    found: list[CommandEnding] = []
    for at in range(commands):
        try:
            found.append(walk.ending(at))
        except TooManyStatesError:
            found.append(CommandEnding(FailureHandling.UNKNOWN))
    return tuple(found)


class _ShellWalk:
    def __init__(self, line: ParsedLine) -> None:
        self._line = line
        self._watched = -1
        self._left = STEPS_LIMIT
        self._calls = 0
        self._forms: dict[type, Callable[[Any, ShellStates, ExitStates], ShellStates]] = {
            AndOrList: self._and_or,
            BackgroundCommand: lambda form, states, exits: map_states(
                self._apart(form.body, states, exits), mark_succeeded
            ),
            CaseClause: self._case,
            FunctionDefinition: lambda _, states, __: map_states(states, mark_succeeded),
            IfClause: self._if,
            LoopClause: self._loop,
            UnknownForm: lambda _, states, __: map_states(states, mark_lost),
            Negation: lambda form, states, exits: map_states(
                self._go(form.body, states, exits.inner(guarded=True)), negate_exit
            ),
            Pipeline: lambda form, states, exits: self._checked(self._pipe(form.parts, states, exits), exits),
            CommandSequence: self._sequence,
            SimpleCommand: self._simple,
            Subshell: lambda form, states, exits: self._checked(self._apart(form.body, states, exits), exits),
            ConditionTest: lambda form, states, exits: self._test(
                form.text, self._inside(form.inside, states, exits), exits
            ),
        }

    def ending(self, at: int) -> CommandEnding:
        """Walk the line while watching one command."""
        self._watched, self._calls = at, 0
        ended: set[ShellState] = set()
        final = self._go(self._line.body, frozenset({ShellState()}), ExitStates(ended)) | ended
        failed = [state for state in final if state.failed]
        if any(not state.bad and not state.lost for state in failed):
            return CommandEnding(FailureHandling.SWALLOWED)
        if not failed or any(state.lost for state in failed):
            return CommandEnding(FailureHandling.UNKNOWN)
        return CommandEnding(
            FailureHandling.DECIDES,
            implied=all(state.came and not state.lost for state in final if not state.bad or state.lost),
            blamed=all(state.failed for state in final if (state.bad and state.calm) or state.lost),
        )

    def _go(self, form: ShellForm, states: ShellStates, exits: ExitStates) -> ShellStates:
        self._left -= len(states) + 1
        if self._left < 0:
            raise TooManyStatesError
        return self._forms[type(form)](form, states, exits) if states else states

    def _sequence(self, form: CommandSequence, states: ShellStates, exits: ExitStates) -> ShellStates:
        for part in form.parts:
            states = self._go(part, states, exits)
        return states

    def _and_or(self, form: AndOrList, states: ShellStates, exits: ExitStates) -> ShellStates:
        left = self._go(form.left, states, exits.inner(guarded=True))
        on = frozenset(state for state in left if state.bad is not form.both)
        return (left - on) | self._go(form.right, on, exits)

    def _if(self, form: IfClause, states: ShellStates, exits: ExitStates) -> ShellStates:
        asked = self._go(form.condition, states, exits.inner(guarded=True))
        good = frozenset(state for state in asked if not state.bad)
        then = self._go(form.body, good, exits)
        bad = asked - good
        return then | (
            map_states(bad, mark_succeeded)
            if form.otherwise is None
            else self._go(form.otherwise, bad, exits)
        )

    def _case(self, form: CaseClause, states: ShellStates, exits: ExitStates) -> ShellStates:
        states = self._inside(form.inside, states, exits)
        none = map_states(states, mark_succeeded)
        return none.union(*(self._go(body, states, exits) for body in form.bodies))

    def _loop(self, form: LoopClause, states: ShellStates, exits: ExitStates) -> ShellStates:
        """Repeat the loop until no new state appears."""
        inner = exits.inner(guarded=False)
        inner.broken, inner.continued = set(), set()
        waiting = self._inside(form.inside, states, exits)
        if form.name:
            waiting = map_states(waiting, lambda state: forget_variable(state, form.name))
        seen: set[ShellState] = set()
        done = set(map_states(waiting, mark_succeeded))
        while waiting:
            seen |= waiting
            if form.condition is not None:
                asked = self._go(form.condition, waiting, inner.inner(guarded=True))
                done |= asked | map_states(asked, mark_succeeded)
                waiting = frozenset(state for state in asked if not state.bad)
            after = self._go(form.body, waiting, inner) | map_states(inner.continued, mark_succeeded)
            done |= after
            waiting = after - seen
        return frozenset(done) | map_states(inner.broken, mark_succeeded)

    def _apart(
        self,
        form: ShellForm,
        states: ShellStates,
        exits: ExitStates,
        change: Callable[[ShellState], ShellState] = keep_state,
    ) -> ShellStates:
        """Walk a form in a shell of its own: what it sets is gone afterwards."""
        found: set[ShellState] = set()
        for state in states:
            ended: set[ShellState] = set()
            inner = self._go(form, frozenset({change(state)}), ExitStates(ended, guarded=exits.guarded))
            found |= {
                end._replace(
                    errexit=state.errexit, pipefail=state.pipefail, known=forget_pipestatus(state.known)
                )
                for end in inner | ended
            }
        return frozenset(found)

    def _inside(self, forms: Iterable[ShellForm], states: ShellStates, exits: ExitStates) -> ShellStates:
        """Walk substitutions; bash does not let them inherit `set -e`."""
        for form in forms:
            states = self._apart(form, states, exits, lambda state: state._replace(errexit=False))
        return states

    def _pipe(self, parts: tuple[ShellForm, ...], states: ShellStates, exits: ExitStates) -> ShellStates:
        """Walk a pipeline with every combination of its parts' outcomes."""
        found: set[ShellState] = set()
        keep = self._line.pipestatus and len(parts) <= PIPE_PARTS_LIMIT
        for state in states:
            start = state._replace(bad=False, known=forget_pipestatus(state.known))
            ways = {(start, False)}
            for number, part in enumerate(parts):
                ends = self._apart(part, frozenset({start}), exits)
                label = f"PIPESTATUS[{number}]" if keep else ""
                ways = {
                    (join_pipe_parts(way, end, label), worst or end.bad)
                    for way, worst in ways
                    for end in ends
                }
                self._left -= len(ways)
            found |= {way._replace(bad=worst if state.pipefail else way.bad) for way, worst in ways}
        return frozenset(found)

    def _checked(self, states: ShellStates, exits: ExitStates) -> ShellStates:
        """Move the states that `set -e` ends here to the exits."""
        if exits.guarded:
            return states
        ends = {state for state in states if state.bad and state.errexit}
        exits.ended |= ends
        return states - ends

    def _test(self, text: str, states: ShellStates, exits: ExitStates) -> ShellStates:
        found: set[ShellState] = set()
        for state in states:
            truth = evaluate_condition(text, state.known, bad=state.bad)
            known = frozenset() if truth is None and "((" in text else forget_pipestatus(state.known)
            found |= {
                state._replace(bad=bad, known=known)
                for bad in (False, True)
                if truth is None or bad is not truth
            }
        return self._checked(frozenset(found), exits)

    def _simple(self, form: SimpleCommand, states: ShellStates, exits: ExitStates) -> ShellStates:
        states = self._inside(form.inside, states, exits)
        if not form.argv:
            return self._checked(map_states(states, lambda state: apply_assignments(state, form)), exits)
        if sets_variables(form):
            states = map_states(states, lambda state: state._replace(known=frozenset()))
        done = map_states(
            self._does(form, states, exits),
            lambda state: state._replace(known=forget_pipestatus(state.known)),
        )
        return self._checked(map_states(done, mark_observed) if form.at == self._watched else done, exits)

    def _does(self, form: SimpleCommand, states: ShellStates, exits: ExitStates) -> ShellStates:
        """Apply the effect of a command on the shell."""
        if form.script is not None and form.fixed:
            return self._script(form.script, states)
        if form.argv[0] in self._line.functions or not form.fixed:
            return self._call(self._line.functions.get(form.argv[0]), states, exits)
        argv, what = classify_command(form.argv)
        if what is CommandMeaning.LEAVES:
            return self._leaves(argv, states, exits)
        if what is CommandMeaning.TEST:
            return self._test(" ".join(argv), states, exits.inner(guarded=True))
        if what is CommandMeaning.EXEC:
            watching = form.at == self._watched
            exits.ended |= map_states(fork_states(states), mark_observed if watching else keep_state)
            return frozenset()
        return MEANING_TRANSITIONS[what](states, argv)

    def _leaves(self, argv: tuple[str, ...], states: ShellStates, exits: ExitStates) -> ShellStates:
        """Apply `exit`, `return`, `break` and `continue`."""
        doors = {
            "exit": exits.ended,
            "return": exits.returned,
            "break": exits.broken,
            "continue": exits.continued,
        }
        door = doors[argv[0]]
        if door is None or (argv[0] in {"break", "continue"} and argv[1:]):
            return map_states(fork_states(states), mark_lost)
        for state in states:
            bad = is_failing_exit(argv, state.known, bad=state.bad)
            door |= map_states(fork_states({state}), mark_lost) if bad is None else {state._replace(bad=bad)}
        return frozenset()

    def _call(self, body: ShellForm | None, states: ShellStates, exits: ExitStates) -> ShellStates:
        """Walk the body of a function."""
        if body is None or self._calls >= CALL_DEPTH_LIMIT:
            return map_states(fork_states(states), mark_lost)
        inner = ExitStates(exits.ended, guarded=exits.guarded)
        inner.returned = set()
        self._calls += 1
        done = self._go(body, states, inner)
        self._calls -= 1
        return done | inner.returned

    def _script(self, script: InlineScript, states: ShellStates) -> ShellStates:
        """Walk a script in a shell of its own, which may also fail to start."""

        def fresh(state: ShellState) -> ShellState:
            return state._replace(
                bad=False, errexit=script.errexit, pipefail=script.pipefail, known=frozenset()
            )

        started = self._apart(script.body, states, ExitStates(set()), fresh)
        return started | map_states(states, lambda state: state._replace(bad=True, calm=False))
