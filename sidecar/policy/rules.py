"""What a turn proves by itself, without a model. The three antipatterns, and when they are certain.

A finding is certain only when the structure of the turn carries it (a failed command, an open to-do) and
the wording agrees; wording alone makes a suspicion, which a judge may look at. Any sign of a legitimate
stop turns certainty into suspicion. Wording is English for now.
"""

from __future__ import annotations

import re

from msgspec import Struct

from sidecar.model.claim import Said, Standing
from sidecar.model.command import Fate
from sidecar.model.gate import Kind
from sidecar.model.turn import Turn
from sidecar.policy.claims.edits import edits
from sidecar.policy.claims.proof import Proof, Showing, Shown, proof
from sidecar.policy.claims.wording import QUOTED, claims_pass, utterances
from sidecar.policy.lack import Lack

__all__ = ["Finding", "claims_pass", "findings"]

ASKS_TO_GO_ON = re.compile(
    r"\b(shall i|should i|do you want me to|would you like me to|want me to"
    r"|let me know if (you('d| would) like|you want) me to)"
    r"\s+(continue|proceed|go ahead|keep going|carry on|finish|run the tests)\b",
    re.IGNORECASE,
)
ASKS_PERMISSION = re.compile(
    r"\b(shall i|should i|do you want me to|would you like me to|want me to|may i)\b", re.IGNORECASE
)
NAMES_REST = re.compile(
    r"^[ \t]*(?:[-*] \[ \] \S.*"
    r"|(?:#+[ \t]*)?\**(?:remaining|still to do|to ?do|next steps|not (?:yet )?(?:done|implemented))\b.*)",
    re.IGNORECASE | re.MULTILINE,
)
LEGITIMATE = re.compile(
    r"\b(credential|password|secret|api key|token|log ?in|permission|approv"
    r"|delet|destro|drop|wipe|force|push|deploy|publish|release|production|prod|merge"
    r"|migrat|overwrit|irreversibl|cost|paid|purchas|billing"
    r"|which (one|option|approach|of)|do you prefer|could you (clarify|confirm)|waiting for"
    r"|blocked|ambiguous)",
    re.IGNORECASE,
)


class Finding(Struct, frozen=True):
    """What a rule saw, and whether that alone is enough to send the agent back."""

    certain: bool
    lack: Lack


def findings(turn: Turn) -> tuple[Finding, ...]:
    """Every finding of this turn, certain ones first."""
    found = [
        finding
        for rule in (false_complete, stopped_with_todos, permission_seeking)
        if (finding := rule(turn))
    ]
    return tuple(sorted(found, key=lambda finding: not finding.certain))


def false_complete(turn: Turn) -> Finding | None:
    """The message says that tests pass. Certain when the exit code of the last test run shows a failure.

    A run whose end is hidden but whose summary says that tests passed is no reason to ask, nor one of a part
    where the message does not speak of all, nor one that went out of date by a change to texts for people.
    """
    claim = next((each for each in utterances(turn.last_message) if each.said is Said.TESTS_PASS), None)
    if claim is None:
        return None
    found = proof(turn, Kind.TESTS, claim.text)
    showing = found.showing
    if showing is None:
        return _unproved("you say that tests pass, and this turn ran none")
    if found.standing is Standing.CONTRADICTED:
        said = f"you say that tests pass; {found.because}"
        then = "Make that run pass, then run it again."
        lack = Lack(kind="false-complete", missing=(said,), next_step=then)
        return Finding(certain=showing.certain, lack=lack)
    if found.standing is Standing.CONFIRMED or _harmless(turn, found, showing, whole=claim.whole):
        return None
    return _unproved(found.because)


def _harmless(turn: Turn, found: Proof, showing: Showing, *, whole: bool) -> bool:
    if found.stale:
        return not any(place > showing.at for place in edits(turn, documents=False))
    return (
        showing.shown is Shown.STOPPED
        or (showing.shown is Shown.PART and not whole)
        or (showing.shown is Shown.HIDDEN and (showing.looks_good or _only_silent(showing)))
    )


def _only_silent(showing: Showing) -> bool:
    """Whether nothing is amiss with a run but that its output cannot be seen."""
    run, call = showing.run, showing.call
    return run.silenced and run.implied and run.fate is Fate.DECIDES and call.exit_code == 0


def _unproved(point: str) -> Finding:
    lack = Lack(kind="false-complete", missing=(point,), next_step="Run the tests and show the result.")
    return Finding(certain=False, lack=lack)


def stopped_with_todos(turn: Turn) -> Finding | None:
    """Work is left on the agent's own list. Certain when the host's list holds it and nothing is asked."""
    kind = "stopped-with-todos"
    if turn.open_todos and turn.changed:
        then = "Do the open to-dos, or mark as done what is done."
        lack = Lack(kind=kind, missing=turn.open_todos[:10], next_step=then)
        return Finding(certain=not _legitimate(turn.last_message), lack=lack)
    named = NAMES_REST.findall(turn.last_message)
    if not named:
        return None
    missing = tuple(line.strip()[:300] for line in named[:10])
    return Finding(
        certain=False, lack=Lack(kind=kind, missing=missing, next_step="Do what you listed as remaining.")
    )


def permission_seeking(turn: Turn) -> Finding | None:
    """The turn ends by asking for leave. Certain when it asks only to go on with the work."""
    end = QUOTED.sub(" ", turn.last_message).strip()[-600:].rsplit("\n\n", 1)[-1]
    if not (ASKS_PERMISSION.search(end) or ASKS_TO_GO_ON.search(end)) or not turn.changed:
        return None
    then = "Go on with it; you need no leave for what can be undone."
    lack = Lack(kind="permission-seeking", missing=(end[-300:],), next_step=then)
    return Finding(certain=bool(ASKS_TO_GO_ON.search(end)) and not LEGITIMATE.search(end), lack=lack)


def _legitimate(message: str) -> bool:
    end = message.strip()[-600:]
    return end.endswith("?") or bool(LEGITIMATE.search(end))
