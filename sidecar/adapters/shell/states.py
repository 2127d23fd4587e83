"""Ways through a shell line, and what one command does to them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

from sidecar.adapters.shell.builtins import (
    SPECIAL_VARIABLE,
    Known,
    Meaning,
    calmed,
    learned,
    options,
    sets,
    touched,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from sidecar.adapters.shell.forms import Simple


class State(NamedTuple):
    """One way through the line, so far.

    `bad`: the last exit code is not 0. `came`, `failed`: the watched command ran, and failed. `calm`: no
    command that only prepares (cd, echo) has failed. `lost`: something on the way was not followed. `known`:
    variables that hold an exit code, and whether it is other than 0.
    """

    bad: bool = False
    came: bool = False
    failed: bool = False
    calm: bool = True
    lost: bool = False
    errexit: bool = False
    pipefail: bool = False
    known: Known = frozenset()


States = frozenset[State]


class Exits:
    """Where ways leave a form: `ended` the shell, `returned` the function, `broken`, `continued` the loop.

    `guarded`: a failure here is asked about (`if`, `&&`, `!`), so that `set -e` does not end the shell.
    """

    def __init__(self, ended: set[State], *, guarded: bool = False) -> None:
        self.ended = ended
        self.returned: set[State] | None = None
        self.broken: set[State] | None = None
        self.continued: set[State] | None = None
        self.guarded = guarded

    def inner(self, *, guarded: bool) -> Exits:
        """The same exits, for a form within."""
        exits = Exits(self.ended, guarded=guarded or self.guarded)
        exits.returned, exits.broken, exits.continued = self.returned, self.broken, self.continued
        return exits


def each(states: Iterable[State], change: Callable[[State], State]) -> States:
    """Every way, changed."""
    return frozenset(map(change, states))


def forked(states: Iterable[State]) -> States:
    """The ways on which a command succeeds, and those on which it fails."""
    states = frozenset(states)
    return each(states, succeeding) | each(states, failing)


def unchanged(state: State) -> State:
    """Leave a way as it is."""
    return state


def succeeding(state: State) -> State:
    """Exit code 0."""
    return state._replace(bad=False)


def failing(state: State) -> State:
    """Another exit code."""
    return state._replace(bad=True)


def negated(state: State) -> State:
    """What `!` does."""
    return state._replace(bad=not state.bad)


def stray(state: State) -> State:
    """Go on through what is not followed."""
    return state._replace(lost=True)


def observed(state: State) -> State:
    """The watched command has just ended."""
    return state._replace(came=True, failed=state.failed or state.bad)


def uneasy(state: State) -> State:
    """A command that only prepares has just ended."""
    return state._replace(calm=state.calm and not state.bad)


def assigning(state: State, form: Simple) -> State:
    """Assignments alone; they end as their last substitution does."""
    bad = state.bad and bool(form.inside)
    if form.inside or sets(form):
        gone = {name.rstrip("+") for name, _ in form.assigned}
        known = frozenset() if sets(form) else frozenset(pair for pair in state.known if pair[0] not in gone)
    else:
        known = learned(state.known, form.assigned, bad=state.bad)
    strange = any(SPECIAL_VARIABLE.fullmatch(name.rstrip("+")) for name, _ in form.assigned)
    return state._replace(bad=bad, known=calmed(known), lost=state.lost or strange)


def touching(state: State, argv: tuple[str, ...]) -> State:
    """A builtin that sets variables."""
    return uneasy(state._replace(known=touched(state.known, argv)))


def optioned(state: State, argv: tuple[str, ...]) -> State:
    """`set`."""
    found = options(argv[1:])
    if found is None:
        return stray(succeeding(state))
    errexit, pipefail = found
    return state._replace(
        bad=False,
        errexit=state.errexit if errexit is None else errexit,
        pipefail=state.pipefail if pipefail is None else pipefail,
    )


def forgetting(state: State, name: str) -> State:
    """A loop assigns a variable; "*": any."""
    kept = () if name == "*" else (pair for pair in state.known if pair[0] != name)
    return state._replace(known=frozenset(kept))


def joined(before: State, end: State, label: str) -> State:
    """Two parts of a pipe as one way; the exit code is that of the later, kept as `label`."""
    return before._replace(
        bad=end.bad,
        came=before.came or end.came,
        failed=before.failed or end.failed,
        calm=before.calm and end.calm,
        lost=before.lost or end.lost,
        known=before.known | {(label, end.bad)} if label else before.known,
    )


EFFECTS: Final[dict[Meaning, Callable[[States, tuple[str, ...]], States]]] = {
    Meaning.PLAIN: lambda states, _: forked(states),
    Meaning.CALM: lambda states, _: each(forked(states), uneasy),
    Meaning.GOOD: lambda states, _: each(states, succeeding),
    Meaning.BAD: lambda states, _: each(states, failing),
    Meaning.LOST: lambda states, _: each(forked(states), stray),
    Meaning.TOUCHES: lambda states, argv: each(forked(states), lambda state: touching(state, argv)),
    Meaning.SET: lambda states, argv: each(states, lambda state: optioned(state, argv)),
}
"""What commands do that only end."""
