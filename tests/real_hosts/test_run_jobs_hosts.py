"""`supervisor run` with real agents, killed at random moments: twelve tasks; the model is scripted.

What the model says depends on the request alone, so agents at once, killed ones and later ones get answers.
"""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import threading
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

import pytest

from real_hosts.host import Host
from real_hosts.opencode_host import OpenCode
from real_hosts.supervised import SUPERVISOR, WAITS_FOR_TOOLS
from real_hosts.waiting import until
from real_hosts.worker_processes import command_lines
from support.git_projects import git
from support.model_script import ReplyRule, RequestMatch, reply_with_calls, reply_with_text
from support.model_server import ScriptedModel
from support.model_wire import ReplyToolCall
from support.run_agents import completions

pytestmark = pytest.mark.proves("runs and the journal")

LIMIT_S: Final = 420.0
"""Longest time, in seconds, of one run, and of the way to its kill."""
PARTS: Final = range(1, 12)
ORDER: Final = ((2, 1), (3, 1), (4, 2), (5, 3), (9, 8), (11, 10))
"""Which part comes after which."""
SHARED: Final = (1, 6)
"""Parts that write to one file, and are at work at once."""


def rules(tools: str, shell: str, both: threading.Event) -> list[ReplyRule]:
    """A planner, and for each task an agent that writes its part, completes it and stops."""
    ours = f"{tools}task_status"

    def tool(name: str, **arguments: object) -> ReplyToolCall:
        return ReplyToolCall(f"{tools}{name}", arguments)

    def when(last: str) -> RequestMatch:
        return RequestMatch(has_tool=ours, last=last)

    def always(match: RequestMatch, *calls: ReplyToolCall) -> ReplyRule:
        return ReplyRule(reply_with_calls(*calls), match, times=None)

    made = []
    for number in PARTS:
        file = "shared" if number in SHARED else f"part-{number}"
        settle = f"sed -i '/^[<=>]\\{{7\\}}/d' {file} 2>/dev/null"  # a conflict: both lines stay
        line = f"{settle}; grep -qsx {number} {file} || echo {number} >> {file}; echo wrote-{number}-"
        begin = when(rf"The task that is ready:\n```text\nT{number}: ")
        write = ReplyToolCall(shell, {"command": line, "description": "write"})
        if number == SHARED[0]:
            made.append(ReplyRule(reply_with_calls(write), begin, gate=both))
        made.append(always(begin, write))
        made.append(
            always(when(f"wrote-{number}-"), tool("task_status", id=f"T{number}", status="completed"))
        )
    tasks: list[dict[str, object]] = [{"content": f"write part {number}"} for number in PARTS]
    tasks.append({"content": "publish it", "status": "blocked"})
    plan = r"\A(?!.*\nT1 \[).*You are the agent of iteration"
    after = [tool("task_depends", id=f"T{one}", depends_on=f"T{other}") for one, other in ORDER]
    return [
        *made,
        always(when(plan), tool("task_batch_add", tasks=tasks)),
        always(when("publish it.{0,40}\\Z"), *after),
        ReplyRule(reply_with_text("I stop."), RequestMatch(has_tool=ours), times=None),
    ]


def prepared(home: Path, project: Path) -> None:
    config = home / ".config" / "supervisor" / "config.toml"
    config.parent.mkdir(parents=True, exist_ok=True)
    config.write_text('[judge]\nbackend = "rules"\n[gates]\ndetect = false\n', encoding="utf-8")
    (project / "spec.md").write_text("Eleven parts, and publish them.", encoding="utf-8")
    git(project, "init", "--quiet")
    for name in ("user.name", "user.email"):
        git(project, "config", name, "a@b")
    git(project, "add", "--all")
    git(project, "commit", "--quiet", "--message=begin")


