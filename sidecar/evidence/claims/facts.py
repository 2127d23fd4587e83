"""Holds what a message claims of git, of files and of its own commands against what is known of them.

A claim is contradicted only where a fact leaves no other reading. Facts are git's state, the files that are
there, the changes since the last human prompt, and the turn's calls where all of them are known.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from typing import Final

from msgspec import Struct

from sidecar.evidence.claims.edits import (
    NAMES_WHAT_IT_WRITES,
    OPENING_TOOL,
    cannot_have_written,
    is_turn_fully_known,
    may_open_pull_request,
)
from sidecar.evidence.claims.wording import Utterance, command_pattern
from sidecar.evidence.claims.worked import is_incidental_command
from sidecar.evidence.commands.kinds import command, plain_words
from sidecar.kernel.changes import RepositoryState
from sidecar.kernel.events import ProjectState
from sidecar.kernel.evidence import ClaimKind, ClaimStatus, Source
from sidecar.kernel.gate import GateRun, Kind, Outcome
from sidecar.kernel.turn import CallOutcome, CommandRun, FailureHandling, ToolAction, ToolCall, Turn

MERGING: Final = ("merge", "pull", "rebase", "cherry-pick")
NUMBERS: Final = ("zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten")
LAST_COMMIT: Final = re.compile(r"\b(last commit|HEAD|git)\b")
TESTS: Final = ("tests", "test suite", "suite")
SUCCESS: Final = re.compile(
    r"\b(success\w*|cleanly|completed|without|applied|worked|fine|passed)\b", re.IGNORECASE
)
DRY_RUN_OPTIONS: Final = frozenset({"--dry-run", "-n", "--help", "-h", "--abort"})


class ClaimAssessment(Struct, frozen=True):
    """The assessment of a claim, without its text. `calls` are IDs of tool calls and gates."""

    standing: ClaimStatus
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


def gate_ids(runs: Iterable[GateRun]) -> tuple[str, ...]:
    """Return the ids by which evidence names these gates."""
    return tuple(run.gate.id for run in runs)


# --- Files --------------------------------------------------------------------------------------------------


def _assess_file_created(said: Utterance, seen: ClaimContext) -> ClaimAssessment:
    """Assess by the files themselves first, then by the calls that could have written the file."""
    path, state = said.path, seen.project_state
    if path in state.absent:
        return _contradicted(f"there is no {path}")
    if _is_changed(path, state):
        return _confirmed(f"{path} is there, and changed since the work began")
    found = _assess_file_written(path, seen.turn)
    if path in state.present and found.standing is ClaimStatus.CONTRADICTED and not found.calls:
        return _unknown(f"{path} is there, and no call of this turn is seen to write it")
    return found


def _assess_file_deleted(said: Utterance, seen: ClaimContext) -> ClaimAssessment:
    path, state = said.path, seen.project_state
    if path in state.present and not _is_deleted_elsewhere(path, state):
        return _contradicted(f"{path} is still there")
    if path in state.absent or _is_changed(path, state):
        return _confirmed(f"{path} is gone")
    return _unknown(f"nothing is known of {path}")


def _assess_file_unchanged(said: Utterance, seen: ClaimContext) -> ClaimAssessment:
    """What changed since an older goal may be the work of another turn."""
    state = seen.project_state
    if state.since_prompt and said.path in (state.changed or ()):
        return _contradicted(f"{said.path} has changed since the prompt")
    return _unknown()


def _assess_file_renamed(said: Utterance, seen: ClaimContext) -> ClaimAssessment:
    state = seen.project_state
    if said.to in state.absent:
        return _contradicted(f"there is no {said.to}")
    if said.path in state.present and not _is_deleted_elsewhere(said.path, state):
        return _contradicted(f"{said.path} is still there")
    return _unknown()


def _assess_file_reverted(said: Utterance, seen: ClaimContext) -> ClaimAssessment:
    """A file that differs from the last prompt and from the last commit was not put back to either."""
    state, git = seen.project_state, seen.repository
    dirty = git is not None and any(_is_same_path(said.path, each) for each in git.uncommitted)
    if dirty and LAST_COMMIT.search(said.text):
        return _contradicted(f"{said.path} differs from the last commit")
    if dirty and state.since_prompt and _is_changed(said.path, state):
        return _contradicted(f"{said.path} differs from the last commit and from what it was at your prompt")
    return _unknown()


def _assess_nothing_changed(said: Utterance, seen: ClaimContext) -> ClaimAssessment:  # noqa: ARG001 - as all
    """Files that nobody touched but a tool, such as caches, are ignored by git, and are none of these."""
    state = seen.project_state
    if state.changed is None or (state.changed and not state.since_prompt):
        return _unknown("nobody knows what changed in this turn")
    if not state.changed:
        return _confirmed("no file changed")
    more = f", and {len(state.changed) - 1} more" if state.changed[1:] else ""
    return _contradicted(f"{state.changed[0]} has changed since the prompt{more}")


def _assess_dependency_added(said: Utterance, seen: ClaimContext) -> ClaimAssessment:
    state = seen.project_state
    if said.path in state.absent:
        return _contradicted(f"there is no {said.path}")
    if state.changed is not None and said.path in state.present and not _is_changed(said.path, state):
        return _contradicted(f"{said.path} has not changed since the prompt")
    return _unknown()


def _is_changed(path: str, state: ProjectState) -> bool:
    return any(_is_same_path(path, each) for each in state.changed or ())


def _is_deleted_elsewhere(path: str, state: ProjectState) -> bool:
    """Whether another file of that name may be meant: one in a folder changed, and may be gone."""
    return any(each != path and each.endswith(f"/{path}") for each in state.changed or ())


def _assess_file_written(path: str, turn: Turn) -> ClaimAssessment:
    touching = [
        call
        for call in turn.calls
        if call.doing is ToolAction.EDIT and any(_is_same_path(path, each) for each in call.paths)
    ]
    written = [call for call in touching if call.outcome is CallOutcome.OK]
    if written:
        return ClaimAssessment(ClaimStatus.CONFIRMED, f"a tool wrote {path}", (written[-1].id,))
    if touching and touching[-1].outcome is CallOutcome.FAILED:
        return ClaimAssessment(
            ClaimStatus.CONTRADICTED, f"the tool that should write {path} failed", (touching[-1].id,)
        )
    for call in turn.calls:
        if call.doing is ToolAction.RUN and call.exit_code == 0 and _surely_writes_path(call, path):
            return ClaimAssessment(ClaimStatus.CONFIRMED, f"`{call.command[:200]}` wrote {path}", (call.id,))
    if cannot_have_written(turn, path):
        return _contradicted(f"no call of this turn wrote {path} or names it")
    return _unknown(f"no call of this turn is seen to write {path}")


def _is_same_path(claimed: str, path: str) -> bool:
    claimed = claimed.removeprefix("./")
    return path == claimed or path.endswith(f"/{claimed}")


def _surely_writes_path(call: ToolCall, path: str) -> bool:
    """Whether a line surely wrote the file at a path."""
    for run in call.runs:
        sure = run.fate is FailureHandling.DECIDES and run.implied
        if sure and command(run)[:1] in {("touch",), ("cp",), ("mv",), ("tee",)} and path in run.argv[1:]:
            return True
        if sure and run.silenced and re.search(rf">>?\s*[\"']?{re.escape(path)}[\"']?(?:\s|$)", call.command):
            return True
    return False


# --- Git ----------------------------------------------------------------------------------------------------


def _succeeded_and_failed_calls(
    turn: Turn, which: Callable[[CommandRun], bool]
) -> tuple[list[ToolCall], list[ToolCall]]:
    """Return the calls in which such a command surely succeeded, and those in which it surely failed."""
    good: list[ToolCall] = []
    bad: list[ToolCall] = []
    for call in turn.calls:
        for run in call.runs:
            if not which(run) or run.shadowed or _is_dry_run(run):
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


def _git_command_matcher(*verbs: str) -> Callable[[CommandRun], bool]:
    def which(run: CommandRun) -> bool:
        argv = command(run)
        return argv[:1] == ("git",) and next(iter(plain_words(argv[1:])), "") in verbs

    return which


def _pattern_matcher(name: str) -> Callable[[CommandRun], bool]:
    pattern = command_pattern(name)
    return lambda run: pattern.match(" ".join(command(run))) is not None


def _assess_commit(said: Utterance, seen: ClaimContext) -> ClaimAssessment:  # noqa: ARG001 - as all
    good, bad = _succeeded_and_failed_calls(seen.turn, _git_command_matcher("commit"))
    git = seen.repository
    if good:
        return _succeeded(good[-1])
    if git is not None and git.commits:
        return _git_confirms(f"git has {_commits_phrase(git.commits)} more")
    if bad:
        return _failed(bad[-1])
    if git is not None and git.commits == 0 and git.dirty > 0:
        return _git_contradicts(f"git has no new commit, and {_files_phrase(git.dirty)} not committed")
    return _unknown("no commit is seen in this turn")


def _assess_number_of_commits(said: Utterance, seen: ClaimContext) -> ClaimAssessment:
    git = seen.repository
    told = NUMBERS.index(said.count.lower()) if said.count.lower() in NUMBERS else int(said.count)
    if git is None or git.commits is None or git.commits >= told:
        return _unknown()
    return _git_contradicts(f"git has {_commits_phrase(git.commits)} since the prompt")


def _assess_clean_tree(said: Utterance, seen: ClaimContext) -> ClaimAssessment:  # noqa: ARG001 - as all
    git = seen.repository
    if git is None:
        return _unknown("there is no repository")
    if not git.dirty:
        return _git_confirms("git has nothing to commit")
    first = f": {git.uncommitted[0]}" if git.uncommitted else ""
    return _git_contradicts(f"{_files_phrase(git.dirty)} not committed{first}")


def _assess_tag(said: Utterance, seen: ClaimContext) -> ClaimAssessment:
    git = seen.repository
    if git is None or git.tags is None:
        return _unknown("the tags are not known")
    if said.name in git.tags or f"v{said.name}" in git.tags:
        return _git_confirms(f"git has the tag {said.name}")
    return _git_contradicts(f"git has no tag {said.name}")


def _assess_branch(said: Utterance, seen: ClaimContext) -> ClaimAssessment:
    git = seen.repository
    named = re.search(r"[-/_\d]", said.name)  # "a branch that ..." names none
    if git is None or git.branches is None or said.name in git.branches or not named:
        return _unknown()
    return _git_contradicts(f"git has no branch {said.name}")


def _assess_branch_deletion(said: Utterance, seen: ClaimContext) -> ClaimAssessment:
    git = seen.repository
    if git is not None and git.branches is not None and said.name in git.branches:
        return _git_contradicts(f"git still has the branch {said.name}")
    return _unknown()


def _assess_merge(said: Utterance, seen: ClaimContext) -> ClaimAssessment:  # noqa: ARG001 - as all
    git = seen.repository
    good, bad = _succeeded_and_failed_calls(seen.turn, _git_command_matcher(*MERGING))
    if git is not None and git.merging:
        return _git_contradicts("a merge has begun and is not committed")
    if bad and not good and (git is None or not git.commits):
        return _failed(bad[-1])
    if git is not None and _cannot_have_run("may_merge", seen.turn):
        return _contradicted("no command of this turn merged anything")
    return _unknown()


def _assess_push(said: Utterance, seen: ClaimContext) -> ClaimAssessment:  # noqa: ARG001 - as all
    good, bad = _succeeded_and_failed_calls(seen.turn, _git_command_matcher("push"))
    git = seen.repository
    if git is not None and (why := _why_not_pushed(git, seen.turn, ran=bool(good))):
        return _git_contradicts(why)
    if good:
        return _succeeded(good[-1])
    if git is not None and git.ahead == 0 and git.commits:
        return _git_confirms(f"{git.upstream or 'the upstream branch'} has all commits")
    tried = _only_dry_run_calls(seen.turn, _git_command_matcher("push"))
    if bad or (tried and is_turn_fully_known(seen.turn)):
        call, how = (bad[-1], "failed") if bad else (tried[-1], "was a dry run, which pushes nothing")
        return ClaimAssessment(ClaimStatus.CONTRADICTED, f"`{call.command[:200]}` {how}", (call.id,))
    return _unknown("no push is seen in this turn")


def _why_not_pushed(git: RepositoryState, turn: Turn, *, ran: bool) -> str:
    """Say by what git shows that not all is pushed; "" where it does not. `ran`: a push succeeded."""
    branch = git.branch or "HEAD"
    if not git.remote:
        return "the repository has no remote"
    if git.ahead:
        return f"{_commits_phrase(git.ahead)} of {branch} not on {git.upstream or 'its upstream'}"
    if not ran and git.commits and git.ahead is None and _cannot_have_run("may_push", turn):
        return f"{branch} follows no remote branch, and no command pushed it"
    return ""


def _only_dry_run_calls(turn: Turn, which: Callable[[CommandRun], bool]) -> list[ToolCall]:
    """Return the calls that only ran such a command as a dry run; none if any run in the turn was real."""
    found = [(call, run) for call in turn.calls for run in call.runs if which(run)]
    return [call for call, _ in found] if all(_is_dry_run(run) for _, run in found) else []


def _is_dry_run(run: CommandRun) -> bool:
    """Whether a command does nothing of what it is called. `git commit -n` does: it only skips hooks."""
    tries = DRY_RUN_OPTIONS - {"-n"} if "commit" in run.argv else DRY_RUN_OPTIONS
    return bool(tries & {*run.argv})


def _assess_pull_request(said: Utterance, seen: ClaimContext) -> ClaimAssessment:  # noqa: ARG001 - as all
    here = [run for run in seen.runs if run.gate.kind is Kind.PR and run.outcome is Outcome.PASSED]
    if here:
        return ClaimAssessment(
            ClaimStatus.CONFIRMED, f"Supervisor ran `{here[0].gate.command}`: passed", gate_ids(here)
        )
    good, bad = _succeeded_and_failed_calls(seen.turn, _pattern_matcher("open_request"))
    tools = [
        call for call in seen.turn.calls if OPENING_TOOL.search(call.tool) and call.outcome is CallOutcome.OK
    ]
    if good or tools:
        return _succeeded((good or tools)[-1])
    if bad:
        return _failed(bad[-1])
    if seen.repository is not None and not seen.repository.remote:
        return _git_contradicts("the repository has no remote")
    if (
        seen.turn.calls
        and is_turn_fully_known(seen.turn)
        and not any(may_open_pull_request(call) for call in seen.turn.calls)
    ):
        return _contradicted("no command of this turn opened one")
    return _unknown("no call of this turn is seen to open one")


def _assess_deployment(said: Utterance, seen: ClaimContext) -> ClaimAssessment:  # noqa: ARG001 - as all
    good, bad = _succeeded_and_failed_calls(seen.turn, _pattern_matcher("deploy"))
    if good:
        return _succeeded(good[-1])
    if bad:
        return _failed(bad[-1])
    return _unknown("no call of this turn is seen to deploy")


def _commits_phrase(number: int) -> str:
    return f"{number} commit{'' if number == 1 else 's'}"


def _files_phrase(number: int) -> str:
    return "1 file is" if number == 1 else f"{number} files are"


# --- Commands of the turn -----------------------------------------------------------------------------------


def _assess_installation(said: Utterance, seen: ClaimContext) -> ClaimAssessment:
    good, bad = _succeeded_and_failed_calls(seen.turn, _pattern_matcher("install"))
    named = [call for call in bad if said.name in call.command] or bad
    if good:
        return _succeeded(good[-1])
    if named:
        return _failed(named[-1])
    if _cannot_have_run("may_install", seen.turn):
        return _contradicted("no command of this turn installed anything")
    return _unknown("no call of this turn is seen to install it")


def _assess_run(said: Utterance, seen: ClaimContext) -> ClaimAssessment:
    """A command that was run leaves its name in a call of the turn, wherever it was started."""
    turn = seen.turn
    if not is_turn_fully_known(turn):
        return _unknown()
    if said.name in TESTS:
        ran = any(map(_may_have_tested, turn.calls))
        return _unknown() if ran else _contradicted("no call of this turn ran tests")
    telling = _telling_words(said.name)
    calls = [call for call in turn.calls if any(word in call.command for word in telling)]
    if telling and turn.calls and not calls:
        return _contradicted("no call of this turn ran it")
    if calls and SUCCESS.search(said.text) and all(call.outcome is CallOutcome.FAILED for call in calls):
        return _failed(calls[-1])
    return _unknown()


def _telling_words(line: str) -> list[str]:
    """Return the words of a command by which it can be told from others."""
    common = command_pattern("common")
    words = (word.rpartition("/")[2] for word in line.split() if not word.startswith("-"))
    return [word for word in words if len(word) > 1 and not common.fullmatch(word)]


def _may_have_tested(call: ToolCall) -> bool:
    """Whether a call may have run tests: it is no shell line of commands that are known to run none."""
    return call.doing is ToolAction.RUN and (not call.runs or not all(map(_runs_no_tests, call.runs)))


def _runs_no_tests(run: CommandRun) -> bool:
    return is_incidental_command(run) or next(iter(command(run)), "") in ("git", *NAMES_WHAT_IT_WRITES)


def _cannot_have_run(name: str, turn: Turn) -> bool:
    """Whether all calls are known, and none has a word of these commands."""
    pattern = command_pattern(name)
    return (
        bool(turn.calls)
        and is_turn_fully_known(turn)
        and not any(pattern.search(call.command) for call in turn.calls)
    )


def _failed(call: ToolCall) -> ClaimAssessment:
    return ClaimAssessment(ClaimStatus.CONTRADICTED, f"`{call.command[:200]}` failed", (call.id,))


def _succeeded(call: ToolCall) -> ClaimAssessment:
    said = call.command or call.tool
    return ClaimAssessment(ClaimStatus.CONFIRMED, f"`{said[:200]}` succeeded", (call.id,))


def _contradicted(because: str) -> ClaimAssessment:
    return ClaimAssessment(ClaimStatus.CONTRADICTED, because)


def _git_contradicts(because: str) -> ClaimAssessment:
    return ClaimAssessment(ClaimStatus.CONTRADICTED, because, sources=(Source.REPOSITORY,))


def _git_confirms(because: str) -> ClaimAssessment:
    return ClaimAssessment(ClaimStatus.CONFIRMED, because, sources=(Source.REPOSITORY,))


def _confirmed(because: str) -> ClaimAssessment:
    return ClaimAssessment(ClaimStatus.CONFIRMED, because)


def _unknown(because: str = "nothing speaks against it") -> ClaimAssessment:
    return ClaimAssessment(ClaimStatus.UNKNOWN, because)


FACT_ASSESSORS: Final[dict[ClaimKind, Callable[[Utterance, ClaimContext], ClaimAssessment]]] = {
    ClaimKind.FILE_CREATED: _assess_file_created,
    ClaimKind.FILE_DELETED: _assess_file_deleted,
    ClaimKind.FILE_UNCHANGED: _assess_file_unchanged,
    ClaimKind.FILE_RENAMED: _assess_file_renamed,
    ClaimKind.FILE_REVERTED: _assess_file_reverted,
    ClaimKind.NOTHING_CHANGED: _assess_nothing_changed,
    ClaimKind.DEPENDENCY_ADDED: _assess_dependency_added,
    ClaimKind.COMMITTED: _assess_commit,
    ClaimKind.COMMITS_MADE: _assess_number_of_commits,
    ClaimKind.TREE_CLEAN: _assess_clean_tree,
    ClaimKind.PUSHED: _assess_push,
    ClaimKind.TAGGED: _assess_tag,
    ClaimKind.BRANCH_CREATED: _assess_branch,
    ClaimKind.BRANCH_DELETED: _assess_branch_deletion,
    ClaimKind.MERGED: _assess_merge,
    ClaimKind.PR_OPENED: _assess_pull_request,
    ClaimKind.DEPLOYED: _assess_deployment,
    ClaimKind.INSTALLED: _assess_installation,
    ClaimKind.RAN: _assess_run,
}
"""What holds a claim against facts, for each kind that is not about a check."""
