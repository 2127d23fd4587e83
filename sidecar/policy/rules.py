"""What a turn proves by itself, without a model. The three antipatterns, and when they are certain.

A finding is certain only when the structure of the turn carries it (a failed command, an open to-do) and
the wording agrees; wording alone makes a suspicion, which a judge may look at. Any sign of a legitimate
stop turns certainty into suspicion. Wording is English for now.
"""

from __future__ import annotations

import re

from msgspec import Struct

from sidecar.model.turn import CallOutcome, Doing, ToolCall, Turn
from sidecar.policy.lack import Lack

TEST_RUN = re.compile(
    r"\b(pytest|py\.test|unittest|tox|nox|rspec|phpunit|jest|vitest|(npm|pnpm|yarn|bun)( run)? test"
    r"|go test|cargo (nex)?test|mix test|(gradlew?|mvn)\b.*\btest|make (test|check))\b"
)
CLAIMS_PASS = re.compile(
    r"\b(all|the|every|unit)?\s*(tests?|test suite|suite|specs?)( now| all| should)*"
    r" (pass(es|ed|ing)?|(is|are) (green|passing))\b",
    re.IGNORECASE,
)
DENIES_PASS = re.compile(
    r"n['\u2019]t\b|\?\s*$|\b(not|never|none|fail(s|ed|ing)?|except|but|until|unless|once|if|when|whether"
    r"|before|without|cannot|unable|needs?|must|would|could|might|hope|expect(s|ed)?|to (make|get|have|see)"
    r"|(no|only|some|few|most|half)( \w+)? (tests?|specs?))\b",
    re.IGNORECASE,
)
QUOTED = re.compile(
    r"```.*?(?:```|\Z)|^[ \t]*>[^\n]*|`[^`\n]*`|\"[^\"\n]*\"|\u201c[^\u201d\n]*\u201d",
    re.DOTALL | re.MULTILINE,
)
"""What a message repeats is not what it says."""

ONLY_READS = re.compile(
    r"\s*(?:\S*/)?(?:grep|rg|ag|cat|less|head|tail|ls|find|fd|echo|printf|which|command|type|git|sed|awk|wc"
    r"|rm|mkdir|touch|cp|mv|pip3?|uv (?:pip|add|sync)|poetry add|npm (?:i|install))\b"
)
"""Commands that may name a test runner without starting it."""
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


def last_test_run(turn: Turn) -> ToolCall | None:
    """The last test command of the turn that has ended."""
    runs = (call for call in reversed(turn.calls) if call.doing is Doing.RUN and runs_tests(call.command))
    return next((call for call in runs if call.outcome is not CallOutcome.PENDING), None)


def runs_tests(command: str) -> bool:
    """Whether a shell line starts a test runner, rather than only naming one."""
    parts = re.split(r"&&|[;|\n]", command)
    return any(TEST_RUN.search(part) and not ONLY_READS.match(part) for part in parts)


def claims_pass(message: str) -> bool:
    """Whether a sentence says that tests pass, without taking it back in the same sentence."""
    sentences = re.split(r"(?<=[.!?])\s|\n", QUOTED.sub(" ", message))
    return any(CLAIMS_PASS.search(line) and not DENIES_PASS.search(line) for line in sentences)


def false_complete(turn: Turn) -> Finding | None:
    """The message says that tests pass. Certain when the last test run of the turn failed."""
    if not claims_pass(turn.last_message):
        return None
    run = last_test_run(turn)
    if run is None:
        return _unproved("you say that tests pass, and this turn ran none")
    if run.outcome is CallOutcome.FAILED:
        code = "" if run.exit_code is None else f" with exit code {run.exit_code}"
        said = f"you say that tests pass; the last test run of this turn failed{code}: {run.command[:200]}"
        lack = Lack(
            kind="false-complete", missing=(said,), next_step="Make that run pass, then run it again."
        )
        return Finding(certain=True, lack=lack)
    if any(call.doing is Doing.EDIT for call in turn.calls[turn.calls.index(run) :]):
        return _unproved("files were edited after the last test run")
    return None


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
