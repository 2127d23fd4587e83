"""Literals of the model, with what a test does not care about filled in."""

from __future__ import annotations

from typing import Any, Final

from sidecar.kernel.events import AgentStopped, BackgroundActivity, JudgeAnswered, JudgeFailed
from sidecar.kernel.evidence import (
    Abstain,
    Complete,
    FileBaseline,
    Gap,
    Impossible,
    Incomplete,
    Judgement,
    Met,
    Verdict,
    Waiting,
)
from sidecar.kernel.gate import Gate, GateOrigin, GateRun, Kind, Outcome
from sidecar.kernel.goal import Goal, GoalSpending, GoalStatus
from sidecar.kernel.rubric import Criterion, Rubric
from sidecar.kernel.session import Continuation, Session, SessionKey
from sidecar.kernel.settings import JudgeSettings, Settings
from sidecar.kernel.turn import CallOutcome, Todo, ToolAction, ToolCall, Turn
from sidecar.platform.shell.line import parse_simple_commands

KEY = SessionKey(host="claude-code", id="s1")
PROJECT = "/home/user/project"
TREE = "tree-1"
BASE = FileBaseline(tree=TREE, snapshot="s1", head="c1")
SETTINGS = Settings()
RUBRIC = Rubric(
    patterns=(Criterion("Verified", "What is claimed was run.", id="verified"),),
    antipatterns=(Criterion("Left work", "Something is still to do.", id="left-work"),),
    origin="default",
)
PYTEST = Gate(
    id="tests",
    command="pytest -q",
    why="pyproject.toml names pytest",
    kind=Kind.TESTS,
    origin=GateOrigin.DETECTED,
    counts=True,
)


def goal(condition: str = "the parser accepts comments", **fields: Any) -> Goal:
    return Goal(**{"id": "g1", "condition": condition, "base": BASE, **fields})


def session(**fields: Any) -> Session:
    return Session(**{"key": KEY, "project": PROJECT, **fields})


ASKING: Final = Settings(judge=JudgeSettings(without_goal=True))
"""Settings of a user who wants a model to be asked without a goal, too."""


def with_goal(condition: str = "the parser accepts comments", **fields: Any) -> Session:
    return session(goal=goal(condition, **fields))


def at_status(status: GoalStatus, **fields: Any) -> Session:
    return with_goal(status=status, **fields)


def said(number: str = "abc123", *, for_goal: bool = True) -> Continuation:
    return Continuation(id=number, said_at=0.0, for_goal=for_goal)


def after(continuations: int, *, lifetime: int | None = None, **fields: Any) -> Goal:
    """Build a goal on which so many continuations were spent."""
    total = continuations if lifetime is None else lifetime
    return goal(spent=GoalSpending(continuations=continuations), lifetime=total, **fields)


def stopped(**fields: Any) -> AgentStopped:
    return AgentStopped(**{"key": KEY, "project": PROJECT, "transcript": "/transcript.jsonl", **fields})


def task(number: str) -> BackgroundActivity:
    return BackgroundActivity(number, f"task {number}")


def ran(command: str, exit_code: int | None = 0, **fields: Any) -> ToolCall:
    outcome = CallOutcome.FAILED if exit_code else CallOutcome.OK
    usual: dict[str, Any] = {"id": "t", "tool": "Bash", "doing": ToolAction.RUN, "outcome": outcome}
    usual["runs"] = parse_simple_commands(command)
    return ToolCall(**usual | {"command": command, "exit_code": exit_code} | fields)


def edited(*paths: str) -> ToolCall:
    return ToolCall(
        id="t", tool="Edit", doing=ToolAction.EDIT, outcome=CallOutcome.OK, paths=paths or ("a.py",)
    )


def called(doing: ToolAction, outcome: CallOutcome = CallOutcome.OK) -> ToolCall:
    return ToolCall(id="t", tool="Tool", doing=doing, outcome=outcome)


def turn(*calls: ToolCall, message: str = "I did it.", **fields: Any) -> Turn:
    """Build a turn that changed something and ran the tests, unless other calls are named."""
    usual: dict[str, Any] = {"prompts": ("Do it.",), "last_message_id": "m1", "calls_since_arrival": 1}
    usual["calls"] = calls or (edited(), ran("pytest -q", output="5 passed in 0.10s"))
    return Turn(**usual | {"last_message": message} | fields)


def talk(message: str = "It is a parser.", **fields: Any) -> Turn:
    """Build a turn in which nothing was changed and nothing ran."""
    return Turn(prompts=("What is it?",), last_message=message, last_message_id="m1", **fields)


def todos(*texts: str, done: bool = False) -> tuple[Todo, ...]:
    return tuple(Todo(text, done) for text in texts)


def gate_run(gate: Gate = PYTEST, outcome: Outcome = Outcome.PASSED, **fields: Any) -> GateRun:
    usual: dict[Outcome, dict[str, Any]] = {
        Outcome.PASSED: {"exit_code": 0, "executed": 5 if gate.counts else None},
        Outcome.FAILED: {"exit_code": 1, "failures": ("test_a",)},
        Outcome.COULD_NOT_RUN: {"reason": "the command was not found"},
    }
    run: dict[str, Any] = {"gate": gate, "outcome": outcome, "tree": TREE}
    return GateRun(**run | usual[outcome] | fields)


def complete(*evidence: str, confidence: float = 0.9) -> Complete:
    return Complete(criteria=(Met("The condition holds", evidence or ("E2",)),), confidence=confidence)


def incomplete(*missing: str, confidence: float = 0.9) -> Incomplete:
    gaps = tuple(Gap(point, "left-work", ()) for point in missing or ("comments are refused",))
    return Incomplete(missing=gaps, next_step="Accept them.", confidence=confidence)


def waiting(confidence: float = 0.9) -> Waiting:
    return Waiting(question="Which syntax?", confidence=confidence)


def impossible(*evidence: str, confidence: float = 0.9) -> Impossible:
    return Impossible(reason="there is no parser", evidence=evidence or ("E1",), confidence=confidence)


def abstain(confidence: float = 0.9) -> Abstain:
    return Abstain(reason="too little evidence", confidence=confidence)


def judged(verdict: Verdict, **cost: Any) -> JudgeAnswered:
    return JudgeAnswered(Judgement(verdict=verdict, backend="scripted", **cost))


UNREACHABLE = JudgeFailed("no backend can be reached")
