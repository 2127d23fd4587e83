"""The claim ledger: what the last message says was done, each claim beside what is known of it.

What confirms a check, in order: a gate of that kind that Supervisor ran on this very tree; then a run of
the agent's own that could have failed, after the last edit. A failure on this tree contradicts. What git
knows decides about commits and pushes, together with the calls that made them. Anything else leaves a claim
unknown, which is no reproach.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from typing import Final

from msgspec import Struct

from sidecar.model.claim import Claim, Said, Standing
from sidecar.model.command import Fate, Run
from sidecar.model.events import Surveyed
from sidecar.model.evidence import Evidence, Source
from sidecar.model.gate import GateRun, Kind, Outcome
from sidecar.model.inspection import Repository
from sidecar.model.turn import CallOutcome, Doing, ToolCall, Turn
from sidecar.policy.claims.kinds import command, kinds_of, plain_words
from sidecar.policy.claims.possible import OPENING_TOOL, cannot_have_written, is_whole, may_open
from sidecar.policy.claims.proof import proof
from sidecar.policy.claims.wording import Utterance, utterances

__all__ = ["claimed_files", "kinds_of", "ledger"]

CHECKS: Final = {
    Said.TESTS_PASS: Kind.TESTS,
    Said.BUILD_CLEAN: Kind.BUILD,
    Said.TYPES_CLEAN: Kind.TYPES,
    Said.LINT_CLEAN: Kind.LINT,
}
DEPLOYS: Final = (
    r"(?:vercel|netlify deploy|fly(?:ctl)? deploy|firebase deploy|wrangler (?:deploy|publish)"
    r"|kubectl (?:apply|rollout)|helm (?:upgrade|install)|terraform apply|gcloud (?:app|run|functions) deploy"
    r"|(?:serverless|sls|cdk|eb) deploy|npm publish|twine upload|cargo publish|git push heroku"
    r"|heroku container:release|ansible-playbook"
    r"|(?:npm|pnpm|yarn|bun)(?: run)? deploy|make deploy|docker push|railway up)\b"
)
OPENS: Final = r"(?:gh pr create|glab mr create|hub pull-request)\b"
DRY: Final = frozenset({"--dry-run", "-n", "--help", "-h"})


class Found(Struct, frozen=True):
    """How a claim stands, before its text is put to it. `calls` are ids of tool calls and gates."""

    standing: Standing
    because: str
    calls: tuple[str, ...] = ()
    sources: tuple[Source, ...] = ()
    stale: bool = False


class Seen(Struct, frozen=True):
    """All that claims are held against."""

    turn: Turn
    runs: tuple[GateRun, ...]
    survey: Surveyed

    @property
    def repository(self) -> Repository | None:
        """What git knows."""
        return self.survey.repository

    @property
    def tree(self) -> str:
        """The files as they were just seen."""
        return self.survey.tree


def ledger(
    turn: Turn, runs: tuple[GateRun, ...], evidence: tuple[Evidence, ...], survey: Surveyed
) -> tuple[Claim, ...]:
    """Every claim of the turn's last message, and what the evidence makes of it."""
    seen = Seen(turn, runs, survey)
    return tuple(_claim(each, _weigh(each, seen), evidence) for each in utterances(turn.last_message))


def claimed_files(message: str) -> tuple[str, ...]:
    """The paths that a message says were made."""
    return tuple(each.path for each in utterances(message) if each.said is Said.FILE_CREATED)


def _claim(said: Utterance, found: Found, evidence: tuple[Evidence, ...]) -> Claim:
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


def _weigh(said: Utterance, seen: Seen) -> Found:
    if said.said in CHECKS:
        return _checked(CHECKS[said.said], said.text, seen)
    if said.said is Said.FILE_CREATED:
        return _created(said.path, seen)
    return OTHERS[said.said](seen)


def _checked(kind: Kind, text: str, seen: Seen) -> Found:
    """Gates first, then the agent's own runs."""
    gates = [run for run in seen.runs if run.gate.kind is kind or (kind is Kind.TESTS and run.gate.counts)]
    here = [run for run in gates if run.tree == seen.tree and not run.moved]
    failed = [run for run in here if run.outcome is Outcome.FAILED]
    if failed:
        names = ", ".join(f"`{run.gate.command}`" for run in failed)
        return Found(Standing.CONTRADICTED, f"Supervisor ran {names}: failed", _ids(failed))
    passed = [run for run in here if run.outcome is Outcome.PASSED]
    if passed and len(passed) == len(here) and not any(run.flaky for run in passed):
        names = ", ".join(f"`{run.gate.command}`" for run in passed)
        return Found(Standing.CONFIRMED, f"Supervisor ran {names} on these very files: passed", _ids(passed))
    own = proof(seen.turn, kind, text)
    call = own.showing.call.id if own.showing else ""
    found = Found(own.standing, own.because, (call,) if call else (), stale=own.stale)
    return _with_gates(found, gates, here)


