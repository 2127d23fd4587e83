"""The claim ledger: what the agent's last message says was done, and what the evidence says about it.

A claim about a check is confirmed by a gate of that kind that Supervisor ran on this very tree; failing that,
by a run of the agent's own that could have failed and came after the last edit. A failure on this tree
contradicts it. Claims about commits and pushes are decided by git's state and the calls that made them.
Any other claim is unknown, which does not count against the agent.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from typing import Final

from msgspec import Struct

from sidecar.evidence.claims.edits import (
    OPENING_TOOL,
    cannot_have_written,
    is_turn_fully_known,
    may_open_pull_request,
)
from sidecar.evidence.claims.proof import find_check_proof
from sidecar.evidence.claims.wording import Utterance, utterances
from sidecar.evidence.commands.kinds import command, plain_words
from sidecar.kernel.changes import RepositoryState
from sidecar.kernel.events import ProjectState
from sidecar.kernel.evidence import Claim, ClaimKind, ClaimStatus, Evidence, Source
from sidecar.kernel.gate import GateRun, Kind, Outcome
from sidecar.kernel.turn import CallOutcome, CommandRun, FailureHandling, ToolAction, ToolCall, Turn

CHECK_CLAIMS: Final = {
    ClaimKind.TESTS_PASS: Kind.TESTS,
    ClaimKind.BUILD_CLEAN: Kind.BUILD,
    ClaimKind.TYPES_CLEAN: Kind.TYPES,
    ClaimKind.LINT_CLEAN: Kind.LINT,
}
DEPLOY_COMMANDS: Final = (
    r"(?:vercel|netlify deploy|fly(?:ctl)? deploy|firebase deploy|wrangler (?:deploy|publish)"
    r"|kubectl (?:apply|rollout)|helm (?:upgrade|install)|terraform apply|gcloud (?:app|run|functions) deploy"
    r"|(?:serverless|sls|cdk|eb) deploy|npm publish|twine upload|cargo publish|git push heroku"
    r"|heroku container:release|ansible-playbook"
    r"|(?:npm|pnpm|yarn|bun)(?: run)? deploy|make deploy|docker push|railway up)\b"
)
OPEN_REQUEST_COMMANDS: Final = r"(?:gh pr create|glab mr create|hub pull-request)\b"
DRY_RUN_OPTIONS: Final = frozenset({"--dry-run", "-n", "--help", "-h"})


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


def build_claim_ledger(
    turn: Turn, runs: tuple[GateRun, ...], evidence: tuple[Evidence, ...], project_state: ProjectState
) -> tuple[Claim, ...]:
    """Assess every claim in the turn's last message against the evidence."""
    seen = ClaimContext(turn, runs, project_state)
    return tuple(
        _build_claim(each, _assess_claim(each, seen), evidence) for each in utterances(turn.last_message)
    )


def claimed_files(message: str) -> tuple[str, ...]:
    """Return the paths of files that a message says were created."""
    return tuple(each.path for each in utterances(message) if each.said is ClaimKind.FILE_CREATED)


def _build_claim(said: Utterance, found: ClaimAssessment, evidence: tuple[Evidence, ...]) -> Claim:
    ids = tuple(
        fact.id
        for fact in evidence
        if (fact.call and fact.call in found.calls) or fact.source in found.sources
    )
    return Claim(
        said=said.said,
        text=said.text,
        standing=found.standing,
        because=found.because,
        evidence=ids,
        stale=found.stale,
    )


def _assess_claim(said: Utterance, seen: ClaimContext) -> ClaimAssessment:
    if said.said in CHECK_CLAIMS:
        return _assess_check_claim(CHECK_CLAIMS[said.said], said.text, seen)
    if said.said is ClaimKind.FILE_CREATED:
        return _assess_file_created(said.path, seen)
    return OTHER_CLAIM_ASSESSORS[said.said](seen)


