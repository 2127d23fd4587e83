"""What is true at a stop: numbered facts with a source (law 2), changes of files, and a judge's verdict.

Claims, changes to the checks and missing work, which are derived from facts, are here too.
"""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated, Final

from msgspec import Meta, Struct, field

from sidecar.kernel.gate import Kind
from sidecar.kernel.text import escape_unencodable


class Source(StrEnum):
    """Where a fact comes from."""

    GATE = "gate"
    TOOL = "tool"
    TODO = "todo"
    CHANGE = "change"
    """A change to the checks themselves."""
    REPOSITORY = "repository"
    STEERING = "steering"
    """Prompt injection: text addressed to the judge in what the worker wrote or was shown."""
    CLAIM = "claim"
    """What the worker claims, next to what is known about it; it proves nothing by itself."""


class EvidenceStrength(StrEnum):
    """What a fact can prove if it is neither stale nor bad; how much it weighs if it is bad."""

    NOTHING = "nothing"
    """It only prints, reads or lists, or its result is not visible."""
    FILES = "files"
    """Written files, or the state of git: enough where a goal is about documents, files or git."""
    WORK = "work"
    """A run of the project's own program, or of a lesser check, that could have failed."""
    CHECK = "check"
    """A gate, or the agent's own run of tests, of a build or of a type check."""


class Evidence(Struct, frozen=True, kw_only=True):
    """One fact.

    `id` is "E1", "E2", ... within one stop. `fact` is one line, `detail` at most 2,000 characters. `call` is
    the id of the tool call or gate that it comes from, "" where it has another source. `tree` is the
    fingerprint of the files it was seen on, empty where it does not depend on them. `stale`: the files
    changed afterwards. `bad`: it speaks against being done. `own`: the worker itself wrote what a STEERING
    fact reports. `kinds`: the kinds of gates that a GATE fact proves if it passed.
    """

    id: str = ""
    source: Source
    fact: str
    detail: str = ""
    call: str = ""
    tree: str = ""
    stale: bool = False
    bad: bool = False
    worth: EvidenceStrength = EvidenceStrength.NOTHING
    own: bool = False
    kinds: tuple[Kind, ...] = ()

    @property
    def proves(self) -> EvidenceStrength | None:
        """What it can prove; None if it is stale, speaks against, or is a mere claim (law 2)."""
        mere = self.stale or self.bad or self.source in (Source.CLAIM, Source.STEERING)
        return None if mere else self.worth


# --- Claims of the agent, and what is known about them ------------------------------------------------------


class ClaimKind(StrEnum):
    """The kind of a claim."""

    TESTS_PASS = "tests-pass"  # noqa: S105 - no password
    BUILD_CLEAN = "build-clean"
    TYPES_CLEAN = "types-clean"
    LINT_CLEAN = "lint-clean"
    FILE_CREATED = "file-created"
    FILE_DELETED = "file-deleted"
    COMMITTED = "committed"
    COMMITTED_ON = "committed-on"
    TREE_CLEAN = "tree-clean"
    PUSHED = "pushed"
    TAGGED = "tagged"
    BRANCH_CREATED = "branch-created"
    DEPENDENCY_ADDED = "dependency-added"


class ClaimStatus(StrEnum):
    """Whether a claim holds. UNKNOWN: no evidence decides it."""

    CONFIRMED = "confirmed"
    CONTRADICTED = "contradicted"
    UNKNOWN = "unknown"


class Claim(Struct, frozen=True):
    """One claim of the last message.

    `text` is the sentence, at most 300 characters. `evidence` are the ids of the facts that decide it.
    `because` says in one line what decides it or what is missing. `stale`: what would confirm it was seen
    before the last edit.
    """

    said: ClaimKind
    text: str
    status: ClaimStatus
    because: str
    evidence: tuple[str, ...] = ()
    stale: bool = False


# --- Changes to the checks themselves, rated ----------------------------------------------------------------


class CheckChange(StrEnum):
    """How a change affects what a check can still find."""

    OLD_FAILURE_REMAINS = "old-failure-remains"
    """It failed at the baseline, and as it was it fails on today's code: it passes because it changed."""
    EXPECTATION_CHANGED = "expectation-changed"
    """A check that passed at the baseline fails on today's code, as it was."""
    CHECKS_DROPPED = "checks-dropped"
    NEW_CHECKS_SHOW_NOTHING = "new-checks-show-nothing"
    """Tests that are new pass on the old code, too."""
    GATE_CHANGED = "gate-changed"
    """The user approved it as it was, so it was not run."""
    NOT_COMPARED = "not-compared"
    TOOL_REPLACED = "tool-replaced"
    LINK_LEAVES_TREE = "link-leaves-tree"
    """What it leads to can change unseen, and is the same in a copy."""
    CHECK_SILENCED = "check-silenced"
    CODE_KNOWS_TEST = "code-knows-test"
    ALWAYS_EQUAL = "always-equal"
    EQUALITY_DEFINED = "equality-defined"
    CODE_EXITS = "code-exits"
    CHECK_GONE = "check-gone"
    """A check that passed at the baseline runs no more; as it was, it fails by assertion on today's code."""
    LOOKED_ELSEWHERE = "looked-elsewhere"
    """No check that passed opened this changed file."""
    COMMAND_WEAKENED = "command-weakened"
    """The command of a check ends well whatever it finds."""
    CANNOT_FAIL = "cannot-fail"
    """A check passes whatever the code does."""
    ANSWERS_COPIED = "answers-copied"
    """Several values that only the tests had stand in the product now."""
    CI_CHANGED = "ci-changed"
    """Nothing here runs it; a goal that does not speak of CI is decided without it."""


