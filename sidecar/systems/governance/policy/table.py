"""The rules of governed phases, as tables. docs/governance.md draws them.

    new -> analyze -> plan -> implement -> review -> test -> conduct -> DELIVER
                        ^         ^          |        |         |
                        |         |       rejected  failed,     |
                        |         |          |     not shown    |
                        |         +---- ITERATE <-- conduct <---+
                        +-- what was planned cannot be shown, or a person wants another plan

A phase that ends with an error whose action is RETRY leaves the stage as it is. One whose action is
HUMAN_INTERVENTION asks a person, and no phase may be called until the answer.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum
from typing import Final

from sidecar.kernel.governance import ErrorAction, ErrorType, GovernedPhase
from sidecar.kernel.settings import Mode, ModeRules


class Stage(StrEnum):
    """How far the work under a lock has come."""

    NEW = "new"
    ANALYZED = "analyzed"
    PLANNED = "planned"
    IMPLEMENTED = "implemented"
    REJECTED = "rejected"
    QUICK_FIX = "quick fix"
    REVIEWED = "reviewed"
    FAILED = "failed"
    NOT_SHOWN = "not shown"
    TESTED = "tested"
    DELIVERED = "delivered"
    STOPPED = "stopped"


S, P = Stage, GovernedPhase

MAY_CALL: Final[Mapping[Stage, tuple[GovernedPhase, ...]]] = {
    S.NEW: (P.ANALYZE,),
    S.ANALYZED: (P.PLAN,),
    S.PLANNED: (P.IMPLEMENT, P.PLAN),
    S.IMPLEMENTED: (P.REVIEW,),
    S.REJECTED: (P.CONDUCT,),
    S.QUICK_FIX: (P.IMPLEMENT, P.CONDUCT),
    S.REVIEWED: (P.TEST,),
    S.FAILED: (P.CONDUCT,),
    S.NOT_SHOWN: (P.TEST, P.CONDUCT),
    S.TESTED: (P.CONDUCT,),
    S.DELIVERED: (),
    S.STOPPED: (),
}
"""The phases that may be called at a stage: the first, or the last after a phase that had no evidence."""

NEXT_STAGE: Final[Mapping[tuple[GovernedPhase, str], Stage]] = {
    (P.ANALYZE, "OK"): S.ANALYZED,
    (P.PLAN, "OK"): S.PLANNED,
    (P.IMPLEMENT, "OK"): S.IMPLEMENTED,
    (P.REVIEW, "APPROVED"): S.REVIEWED,
    (P.REVIEW, "REJECTED"): S.REJECTED,
    (P.REVIEW, "QUICK_FIX"): S.QUICK_FIX,
    (P.TEST, "PASSED"): S.TESTED,
    (P.TEST, "FAILED"): S.FAILED,
    (P.TEST, "EVIDENCE_UNAVAILABLE"): S.NOT_SHOWN,
    (P.CONDUCT, "DELIVER"): S.DELIVERED,
    (P.CONDUCT, "ITERATE"): S.PLANNED,
    (P.CONDUCT, "STOP"): S.STOPPED,
}
"""The stage after a phase ended with this result. Any other result leaves the stage as it is."""

ACTIONS: Final[Mapping[ErrorType, ErrorAction]] = {
    ErrorType.NON_VERIFIABLE: ErrorAction.HUMAN_INTERVENTION,
    ErrorType.RULE_VIOLATION: ErrorAction.STOP,
    ErrorType.EVIDENCE_UNAVAILABLE: ErrorAction.RETRY,
    ErrorType.ITERATION_OVERFLOW: ErrorAction.HUMAN_INTERVENTION,
    ErrorType.STRUCTURAL_VIOLATION: ErrorAction.STOP,
    ErrorType.MAJOR_ISSUE: ErrorAction.RETRY,
    ErrorType.FAILED_CLAUSE: ErrorAction.RETRY,
    ErrorType.INVALID_ANSWER: ErrorAction.RETRY,
    ErrorType.INPUT_DIFFERS: ErrorAction.CONTINUE,
    ErrorType.PROJECT_CHANGED: ErrorAction.CONTINUE,
    ErrorType.PERSON_ASKED: ErrorAction.HUMAN_INTERVENTION,
    ErrorType.CONFLICT: ErrorAction.HUMAN_INTERVENTION,
}

AFTER_ANSWER: Final[Mapping[tuple[GovernedPhase, ErrorType], tuple[Stage, Stage]]] = {
    (P.ANALYZE, ErrorType.NON_VERIFIABLE): (S.ANALYZED, S.STOPPED),
    (P.PLAN, ErrorType.PERSON_ASKED): (S.PLANNED, S.ANALYZED),
    (P.IMPLEMENT, ErrorType.CONFLICT): (S.PLANNED, S.STOPPED),
    (P.REVIEW, ErrorType.PERSON_ASKED): (S.REVIEWED, S.REJECTED),
    (P.REVIEW, ErrorType.CONFLICT): (S.IMPLEMENTED, S.STOPPED),
    (P.TEST, ErrorType.CONFLICT): (S.REVIEWED, S.STOPPED),
    (P.CONDUCT, ErrorType.CONFLICT): (S.TESTED, S.STOPPED),
    (P.CONDUCT, ErrorType.PERSON_ASKED): (S.TESTED, S.STOPPED),
    (P.CONDUCT, ErrorType.ITERATION_OVERFLOW): (S.PLANNED, S.STOPPED),
}
"""The stage after a person said yes, and after no, to what a phase asked.

Plan asks whether commands of the plan may run; review and conduct, whether this change is good; an overflow,
whether there may be as many iterations again; a conflict and what is not verifiable, whether to go on.
"""


MODES: Final[Mapping[Mode, ModeRules]] = {
    Mode.FULL: ModeRules(manual_review=True, max_iterations=5),
    Mode.LIGHT: ModeRules(nfr_check=False, manual_review=True, max_iterations=3),
    Mode.FAST: ModeRules(nfr_check=False, max_iterations=2),
    Mode.SAFE: ModeRules(manual_review=True, max_iterations=5, forced_human_intervention=True),
}
"""What each mode asks for, in what it differs from the defaults; `custom` is the user's."""


class Rule(StrEnum):
    """The rules that a phase shows in its payload."""

    REVIEW_NOT_SKIPPED = "R001"
    TESTS_REQUIRED = "R002"
    NFRS_MET = "R003"
    HUMAN_ON_ERROR = "R004"
    EVIDENCE = "R005"
