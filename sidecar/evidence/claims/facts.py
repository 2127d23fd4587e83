"""Holds what a message claims of git and of files against git and the files themselves.

A claim is contradicted only where a fact leaves no other reading; the words of a shell line decide nothing.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Final

from msgspec import Struct

from sidecar.evidence.claims.turn_effects import edit_places
from sidecar.evidence.claims.utterances import Utterance
from sidecar.evidence.claims.worked import CLEAN_TREE_MESSAGE
from sidecar.evidence.commands.kinds import command, plain_words
from sidecar.kernel.events import ProjectState
from sidecar.kernel.evidence import ClaimKind, ClaimStatus, RepositoryState, Source
from sidecar.kernel.gate import GateRun
from sidecar.kernel.text import counted
from sidecar.kernel.turn import CallOutcome, CommandRun, ToolAction, Turn


class ClaimContext(Struct, frozen=True):
    """What claims are held against."""

    turn: Turn
    runs: tuple[GateRun, ...]
    project_state: ProjectState


class ClaimAssessment(Struct, frozen=True):
    """The assessment of a claim. `calls` are ids of tool calls and gates that decide it."""

    status: ClaimStatus
    because: str
    calls: tuple[str, ...] = ()
    sources: tuple[Source, ...] = ()
    stale: bool = False


FactAssessor = Callable[[Utterance, ClaimContext, RepositoryState], ClaimAssessment]


def claim_unknown(because: str = "no fact decides it") -> ClaimAssessment:
    """Nothing that is known decides the claim."""
    return ClaimAssessment(ClaimStatus.UNKNOWN, because)


def _git_says(status: ClaimStatus, because: str) -> ClaimAssessment:
    return ClaimAssessment(status, because, sources=(Source.REPOSITORY,))


def _refuted(because: str) -> ClaimAssessment:
    return _git_says(ClaimStatus.CONTRADICTED, because)


# --- Git ----------------------------------------------------------------------------------------------------


def _assess_commit(said: Utterance, seen: ClaimContext, git: RepositoryState) -> ClaimAssessment:
    left = [path for path in git.uncommitted if path in (seen.project_state.changed or ())]
    if git.commits:
        edited = [path for path in left if _is_edited_by_call(path, seen.turn)]
        named = [path for path in edited if said.whole or path.rpartition("/")[2] in said.text]
        if named and not seen.project_state.unseen:
            return _refuted(f"{named[0]} is not committed")
        return _git_says(ClaimStatus.CONFIRMED, f"git has {counted(git.commits, 'commit')} more")
    if git.commits == 0 and (left or _failed_to_commit(seen.turn)):
        more = f", and {counted(git.dirty, 'file')} not committed" if git.dirty else ""
        return _refuted(f"git has no new commit{more}")
    return claim_unknown("git has no new commit, and nothing of this turn is left to commit")


def _is_edited_by_call(path: str, turn: Turn) -> bool:
    """Whether a call that edits names the file: others are reports and caches that a run leaves behind."""
    name = path.rpartition("/")[2]
    calls = {turn.calls[number].id: turn.calls[number] for number, _ in edit_places(turn)}.values()
    return any(name in call.command or any(name in each for each in call.paths) for call in calls)


def _failed_to_commit(turn: Turn) -> bool:
    """Whether a command to commit certainly failed, for another reason than that nothing was to commit."""
    return any(
        call.outcome is CallOutcome.FAILED
        and CLEAN_TREE_MESSAGE not in call.output
        and any(run.blamed and command(run)[:2] == ("git", "commit") for run in call.runs)
        for call in turn.calls
    )


def _assess_branch_of_commit(said: Utterance, seen: ClaimContext, git: RepositoryState) -> ClaimAssessment:  # noqa: ARG001 - as all
    if said.name in git.old_branches and said.name != git.branch and f"`{git.branch}`" not in said.text:
        return _refuted(
            f"the branch {said.name} has no new commit; what is new is on {git.branch or 'no branch'}"
        )
    return claim_unknown()


def _assess_clean_tree(said: Utterance, seen: ClaimContext, git: RepositoryState) -> ClaimAssessment:  # noqa: ARG001 - as all
    if not git.dirty:
        return _git_says(ClaimStatus.CONFIRMED, "git has nothing to commit")
    first = f": {git.uncommitted[0]}" if git.uncommitted else ""
    return _refuted(f"{counted(git.dirty, 'file')} not committed{first}")


def _assess_push(said: Utterance, seen: ClaimContext, git: RepositoryState) -> ClaimAssessment:
    """Assess by git's record of the remotes. A clone of one branch keeps none of others that are pushed."""
    if why := _why_not_pushed(said, seen.turn, git):
        return _refuted(why)
    if git.commits and git.ahead == 0:
        return _git_says(ClaimStatus.CONFIRMED, f"{git.upstream or 'the upstream branch'} has all commits")
    return claim_unknown()


