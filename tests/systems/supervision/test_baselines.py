"""What later states are compared with is kept before the work begins."""

from __future__ import annotations

import asyncio

import pytest
from msgspec.structs import replace

from sidecar.kernel.effects import CommandReply, RestReason
from sidecar.kernel.events import SessionEnded
from sidecar.kernel.evidence import FileBaseline, FileChange, ProjectChanges
from sidecar.kernel.gate import CheckComparison, Gate, GateOrigin, GateRun, Kind, Outcome
from sidecar.kernel.goal import GateBaseline
from sidecar.kernel.settings import Settings
from sidecar.systems.supervision import project_state as bases
from support.cases import KEY, PROJECT, PYTEST, edited, turn
from support.fakes import Fakes, command, prompt
from support.memory_stores import FixedConfiguration
from support.scripted_gates import FAILED, PASSED, ScriptedEnding

LINT = Gate(
    id="lint", command="ruff check", why="", kind=Kind.LINT, origin=GateOrigin.DETECTED, approved=True
)
SKIPS = ProjectChanges(files=(FileChange(path="test_a.py", before="", after="# skipped\n"),))


async def nothing() -> None:
    """Give way."""


async def settled() -> None:
    """Let everything in the background come as far as it can."""
    for _ in range(20):
        await asyncio.create_task(nothing())


async def test_a_goals_base_is_kept_before_the_agent_hears_of_the_goal(fakes: Fakes) -> None:
    fakes.workspace.slow = asyncio.Event()
    typing = asyncio.create_task(fakes.tell(command("all tests pass")))
    await settled()
    assert not typing.done()
    fakes.workspace.slow.set()
    assert isinstance(await typing, CommandReply)
    assert fakes.goal().base == FileBaseline(tree="tree-1", snapshot="s1")


async def test_a_goal_waits_for_its_base_only_so_long(fakes: Fakes, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bases, "KEEPING", 0.0)
    fakes.workspace.slow = asyncio.Event()
    await fakes.reply(command("all tests pass"))
    assert fakes.goal().base.unseen.startswith("the files could not be kept")


async def test_a_resumed_goal_keeps_the_base_it_began_with(fakes: Fakes) -> None:
    await fakes.reply(command("all tests pass"))
    await fakes.reply(command("pause"))
    await fakes.reply(command("resume"))
    assert fakes.workspace.kept == ["s1"]
    assert fakes.goal().base.snapshot == "s1"


async def test_another_goal_begins_with_the_files_as_they_are_then(fakes: Fakes) -> None:
    await fakes.reply(command("all tests pass"))
    await fakes.reply(command("the docs build"))
    assert fakes.goal().base.snapshot == "s2"


async def test_a_goal_set_in_a_shell_gets_its_base_at_the_next_prompt(fakes: Fakes) -> None:
    await fakes.reply(command("all tests pass", environment={}))
    assert fakes.goal().base == FileBaseline()
    await fakes.tell(prompt())
    await settled()
    assert fakes.goal().base.snapshot == "s1"


async def test_how_advisory_gates_stood_is_found_out_in_the_background(fakes: Fakes) -> None:
    fakes.catalog.gates = (PYTEST, LINT)
    fakes.gates.script("ruff check", FAILED)
    await fakes.reply(command("all tests pass"))
    await settled()
    known = GateBaseline(gate="lint", command="ruff check", outcome=Outcome.FAILED, failing=("test_a",))
    assert fakes.goal().baseline == (known,)


async def test_what_was_seen_while_files_moved_is_no_baseline(fakes: Fakes) -> None:
    fakes.catalog.gates = (LINT,)
    held = asyncio.Event()
    fakes.gates.script("ruff check", ScriptedEnding(released=held))
    await fakes.reply(command("all tests pass"))
    await settled()
    fakes.workspace.tree = "tree-2"
    held.set()
    await settled()
    assert fakes.goal().baseline == ()


async def test_a_stop_does_not_wait_for_the_baseline(fakes: Fakes) -> None:
    fakes.catalog.gates = (PYTEST, LINT)
    fakes.gates.script("ruff check", ScriptedEnding(released=asyncio.Event()), PASSED)
    fakes.gates.script("pytest -q", ScriptedEnding(executed=3))
    await fakes.reply(command("all tests pass"))
    await settled()
    assert (await fakes.rest()).reason is RestReason.ACHIEVED
    assert fakes.gates.cancelled == ["ruff check"]


