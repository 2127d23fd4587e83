"""Holds what a message claims of git, of files and of its own commands against what is known of them.

A claim is contradicted only where a fact leaves no other reading. Facts are git's state, the files that are
there, the changes since the last human prompt, and the turn's calls where all of them are known.
"""

from __future__ import annotations

import re
from typing import Final

from sidecar.evidence.claims.assessment import (
    ClaimAssessment,
    ClaimContext,
    FactAssessor,
    call_failed,
    call_succeeded,
    cannot_have_run,
    claim_contradicted,
    claim_unknown,
    is_rehearsal,
    pattern_matcher,
    succeeded_and_failed_calls,
)
from sidecar.evidence.claims.edits import is_turn_fully_known
from sidecar.evidence.claims.file_facts import FILE_ASSESSORS
from sidecar.evidence.claims.git_facts import GIT_ASSESSORS
from sidecar.evidence.claims.proof import summary_says_no_tests_ran
from sidecar.evidence.claims.utterances import Utterance
from sidecar.evidence.claims.wording import command_pattern, read_number, says_success
from sidecar.evidence.claims.worked import is_incidental_command
from sidecar.evidence.commands.kinds import command
from sidecar.kernel.evidence import ClaimKind
from sidecar.kernel.gate import Kind
from sidecar.kernel.text import counted
from sidecar.kernel.turn import CallOutcome, CommandRun, ToolAction, ToolCall, Turn
from sidecar.platform.shell.commands import known_commands

TESTS: Final = ("tests", "test suite", "suite")


def _assess_deployment(said: Utterance, seen: ClaimContext) -> ClaimAssessment:  # noqa: ARG001 - as all
    good, bad = succeeded_and_failed_calls(seen.turn, pattern_matcher("deploy"))
    if good:
        return call_succeeded(good[-1])
    if bad:
        return call_failed(bad[-1])
    return claim_unknown("no call of this turn is seen to deploy")


def _assess_installation(said: Utterance, seen: ClaimContext) -> ClaimAssessment:
    good, bad = succeeded_and_failed_calls(seen.turn, pattern_matcher("install"))
    named = [call for call in bad if said.name in call.command] or bad
    if said.count:
        number = _installed_by_name(good)
        fewer = 0 < number < read_number(said.count)
        phrase = f"the commands of this turn name {counted(number, 'package')}"
        return claim_contradicted(phrase) if fewer else claim_unknown()
    if good:
        return call_succeeded(good[-1])
    if named:
        return call_failed(named[-1])
    if package_folder(said) in seen.project_state.absent and _installs_node_packages_here(seen.turn):
        return claim_contradicted(f"there is no {package_folder(said)}")
    if cannot_have_run("may_install", seen.turn, reading=_only_reads):
        return claim_contradicted("no command of this turn installed anything")
    return claim_unknown("no call of this turn is seen to install it")


def _only_reads(call: ToolCall) -> bool:
    reads = command_pattern("reads_only")
    return bool(call.runs) and all(reads.match(run.text) for run in call.runs)


def package_folder(said: Utterance) -> str:
    """Return where a package that a message names as installed is, if it is one of Node; "" for none."""
    named = said.said is ClaimKind.INSTALLED and f"`{said.name}`" in said.text
    return f"node_modules/{said.name}" if named else ""


def _installs_node_packages_here(turn: Turn) -> bool:
    """Whether the turn was to install packages of Node, and did not leave the project's folder."""
    runs = [run for call in turn.calls for run in call.runs]
    away = any(pattern_matcher("change_folder")(run) for run in runs)
    return not away and any(map(pattern_matcher("node_install"), runs))


def _installed_by_name(calls: list[ToolCall]) -> int:
    """Return how many packages these installs name; 0 where one names none, and installs what is listed."""
    which = pattern_matcher("install")
    runs = [run for call in calls for run in call.runs if which(run)]
    named = [[word for word in command(run)[2:] if not word.startswith("-")] for run in runs]
    listed = any(command_pattern("installs_listed").match(run.text) for run in runs)
    return sum(map(len, named)) if all(named) and not listed else 0


def _assess_run(said: Utterance, seen: ClaimContext) -> ClaimAssessment:
    """A command that was run leaves its name in a call of the turn, wherever it was started."""
    turn = seen.turn
    if not is_turn_fully_known(turn):
        return claim_unknown()
    if said.name == Kind.LINT:
        never = cannot_have_run("may_lint", turn)
        return claim_contradicted("no call of this turn ran a linter") if never else claim_unknown()
    if said.name in TESTS or command_pattern("test_file").fullmatch(said.name):
        ran = any(map(may_have_tested, turn.calls))
        return claim_unknown() if ran else claim_contradicted("no call of this turn ran tests")
    telling = [re.compile(rf"(?<![\w-]){re.escape(word)}(?![\w-])") for word in _telling_words(said.name)]
    calls = [
        call
        for call in turn.calls
        if any(word.search(call.command) for word in telling) and not _only_names(call, telling, said.name)
    ]
    tasks = said.ordered and any(_starts_task(run) for call in turn.calls for run in call.runs)
    if telling and turn.calls and not calls and not tasks:
        return claim_contradicted("no call of this turn ran it")
    if calls and says_success(said.text) and all(call.outcome is CallOutcome.FAILED for call in calls):
        return call_failed(calls[-1])
    return claim_unknown()


def _starts_task(run: CommandRun) -> bool:
    """Whether a command runs what a file of the project says, which may be any program."""
    return command_pattern("runs_tasks").match(run.text) is not None and not is_rehearsal(run)


def _only_names(call: ToolCall, words: list[re.Pattern[str]], line: str) -> bool:
    """Whether the commands of a call that have such a word only read it, or try what it would do.

    Not where the message names that very command.
    """
    if " " in line and line in call.command:
        return False
    program, reads = line.partition(" ")[0], command_pattern("reads_only")
    named = [run for run in call.runs if any(word.search(run.text) for word in words)]
    return bool(named) and all(
        is_rehearsal(run) or _only_parses(run) or (run.argv[:1] != (program,) and reads.match(run.text))
        for run in named
    )


def _only_parses(run: CommandRun) -> bool:
    return command_pattern("syntax_only").match(run.text) is not None


def _telling_words(line: str) -> list[str]:
    """Return the words of a command by which it can be told from others; of a module, its name alone."""
    common = command_pattern("common")
    words = (word.rpartition("/")[2].removesuffix(".py") for word in line.split() if not word.startswith("-"))
    telling = [word for word in words if len(word) > 1 and not common.fullmatch(word)]
    return telling or [word for word in line.split() if word.startswith("--")]


def may_have_tested(call: ToolCall) -> bool:
    """Whether a call may have run tests: no line of commands that run none, or whose output says so."""
    if summary_says_no_tests_ran(call.output):
        return False
    return call.doing is ToolAction.RUN and (not call.runs or not all(map(_runs_no_tests, call.runs)))


def _runs_no_tests(run: CommandRun) -> bool:
    harmless = {"git", *known_commands().naming_what_they_write}
    inline = any(word in known_commands().inline_code for word in run.argv) and "test" not in run.text
    quiet = _only_parses(run) or inline or is_incidental_command(run)
    return quiet or next(iter(command(run)), "") in harmless


FACT_ASSESSORS: Final[dict[ClaimKind, FactAssessor]] = {
    **FILE_ASSESSORS,
    **GIT_ASSESSORS,
    ClaimKind.DEPLOYED: _assess_deployment,
    ClaimKind.INSTALLED: _assess_installation,
    ClaimKind.RAN: _assess_run,
}
"""What holds a claim against facts, for each kind that is not about a check."""
