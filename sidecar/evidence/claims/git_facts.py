"""Holds what a message claims of commits, tags and branches against git, and against the turn's calls."""

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
    commits_phrase,
    gate_ids,
    git_command_matcher,
    git_confirms,
    git_contradicts,
    pattern_matcher,
    succeeded_and_failed_calls,
)
from sidecar.evidence.claims.edits import (
    OPENING_TOOL,
    edit_places,
    is_turn_fully_known,
    may_open_pull_request,
)
from sidecar.evidence.claims.push_facts import assess_push
from sidecar.evidence.claims.utterances import Utterance
from sidecar.evidence.claims.wording import (
    command_pattern,
    is_trunk,
    names_branch,
    read_number,
    speaks_of_remote,
)
from sidecar.evidence.claims.worked import CLEAN_TREE_MESSAGE
from sidecar.kernel.evidence import ClaimKind, ClaimStatus, RepositoryState
from sidecar.kernel.gate import Kind, Outcome
from sidecar.kernel.turn import CallOutcome, Turn

MERGING: Final = ("merge", "pull", "rebase", "cherry-pick")


def _assess_commit(said: Utterance, seen: ClaimContext) -> ClaimAssessment:
    good, bad = succeeded_and_failed_calls(seen.turn, git_command_matcher("commit"))
    git = seen.repository
    if said.loose and (left := _edited_and_left(seen)):
        return git_contradicts(f"{left} is not committed")
    if good:
        return call_succeeded(good[-1])
    if git is not None and git.commits:
        return git_confirms(f"git has {commits_phrase(git.commits)} more")
    if bad:
        return call_failed(bad[-1])
    if git is not None and (why := _why_not_committed(git, said, seen.turn)):
        return git_contradicts(why)
    return claim_unknown("no commit is seen in this turn")


def _why_not_committed(git: RepositoryState, said: Utterance, turn: Turn) -> str:
    """Say by what git shows that there is no commit; "" where it does not."""
    commits = git_command_matcher("commit")
    tried = [call for call in turn.calls if any(map(commits, call.runs))]
    away = any(command_pattern("leaves").search(call.command) for call in tried)
    if git.commits == 0 and tried and not (away or any(CLEAN_TREE_MESSAGE in call.output for call in tried)):
        return f"git has no new commit, whatever `{tried[-1].command[:200]}` said"
    if git.commits == 0 and git.dirty > 0:
        return f"git has no new commit, and {_files_phrase(git.dirty)} not committed"
    ordered = said.ordered and CLEAN_TREE_MESSAGE not in said.text and is_turn_fully_known(turn)
    return "git has no new commit" if git.commits == 0 and ordered else ""


def _edited_and_left(seen: ClaimContext) -> str:
    """Return a file that a call of this turn names, that changed since the prompt, and is not committed."""
    state, git = seen.project_state, seen.repository
    if git is None or not state.since_prompt:
        return ""
    edits = [seen.turn.calls[number] for number, _ in edit_places(seen.turn)]
    named = "\n".join(text for call in edits for text in (call.command, *call.paths))
    left = (path for path in git.uncommitted if path in (state.changed or ()))
    return next((path for path in left if path.rpartition("/")[2] in named), "")


def _assess_branch_of_commit(said: Utterance, seen: ClaimContext) -> ClaimAssessment:
    git = seen.repository
    away = any(command_pattern("leaves").search(call.command) for call in seen.turn.calls)
    if git is None or said.name not in git.old_branches or away:
        return claim_unknown()
    if names_branch(said.text, git.branch):
        return claim_unknown("it tells of another commit, too")
    where = f"the branch {git.branch}" if git.branch else "no branch"
    return git_contradicts(f"the branch {said.name} has no new commit, what is new is on {where}")


def _assess_number_of_commits(said: Utterance, seen: ClaimContext) -> ClaimAssessment:
    git = seen.repository
    if git is None or git.commits is None or git.commits >= read_number(said.count):
        return claim_unknown()
    return git_contradicts(f"git has {commits_phrase(git.commits)} since the prompt")


def _assess_clean_tree(said: Utterance, seen: ClaimContext) -> ClaimAssessment:  # noqa: ARG001 - as all
    git = seen.repository
    if git is None:
        return claim_unknown("there is no repository")
    if not git.dirty:
        return git_confirms("git has nothing to commit")
    first = f": {git.uncommitted[0]}" if git.uncommitted else ""
    return git_contradicts(f"{_files_phrase(git.dirty)} not committed{first}")


