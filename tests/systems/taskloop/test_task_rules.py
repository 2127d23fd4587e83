"""How complex a task is, what it may change, and what scanners count."""

from __future__ import annotations

import pytest

from sidecar.evidence.reports.measures import count_severities
from sidecar.kernel.journal import Task
from sidecar.kernel.loop import Loop, Severities, Tier
from sidecar.kernel.session import Session, SessionKey
from sidecar.kernel.settings import Settings
from sidecar.systems.taskloop.policy.agents import Agent, Outputs, Scope, TaskWork
from sidecar.systems.taskloop.policy.selection import estimate_complexity
from sidecar.systems.taskloop.policy.transitions import next_rung
from support.table import over_table

pytestmark = pytest.mark.proves("the loop")

LONG = "word " * 400
WIDE = "make `src/a.py` and src/b.py say who asked"
HARD = "fix the race in the database migration, the authentication and the network protocol; refactor it"


@over_table(
    "text,criteria,scope,expected",
    [
        ("fix a typo", 0, (), 1),
        ("fix a typo", 1, ("README.md",), 2),
        ("accept comments", 3, ("src/*.py",), 5),
        ("rename it", 9, ("src/", "tests/**", "docs/"), 7),
        ("fix the deadlock", 1, (), 4),
        (WIDE, 1, (), 3),
        (LONG, 0, (), 5),
        (HARD, 2, (), 10),
        (f"{HARD} {LONG}", 9, ("a/", "b/", "c/", "d/"), 14),
    ],
)
def test_complexity_is_estimated_from_words_criteria_and_scope(
    text: str, criteria: int, scope: tuple[str, ...], expected: int
) -> None:
    assert estimate_complexity(text, ("it works",) * criteria, scope) == expected


@over_table(
    "scope,can,cannot,outside",
    [
        ((), ("**",), (), ()),
        (("src/",), ("**",), (), ("docs/a.md", "b.py")),
        (("*.py",), ("src/",), (), ("docs/a.md", "b.py")),
        ((), ("**",), ("*.md",), ("docs/a.md",)),
        (("**",), ("**",), ("src/",), ("src/a.py",)),
        ((), (), (), ("src/a.py", "docs/a.md", "b.py")),
    ],
)
def test_a_file_is_in_scope_if_task_and_agent_may_change_it(
    scope: tuple[str, ...], can: tuple[str, ...], cannot: tuple[str, ...], outside: tuple[str, ...]
) -> None:
    agent = Agent(
        id="a",
        name="a",
        category="c",
        purpose="p",
        role="r",
        outputs=Outputs(format="text", fields=()),
        instructions="i",
        source="s",
        scope=Scope(can_modify=can, cannot_modify=cannot),
    )
    task, session = (
        Task(id="T1", content="c", scope_files=scope),
        Session(key=SessionKey("claude-code", "s1")),
    )
    work = TaskWork(session=session, loop=Loop(key=session.key), task=task, agent=agent, settings=Settings())
    assert work.files_outside(("src/a.py", "docs/a.md", "b.py")) == outside


@over_table(
    "models,tier,runs,above",
    [
        ({}, "small", ("", "haiku"), "medium"),
        ({"small": "self", "medium": "self", "large": "self"}, "small", ("self", "self"), "council"),
        ({"small": "mini", "medium": "coder", "large": "coder"}, "small", ("mini", "mini"), "medium"),
        ({"small": "mini", "medium": "coder", "large": "coder"}, "medium", ("coder", "coder"), "council"),
        ({"small": "coder", "medium": "coder", "large": "big"}, "small", ("coder", "coder"), "large"),
        ({"small": "mini"}, "medium", ("mini", "mini"), "council"),
        ({"small": "haiku", "medium": "sonnet", "large": "opus"}, "council", ("opus", "opus"), "council"),
    ],
)
def test_a_rung_is_a_model_that_runs_and_an_agents_own_is_not_known(
    models: dict[str, str], tier: str, runs: tuple[str, str], above: str
) -> None:
    key = SessionKey("loop", "s1")
    loop, task = Loop(key=key, tier=Tier(tier)), Task(id="T1", content="c")
    work = TaskWork(
        session=Session(key=key), loop=loop, task=task, agent=None, settings=Settings(), models=models
    )
    assert (work.worker_model, work.model) == runs
    assert next_rung(loop.tier, models) == above


@over_table(
    "text,expected",
    [
        ("6 vulnerabilities (1 low, 2 moderate, 3 critical)", Severities(critical=3, medium=2, low=1)),
        ("Total: 3 (LOW: 1, MEDIUM: 0, HIGH: 2, CRITICAL: 0)", Severities(high=2, low=1)),
        ("a: Severity: Critical\nb: severity=critical\nc: Severity: High", Severities(critical=2, high=1)),
        ("this is critical for us", Severities()),
        ("found 0 critical", Severities()),
    ],
)
def test_findings_are_counted_by_severity(text: str, expected: Severities) -> None:
    assert count_severities(text) == expected
