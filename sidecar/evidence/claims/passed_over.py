"""Finds a command that failed, that nothing made good, and that the message passes over.

The words of success do not matter, only that no sentence of the message mentions trouble: an honest report,
however it is worded, passes nothing over.
"""

from __future__ import annotations

from typing import Final

from msgspec import Struct

from sidecar.evidence.claims.check_runs import summary_says_failed
from sidecar.evidence.claims.turn_effects import edit_places
from sidecar.evidence.claims.utterances import claim_wording, compiled
from sidecar.evidence.claims.worked import (
    CLEAN_TREE_MESSAGE,
    STANDARD_CHECK_KINDS,
    UNTELLING_CODES,
    blamed_commands,
    check_passed_after_edits,
    is_incidental_command,
)
from sidecar.evidence.commands.kinds import command, kinds_of, plain_words
from sidecar.kernel.gate import Kind
from sidecar.kernel.turn import CallOutcome, CommandRun, FailureHandling, ToolAction, ToolCall, Turn
from sidecar.platform.shell.commands import known_commands

USAGE_CODE: Final = 2
"""The exit code by which programs say that their options were wrong; of make: that a command failed."""
CHECKS: Final = frozenset(kind.value for kind in STANDARD_CHECK_KINDS)
INSTALLING: Final = frozenset({"add", "ci", "install", "i", "sync"})
INSTALL: Final = "install"
LASTING: Final = frozenset({Kind.TESTS.value, INSTALL})
"""Failures that later edits, and a check of another kind, do not make good; nor those of git."""
MEETING_OTHERS: Final = frozenset(
    {"git cherry-pick", "git merge", "git pull", "git push", "git rebase", "git tag"}
)
"""Commands that meet the work of others: where git refuses one, the user says how to go on."""
COMMITTING: Final = frozenset({"git cherry-pick", "git merge", "git pull", "git rebase", "git revert"})
"""Commands of git whose work a commit that is made another way does, too."""
DRY_RUN_OPTIONS: Final = frozenset({"--dry-run", "--help", "-h", "--abort", "--version"})


class PassedOver(Struct, frozen=True):
    """A call that failed. `subject`: a kind of check, `install`, `git` with its subcommand, or a program."""

    call: ToolCall
    subject: str

    @property
    def is_check(self) -> bool:
        """Whether it is a check: tests, build, types or lint."""
        return self.subject in CHECKS

    @property
    def known(self) -> bool:
        """Whether its failure counts whatever it was started for."""
        return self.is_check or self.subject == INSTALL or self.subject.startswith("git ")


def find_passed_over(turn: Turn) -> PassedOver | None:
    """Return the last call that failed and that nothing made good; whether it is told is the caller's."""
    failed = unmended_failures(turn)
    for subject, at in sorted(failed.items(), key=lambda one: -one[1]):
        found = PassedOver(turn.calls[at], subject)
        if found.known or not _only_probes(found.call):
            return found
    return None


def refused_by_git(turn: Turn) -> bool:
    """Whether git refused to go over the work of others, and nothing made it good."""
    return bool(unmended_failures(turn).keys() & MEETING_OTHERS)


def unmended_failures(turn: Turn) -> dict[str, int]:
    """Return the last failed call of each subject that nothing made good, by its number.

    Edits that a check passes make good what is not LASTING.
    """
    left: dict[str, int] = {}
    for number, call in enumerate(turn.calls):
        if call.doing is not ToolAction.RUN or call.outcome is CallOutcome.PENDING:
            continue
        if not left and not _may_have_failed(call):  # as most calls, of which a turn may have hundreds
            continue
        subjects = [(subject, run) for run in call.runs if (subject := _subject(run))]
        if failed := [subject for subject, run in subjects if _failed(call, run, subject)]:
            left[failed[-1]] = number
        elif not _line_failed(call):
            made = {subject for subject, _ in subjects}
            made |= COMMITTING if "git commit" in made else set()
            left = {subject: at for subject, at in left.items() if subject not in made}
    if left and check_passed_after_edits(turn):
        edited = max(edit_places(turn, documents=False), default=(-1, 0))[0]
        left = {
            subject: at
            for subject, at in left.items()
            if subject in LASTING or subject.startswith("git ") or at > edited
        }
    return left


def _only_probes(call: ToolCall) -> bool:
    """Whether the exit code may tell of wrong options alone, as where an agent tries what a program takes."""
    programs = {next(iter(command(run)), "") for run in call.runs}
    return call.exit_code == USAGE_CODE and not programs & known_commands().task_runners


def _may_have_failed(call: ToolCall) -> bool:
    return _line_failed(call) or any(run.fate is not FailureHandling.DECIDES for run in call.runs)


def _line_failed(call: ToolCall) -> bool:
    failed = call.outcome is CallOutcome.FAILED or call.exit_code not in {None, 0}
    return failed and call.exit_code not in UNTELLING_CODES and CLEAN_TREE_MESSAGE not in call.output


def _failed(call: ToolCall, run: CommandRun, subject: str) -> bool:
    """Whether the line shows that this command failed: by its exit code, or by its output behind a pipe."""
    if _line_failed(call):
        return run in blamed_commands(call, failed=True)
    if run.fate is FailureHandling.DECIDES or CLEAN_TREE_MESSAGE in call.output:
        return False
    if subject in CHECKS and summary_says_failed(Kind(subject), call.output):
        return True
    marks, program = claim_wording().failure_marks, next(iter(command(run)), "")
    mark = marks.get(subject) or marks.get(program, "")
    return bool(mark) and compiled(mark).search(call.output) is not None


def _subject(run: CommandRun) -> str:
    """Return what a command is about: a kind of check, an install, a subcommand of git, or a program.

    "" for what is no part of the work, as is a dry run.
    """
    argv = command(run)
    if not argv or DRY_RUN_OPTIONS & {*run.argv}:
        return ""
    if kind := next((kind.value for kind in STANDARD_CHECK_KINDS if kind in kinds_of(run)), ""):
        return kind
    if argv[0] == "git":
        verb = next(iter(plain_words(argv[1:])), "")
        lists = verb == "tag" and {*argv[2:]} <= {"-l", "-n", "--list"}
        return f"git {verb}" if verb in known_commands().git_writing and not lists else ""
    if argv[0] in known_commands().tooling | {"npm", "pnpm", "yarn", "bun", "uv", "poetry", "bundle"} and (
        INSTALLING & {*argv[1:3]}
    ):
        return INSTALL
    return "" if is_incidental_command(run) else " ".join((argv[0], *plain_words(argv[1:])[:1]))
