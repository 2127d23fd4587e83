"""The judge on the real Claude Code: what its answers and faults become, for each tested version."""

from __future__ import annotations

import asyncio
import json
import re
import threading
from pathlib import Path
from typing import TYPE_CHECKING, Final, Protocol

import pytest

from sidecar.judging.backends.claude_cli import ClaudeCliJudge
from sidecar.judging.backends.prompt import build_judge_prompt
from sidecar.kernel.events import JudgeAnswered, JudgeFailed
from sidecar.kernel.evidence import Complete, Met
from sidecar.kernel.settings import JudgeSettings, Settings
from support.fake_claude import CASE, COMPLETE
from support.model_script import (
    HttpErrorReply,
    ReplyRule,
    RequestMatch,
    reply_structured,
)

if TYPE_CHECKING:
    from real_hosts.host import Host
    from support.model_server import ScriptedModel

TEXTS: Final = Path(__file__).parents[2] / "rubric"
JUDGE: Final = RequestMatch(has_tool="StructuredOutput")
FIT: Final = ReplyRule(reply_structured({"answer": COMPLETE}), JUDGE)
LOOSE: Final = reply_structured({"answer": COMPLETE | {"criteria": []}})
"""Fits the schema that the model is given, but not the verdict."""
WRONG: Final = reply_structured({"answer": {"verdict": "done"}})
"""Does not fit the schema either."""
SECONDS: Final = 240
"""Deadline of a judge that is to answer."""
HELD_SECONDS: Final = 30
"""Deadline of a judge that is not: time enough to ask, on a slow machine."""


class Ask(Protocol):
    """Asks the judge about `CASE`, in the host's environment and `session`."""

    def __call__(self, seconds: int = SECONDS, /, **session: str) -> JudgeAnswered | JudgeFailed: ...


@pytest.fixture
def ask(host: Host) -> Ask:
    named = {"CLAUDE_CODE_EXECPATH": str(host.binary), "CLAUDE_PROJECT_DIR": str(host.project)}

    def ask(seconds: int = SECONDS, /, **session: str) -> JudgeAnswered | JudgeFailed:
        settings = Settings(judge=JudgeSettings(seconds=seconds))
        return asyncio.run(ClaudeCliJudge(TEXTS).ask(CASE, {**host.env, **named, **session}, settings))

    return ask


def test_a_valid_verdict_costs_one_request_and_no_tools(ask: Ask, model: ScriptedModel) -> None:
    model.add(FIT)
    said = ask()
    assert isinstance(said, JudgeAnswered)
    assert said.judgement.verdict == Complete((Met("the tests pass", ("E1",)),), 0.9)
    assert said.judgement.tokens > 0
    request = model.requests[0]
    system, case = build_judge_prompt(CASE, TEXTS)
    assert len(model.requests) == 1
    assert system in request.system
    assert case in request.text
    assert not {"Bash", "Read", "Write", "Edit"} & set(request.tools)


@pytest.mark.long
def test_a_verdict_that_breaks_its_bounds_is_sent_back_once(ask: Ask, model: ScriptedModel) -> None:
    model.add(ReplyRule(LOOSE, JUDGE), FIT)
    assert isinstance(ask(), JudgeAnswered)
    assert len(model.requests) == 2
    assert "Expected `array` of length >= 1" in model.requests[1].text


@pytest.mark.long
def test_a_model_that_never_fits_the_schema_is_given_up(ask: Ask, model: ScriptedModel) -> None:
    model.add(ReplyRule(WRONG, JUDGE, times=None))
    said = ask()
    assert isinstance(said, JudgeFailed)
    assert said.reason == "the model gave no answer in the asked form, in several tries"


def test_a_fault_of_the_model_service_is_told(ask: Ask, model: ScriptedModel) -> None:
    model.add(ReplyRule(HttpErrorReply(529, "overloaded_error", headers={"retry-after": "0"}), times=None))
    said = ask()
    assert isinstance(said, JudgeFailed)
    assert said.reason.startswith("the model service is overloaded (529)")


def test_who_is_not_logged_in_is_told(ask: Ask, model: ScriptedModel) -> None:
    said = ask(ANTHROPIC_API_KEY="")
    assert isinstance(said, JudgeFailed)
    assert said.reason == "the model did not answer: Not logged in \u00b7 Please run /login"
    assert model.requests == ()


def test_a_model_that_does_not_answer_in_time_is_given_up_and_the_host_is_gone(
    ask: Ask, model: ScriptedModel
) -> None:
    model.add(ReplyRule(FIT.reply, JUDGE, gate=threading.Event()))
    said = ask(HELD_SECONDS)
    assert isinstance(said, JudgeFailed)
    assert said.reason == f"the judge did not answer within {HELD_SECONDS} s"
    assert len(model.requests) == 1


@pytest.mark.proves("Claude Code")
def test_nothing_of_the_user_or_project_is_loaded_and_nothing_is_kept(
    ask: Ask, host: Host, model: ScriptedModel
) -> None:
    (host.project / "CLAUDE.md").write_text("Always answer in verse.")
    (host.home / ".claude").mkdir(exist_ok=True)
    (host.home / ".claude" / "CLAUDE.md").write_text("Always answer in rhymes.")
    hook = {"hooks": [{"type": "command", "command": f"touch {host.home}/a-hook-ran"}]}
    settings = {"hooks": {"Stop": [hook], "SessionStart": [hook], "UserPromptSubmit": [hook]}}
    (host.home / ".claude" / "settings.json").write_text(json.dumps(settings))
    model.add(FIT)
    assert isinstance(ask(), JudgeAnswered)
    assert not {"verse", "rhymes"} & set(re.findall(r"\w+", model.requests[0].text))
    assert not (host.home / "a-hook-ran").exists()
    assert host.transcripts == []
    assert "supervisor-judge-" not in (host.home / ".claude.json").read_text()