def _with_gates(found: Found, gates: list[GateRun], here: list[GateRun]) -> Found:
    """Say what the gates lack, where the agent's own runs decide nothing either."""
    if found.standing is not Standing.UNKNOWN:
        return found
    flaky = [run for run in here if run.flaky]
    if flaky:
        because = f"`{flaky[0].gate.command}` failed and then passed on these very files"
        return Found(Standing.UNKNOWN, because, _ids(flaky))
    old = [run for run in gates if run not in here and run.outcome is Outcome.PASSED]
    if old and not here:
        because = f"files moved after Supervisor ran `{old[-1].gate.command}`"
        return Found(Standing.UNKNOWN, because, _ids(old), stale=True)
    return found


def _ids(runs: Iterable[GateRun]) -> tuple[str, ...]:
    return tuple(run.gate.id for run in runs)


def _created(path: str, seen: Seen) -> Found:
    """The files themselves first, then the calls that could have made it."""
    if path in seen.survey.absent:
        return Found(Standing.CONTRADICTED, f"there is no {path}")
    if any(_same(path, each) for each in seen.survey.changed or ()):
        return Found(Standing.CONFIRMED, f"{path} is there, and changed since the work began")
    return _written(path, seen.turn)


def _written(path: str, turn: Turn) -> Found:
    touching = [
        call
        for call in turn.calls
        if call.doing is Doing.EDIT and any(_same(path, each) for each in call.paths)
    ]
    written = [call for call in touching if call.outcome is CallOutcome.OK]
    if written:
        return Found(Standing.CONFIRMED, f"a tool wrote {path}", (written[-1].id,))
    if touching and touching[-1].outcome is CallOutcome.FAILED:
        return Found(Standing.CONTRADICTED, f"the tool that should write {path} failed", (touching[-1].id,))
    for call in turn.calls:
        if call.doing is Doing.RUN and call.exit_code == 0 and _writes(call, path):
            return Found(Standing.CONFIRMED, f"`{call.command[:200]}` wrote {path}", (call.id,))
    if cannot_have_written(turn, path):
        return Found(Standing.CONTRADICTED, f"no call of this turn wrote {path} or names it")
    return Found(Standing.UNKNOWN, f"no call of this turn is seen to write {path}")


def _same(claimed: str, path: str) -> bool:
    claimed = claimed.removeprefix("./")
    return path == claimed or path.endswith(f"/{claimed}")


def _writes(call: ToolCall, path: str) -> bool:
    """Whether a line surely put something at a path."""
    for run in call.runs:
        sure = run.fate is Fate.DECIDES and run.implied
        if sure and command(run)[:1] in {("touch",), ("cp",), ("mv",), ("tee",)} and path in run.argv[1:]:
            return True
        if sure and run.silenced and re.search(rf">>?\s*[\"']?{re.escape(path)}[\"']?(?:\s|$)", call.command):
            return True
    return False


def _calls(turn: Turn, which: Callable[[Run], bool]) -> tuple[list[ToolCall], list[ToolCall]]:
    """The calls in which such a command surely succeeded, and those in which it surely failed."""
    good: list[ToolCall] = []
    bad: list[ToolCall] = []
    for call in turn.calls:
        for run in call.runs:
            if not which(run) or run.shadowed or _dry(run):
                continue
            if call.exit_code == 0 and run.fate is Fate.DECIDES and run.implied and not run.background:
                good.append(call)
            elif call.outcome is CallOutcome.FAILED and run.fate is Fate.DECIDES and run.blamed:
                bad.append(call)
    return good, bad


def _git(verb: str) -> Callable[[Run], bool]:
    def which(run: Run) -> bool:
        argv = command(run)
        return argv[:1] == ("git",) and plain_words(argv[1:])[:1] == (verb,)

    return which


def _matching(pattern: str) -> Callable[[Run], bool]:
    return lambda run: re.match(pattern, " ".join(command(run))) is not None


