"""A night of forty tasks and three agents at once, in which much happens; and its accounts in the morning."""

from __future__ import annotations

import json
import shlex
import sys
from collections import defaultdict
from pathlib import Path
from typing import Any, Final

import pytest

from sidecar.kernel.journal import TaskStatus
from sidecar.kernel.log import EventFilter, LoggedEvent, RunIterationBegan, RunIterationEnded, event_kind
from support.git_projects import git
from support.night import JOBS, KEY, KILLED, TASKS, Did, Night
from support.run_agents import completions

pytestmark = [pytest.mark.process, pytest.mark.proves("runs and the journal")]

MEETS: Final = {
    "T5": ["limited"],
    "T7": ["interrupted"],
    "T9": ["overloaded"],
    "T12": ["logged_out"],
    "T15": ["shares", "shares_again"],
    "T16": ["shares", "shares_again"],
    "T20": ["flaky"],
    "T23": ["stuck"],
    "T27": ["killed"],
    "T30": ["killed_done"],
}
"""What the first agents of these tasks meet with; all others work."""
CUT_OFF: Final = ("interrupted", "killed", "killed_done")
UNCHARGED: Final = ("limited", "overloaded", "logged_out", *CUT_OFF)
CALLS: Final = ["interrupted", "agent-failed", "killed", "killed", "exhausted", "completed"]
"""How the calls of the run end."""


def test_in_a_night_nothing_is_lost_charged_or_completed_wrongly(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    night = Night(tmp_path, monkeypatch, capsys)
    night.meets |= MEETS
    words = (
        *("supervisor", "run", "--session", KEY.id, "--spec", str(tmp_path / "spec.md")),
        *(
            "--check",
            f"{shlex.quote(sys.executable)} check.py",
            "--jobs",
            str(JOBS),
            "--max-iterations",
            "90",
        ),
        *("--max-minutes", "100000", "--max-cents", "420", "--json", "--", str(night.agent)),
    )
    command, told = shlex.join(words), list[dict[str, Any]]()
    for outcome in CALLS:
        code, printed = night.types(command)
        events = [json.loads(line) for line in printed.splitlines()]
        told += events
        report = json.loads(night.types(f"supervisor run report {KEY.id} --json")[1])
        assert (code == KILLED) is (outcome == "killed")
        stands = "at work, or its run was killed" if code == KILLED else outcome
        assert report["outcome"] == stands, report["why"]
        if code != KILLED:
            assert [events[-1][name] for name in ("event", "outcome")] == ["end", outcome]
            assert report["go_on"] == [*filter(None, [events[-1]["then"]])]
        command = "".join(report["go_on"])

    all_work_is_in_the_tree(night)
    each_task_was_completed_once(night)
    each_agent_is_in_the_log_with_what_it_spent(night)
    only_work_was_charged(night)
    nobody_waited_for_nothing(night, told)
    the_report_says_all_of_it(night, report, told)


def all_work_is_in_the_tree(night: Night) -> None:
    project = night.project
    assert {name: (project / f"{name}.txt").read_text() for name in TASKS} == dict.fromkeys(TASKS, "whole\n")
    assert sorted((project / "shared").read_text().split()) == ["T15", "T16"]
    assert sorted(made_commits(night)) == sorted(f"part {name[1:]}" for name in TASKS)
    assert git(project, "branch", "--format=%(refname:short)").split() == ["main"]
    assert len(git(project, "worktree", "list").splitlines()) == 1
    assert git(project, "status", "--porcelain") == ""


def each_task_was_completed_once(night: Night) -> None:
    assert {task.id: task.status for task in night.tasks()} == dict.fromkeys(TASKS, TaskStatus.COMPLETED)
    assert sorted(completions(night.state)) == sorted(TASKS)
    assert night.check() == 0


def each_agent_is_in_the_log_with_what_it_spent(night: Night) -> None:
    by_number = defaultdict[int, list[Did]](list)
    for one in night.ledger:
        by_number[one.number].append(one)
    began = [one.data.number for one in logged(night) if isinstance(one.data, RunIterationBegan)]
    assert sorted(began) == sorted(by_number)
    for ended in ends(night):
        told = [one for one in by_number[ended.number] if one.how not in CUT_OFF]
        cents = pytest.approx(sum(one.cents for one in told)) if told else None
        assert (ended.tokens, ended.cents) == (sum(one.tokens for one in told), cents), told
    unknown = by_number.keys() - {ended.number for ended in ends(night)}
    assert unknown <= night.at_work_when_killed, "only a kill loses what an agent had told"


def only_work_was_charged(night: Night) -> None:
    charged = [ended.number for ended in ends(night) if ended.decided in ("continue", "completed")]
    last = {one.number: one.how for one in night.ledger}
    assert not [last[number] for number in charged if last[number] in UNCHARGED]
    assert night.goal().spent.continuations == len(charged) - 1


def nobody_waited_for_nothing(night: Night, told: list[dict[str, Any]]) -> None:
    said = [event["text"].partition(": ")[2] for event in told if event["event"] == "limited"]
    assert said == ["usage limit reached)", "overloaded (529))"]
    worked = night.clock.now() - night.began_at - night.limited_for
    assert night.goal().spent.seconds <= worked, "time of waiting is no time of the goal's"


def the_report_says_all_of_it(night: Night, report: dict[str, Any], told: list[dict[str, Any]]) -> None:
    assert [(task["id"], task["state"], len(task["commits"])) for task in report["tasks"]] == [
        (name, "done", 1) for name in TASKS
    ]
    assert [commit.partition(" ")[2] for commit in report["commits"]] == made_commits(night)
    assert {one["path"] for one in report["files"]} == {"shared", *(f"{name}.txt" for name in TASKS)}
    assert (report["unmerged"], report["go_on"], report["questions"]) == ([], [], [])
    assert len(report["verdicts"]) == len({one.number for one in night.ledger})
    spent = [one for one in night.ledger if one.how not in CUT_OFF]
    assert report["tokens"] == sum(one.tokens for one in spent)
    assert report["cents"] == told[-1]["cents"] == pytest.approx(sum(one.cents for one in spent))
    for event in told:
        if event["event"] in ("limited", "budget", "warning"):
            assert any(event.get("text", "") in line for line in report["met"]), event


def made_commits(night: Night) -> list[str]:
    return git(night.project, "log", "--reverse", "--no-merges", "--format=%s").splitlines()[1:]


def logged(night: Night) -> tuple[LoggedEvent, ...]:
    kinds = (event_kind(RunIterationBegan), event_kind(RunIterationEnded))
    return night.log.read(EventFilter(session=KEY, kinds=kinds))


def ends(night: Night) -> list[RunIterationEnded]:
    return [one.data for one in logged(night) if isinstance(one.data, RunIterationEnded)]
