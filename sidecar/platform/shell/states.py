"""States of the possible executions of a shell line, and what one command does to them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

from sidecar.platform.shell.builtins import (
    SPECIAL_VARIABLE,
    CommandMeaning,
    KnownExitCodes,
    forget_pipestatus,
    forget_set_variables,
    learn_assignments,
    parse_set_options,
    sets_variables,
)
from sidecar.platform.shell.forms import SimpleCommand

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable


class ShellState(NamedTuple):
    """One possible execution of the line, so far.

    `bad`: the last exit code is nonzero. `came`, `failed`: the watched command ran, and failed. `calm`: no
    command that only prepares (cd, echo) has failed. `lost`: something on the way was not followed. `known`:
    variables that hold an exit code, and whether it is nonzero.
    """

    bad: bool = False
    came: bool = False
    failed: bool = False
    calm: bool = True
    lost: bool = False
    errexit: bool = False
    pipefail: bool = False
    known: KnownExitCodes = frozenset()


ShellStates = frozenset[ShellState]


class ExitStates:
    """States that leave the shell (`ended`), the function (`returned`), the loop (`broken`, `continued`).

    `guarded`: a failure here is tested (`if`, `&&`, `!`), so that `set -e` does not end the shell.
    """

    def __init__(self, ended: set[ShellState], *, guarded: bool = False) -> None:
        self.ended = ended
        self.returned: set[ShellState] | None = None
        self.broken: set[ShellState] | None = None
        self.continued: set[ShellState] | None = None
        self.guarded = guarded

    def inner(self, *, guarded: bool) -> ExitStates:
        """The same exits, for a nested form."""
        exits = ExitStates(self.ended, guarded=guarded or self.guarded)
        exits.returned, exits.broken, exits.continued = self.returned, self.broken, self.continued
        return exits


def map_states(states: Iterable[ShellState], change: Callable[[ShellState], ShellState]) -> ShellStates:
    """Apply a change to every state."""
    return frozenset(map(change, states))


def fork_states(states: Iterable[ShellState]) -> ShellStates:
    """The states in which a command succeeds, and those in which it fails."""
    states = frozenset(states)
    return map_states(states, mark_succeeded) | map_states(states, mark_failed)


def keep_state(state: ShellState) -> ShellState:
    """Return the state unchanged."""
    return state


def mark_succeeded(state: ShellState) -> ShellState:
    """Set exit code 0."""
    return state._replace(bad=False)


def mark_failed(state: ShellState) -> ShellState:
    """Set a nonzero exit code."""
    return state._replace(bad=True)


def negate_exit(state: ShellState) -> ShellState:
    """Apply `!`."""
    return state._replace(bad=not state.bad)


def mark_lost(state: ShellState) -> ShellState:
    """Record that something was not followed."""
    return state._replace(lost=True)


def mark_observed(state: ShellState) -> ShellState:
    """Record that the watched command has just ended."""
    return state._replace(came=True, failed=state.failed or state.bad)


def note_preparation_end(state: ShellState) -> ShellState:
    """Record that a command that only prepares has just ended."""
    return state._replace(calm=state.calm and not state.bad)


def apply_assignments(state: ShellState, form: SimpleCommand) -> ShellState:
    """Apply assignments without a command; the exit code is that of their last substitution."""
    bad = state.bad and bool(form.inside)
    if form.inside or sets_variables(form):
        gone = {name.rstrip("+") for name, _ in form.assigned}
        known = (
            frozenset()
            if sets_variables(form)
            else frozenset(pair for pair in state.known if pair[0] not in gone)
        )
    else:
        known = learn_assignments(state.known, form.assigned, bad=state.bad)
    strange = any(SPECIAL_VARIABLE.fullmatch(name.rstrip("+")) for name, _ in form.assigned)
    return state._replace(bad=bad, known=forget_pipestatus(known), lost=state.lost or strange)


def apply_variable_builtin(state: ShellState, argv: tuple[str, ...]) -> ShellState:
    """Apply a builtin that sets variables."""
    return note_preparation_end(state._replace(known=forget_set_variables(state.known, argv)))


def apply_set_options(state: ShellState, argv: tuple[str, ...]) -> ShellState:
    """Apply `set`."""
    found = parse_set_options(argv[1:])
    if found is None:
        return mark_lost(mark_succeeded(state))
    errexit, pipefail = found
    return state._replace(
        bad=False,
        errexit=state.errexit if errexit is None else errexit,
        pipefail=state.pipefail if pipefail is None else pipefail,
    )


def forget_variable(state: ShellState, name: str) -> ShellState:
    """Forget a variable that a loop assigns; "*" forgets all."""
    kept = () if name == "*" else (pair for pair in state.known if pair[0] != name)
    return state._replace(known=frozenset(kept))


def join_pipe_parts(before: ShellState, end: ShellState, label: str) -> ShellState:
    """Combine two parts of a pipeline; the exit code is that of the later, stored as `label` too."""
    return before._replace(
        bad=end.bad,
        came=before.came or end.came,
        failed=before.failed or end.failed,
        calm=before.calm and end.calm,
        lost=before.lost or end.lost,
        known=before.known | {(label, end.bad)} if label else before.known,
    )


MEANING_TRANSITIONS: Final[dict[CommandMeaning, Callable[[ShellStates, tuple[str, ...]], ShellStates]]] = {
    CommandMeaning.PLAIN: lambda states, _: fork_states(states),
    CommandMeaning.CALM: lambda states, _: map_states(fork_states(states), note_preparation_end),
    CommandMeaning.GOOD: lambda states, _: map_states(states, mark_succeeded),
    CommandMeaning.BAD: lambda states, _: map_states(states, mark_failed),
    CommandMeaning.LOST: lambda states, _: map_states(fork_states(states), mark_lost),
    CommandMeaning.TOUCHES: lambda states, argv: map_states(
        fork_states(states), lambda state: apply_variable_builtin(state, argv)
    ),
    CommandMeaning.SET: lambda states, argv: map_states(states, lambda state: apply_set_options(state, argv)),
}
"""What commands of each meaning do to the states; control flow (exit, exec, test) is in `walk`."""
