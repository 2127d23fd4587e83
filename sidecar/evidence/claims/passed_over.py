"""Finds what a message passes over: a command that failed and was not made good, or one that never ran.

Only commands whose subject is known count: checks, installs, and commands of git that change something. The
words of success do not matter, only that no sentence tells of a failure, or of trouble with the subject. So
an honest report, however it is worded, is none of these.
"""

from __future__ import annotations

import re
from typing import Final

from sidecar.evidence.claims.assessment import cannot_have_run, is_dry_run, pattern_matcher
from sidecar.evidence.claims.edits import edit_places, is_turn_fully_known
from sidecar.evidence.claims.facts import may_have_tested
from sidecar.evidence.claims.wording import EMPHASIS, ClaimWording, compiled, says_success
from sidecar.evidence.claims.worked import (
    CLEAN_TREE_MESSAGE,
    STANDARD_CHECK_KINDS,
    UNTELLING_CODES,
    blamed_commands,
    check_passed_after_edits,
)
from sidecar.evidence.commands.kinds import command, kinds_of, plain_words
from sidecar.kernel.gate import Kind
from sidecar.kernel.turn import CallOutcome, CommandRun, ToolAction, ToolCall, Turn
from sidecar.platform.data import load_data

OTHER_CHECKS: Final = frozenset(kind.value for kind in STANDARD_CHECK_KINDS if kind is not Kind.TESTS)
PARAGRAPH: Final = re.compile(r"\n\s*\n")
TOLD_AS_A_WHOLE: Final = re.compile(r"\||```")
"""A table or a quotation: what its rows are about may stand in another line."""
UNIT: Final = re.compile(r"(?<=[.!?])\s|\n")


def find_passed_over_failure(turn: Turn) -> ToolCall | None:
    """Return the last such call. Checks but tests are made good by edits that another check passes."""
    left: dict[str, int] = {}
    if not any(map(_failed, turn.calls)):  # as in most turns, which may have hundreds of calls
        return None
    for number, call in enumerate(turn.calls):
        if call.doing is not ToolAction.RUN or call.outcome is CallOutcome.PENDING:
            continue
        subjects = [(subject, run) for run in call.runs if (subject := _subject(run))]
        if not _failed(call):
            left = {name: at for name, at in left.items() if name not in dict(subjects)}
            continue
        blamed = blamed_commands(call, failed=True)
        if mine := [subject for subject, run in subjects if run in blamed]:
            left[mine[-1]] = number
    if check_passed_after_edits(turn):
        edited = max(edit_places(turn, documents=False), default=(-1, 0))[0]
        left = {name: at for name, at in left.items() if name not in OTHER_CHECKS or at > edited}
    said = _units(turn.last_message)
    silent = [
        at
        for name, at in left.items()
        if not any(_tells_of_failure(name, turn.calls[at], unit) for unit in said)
    ]
    return turn.calls[max(silent)] if silent else None


def find_skipped_order(turn: Turn) -> str:
    """Return what was ordered, no command can have done, and the message speaks of without a word of trouble.

    It is the name of a check, "" for none.
    """
    known, asked = load_data("claims", ClaimWording), "\n".join(turn.prompts)
    ordered = (subject for subject, order in known.orders.items() if compiled(order).search(asked))
    for subject in ordered:
        said = _units(turn.last_message)
        about = any(compiled(known.subjects[subject]).search(unit) for unit in said)
        told = any(_tells_of_trouble(subject, unit) for unit in said)
        if about and not told and _cannot_have_run(subject, turn):
            return subject
    return ""


def _cannot_have_run(subject: str, turn: Turn) -> bool:
    if subject == Kind.TESTS.value:
        return is_turn_fully_known(turn) and not any(map(may_have_tested, turn.calls))
    return cannot_have_run(f"may_{subject}", turn)


def _failed(call: ToolCall) -> bool:
    failed = call.outcome is CallOutcome.FAILED or call.exit_code not in {None, 0}
    return failed and call.exit_code not in UNTELLING_CODES and CLEAN_TREE_MESSAGE not in call.output


def _subject(run: CommandRun) -> str:
    """Return the name of what a command is about in the data file, "" where that is not known."""
    known = load_data("claims", ClaimWording).subjects
    if is_dry_run(run):
        return ""
    if kind := next((kind.value for kind in STANDARD_CHECK_KINDS if kind in kinds_of(run)), ""):
        return kind
    if pattern_matcher("install")(run):
        return "install"
    argv = command(run)
    verb = next(iter(plain_words(argv[1:])), "") if argv[:1] == ("git",) else ""
    return verb if verb in known else ""


def _units(message: str) -> list[str]:
    """Return the sentences and list items of a message; a table or a quotation stays whole."""
    known = load_data("claims", ClaimWording)
    text = compiled(known.untroubled).sub("cleanly", EMPHASIS.sub("", message))
    paragraphs = PARAGRAPH.split(text)
    return [
        unit
        for paragraph in paragraphs
        for unit in ([paragraph] if TOLD_AS_A_WHOLE.search(paragraph) else UNIT.split(paragraph))
    ]


def _tells_of_failure(subject: str, call: ToolCall, unit: str) -> bool:
    """Whether it tells of a failure or of trouble with a subject, or names the command without praise."""
    known = load_data("claims", ClaimWording)
    name = " ".join(call.command.split()[: 2 if call.command.startswith("git ") else 1])
    named = f"`{name}" in unit and not says_success(unit)
    return named or compiled(known.failure).search(unit) is not None or _tells_of_trouble(subject, unit)


def _tells_of_trouble(subject: str, unit: str) -> bool:
    known = load_data("claims", ClaimWording)
    about = compiled(known.subjects[subject]).search(unit)
    return about is not None and compiled(known.trouble).search(unit) is not None