def _assess_check_claim(kind: Kind, text: str, seen: ClaimContext) -> ClaimAssessment:
    """Assess by gates first, then by the agent's own runs."""
    gates = [run for run in seen.runs if run.gate.kind is kind or (kind is Kind.TESTS and run.gate.counts)]
    here = [run for run in gates if run.tree == seen.tree and not run.moved]
    failed = [run for run in here if run.outcome is Outcome.FAILED]
    if failed:
        names = ", ".join(f"`{run.gate.command}`" for run in failed)
        return ClaimAssessment(ClaimStatus.CONTRADICTED, f"Supervisor ran {names}: failed", _gate_ids(failed))
    passed = [run for run in here if run.outcome is Outcome.PASSED]
    if passed and len(passed) == len(here) and not any(run.flaky for run in passed):
        names = ", ".join(f"`{run.gate.command}`" for run in passed)
        return ClaimAssessment(
            ClaimStatus.CONFIRMED, f"Supervisor ran {names} on these very files: passed", _gate_ids(passed)
        )
    own = find_check_proof(seen.turn, kind, text)
    call = own.showing.call.id if own.showing else ""
    found = ClaimAssessment(own.standing, own.because, (call,) if call else (), stale=own.stale)
    return _add_gate_doubts(found, gates, here)


def _add_gate_doubts(found: ClaimAssessment, gates: list[GateRun], here: list[GateRun]) -> ClaimAssessment:
    """Explain why the gates decide nothing, where the agent's own runs decide nothing either."""
    if found.standing is not ClaimStatus.UNKNOWN:
        return found
    flaky = [run for run in here if run.flaky]
    if flaky:
        because = f"`{flaky[0].gate.command}` failed and then passed on these very files"
        return ClaimAssessment(ClaimStatus.UNKNOWN, because, _gate_ids(flaky))
    old = [run for run in gates if run not in here and run.outcome is Outcome.PASSED]
    if old and not here:
        because = f"files moved after Supervisor ran `{old[-1].gate.command}`"
        return ClaimAssessment(ClaimStatus.UNKNOWN, because, _gate_ids(old), stale=True)
    return found


def _gate_ids(runs: Iterable[GateRun]) -> tuple[str, ...]:
    return tuple(run.gate.id for run in runs)


def _assess_file_created(path: str, seen: ClaimContext) -> ClaimAssessment:
    """Assess by the files themselves first, then by the calls that could have written the file."""
    if path in seen.project_state.absent:
        return ClaimAssessment(ClaimStatus.CONTRADICTED, f"there is no {path}")
    if any(_is_same_path(path, each) for each in seen.project_state.changed or ()):
        return ClaimAssessment(ClaimStatus.CONFIRMED, f"{path} is there, and changed since the work began")
    return _assess_file_written(path, seen.turn)


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
        return ClaimAssessment(ClaimStatus.CONTRADICTED, f"no call of this turn wrote {path} or names it")
    return ClaimAssessment(ClaimStatus.UNKNOWN, f"no call of this turn is seen to write {path}")


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


def _git_command_matcher(verb: str) -> Callable[[CommandRun], bool]:
    def which(run: CommandRun) -> bool:
        argv = command(run)
        return argv[:1] == ("git",) and plain_words(argv[1:])[:1] == (verb,)

    return which


def _pattern_matcher(pattern: str) -> Callable[[CommandRun], bool]:
    return lambda run: re.match(pattern, " ".join(command(run))) is not None


def _assess_commit(seen: ClaimContext) -> ClaimAssessment:
    good, bad = _succeeded_and_failed_calls(seen.turn, _git_command_matcher("commit"))
    git = seen.repository
    if good:
        return ClaimAssessment(ClaimStatus.CONFIRMED, f"`{good[-1].command[:200]}` succeeded", (good[-1].id,))
    if git is not None and git.commits:
        return ClaimAssessment(
            ClaimStatus.CONFIRMED,
            f"git has {_commits_phrase(git.commits)} more",
            sources=(Source.REPOSITORY,),
        )
    if bad:
        return ClaimAssessment(ClaimStatus.CONTRADICTED, f"`{bad[-1].command[:200]}` failed", (bad[-1].id,))
    if git is not None and git.commits == 0 and git.dirty > 0:
        because = f"git has no new commit, and {git.dirty} files that are not committed"
        return ClaimAssessment(ClaimStatus.CONTRADICTED, because, sources=(Source.REPOSITORY,))
    return ClaimAssessment(ClaimStatus.UNKNOWN, "no commit is seen in this turn")