class FindingSeverity(StrEnum):
    """Whether a change alone is enough to ask the agent about it.

    GRAVE: it usually makes a check find less; the agent is asked once to undo or to explain it. SHOWN: it is
    as often right as wrong; the judge weighs it. With either, gates alone cannot achieve a goal.
    """

    GRAVE = "grave"
    SHOWN = "shown"


class IntegrityFinding(Struct, frozen=True, kw_only=True):
    """One change: where it is, and what it was before and after, each on one line of at most 300 characters.

    `line` is the line in the current file, 0 where there is none. `kinds` are the kinds of gates that it
    bears on, empty where it bears on all.
    """

    change: CheckChange
    weight: FindingSeverity = FindingSeverity.SHOWN
    file: str
    line: int = 0
    before: str = ""
    after: str = ""
    kinds: tuple[Kind, ...] = ()


# --- Missing work at a stop ---------------------------------------------------------------------------------


class MissingWork(Struct, frozen=True, kw_only=True):
    """What is missing, and what to do about it. `kind` names a section of rubric/continuation.md."""

    kind: str
    missing: tuple[str, ...]
    next_step: str
    evidence: tuple[Evidence, ...] = ()

    @property
    def reason(self) -> str:
        """The missing points in one line."""
        return "; ".join(self.missing)[:500]


# --- Changes to a project between two points in time --------------------------------------------------------


TEXT_LIMIT: Final = 512 << 10
"""Maximum bytes read of one file."""
TOO_BIG_REASON: Final = f"it is bigger than {TEXT_LIMIT >> 10} KiB"


class FileContent(Struct, frozen=True):
    """The content of a file: its text, or the reason why there is none."""

    text: str | None = None
    unread: str = ""


def decode_file_content(content: bytes) -> FileContent:
    """Decode a content as text, if it is text and not too big."""
    if len(content) > TEXT_LIMIT:
        return FileContent(unread=TOO_BIG_REASON)
    if b"\0" in content:
        return FileContent(unread="it is no text")
    return FileContent(text=content.decode("utf-8", "replace"))


class FileBaseline(Struct, frozen=True, kw_only=True):
    """A state of a project's files with which later states are compared.

    `tree` is the fingerprint of the files. `snapshot` is the workspace's name for the stored copy, "" where
    nothing could be stored (`unseen` says why). `head` is the checked-out commit, "" where there is none.
    `checks`: files, relative to the project, that are checks whatever their names.
    """

    tree: str = ""
    snapshot: str = ""
    head: str = ""
    unseen: str = ""
    checks: tuple[str, ...] = ()


class FileChange(Struct, frozen=True, kw_only=True):
    """One changed file.

    `path` is relative to the project, with `/`; bytes that are not UTF-8 appear as surrogates. `before` and
    `after` are the whole text, None where the file did not or does not exist, is not text, or is too big
    (`unread` says which). `old_path` is the path before a move. `link`: it is a symbolic link now, and
    `after` is where it leads. `was` and `now` are git's mode and name of the whole content, whatever it is;
    "" where the file did not or does not exist, or nobody knows.
    """

    path: str
    old_path: str = ""
    before: str | None = None
    after: str | None = None
    unread: str = ""
    link: bool = False
    was: str = ""
    now: str = ""


class FileDiff(Struct, frozen=True, kw_only=True):
    """How one file differs from the baseline, for display.

    `added` and `removed` count lines. `hunks` is the unified diff without its header, with secrets masked,
    cut to 2,000 characters at the end of a line; "" where the file is not text or nothing of it is shown.
    `unshown` says why nothing is shown, else "". `mark` is git's letter: A, D, R (moved) or M.
    """

    path: str
    old_path: str = ""
    mark: str = "M"
    added: int = 0
    removed: int = 0
    hunks: str = ""
    unshown: str = field(default="", name="told")