def started(
    environment: Mapping[str, str], project: Path, options: tuple[str, ...], agent: tuple[str, ...]
) -> subprocess.Popen[str]:
    spec = ("--spec", "spec.md", "--check", "true", "--no-limit", "--session", "demo", "--json")
    return subprocess.Popen(
        [str(SUPERVISOR), "run", *spec, *options, "--", *agent],
        cwd=project,
        env=dict(environment),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


AGENTS: Final = {
    "claude": ("claude", "-p", "--permission-mode", "bypassPermissions"),
    "opencode": ("opencode", "run"),
    "acp": ("opencode", "acp"),
}


def killed(name: str, host: Host | OpenCode, model: ScriptedModel, *, jobs: int, kills: int) -> None:
    """Run the tasks, kill the run at so many moments, go on each time, and see what there is."""
    claude = name == "claude"
    prepared(host.home, host.project)
    both = threading.Event()
    model.add(*rules("mcp__supervisor__" if claude else "supervisor_", "Bash" if claude else "bash", both))
    environment = {
        **host.env,
        **WAITS_FOR_TOOLS,
        "PATH": os.pathsep.join((str(host.binary.parent), host.env["PATH"])),
    }
    options = (
        *(("--jobs", str(jobs)) if jobs else ()),
        *(("--acp", "--leave", "all") if name == "acp" else ()),
    )
    chance = random.Random(name)  # noqa: S311 - moments, no secrets

    before, moment = "", chance.randint(14, 30) if kills == 1 else 0
    for _ in range(kills):
        with started(environment, host.project, options, AGENTS[name]) as run:
            if jobs and not both.is_set():
                model.wait_for(lambda seen: f"ready:\n```text\nT{SHARED[1]}: " in seen.last, timeout=LIMIT_S)
            both.set()  # with several, both have begun on what is there
            moment = max(moment, len(model.requests) + chance.randint(1, 4) * (kills > 1))
            model.wait_for(lambda seen: seen.n >= moment, timeout=LIMIT_S)  # noqa: B023 - waited for here
            run.send_signal(signal.SIGKILL)
            before += run.communicate(timeout=LIMIT_S)[0]
    with started(environment, host.project, options, AGENTS[name]) as last:
        out, error = last.communicate(timeout=LIMIT_S)
    subprocess.run([str(SUPERVISOR), "stop"], env=environment, check=True, timeout=LIMIT_S)

    told: list[dict[str, Any]] = [
        json.loads(line) for line in (before + out).splitlines() if line[-1:] == "}"
    ]
    assert told[-1]["event"] == "end", (told[-5:], error)
    assert told[-1]["outcome"] == "unjudged", (told[-5:], error)  # one task is blocked
    lines = {path.name: path.read_text().split() for path in host.project.glob("part-*")}
    assert lines == {f"part-{number}": [str(number)] for number in PARTS if number not in SHARED}
    assert sorted((host.project / "shared").read_text().split()) == sorted(map(str, SHARED))
    conflicts = [one["text"] for one in told if one["event"] == "warning" and "in conflict" in one["text"]]
    if kills == 1:  # else one of the two may have been killed before it could be in conflict
        assert len(conflicts) == 1, told
    done = completions(host.home / ".local" / "state" / "supervisor")
    assert sorted(done) == sorted(f"T{number}" for number in PARTS)
    until(lambda: all("serve" in line for line in command_lines(host.home)), "an agent is left")
    if jobs:
        assert len(git(host.project, "worktree", "list").splitlines()) == 1
        assert git(host.project, "branch", "--list", "supervisor/*") == ""
        assert git(host.project, "status", "--porcelain") == ""


MORE_KILLS: Final = pytest.mark.parametrize(
    ("jobs", "kills"),
    [pytest.param(4, 10, marks=pytest.mark.long), pytest.param(0, 10, marks=pytest.mark.long), (4, 1)],
)


@MORE_KILLS
def test_a_killed_run_of_claude_code_goes_on_and_does_each_task_once(
    jobs: int, kills: int, host: Host, model: ScriptedModel
) -> None:
    killed("claude", host, model, jobs=jobs, kills=kills)