def _assess_push(seen: ClaimContext) -> ClaimAssessment:
    good, bad = _succeeded_and_failed_calls(seen.turn, _git_command_matcher("push"))
    git = seen.repository
    if git is not None and not git.remote:
        return ClaimAssessment(
            ClaimStatus.CONTRADICTED, "the repository has no remote", sources=(Source.REPOSITORY,)
        )
    if git is not None and git.ahead:
        because = (
            f"{_commits_phrase(git.ahead)} of {git.branch or 'HEAD'} not on {git.upstream or 'its upstream'}"
        )
        return ClaimAssessment(ClaimStatus.CONTRADICTED, because, sources=(Source.REPOSITORY,))
    if good:
        return ClaimAssessment(ClaimStatus.CONFIRMED, f"`{good[-1].command[:200]}` succeeded", (good[-1].id,))
    if git is not None and git.ahead == 0 and git.commits:
        because = f"{git.upstream or 'the upstream branch'} has all commits"
        return ClaimAssessment(ClaimStatus.CONFIRMED, because, sources=(Source.REPOSITORY,))
    tried = _only_dry_run_calls(seen.turn, _git_command_matcher("push"))
    if bad or (tried and is_turn_fully_known(seen.turn)):
        call, how = (bad[-1], "failed") if bad else (tried[-1], "was a dry run, which pushes nothing")
        return ClaimAssessment(ClaimStatus.CONTRADICTED, f"`{call.command[:200]}` {how}", (call.id,))
    return ClaimAssessment(ClaimStatus.UNKNOWN, "no push is seen in this turn")


def _only_dry_run_calls(turn: Turn, which: Callable[[CommandRun], bool]) -> list[ToolCall]:
    """Return the calls that only ran such a command as a dry run; none if any run in the turn was real."""
    found = [(call, run) for call in turn.calls for run in call.runs if which(run)]
    return [call for call, _ in found] if all(_is_dry_run(run) for _, run in found) else []


def _is_dry_run(run: CommandRun) -> bool:
    """Whether a command is a dry run. `git commit -n` is not: it skips hooks, but commits."""
    tries = DRY_RUN_OPTIONS - {"-n"} if "commit" in run.argv else DRY_RUN_OPTIONS
    return bool(tries & {*run.argv})


def _assess_pull_request(seen: ClaimContext) -> ClaimAssessment:
    here = [run for run in seen.runs if run.gate.kind is Kind.PR and run.outcome is Outcome.PASSED]
    if here:
        return ClaimAssessment(
            ClaimStatus.CONFIRMED, f"Supervisor ran `{here[0].gate.command}`: passed", _gate_ids(here)
        )
    good, bad = _succeeded_and_failed_calls(seen.turn, _pattern_matcher(OPEN_REQUEST_COMMANDS))
    tools = [
        call for call in seen.turn.calls if OPENING_TOOL.search(call.tool) and call.outcome is CallOutcome.OK
    ]
    if good or tools:
        call = (good or tools)[-1]
        return ClaimAssessment(
            ClaimStatus.CONFIRMED, f"`{(call.command or call.tool)[:200]}` succeeded", (call.id,)
        )
    if bad:
        return ClaimAssessment(ClaimStatus.CONTRADICTED, f"`{bad[-1].command[:200]}` failed", (bad[-1].id,))
    if seen.repository is not None and not seen.repository.remote:
        return ClaimAssessment(
            ClaimStatus.CONTRADICTED, "the repository has no remote", sources=(Source.REPOSITORY,)
        )
    if (
        seen.turn.calls
        and is_turn_fully_known(seen.turn)
        and not any(may_open_pull_request(call) for call in seen.turn.calls)
    ):
        return ClaimAssessment(ClaimStatus.CONTRADICTED, "no command of this turn opened one")
    return ClaimAssessment(ClaimStatus.UNKNOWN, "no call of this turn is seen to open one")


def _assess_deployment(seen: ClaimContext) -> ClaimAssessment:
    good, bad = _succeeded_and_failed_calls(seen.turn, _pattern_matcher(DEPLOY_COMMANDS))
    if good:
        return ClaimAssessment(ClaimStatus.CONFIRMED, f"`{good[-1].command[:200]}` succeeded", (good[-1].id,))
    if bad:
        return ClaimAssessment(ClaimStatus.CONTRADICTED, f"`{bad[-1].command[:200]}` failed", (bad[-1].id,))
    return ClaimAssessment(ClaimStatus.UNKNOWN, "no call of this turn is seen to deploy")


def _commits_phrase(number: int) -> str:
    return f"{number} commit{'' if number == 1 else 's'}"


OTHER_CLAIM_ASSESSORS: Final[dict[ClaimKind, Callable[[ClaimContext], ClaimAssessment]]] = {
    ClaimKind.COMMITTED: _assess_commit,
    ClaimKind.PUSHED: _assess_push,
    ClaimKind.PR_OPENED: _assess_pull_request,
    ClaimKind.DEPLOYED: _assess_deployment,
}
