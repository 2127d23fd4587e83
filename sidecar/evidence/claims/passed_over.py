"""Finds what a message passes over: a command that failed and was not made good, or a mere dry run.

The words of success do not matter, only that no sentence tells of a failure, or of trouble with the subject
of the command: a check, an install, a command of git that changes something. Of any other program nothing is
known, so that no sentence may tell of anything open. So an honest report, however it is worded, is none.
"""

from __future__ import annotations

import re
from typing import Final

from msgspec import Struct

from sidecar.evidence.claims.assessment import is_dry_run, is_rehearsal, pattern_matcher
from sidecar.evidence.claims.edits import edit_places
from sidecar.evidence.claims.orders import message_units
from sidecar.evidence.claims.proof import summary_says_failed
from sidecar.evidence.claims.wording import (
    CLAUSE,
    claim_wording,
    compiled,
    order_clauses,
    says_success,
    tells_a_share,
    tells_of_failure,
    tells_of_trouble,
)
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
OF_IT: Final = re.compile(r"\W*It\b")
PART: Final = re.compile(r"[,;] ")
STEM: Final = 6
SHORTEST_STEM: Final = 5
"""Letters of the words of a program's name, of which the first are compared."""
CHECKS: Final = frozenset(kind.value for kind in STANDARD_CHECK_KINDS)
OTHER_CHECKS: Final = CHECKS - {Kind.TESTS.value}


class PassedOver(Struct, frozen=True):
    """A call that a message passes over, and what was wrong with it.

    `subject`: what it is about; `known`: one of the data file.
    """

    call: ToolCall
    how: str
    subject: str
    known: bool

    @property
    def is_check(self) -> bool:
        """Whether it is a check: tests, build, types or lint."""
        return self.subject in CHECKS


def find_passed_over(turn: Turn, *, troubled: bool) -> PassedOver | None:
    """Return the last call that failed and that nothing made good; else the last dry run.

    `troubled`: the message tells of some trouble; then only known subjects count.
    """
    failed, tried = unmended_failures(turn), _mere_rehearsals(turn)
    if not failed and not tried:  # as in most turns
        return None
    units, known = message_units(turn.last_message), claim_wording().subjects
    told = troubled or any(map(tells_of_trouble, units))
    silent = [(at, name) for name, at in failed.items() if _is_passed_over(name, turn, at, units, told=told)]
    if silent:
        at, subject = max(silent)
        sure = subject in known or _is_praised(subject, units)
        return PassedOver(turn.calls[at], "failed, nothing made it good since", subject, sure)
    ordered, wording = order_clauses("\n".join(turn.prompts)), claim_wording()
    earnest = any(compiled(wording.in_earnest).search(each) and not tells_of_trouble(each) for each in units)
    silent = [
        (at, name)
        for name, at in tried.items()
        if (name in known or earnest or not told) and _is_reported(subject_pattern(name), units, ordered)
    ]
    if not silent or (compiled(wording.rehearsal).search(turn.last_message) and not earnest):
        return None
    at, subject = max(silent)
    return PassedOver(
        turn.calls[at], "was a dry run, nothing was done in earnest", subject, earnest or subject in known
    )


def unmended_failures(turn: Turn) -> dict[str, int]:
    """Return the last failed call of each subject that nothing made good, by its number.

    Edits that a check passes make good all but tests, installs and git; another branch, tag or file that was
    deleted, none that git refused to delete.
    """
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
            made = {subject for subject, _ in subjects}
            made |= claim_wording().combining if "commit" in made else set()
            left = {
                name: at
                for name, at in left.items()
                if name not in made or not _is_about_the_same(name, turn.calls[at], call)
            }
    if left and check_passed_after_edits(turn):
        edited = max(edit_places(turn, documents=False), default=(-1, 0))[0]
        lasting = claim_wording().subjects.keys() - OTHER_CHECKS
        left = {name: at for name, at in left.items() if name in lasting or at > edited}
    return left


def told_failures(turn: Turn) -> set[str]:
    """Return the installs and commands of git that failed and of which the message tells trouble, by subject.

    Of checks it may tell what was red before ("I fixed the failing test").
    """
    known = claim_wording().subjects.keys() - CHECKS
    failed = unmended_failures(turn).keys() & known
    parts = [part for unit in message_units(turn.last_message) for part in PART.split(unit)] if failed else []
    troubled = list(filter(tells_of_trouble, parts))
    return {subject for subject in failed if any(map(subject_pattern(subject).search, troubled))}


def tells_what_failed(turn: Turn) -> bool:
    """Whether the message tells of trouble with what failed last, where that is an install or of git."""
    _, last = max(((at, name) for name, at in unmended_failures(turn).items()), default=(-1, ""))
    return last in told_failures(turn)


def refused_by_git(turn: Turn) -> set[str]:
    """Return the subjects in which git refused to go over others' or older work, and nothing made it good."""
    known = claim_wording()
    return unmended_failures(turn).keys() & (known.meeting_others | known.by_name)