def _committed(seen: Seen) -> Found:
    good, bad = _calls(seen.turn, _git("commit"))
    git = seen.repository
    if good:
        return Found(Standing.CONFIRMED, f"`{good[-1].command[:200]}` succeeded", (good[-1].id,))
    if git is not None and git.commits:
        return Found(
            Standing.CONFIRMED, f"git has {_commits(git.commits)} more", sources=(Source.REPOSITORY,)
        )
    if bad:
        return Found(Standing.CONTRADICTED, f"`{bad[-1].command[:200]}` failed", (bad[-1].id,))
    if git is not None and git.commits == 0 and git.dirty > 0:
        because = f"git has no new commit, and {git.dirty} files that are not committed"
        return Found(Standing.CONTRADICTED, because, sources=(Source.REPOSITORY,))
    return Found(Standing.UNKNOWN, "no commit is seen in this turn")


def _pushed(seen: Seen) -> Found:
    good, bad = _calls(seen.turn, _git("push"))
    git = seen.repository
    if git is not None and not git.remote:
        return Found(Standing.CONTRADICTED, "the repository has no remote", sources=(Source.REPOSITORY,))
    if git is not None and git.ahead:
        because = f"{_commits(git.ahead)} of {git.branch or 'HEAD'} not on {git.upstream or 'its upstream'}"
        return Found(Standing.CONTRADICTED, because, sources=(Source.REPOSITORY,))
    if good:
        return Found(Standing.CONFIRMED, f"`{good[-1].command[:200]}` succeeded", (good[-1].id,))
    if git is not None and git.ahead == 0 and git.commits:
        because = f"{git.upstream or 'the upstream branch'} has all commits"
        return Found(Standing.CONFIRMED, because, sources=(Source.REPOSITORY,))
    tried = _only_tried(seen.turn, _git("push"))
    if bad or (tried and is_whole(seen.turn)):
        call, how = (bad[-1], "failed") if bad else (tried[-1], "was a dry run, which pushes nothing")
        return Found(Standing.CONTRADICTED, f"`{call.command[:200]}` {how}", (call.id,))
    return Found(Standing.UNKNOWN, "no push is seen in this turn")


def _only_tried(turn: Turn, which: Callable[[Run], bool]) -> list[ToolCall]:
    """The calls with a dry run of such a command, where each of its runs in the turn was one."""
    found = [(call, run) for call in turn.calls for run in call.runs if which(run)]
    return [call for call, _ in found] if all(_dry(run) for _, run in found) else []


def _dry(run: Run) -> bool:
    """Whether a command only tries. `git commit -n` skips hooks, and commits."""
    tries = DRY - {"-n"} if "commit" in run.argv else DRY
    return bool(tries & {*run.argv})


def _opened(seen: Seen) -> Found:
    here = [run for run in seen.runs if run.gate.kind is Kind.PR and run.outcome is Outcome.PASSED]
    if here:
        return Found(Standing.CONFIRMED, f"Supervisor ran `{here[0].gate.command}`: passed", _ids(here))
    good, bad = _calls(seen.turn, _matching(OPENS))
    tools = [
        call for call in seen.turn.calls if OPENING_TOOL.search(call.tool) and call.outcome is CallOutcome.OK
    ]
    if good or tools:
        call = (good or tools)[-1]
        return Found(Standing.CONFIRMED, f"`{(call.command or call.tool)[:200]}` succeeded", (call.id,))
    if bad:
        return Found(Standing.CONTRADICTED, f"`{bad[-1].command[:200]}` failed", (bad[-1].id,))
    if seen.repository is not None and not seen.repository.remote:
        return Found(Standing.CONTRADICTED, "the repository has no remote", sources=(Source.REPOSITORY,))
    if seen.turn.calls and is_whole(seen.turn) and not any(may_open(call) for call in seen.turn.calls):
        return Found(Standing.CONTRADICTED, "no command of this turn opened one")
    return Found(Standing.UNKNOWN, "no call of this turn is seen to open one")


def _deployed(seen: Seen) -> Found:
    good, bad = _calls(seen.turn, _matching(DEPLOYS))
    if good:
        return Found(Standing.CONFIRMED, f"`{good[-1].command[:200]}` succeeded", (good[-1].id,))
    if bad:
        return Found(Standing.CONTRADICTED, f"`{bad[-1].command[:200]}` failed", (bad[-1].id,))
    return Found(Standing.UNKNOWN, "no call of this turn is seen to deploy")


def _commits(number: int) -> str:
    return f"{number} commit{'' if number == 1 else 's'}"


OTHERS: Final[dict[Said, Callable[[Seen], Found]]] = {
    Said.COMMITTED: _committed,
    Said.PUSHED: _pushed,
    Said.PR_OPENED: _opened,
    Said.DEPLOYED: _deployed,
}
