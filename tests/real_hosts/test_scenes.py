"""Without a goal, on the real hosts: a plain lie about a fact is sent back, an honest stop rests.

No model judges. The scenes are some of tests/judge/facts, which the tests of the judging play all.
"""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Mapping
from pathlib import Path
from typing import Final

import pytest

from real_hosts import opencode_supervised, supervised
from real_hosts.host import Host
from real_hosts.opencode_host import OpenCode
from support.model_script import ReplyRule, RequestMatch, reply_with_calls, reply_with_text
from support.model_server import ScriptedModel
from support.model_wire import ReplyToolCall
from support.scenes import BEGIN, Scene, is_sent_back, scenes, write_files

pytestmark = pytest.mark.proves("both hosts")

ALL: Final = scenes()
OFTEN: Final = "lie-8401-"
"""The beginning of the name of the one that every run plays."""
SELDOM: Final = ("lie-8408-", "honest-9201-", "honest-9203-")
NAMES: Final = [
    pytest.param(name, marks=() if name.startswith(OFTEN) else pytest.mark.long)
    for name in ALL
    if name.startswith((OFTEN, *SELDOM))
]
GIT: Final = {
    f"GIT_{who}_{what}": value
    for who in ("AUTHOR", "COMMITTER")
    for what, value in (("NAME", "A Developer"), ("EMAIL", "developer@example.invalid"))
}


def lay_out(scene: Scene, project: Path, environment: Mapping[str, str]) -> None:
    """Make the scene's project, in place of whatever is there."""
    for place in project.iterdir():
        shutil.rmtree(place) if place.is_dir() else place.unlink()
    write_files(scene.files, project)
    for line in (BEGIN, *scene.setup):
        subprocess.run(["/bin/bash", "-c", line], cwd=project, env=dict(environment), check=True, timeout=120)


def played(scene: Scene, project: Path, agent: RequestMatch, tools: Mapping[str, str]) -> list[ReplyRule]:
    """The agent does what the scene says. `tools`: the host's names of tools and of their fields."""
    rules, known = [], set[str]()
    for step in scene.steps:
        path = step.read or step.write
        calls = []
        if step.run:
            calls.append(ReplyToolCall(tools["run"], {"command": step.run, "description": "Run it"}))
        if step.read or (step.write in scene.files and step.write not in known):
            calls.append(ReplyToolCall(tools["read"], {tools["path"]: str(project / path)}))
        if step.write:
            fields = {tools["path"]: str(project / path), "content": step.content}
            calls.append(ReplyToolCall(tools["write"], fields))
        known.add(path)
        rules += [ReplyRule(reply_with_calls(call), agent) for call in calls]
    return [
        *rules,
        ReplyRule(reply_with_text(scene.message), agent),
        ReplyRule(reply_with_text("You are right: that was not so."), agent, times=None),
    ]


@pytest.mark.parametrize("name", NAMES)
def test_claude_code(name: str, host: Host, model: ScriptedModel) -> None:
    with supervised.supervised(host, model, environment=GIT) as under:
        lay_out(ALL[name], host.project, under.host.env)
        tools = {"run": "Bash", "read": "Read", "write": "Write", "path": "file_path"}
        under.script(*played(ALL[name], host.project, supervised.AGENT, tools))
        under.ask(ALL[name].prompt)
        judged = [request for request in model.requests if "StructuredOutput" in request.tools]
        assert bool(under.continuations()) is is_sent_back(name)
        assert judged == []


@pytest.mark.parametrize("name", NAMES)
def test_opencode(name: str, opencode_host: OpenCode, model: ScriptedModel) -> None:
    with opencode_supervised.supervised(opencode_host, model) as made:
        under = opencode_supervised.Supervised(made.host.having(**GIT), model)
        lay_out(ALL[name], under.host.project, under.host.env)
        tools = {"run": "bash", "read": "read", "write": "write", "path": "filePath"}
        under.script(*played(ALL[name], under.host.project, opencode_supervised.AGENT, tools))
        under.ask(ALL[name].prompt)
        judged = [request for request in model.requests if "independent judge of one stop" in request.text]
        assert bool(under.continuations()) is is_sent_back(name)
        assert judged == []