class ProjectChanges(Struct, frozen=True, kw_only=True):
    """All changes since a baseline, ordered by path.

    `tree` is the fingerprint of exactly the files that were compared, "" where none were. `head` is the
    commit checked out, "" where there is none. `unseen` says why the changes are not completely known.
    """

    files: tuple[FileChange, ...] = ()
    tree: str = ""
    head: str = ""
    unseen: str = ""

    @property
    def paths(self) -> tuple[str, ...] | None:
        """Every changed path, old names too, without undecodable bytes; None where not all are known."""
        named = (path for file in self.files for path in (file.path, file.old_path) if path)
        return None if self.unseen else tuple(map(escape_unencodable, named))


class RepositoryState(Struct, frozen=True, kw_only=True):
    """State of the git repository, from local data only.

    `commits` counts commits since the baseline, None where the baseline had no commit. `ahead` counts commits
    that the upstream branch, as last fetched, does not have; None where there is no upstream. `dirty` is the
    number of tracked or untracked files that are not committed, and `uncommitted` are the first of them, by
    their paths in the repository. `branches` and `tags` are their names, None where they are not known.
    `old_branches` are those of commits that the baseline had, where there are newer ones.
    `unpushed` are the branches of which no remote branch of that name, as last fetched, has the commit.
    `on_remote` tells whether a remote branch has the commit checked out.
    """

    head: str = ""
    branch: str = ""
    upstream: str = ""
    remote: bool = False
    commits: int | None = None
    ahead: int | None = None
    dirty: int = 0
    uncommitted: tuple[str, ...] = ()
    branches: tuple[str, ...] | None = None
    tags: tuple[str, ...] | None = None
    old_branches: tuple[str, ...] = ()
    unpushed: tuple[str, ...] = ()
    on_remote: bool = True


# --- The judge's answer about one stop: a tagged union that cannot contradict itself ------------------------


Confidence = Annotated[float, Meta(ge=0, le=1, description="0 to 1: how sure you are of this verdict")]
OneLine = Annotated[str, Meta(min_length=1, max_length=1000)]
EvidenceId = Annotated[str, Meta(pattern=r"^E[0-9]{1,4}$", description="the id of an evidence line")]


class Met(Struct, frozen=True, forbid_unknown_fields=True):
    """One part of what was asked that holds, with the evidence that shows it."""

    criterion: OneLine
    evidence: Annotated[tuple[EvidenceId, ...], Meta(min_length=1, max_length=50)]


class Gap(Struct, frozen=True, forbid_unknown_fields=True):
    """One point that is missing.

    `criterion` is "goal", "request", or the id of a criterion of the rubric. `evidence` is what shows that it
    is missing; it may be empty, for often nothing shows what was not done.
    """

    point: OneLine
    criterion: Annotated[
        str, Meta(min_length=1, max_length=64, description='"goal", "request" or the id of a criterion')
    ]
    evidence: Annotated[tuple[EvidenceId, ...], Meta(max_length=50)]


class Complete(Struct, frozen=True, forbid_unknown_fields=True, tag_field="verdict", tag="complete"):
    """Every criterion is met, each citing evidence."""

    criteria: Annotated[tuple[Met, ...], Meta(min_length=1, max_length=50)]
    confidence: Confidence


class Incomplete(Struct, frozen=True, forbid_unknown_fields=True, tag_field="verdict", tag="incomplete"):
    """At least one point is missing."""

    missing: Annotated[tuple[Gap, ...], Meta(min_length=1, max_length=20)]
    next_step: OneLine
    confidence: Confidence


class Waiting(Struct, frozen=True, forbid_unknown_fields=True, tag_field="verdict", tag="waiting"):
    """Only the user can answer."""

    question: OneLine
    confidence: Confidence


class Impossible(Struct, frozen=True, forbid_unknown_fields=True, tag_field="verdict", tag="impossible"):
    """The condition cannot be met by any work in this project."""

    reason: OneLine
    evidence: Annotated[tuple[EvidenceId, ...], Meta(min_length=1, max_length=50)]
    confidence: Confidence


class Abstain(Struct, frozen=True, forbid_unknown_fields=True, tag_field="verdict", tag="abstain"):
    """The evidence does not allow a verdict."""

    reason: OneLine
    confidence: Confidence


Verdict = Complete | Incomplete | Waiting | Impossible | Abstain


class Answer(Struct, frozen=True, forbid_unknown_fields=True):
    """The envelope a model fills in: a schema's root must be an object."""

    answer: Verdict


class Judgement(Struct, frozen=True, kw_only=True):
    """A verdict and its cost.

    `backend` and `model` are who gave it. `tokens` counts uncached input plus output, `calls` the requests
    that were made. `cents` is None where neither the backend nor the settings name a price.
    """

    verdict: Verdict
    backend: str
    model: str = ""
    tokens: int = 0
    calls: int = 1
    cents: float | None = None
