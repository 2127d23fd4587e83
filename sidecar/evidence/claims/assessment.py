"""What a claim about the world is held against, what comes of it, and which calls of the turn bear on it."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from typing import Final

from msgspec import Struct

from sidecar.evidence.claims.edits import is_turn_fully_known
from sidecar.evidence.claims.utterances import Utterance
from sidecar.evidence.claims.wording import claim_wording, command_pattern
from sidecar.evidence.commands.kinds import command, plain_words
from sidecar.kernel.events import ProjectState
from sidecar.kernel.evidence import ClaimStatus, RepositoryState, Source
from sidecar.kernel.gate import GateRun
from sidecar.kernel.text import counted
from sidecar.kernel.turn import CallOutcome, CommandRun, FailureHandling, ToolCall, Turn

DRY_RUN_OPTIONS: Final = frozenset({"--dry-run", "-n", "--help", "-h", "--abort"})
WITH_N: Final = re.compile(r"-[a-z]*n[a-z]*")
"""Short options, `-n` among them."""


class ClaimAssessment(Struct, frozen=True):
    """The assessment of a claim, without its text. `calls` are IDs of tool calls and gates."""

    status: ClaimStatus
    because: str
    calls: tuple[str, ...] = ()
    sources: tuple[Source, ...] = ()
    stale: bool = False


class ClaimContext(Struct, frozen=True):
    """What claims are compared with."""

    turn: Turn
    runs: tuple[GateRun, ...]
    project_state: ProjectState

    @property
    def repository(self) -> RepositoryState | None:
        """Git's state of the project."""
        return self.project_state.repository

    @property
    def tree(self) -> str:
        """The digest of the current files."""
        return self.project_state.tree


FactAssessor = Callable[[Utterance, ClaimContext], ClaimAssessment]
"""Holds one claim against what is known."""


def gate_ids(runs: Iterable[GateRun]) -> tuple[str, ...]:
    """Return the ids by which evidence names these gates."""
    return tuple(run.gate.id for run in runs)


def call_failed(call: ToolCall) -> ClaimAssessment:
    """The call failed."""
    return ClaimAssessment(ClaimStatus.CONTRADICTED, f"`{call.command[:200]}` failed", (call.id,))


def call_succeeded(call: ToolCall) -> ClaimAssessment:
    """The call succeeded."""
    said = call.command or call.tool
    return ClaimAssessment(ClaimStatus.CONFIRMED, f"`{said[:200]}` succeeded", (call.id,))


def claim_contradicted(because: str) -> ClaimAssessment:
    """A fact speaks against it."""
    return ClaimAssessment(ClaimStatus.CONTRADICTED, because)


def git_contradicts(because: str) -> ClaimAssessment:
    """What git knows speaks against it."""
    return ClaimAssessment(ClaimStatus.CONTRADICTED, because, sources=(Source.REPOSITORY,))


def git_confirms(because: str) -> ClaimAssessment:
    """What git knows bears it out."""
    return ClaimAssessment(ClaimStatus.CONFIRMED, because, sources=(Source.REPOSITORY,))


def claim_confirmed(because: str) -> ClaimAssessment:
    """A fact bears it out."""
    return ClaimAssessment(ClaimStatus.CONFIRMED, because)


def claim_unknown(because: str = "nothing speaks against it") -> ClaimAssessment:
    """Nothing that is known decides it."""
    return ClaimAssessment(ClaimStatus.UNKNOWN, because)


def commits_phrase(number: int) -> str:
    """Return a number of commits in words."""
    return counted(number, "commit")


# --- Calls of the turn --------------------------------------------------------------------------------------


def succeeded_and_failed_calls(
    turn: Turn, which: Callable[[CommandRun], bool]
) -> tuple[list[ToolCall], list[ToolCall]]:
    """Return the calls in which such a command surely succeeded, and those in which it surely failed."""
    good: list[ToolCall] = []
    bad: list[ToolCall] = []
    for call in turn.calls:
        for run in call.runs:
            if not which(run) or run.shadowed or is_dry_run(run):
                continue
            if (
                call.exit_code == 0
                and run.fate is FailureHandling.DECIDES
                and run.implied
                and not run.background
            ):
                good.append(call)
            elif call.outcome is CallOutcome.FAILED and run.fate is FailureHandling.DECIDES and run.blamed:
                bad.append(call)
    return good, bad


def is_dry_run(run: CommandRun) -> bool:
    """Whether a command does nothing of what it is called. `git commit -n` does: it only skips hooks."""
    tries = DRY_RUN_OPTIONS - {"-n"} if "commit" in run.argv else DRY_RUN_OPTIONS
    return bool(tries & {*run.argv}) or is_rehearsal(run)


def is_rehearsal(run: CommandRun) -> bool:
    """Whether a command only shows what it would do."""
    known, words = claim_wording(), command(run)
    program = " ".join(words[:2] if words[:1] == ("git",) else words[:1])
    return bool(known.rehearsing & {*run.argv}) or (
        program in known.rehearsing_with_n and any(map(WITH_N.fullmatch, run.argv))
    )


def git_command_matcher(*verbs: str) -> Callable[[CommandRun], bool]:
    """Return what tells these commands of git."""

    def which(run: CommandRun) -> bool:
        argv = command(run)
        return argv[:1] == ("git",) and next(iter(plain_words(argv[1:])), "") in verbs

    return which


def pattern_matcher(name: str) -> Callable[[CommandRun], bool]:
    """Return what tells the commands of this name in the data file."""
    pattern = command_pattern(name)
    return lambda run: pattern.match(" ".join(command(run))) is not None


def cannot_have_run(name: str, turn: Turn, *, reading: Callable[[ToolCall], bool] = lambda _: False) -> bool:
    """Whether all calls are known, and none has a word of these commands, but those that only read."""
    pattern = command_pattern(name)
    return (
        bool(turn.calls)
        and is_turn_fully_known(turn)
        and not any(pattern.search(call.command) and not reading(call) for call in turn.calls)
    )
