"""Texts of agents and projects on every way to a person or an agent: one table of texts, one of ways."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

import pytest
from msgspec.structs import replace

from sidecar.hosts.claude_code.codec import ClaudeCodeCodec
from sidecar.hosts.opencode.codec import OpenCodeCodec
from sidecar.kernel.effects import CommandReply, Feedback, HostAnswer, Rest, RestReason
from sidecar.kernel.evidence import Evidence, Source
from sidecar.kernel.gate import Gate
from sidecar.kernel.journal import Journal, TaskStatus
from sidecar.kernel.rubric import Flaw, FlawSeverity
from sidecar.rubric.policy import describe_rubric
from sidecar.servers.rubric_language.checking import RubricCheck
from sidecar.servers.rubric_language.server import OpenRubric
from sidecar.servers.tools.tool import clip_printable
from sidecar.systems.iteration.policy import journal as rules
from sidecar.systems.supervision.gate_requests import _describe_gate
from sidecar.systems.supervision.messages import MessageFiles
from support.cases import PROJECT, RUBRIC
from support.hostile import HOSTILE, faults

pytestmark = pytest.mark.proves("crashes and bad input")

SHIPPED: Final = MessageFiles(Path(__file__).parents[2] / "rubric")


def in_claude_code(event: str, answer: HostAnswer) -> str:
    out: dict[str, Any] = json.loads(
        ClaudeCodeCodec().encode(b'{"hook_event_name":"%s"}' % event.encode(), answer, "")
    )
    return str(out.get("systemMessage") or out["reason"])


def in_opencode(answer: HostAnswer) -> str:
    return str(json.loads(OpenCodeCodec().encode(b"{}", answer, ""))["notice"])


def sent_back(text: str) -> str:
    fact = Evidence(id="E1", source=Source.GATE, fact=f"{text} failed", detail=text)
    return SHIPPED.continuation(
        Feedback(kind="incomplete", id="a1b2c3", number=1, budget=16, condition=text,
                 missing=(text,), next_step=text, evidence=(fact,))
    )  # fmt: skip


def in_an_editor(text: str) -> str:
    flaw = Flaw(weight=FlawSeverity.ERROR, code="x", why=text, help=text, begin=0, end=0)
    check = RubricCheck(Path(__file__), {})
    return OpenRubric("", "x", check, "utf-16").diagnostic(flaw).message


WAYS: Final[dict[str, Callable[[str], str]]] = {
    "a note in Claude Code": lambda text: in_claude_code("Stop", Rest(reason=RestReason.UNJUDGED, note=text)),
    "a reply in Claude Code": lambda text: in_claude_code("UserPromptSubmit", CommandReply(headline=text)),
    "a toast in OpenCode": lambda text: in_opencode(Rest(reason=RestReason.UNJUDGED, note=text)),
    "a reply in OpenCode": lambda text: in_opencode(CommandReply(headline=text)),
    "a continuation": sent_back,
    "a goal's context": lambda text: SHIPPED.goal_context(text, (text,), 3),
    "an approval": lambda text: "\n".join(_describe_gate(Gate(id=text, command=text, why=text, behind=text))),
    "the rubric": lambda text: "\n".join(
        describe_rubric(replace(RUBRIC, origin=text, rejected=(text,)), PROJECT)
    ),
    "an editor's diagnostic": in_an_editor,
    "an answer of a tool": clip_printable,
}


@pytest.mark.parametrize("name", HOSTILE)
@pytest.mark.parametrize("way", WAYS)
def test_nothing_that_a_screen_obeys_hides_or_reorders_gets_through(way: str, name: str) -> None:
    shown = WAYS[way](f"before{HOSTILE[name]} after")
    assert (faults(shown), "before" in shown) == ([], True)
    assert "after" in shown or len(HOSTILE[name]) > 100


@pytest.mark.parametrize("name", [name for name in HOSTILE if name != "a megabyte"])
def test_a_task_is_kept_without_what_a_screen_obeys(name: str) -> None:
    (task,) = rules.add_tasks(Journal(), [(f"before{HOSTILE[name]} after", TaskStatus.REMAINING)])[0].tasks
    assert (faults(task.content), task.content[:6], task.content[-5:]) == ([], "before", "after")