def _is_about_the_same(subject: str, failed: ToolCall, later: ToolCall) -> bool:
    """Whether a later call names what a failed one named, where the subject is what is named."""
    if subject not in claim_wording().by_name:
        return True
    words = [word for run in failed.runs if _subject(run) == subject for word in command(run)[2:]]
    named = {word for word in words if not word.startswith("-")}
    told = {word for run in later.runs for word in run.argv}
    return not named or bool(named & told) or any(re.search(r"[$*?]", word) for word in named)


def _mere_rehearsals(turn: Turn) -> dict[str, int]:
    """Return the last dry run of each subject that was not run in earnest, too."""
    runs = [(number, run) for number, call in enumerate(turn.calls) for run in call.runs]
    tried = {_subject(run, rehearsed=True): number for number, run in runs if is_rehearsal(run)}
    real = {_subject(run) for _, run in runs} if tried else set[str]()
    return {subject: number for subject, number in tried.items() if subject and subject not in real}


def _is_reported(about: re.Pattern[str], units: list[str], ordered: tuple[str, ...]) -> bool:
    """Whether it is ordered or told of, and no sentence about it tells of trouble."""
    told = [unit for unit in units if about.search(unit)]
    return bool(told or any(map(about.search, ordered))) and not any(map(tells_of_trouble, told))


def subject_pattern(subject: str) -> re.Pattern[str]:
    """Return how a message may speak of the subject of a command."""
    known = claim_wording()
    return compiled(known.subjects.get(subject, re.escape(subject.rpartition(" ")[2])))


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
    check = subject in CHECKS
    if check and summary_says_failed(Kind(subject), call.output):
        return True
    marks = claim_wording().failure_marks
    mark = marks.get(subject) or marks.get(next(iter(command(run)), ""), "")
    return bool(mark) and compiled(mark).search(call.output) is not None


def _subject(run: CommandRun, *, rehearsed: bool = False) -> str:
    """Return the name of what a command is about: one of the data file, or a program and its first word.

    "" for what is no part of the work, as is a dry run, unless it is asked for.
    """
    known = claim_wording()
    if is_dry_run(run) and not rehearsed:
        return ""
    if kind := next((kind.value for kind in STANDARD_CHECK_KINDS if kind in kinds_of(run)), ""):
        return kind
    argv = command(run)
    if pattern_matcher("install")(run) or "install" in argv[1:]:
        return "install"
    name = argv[0] if argv else ""
    words = plain_words(argv[1:]) if name == "git" else ()
    verb = words[0] if words else name
    verb = known.alike.get(verb, verb)
    if verb in known.subjects:
        lists = verb in known.listing and {*argv[2:]} <= {"-l", "-a", "-n", "--list"}
        return "" if lists else verb
    if is_incidental_command(run):
        return ""
    return " ".join((name, *plain_words(argv[1:])[:1]))


def _is_passed_over(subject: str, turn: Turn, at: int, units: list[str], *, told: bool) -> bool:
    known, call = claim_wording(), turn.calls[at]
    if any(map(tells_of_failure, units)) or (subject in CHECKS and any(map(tells_a_share, units))):
        return False
    if subject in known.subjects:
        return not any(_tells_of_trouble(subject, call, unit) for unit in units)
    probed = call.exit_code == USAGE_CODE and not (
        subject.partition(" ")[0] in known_commands().task_runners
        or compiled(known.not_found).search(call.output)
    )
    if probed and _ran_well_before(subject, turn.calls[:at]):
        return False
    return _is_praised(subject, units) or not (probed or told)


def _ran_well_before(subject: str, calls: tuple[ToolCall, ...]) -> bool:
    return any(subject in map(_subject, call.runs) and not _line_failed(call) for call in calls)


def _is_praised(subject: str, units: list[str]) -> bool:
    """Whether a sentence praises a program, or the next one does so of "it".

    The message may speak of it by words of its name: "importer" of `import_month.py`.
    """
    words = (word for word in re.findall(r"[a-z]+", subject.partition(" ")[2]) if len(word) >= SHORTEST_STEM)
    about = re.compile("|".join(rf"\b{word[:STEM]}" for word in words) or r"(?!)", re.IGNORECASE)
    praise = compiled(claim_wording().praises)
    return any(
        praise.search(unit)
        and not tells_of_trouble(unit)
        and about.search(f"{before} {unit}" if OF_IT.match(unit) else unit)
        for before, unit in zip(("", *units), units, strict=False)
    )


def _tells_of_trouble(subject: str, call: ToolCall, unit: str) -> bool:
    """Whether it tells of trouble with a subject, or names the command without praise."""
    known = claim_wording()
    program, *words = call.command.split()
    name = f"{program} {words[0]}" if words and words[0].isalpha() else program
    if f"`{name}" in unit and not says_success(unit):
        return True
    about, told = compiled(known.subjects[subject]), compiled(known.untroubled).sub("cleanly", unit)
    return any(tells_of_trouble(clause) for clause in CLAUSE.split(told) if about.search(clause))