def _why_not_pushed(said: Utterance, turn: Turn, git: RepositoryState) -> str:
    """Say by what git shows that something is not pushed; "" where it does not."""
    branch = git.branch or "HEAD"
    named = [name for name in git.branches or () if f"`{name}`" in said.text]
    lacking = [name for name in named if name in git.unpushed and name != git.branch]
    if not git.remote:
        return "the repository has no remote"
    if lacking and not _is_merged_here(lacking[0], turn):
        return f"{lacking[0]} is not on the remote as it is here"
    if named and git.branch not in named:  # it may be of another branch than the one that is checked out
        return ""
    if git.ahead:
        return f"{counted(git.ahead, 'commit')} of {branch} not on {git.upstream or 'its upstream'}"
    pushed = any(_may_push(run, branch) for run in _passed_runs(turn))
    alone = git.commits and git.branch in git.unpushed and not git.on_remote and not pushed
    return f"no remote has the last commit of {branch}" if alone else ""


def _is_merged_here(branch: str, turn: Turn) -> bool:
    """Whether the turn merged the branch into another, with which it came to the remote."""
    return any(command(run)[:2] == ("git", "merge") and branch in run.argv for run in _passed_runs(turn))


def _may_push(run: CommandRun, branch: str) -> bool:
    """Whether a command that succeeded pushed this branch: it names it, or no other."""
    argv = plain_words(command(run)[1:])
    named = {word.lstrip("+").partition(":")[0] for word in argv[2:]}
    return (
        command(run)[:1] == ("git",)
        and argv[:1] == ("push",)
        and (not named or bool(named & {branch, "HEAD"}))
    )


def _passed_runs(turn: Turn) -> list[CommandRun]:
    return [run for call in turn.calls if call.exit_code == 0 for run in call.runs]


def _assess_tag(said: Utterance, seen: ClaimContext, git: RepositoryState) -> ClaimAssessment:
    images = any(command(run)[:1] in IMAGE_TOOLS for run in _runs(seen.turn))
    if git.tags is None or images or not re.search(r"[-./\d]", said.name):
        return claim_unknown("it may be the tag of something else")
    if any(re.search(rf"(?:^|[^\d.]){re.escape(said.name)}$", tag) for tag in git.tags):
        return _git_says(ClaimStatus.CONFIRMED, f"git has the tag {said.name}")
    return _refuted(f"git has no tag {said.name}")


IMAGE_TOOLS: Final = {("docker",), ("podman",), ("buildah",)}


def _runs(turn: Turn) -> list[CommandRun]:
    return [run for call in turn.calls for run in call.runs]


def _assess_branch(said: Utterance, seen: ClaimContext, git: RepositoryState) -> ClaimAssessment:
    if git.branches is None or said.name in git.branches or not re.search(r"[-/_\d]", said.name):
        return claim_unknown()
    if said.name.startswith(("origin/", "upstream/")) or any(map(_deletes_branch, _runs(seen.turn))):
        return claim_unknown("it may be a branch of a remote, or deleted since")
    return _refuted(f"git has no branch {said.name}")


def _deletes_branch(run: CommandRun) -> bool:
    return command(run)[:2] == ("git", "branch") and any(
        re.match(r"-\w*[dD]|--delete", word) for word in run.argv
    )