async def test_a_base_is_kept_at_every_human_prompt_without_a_goal_and_the_last_given_back(
    fakes: Fakes,
) -> None:
    await fakes.tell(prompt())
    await settled()
    await fakes.tell(prompt(prompt_id="p2"))
    await settled()
    assert (fakes.workspace.kept, fakes.workspace.returned) == (["s1", "s2"], ["s1"])
    await fakes.tell(SessionEnded(key=KEY, project=PROJECT, reason="exit"))
    assert fakes.workspace.returned == ["s1", "s2"]


async def test_a_failure_that_was_made_to_go_away_is_sent_back_although_the_gate_passes(fakes: Fakes) -> None:
    fakes.catalog.gates = (PYTEST,)
    fakes.gates.script("pytest -q", ScriptedEnding(executed=3))
    await fakes.reply(command("all tests pass"))
    fakes.workspace.changes = SKIPS
    said = "test_a.py::test_a: assert 2 == 1"
    fakes.old_checks.comparisons = (hidden_failure(said),)
    fakes.transcripts.script(turn(edited("test_a.py"), message="All tests pass."))
    answer = await fakes.sent_back()
    assert answer.feedback.kind == "checks-changed"
    assert answer.feedback.missing == (f"test_a.py: as it was when the work began, it still fails: {said}",)
    assert (fakes.workspace.compared, fakes.old_checks.asked) == (["s1"], ["pytest -q"])
    (entry,) = fakes.record.read(KEY)[-1:]
    assert entry.findings == answer.feedback.missing


async def test_a_new_goal_is_answered_with_what_decides_it(fakes: Fakes) -> None:
    fakes.catalog.gates = (PYTEST,)
    reply = await fakes.reply(command("all tests pass"))
    goal, checks, rest = reply.text.splitlines()
    assert goal == "Supervisor: goal set: all tests pass"
    assert checks == "Decided by: `pytest -q`."
    assert rest.startswith("Budget: 16 continuations, ")


async def test_what_else_is_said_with_a_new_goal_follows_its_three_lines() -> None:
    fakes = Fakes(configuration=FixedConfiguration(Settings(mode="shadow")))
    reply = await fakes.reply(command("all tests pass"))
    assert [line.partition(":")[0] for line in reply.text.splitlines()] == [
        "Supervisor", "No check decides this; it is judged by scripted.", "Budget", "Supervisor",
    ]  # fmt: skip


def hidden_failure(line: str) -> CheckComparison:
    """A test that failed when the work began, was changed, and still fails as it was."""
    now = GateRun(gate=PYTEST, outcome=Outcome.PASSED, tree="tree-1")
    failed = replace(
        now, outcome=Outcome.FAILED, failures=(line,), failing=(line.partition(": ")[0],), executed=3
    )
    return CheckComparison(now=now, files=("test_a.py",), old=failed, base=failed, copy=now)


async def test_secrets_are_taken_out_of_what_changed(fakes: Fakes) -> None:
    fakes.catalog.gates = (PYTEST,)
    fakes.gates.script("pytest -q", ScriptedEnding(executed=3))
    secret = "hunter2-hunter2"
    await fakes.reply(command("all tests pass"))
    fakes.workspace.changes = SKIPS
    fakes.old_checks.comparisons = (hidden_failure(f"test_a.py::test_a: assert '{secret}' == ''"),)
    answer = await fakes.sent_back(environment={"API_TOKEN": secret})
    assert "[masked]" in answer.feedback.missing[0]


async def test_the_gates_run_on_the_very_files_that_were_compared(fakes: Fakes) -> None:
    fakes.catalog.gates = (PYTEST,)
    fakes.gates.script("pytest -q", ScriptedEnding(executed=3))
    await fakes.reply(command("all tests pass"))
    assert (await fakes.rest()).reason is RestReason.ACHIEVED
    assert fakes.workspace.looks == 0
    assert fakes.record.read(KEY)[-1].tree == "tree-1"
