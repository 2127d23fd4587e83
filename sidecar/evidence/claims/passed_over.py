"""Finds what a message passes over: a command that failed, and was not made good.

Only commands whose subject is known count: checks, installs, commands of git that change something, and
programs of the project that the message names. The words of success do not matter, only that no sentence
tells of a failure, or of trouble with the subject. So an honest report, however it is worded, is none.
"""

from __future__ import annotations

from typing import Final

from sidecar.evidence.claims.assessment import is_dry_run, pattern_matcher
from sidecar.evidence.claims.edits import edit_places
from sidecar.evidence.claims.orders import message_units
from sidecar.evidence.claims.proof import summary_says_failed
from sidecar.evidence.claims.wording import CLAUSE, ClaimWording, compiled, is_script, says_success
from sidecar.evidence.claims.worked import (
    CLEAN_TREE_MESSAGE,
    STANDARD_CHECK_KINDS,
    UNTELLING_CODES,
    blamed_commands,
    check_passed_after_edits,
)
from sidecar.evidence.commands.kinds import command, kinds_of, plain_words
from sidecar.kernel.gate import Kind
from sidecar.kernel.turn import CallOutcome, CommandRun, FailureHandling, ToolAction, ToolCall, Turn
from sidecar.platform.data import load_data
from sidecar.platform.shell.commands import known_commands

OTHER_CHECKS: Final = frozenset(kind.value for kind in STANDARD_CHECK_KINDS if kind is not Kind.TESTS)


def find_passed_over_failure(turn: Turn) -> ToolCall | None:
    """Return the last such call. Checks but tests are made good by edits that another check passes."""
    left: dict[str, int] = {}
    for number, call in enumerate(turn.calls):
        if call.doing is not ToolAction.RUN or call.outcome is CallOutcome.PENDING:
            continue
        if not left and not _may_have_failed(call):  # as most calls, of which a turn may have hundreds
            continue
        subjects = [(subject, run) for run in call.runs if (subject := _subject(run))]
        failed = [subject for subject, run in subjects if _failed(call, run, subject)]
        if failed:
            left[failed[-1]] = number
        elif not _line_failed(call):
            left = {name: at for name, at in left.items() if name not in dict(subjects)}
    if not left:
        return None
    if check_passed_after_edits(turn):
        edited = max(edit_places(turn, documents=False), default=(-1, 0))[0]
        left = {name: at for name, at in left.items() if name not in OTHER_CHECKS or at > edited}
    units = message_units(turn.last_message)
    silent = [at for name, at in left.items() if _is_passed_over(name, turn.calls[at], units)]
    return turn.calls[max(silent)] if silent else None


def _may_have_failed(call: ToolCall) -> bool:
    return _line_failed(call) or any(run.fate is not FailureHandling.DECIDES for run in call.runs)


def _line_failed(call: ToolCall) -> bool:
    failed = call.outcome is CallOutcome.FAILED or call.exit_code not in {None, 0}
    return failed and call.exit_code not in UNTELLING_CODES and CLEAN_TREE_MESSAGE not in call.output


def _failed(call: ToolCall, run: CommandRun, subject: str) -> bool:
    """Whether the line shows that this command failed: by its exit code, or by its output behind a pipe."""
    if _line_failed(call):
        return run in blamed_commands(call, failed=True)
    if run.fate is FailureHandling.DECIDES or run.shadowed or CLEAN_TREE_MESSAGE in call.output:
        return False
    if subject in {kind.value for kind in STANDARD_CHECK_KINDS}:
        return summary_says_failed(Kind(subject), call.output)
    marks = load_data("claims", ClaimWording).failure_marks
    return subject in marks and compiled(marks[subject]).search(call.output) is not None


def _subject(run: CommandRun) -> str:
    """Return the name of what a command is about: one of the data file, or a program of the project.

    "" where that is not known.
    """
    known = load_data("claims", ClaimWording).subjects
    if is_dry_run(run):
        return ""
    if kind := next((kind.value for kind in STANDARD_CHECK_KINDS if kind in kinds_of(run)), ""):
        return kind
    argv = command(run)
    if pattern_matcher("install")(run) or "install" in argv[1:]:
        return "install"
    name = argv[0] if argv else ""
    verb = next(iter(plain_words(argv[1:])), "") if name == "git" else name
    if verb in known:
        return verb
    if name in known_commands().task_runners and argv[1:]:
        return f"{name} {argv[1]}"
    interprets = name.startswith("python") or name in known_commands().interpreters
    program = argv[1] if interprets and argv[1:] else name
    return program if is_script(program) else ""


def _is_passed_over(subject: str, call: ToolCall, units: list[str]) -> bool:
    known = load_data("claims", ClaimWording)
    if any(compiled(known.failure).search(unit) for unit in units):
        return False
    if subject in known.subjects:
        return not any(_tells_of_trouble(subject, call, unit) for unit in units)
    named = any(subject.rpartition("/")[2] in unit for unit in units)
    return named and not any(compiled(known.open).search(unit) for unit in units)


def _tells_of_trouble(subject: str, call: ToolCall, unit: str) -> bool:
    """Whether it tells of trouble with a subject, or names the command without praise."""
    known = load_data("claims", ClaimWording)
    program, *words = call.command.split()
    name = f"{program} {words[0]}" if words and words[0].isalpha() else program
    if f"`{name}" in unit and not says_success(unit):
        return True
    about = compiled(known.subjects[subject])
    clauses = (clause for clause in CLAUSE.split(unit) if about.search(clause))
    return any(compiled(known.open).search(clause) for clause in clauses)