# --- Files --------------------------------------------------------------------------------------------------


def _assess_file_created(said: Utterance, seen: ClaimContext) -> ClaimAssessment:
    state = seen.project_state
    if said.name in state.absent and not (_removes(said.name, seen.turn) or _leaves_project(seen.turn)):
        return ClaimAssessment(ClaimStatus.CONTRADICTED, f"there is no {said.name}")
    ending = f"/{said.name.removeprefix('./')}"
    if any(f"/{path}".endswith(ending) for path in state.changed or ()):
        return ClaimAssessment(
            ClaimStatus.CONFIRMED, f"{said.name} is there, and changed since the work began"
        )
    return claim_unknown()


def _assess_file_deleted(said: Utterance, seen: ClaimContext) -> ClaimAssessment:
    path, state = said.name.rstrip("/"), seen.project_state
    elsewhere = any(each != path and each.endswith(f"/{path}") for each in state.changed or ())
    if said.name in state.present and not (elsewhere or _leaves_project(seen.turn)):
        return ClaimAssessment(ClaimStatus.CONTRADICTED, f"{said.name} is still there")
    if said.name in state.absent:
        return ClaimAssessment(ClaimStatus.CONFIRMED, f"{said.name} is gone")
    return claim_unknown()


def _assess_dependency_added(said: Utterance, seen: ClaimContext) -> ClaimAssessment:
    state = seen.project_state
    if said.name in state.absent:
        return ClaimAssessment(ClaimStatus.CONTRADICTED, f"there is no {said.name}")
    if said.name in state.unchanged and state.since_prompt:
        return ClaimAssessment(ClaimStatus.CONTRADICTED, f"{said.name} has not changed since the prompt")
    return claim_unknown()


def _removes(path: str, turn: Turn) -> bool:
    """Whether a command of the turn removed the file again."""
    name = path.rpartition("/")[2]
    return any(command(run)[:1] in {("rm",), ("mv",)} and name in run.text for run in _runs(turn))


def _leaves_project(turn: Turn) -> bool:
    """Whether a path of the message may be meant from another folder: a command went to one."""
    return any(command(run)[:1] in {("cd",), ("pushd",)} for run in _runs(turn))


FILE_ASSESSORS: Final[dict[ClaimKind, Callable[[Utterance, ClaimContext], ClaimAssessment]]] = {
    ClaimKind.FILE_CREATED: _assess_file_created,
    ClaimKind.FILE_DELETED: _assess_file_deleted,
    ClaimKind.DEPENDENCY_ADDED: _assess_dependency_added,
}
GIT_ASSESSORS: Final[dict[ClaimKind, FactAssessor]] = {
    ClaimKind.COMMITTED: _assess_commit,
    ClaimKind.COMMITTED_ON: _assess_branch_of_commit,
    ClaimKind.TREE_CLEAN: _assess_clean_tree,
    ClaimKind.PUSHED: _assess_push,
    ClaimKind.TAGGED: _assess_tag,
    ClaimKind.BRANCH_CREATED: _assess_branch,
}
"""A new kind: CONTRIBUTING, "Add a claim kind"."""


def assess_fact(said: Utterance, seen: ClaimContext) -> ClaimAssessment:
    """Hold a claim of git or of a file against what is known."""
    if said.kind in FILE_ASSESSORS:
        return FILE_ASSESSORS[said.kind](said, seen)
    git = seen.project_state.repository
    return (
        claim_unknown("there is no repository") if git is None else GIT_ASSESSORS[said.kind](said, seen, git)
    )


def changed_nothing_since_prompt(state: ProjectState) -> bool:
    """Whether no file changed and nothing was committed since the prompt."""
    commits = state.repository is not None and bool(state.repository.commits)
    return state.since_prompt and state.changed == () and not commits


def may_run_anything(turn: Turn) -> bool:
    """Whether a call handed work to another agent, or to a tool that is not known."""
    return any(call.doing in {ToolAction.DELEGATE, ToolAction.OTHER} for call in turn.calls)