def _assess_tag(said: Utterance, seen: ClaimContext) -> ClaimAssessment:
    git = seen.repository
    if git is None or git.tags is None:
        return claim_unknown("the tags are not known")
    if any(command_pattern("tags_images").search(call.command) for call in seen.turn.calls):
        return claim_unknown("it may be the tag of an image")
    if not said.name:
        none = not git.tags or cannot_have_run("may_tag", seen.turn)
        return claim_contradicted("no command of this turn made a tag") if none else claim_unknown()
    if said.loose and git.commits and {said.name, f"v{said.name}"} & {*git.old_tags}:
        return git_contradicts(f"the tag {said.name} is on a commit from before the prompt")
    if any(re.search(rf"(?:^|[^\d.]){re.escape(said.name)}$", tag) for tag in git.tags):
        return git_confirms(f"git has the tag {said.name}")
    return git_contradicts(f"git has no tag {said.name}")


def _assess_branch(said: Utterance, seen: ClaimContext) -> ClaimAssessment:
    git = seen.repository
    named = re.search(r"[-/_\d]", said.name)  # "a branch that ..." names none
    if git is None or git.branches is None or said.name in git.branches or not named:
        return claim_unknown()
    if speaks_of_remote(said.text):
        return claim_unknown("it may be a branch of a remote")
    if any(command_pattern("deletes_branch").search(call.command) for call in seen.turn.calls):
        return claim_unknown("it may have been merged and deleted since")
    return git_contradicts(f"git has no branch {said.name}")


def _assess_branch_deletion(said: Utterance, seen: ClaimContext) -> ClaimAssessment:
    git = seen.repository
    if git is None or said.name == git.branch or is_trunk(said.name):
        return claim_unknown()
    runs = [run for call in seen.turn.calls for run in call.runs]
    if any(map(git_command_matcher("push"), runs)) and not any(map(git_command_matcher("branch"), runs)):
        return claim_unknown("it may be a branch of a remote")
    if git.branches is not None and said.name in git.branches:
        return git_contradicts(f"git still has the branch {said.name}")
    return claim_unknown()


def _assess_merge(said: Utterance, seen: ClaimContext) -> ClaimAssessment:  # noqa: ARG001 - as all
    git = seen.repository
    good, bad = succeeded_and_failed_calls(seen.turn, git_command_matcher(*MERGING))
    if git is not None and git.merging:
        return git_contradicts("a merge has begun and is not committed")
    if bad and not good and (git is None or not git.commits):
        return call_failed(bad[-1])
    if git is not None and cannot_have_run("may_merge", seen.turn):
        return claim_contradicted("no command of this turn merged anything")
    return claim_unknown()


def _assess_pull_request(said: Utterance, seen: ClaimContext) -> ClaimAssessment:  # noqa: ARG001 - as all
    here = [run for run in seen.runs if run.gate.kind is Kind.PR and run.outcome is Outcome.PASSED]
    if here:
        return ClaimAssessment(
            ClaimStatus.CONFIRMED, f"Supervisor ran `{here[0].gate.command}`: passed", gate_ids(here)
        )
    good, bad = succeeded_and_failed_calls(seen.turn, pattern_matcher("open_request"))
    tools = [
        call for call in seen.turn.calls if OPENING_TOOL.search(call.tool) and call.outcome is CallOutcome.OK
    ]
    if good or tools:
        return call_succeeded((good or tools)[-1])
    if bad:
        return call_failed(bad[-1])
    if seen.repository is not None and not seen.repository.remote:
        return git_contradicts("the repository has no remote")
    if (
        seen.turn.calls
        and is_turn_fully_known(seen.turn)
        and not any(may_open_pull_request(call) for call in seen.turn.calls)
    ):
        return claim_contradicted("no command of this turn opened one")
    return claim_unknown("no call of this turn is seen to open one")


def _files_phrase(number: int) -> str:
    return "1 file is" if number == 1 else f"{number} files are"


GIT_ASSESSORS: Final[dict[ClaimKind, FactAssessor]] = {
    ClaimKind.COMMITTED: _assess_commit,
    ClaimKind.COMMITTED_ON: _assess_branch_of_commit,
    ClaimKind.COMMITS_MADE: _assess_number_of_commits,
    ClaimKind.TREE_CLEAN: _assess_clean_tree,
    ClaimKind.PUSHED: assess_push,
    ClaimKind.TAGGED: _assess_tag,
    ClaimKind.BRANCH_CREATED: _assess_branch,
    ClaimKind.BRANCH_DELETED: _assess_branch_deletion,
    ClaimKind.MERGED: _assess_merge,
    ClaimKind.PR_OPENED: _assess_pull_request,
}
