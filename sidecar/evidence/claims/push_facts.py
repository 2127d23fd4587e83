"""Holds what a message claims of pushes against git's record of the remotes, and against the turn's calls."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Final

from sidecar.evidence.claims.assessment import (
    ClaimAssessment,
    ClaimContext,
    call_succeeded,
    cannot_have_run,
    claim_contradicted,
    claim_unknown,
    commits_phrase,
    git_command_matcher,
    git_confirms,
    git_contradicts,
    is_dry_run,
    succeeded_and_failed_calls,
)
from sidecar.evidence.claims.edits import is_turn_fully_known
from sidecar.evidence.claims.utterances import Utterance
from sidecar.evidence.claims.wording import command_pattern, pushing_tags, says_all_remotes
from sidecar.evidence.commands.kinds import command, plain_words
from sidecar.kernel.evidence import ClaimStatus, RepositoryState
from sidecar.kernel.turn import CommandRun, ToolCall, Turn

TAG: Final = "tag"
"""The name of what is pushed where it is a tag."""
TAGS: Final = "refs/tags/"


def assess_push(said: Utterance, seen: ClaimContext) -> ClaimAssessment:
    """Assess a claim that something was pushed."""
    good, bad = succeeded_and_failed_calls(seen.turn, git_command_matcher("push"))
    git = seen.repository
    if git is not None and (why := _why_not_pushed(git, said, seen.turn, good)):
        return git_contradicts(why)
    if said.name == TAG and _pushed_no_tag(seen):
        return claim_contradicted("no command of this turn pushed a tag")
    if good:
        return call_succeeded(good[-1])
    if git is not None and git.ahead == 0 and git.commits:
        return git_confirms(f"{git.upstream or 'the upstream branch'} has all commits")
    tried = _only_dry_run_calls(seen.turn, git_command_matcher("push"))
    if bad or (tried and is_turn_fully_known(seen.turn)):
        call, how = (bad[-1], "failed") if bad else (tried[-1], "was a dry run, which pushes nothing")
        return ClaimAssessment(ClaimStatus.CONTRADICTED, f"`{call.command[:200]}` {how}", (call.id,))
    return claim_unknown("no push is seen in this turn")


def _pushed_no_tag(seen: ClaimContext) -> bool:
    """Whether all calls are known, and every push names what it pushes, and no tag."""
    which, names = git_command_matcher("push"), (seen.repository and seen.repository.tags) or ()
    carriers = pushing_tags() | {*names, *(f"{TAGS}{name}" for name in names)}
    calls = [call for call in seen.turn.calls if command_pattern("may_push").search(call.command)]
    pushes = [[run for run in call.runs if which(run)] for call in calls]
    carried = any(carriers & {*run.argv} for runs in pushes for run in runs)
    return bool(names) and all(pushes) and not carried and is_turn_fully_known(seen.turn)


def _why_not_pushed(git: RepositoryState, said: Utterance, turn: Turn, good: list[ToolCall]) -> str:
    """Say by what git shows that not all is pushed; "" where it does not. `good`: the pushes that succeeded.

    A clone of one branch keeps no record of others that are pushed, so a branch that a push carried is there.
    """
    branch = git.branch or "HEAD"
    if not git.remote:
        return "the repository has no remote"
    pushed = _pushed_refs(good)
    lacking = [
        name for name in git.unpushed if not pushed & {name, *(("", "HEAD") if name == branch else ())}
    ]
    if missing := _named_and_missing(git, said, turn, good, lacking):
        return missing
    if good and git.commits and branch in lacking and not git.on_remote:
        return f"no remote has the last commit of {branch}"
    if git.ahead and not (good and git.commits == 0):  # else another branch was pushed, and this one not
        return f"{commits_phrase(git.ahead)} of {branch} not on {git.upstream or 'its upstream'}"
    nowhere = branch in lacking and not git.on_remote and cannot_have_run("names_push", turn)
    if not good and git.commits and git.ahead is None and (nowhere or cannot_have_run("may_push", turn)):
        return f"{branch} follows no remote branch, and no command pushed it"
    return ""


def _named_and_missing(
    git: RepositoryState, said: Utterance, turn: Turn, good: list[ToolCall], lacking: list[str]
) -> str:
    """Say which branch of the message, or remote of it and of the prompt, is without the commit."""
    merges = git_command_matcher("merge")
    merged = {word for call in turn.calls for run in call.runs if merges(run) for word in run.argv}
    for name in lacking if said.loose else ():
        if name in merged:  # it came along with the branch into which it was merged
            continue
        if name == said.name or f"`{name}`" in said.text:
            return f"{name} is not on the remote as it is here"
    for name in git.behind if git.on_remote else ():
        word = re.compile(rf"\b{re.escape(name)}\b")
        told = says_all_remotes(said.text) or (
            word.search(said.text) and word.search("\n".join(turn.prompts))
        )
        if told and not any(name in call.command for call in good):
            return f"the remote {name} does not have {git.branch or 'HEAD'}"
    return ""


def _pushed_refs(calls: list[ToolCall]) -> set[str]:
    """Return the branches that pushes name; "" where one names none, and pushes the one checked out."""
    which = git_command_matcher("push")
    runs = [run for call in calls for run in call.runs if which(run)]
    named = [plain_words(command(run)[1:])[2:] or ("",) for run in runs]
    return {word.lstrip("+").partition(":")[0] for words in named for word in words}


def _only_dry_run_calls(turn: Turn, which: Callable[[CommandRun], bool]) -> list[ToolCall]:
    """Return the calls that only ran such a command as a dry run; none if any run in the turn was real."""
    found = [(call, run) for call in turn.calls for run in call.runs if which(run)]
    return [call for call, _ in found] if all(is_dry_run(run) for _, run in found) else []
