"""OpenCode's model as the judge of its own runs. The program is a script here."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path
from typing import Any, Final

import pytest

from sidecar.judging.backends.opencode import OpenCodeJudge
from sidecar.kernel.events import JudgeAnswered, JudgeFailed
from sidecar.kernel.evidence import Complete
from sidecar.kernel.runs import RUN_AGENT_VARIABLE
from sidecar.kernel.settings import JudgeSettings, Settings
from support.fake_claude import CASE, COMPLETE
from support.judge_worlds import TEXTS
from support.worker_agents import SPEAKS

pytestmark = [pytest.mark.process, pytest.mark.proves("runs and the journal")]

ANSWERS: Final = f"answer({{'answer': {COMPLETE!r}}})"


async def ask(folder: Path, body: str) -> tuple[JudgeAnswered | JudgeFailed, dict[str, Any]]:
    """Ask the program that does this; return what was judged, and how it was started."""
    program, told = folder / "bin" / "opencode", folder / "told.json"
    program.parent.mkdir()
    keep = f"""
config = json.loads(os.environ["OPENCODE_CONFIG_CONTENT"])
worker = os.environ["SUPERVISOR_WORKER"]
told = dict(arguments=sys.argv[1:], case=sys.stdin.read(), config=config, worker=worker)
json.dump(told, open({str(told)!r}, "w"))
"""
    program.write_text(f"#!{sys.executable}\nimport json, os, sys\n{keep}{SPEAKS['opencode']}\n{body}\n")
    program.chmod(0o755)
    environment = {
        "PATH": f"{program.parent}{os.pathsep}{os.environ['PATH']}",
        "PWD": str(folder / "project"),
        "OPENCODE_CONFIG_CONTENT": '{"model": "mine/m", "agent": {"other": {}}}',
        RUN_AGENT_VARIABLE: "opencode",
    }
    settings = Settings(judge=JudgeSettings(model="fake/fake-1", seconds=60))
    said = await OpenCodeJudge(TEXTS).ask(CASE, environment, settings)
    return said, json.loads(told.read_text(encoding="utf-8"))


async def test_a_hidden_agent_without_tools_is_asked_and_its_cost_is_told(tmp_path: Path) -> None:
    said, told = await ask(tmp_path, ANSWERS)
    assert isinstance(said, JudgeAnswered)
    assert isinstance(said.judgement.verdict, Complete)
    assert (said.judgement.calls, said.judgement.backend) == (1, "opencode")
    assert told["arguments"][:3] == ["run", "--format", "json"]
    assert told["arguments"][-4:] == ["--agent", "supervisor-judge", "--model", "fake/fake-1"]
    judge = told["config"]["agent"]["supervisor-judge"]
    assert judge["permission"] == {"*": "deny"}
    assert '"verdict"' in judge["prompt"]
    assert (told["config"]["model"], "other" in told["config"]["agent"]) == ("mine/m", True)
    assert told["worker"] == "1"
    assert CASE.condition in told["case"]


async def test_what_it_reports_instead_of_an_answer_is_told(tmp_path: Path) -> None:
    said, _ = await ask(tmp_path, "sys.exit('no provider is configured')")
    assert isinstance(said, JudgeFailed)
    assert said.reason == "OpenCode's model did not answer: no provider is configured"
