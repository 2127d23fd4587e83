"""Evidence of a stop: numbered facts with a source. Only these count (law 2).

Claims, changes to the checks and missing work, which are derived from facts, are here too.
"""

from __future__ import annotations

from enum import StrEnum

from msgspec import Struct

from sidecar.kernel.gate import Kind


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

    id: str
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


# --- Claims of the agent, and what is known about them ------------------------------------------------------


class ClaimKind(StrEnum):
    """The kind of a claim."""

    TESTS_PASS = "tests-pass"  # noqa: S105 - no password
    BUILD_CLEAN = "build-clean"
    TYPES_CLEAN = "types-clean"
    LINT_CLEAN = "lint-clean"
    FILE_CREATED = "file-created"
    FILE_DELETED = "file-deleted"
    FILE_UNCHANGED = "file-unchanged"
    FILE_RENAMED = "file-renamed"
    FILE_REVERTED = "file-reverted"
    FILE_LISTED = "file-listed"
    FILE_EDITED = "file-edited"
    FILES_EDITED = "files-edited"
    NOTHING_CHANGED = "nothing-changed"
    COMMITTED = "committed"
    COMMITTED_ON = "committed-on"
    COMMITS_MADE = "commits-made"
    TREE_CLEAN = "tree-clean"
    PUSHED = "pushed"
    TAGGED = "tagged"
    BRANCH_CREATED = "branch-created"
    BRANCH_DELETED = "branch-deleted"
    MERGED = "merged"
    DEPENDENCY_ADDED = "dependency-added"
    INSTALLED = "installed"
    RAN = "ran"
    PR_OPENED = "pr-opened"
    DEPLOYED = "deployed"


class ClaimStatus(StrEnum):
    """Whether a claim holds. UNKNOWN: no evidence decides it."""

    CONFIRMED = "confirmed"
    CONTRADICTED = "contradicted"
    UNKNOWN = "unknown"


class Claim(Struct, frozen=True, kw_only=True):
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
    weight: FindingSeverity
    file: str
    line: int
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
