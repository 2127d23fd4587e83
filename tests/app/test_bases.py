"""What later states are compared with is kept before the work begins."""

from __future__ import annotations

import asyncio

import pytest
from msgspec.structs import replace

from sidecar.adapters.scripted.gates import FAILED, PASSED, Ended
from sidecar.app import bases
from sidecar.model.effects import Reason, Reply
from sidecar.model.events import SessionEnded
from sidecar.model.gate import Gate, Kind, Origin, Outcome
from sidecar.model.goal import Known, Status
from sidecar.model.inspection import Base, Changes, FileChange
from support.cases import KEY, PROJECT, PYTEST, edited, incomplete, ran, stopped, turn, with_goal
from support.fakes import LIMIT, Fakes, command, prompt

LINT = Gate(id="lint", command="ruff check", why="", kind=Kind.LINT, origin=Origin.DETECTED, approved=True)
BEFORE = "def test_a():\n    assert f() == 1\n"
AFTER = "import pytest\n\n\n@pytest.mark.skip\ndef test_a():\n    assert f() == 1\n"
SKIPS = Changes(files=(FileChange(path="test_a.py", before=BEFORE, after=AFTER),))


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
    assert isinstance(await typing, Reply)
    assert fakes.goal().base == Base(tree="tree-1", snapshot="s1")


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
    assert fakes.goal().base == Base()
    await fakes.tell(prompt())
    await settled()
    assert fakes.goal().base.snapshot == "s1"


async def test_how_advisory_gates_stood_is_found_out_in_the_background(fakes: Fakes) -> None:
    fakes.catalog.gates = (PYTEST, LINT)
    fakes.gates.script("ruff check", FAILED)
    await fakes.reply(command("all tests pass"))
    await settled()
    known = Known(gate="lint", command="ruff check", outcome=Outcome.FAILED, failing=("test_a",))
    assert fakes.goal().baseline == (known,)


async def test_what_was_seen_while_files_moved_is_no_baseline(fakes: Fakes) -> None:
    fakes.catalog.gates = (LINT,)
    held = asyncio.Event()
    fakes.gates.script("ruff check", Ended(released=held))
    await fakes.reply(command("all tests pass"))
    await settled()
    fakes.workspace.tree = "tree-2"
    held.set()
    await settled()
    assert fakes.goal().baseline == ()


async def test_a_stop_does_not_wait_for_the_baseline(fakes: Fakes) -> None:
    fakes.catalog.gates = (PYTEST, LINT)
    fakes.gates.script("ruff check", Ended(released=asyncio.Event()), PASSED)
    fakes.gates.script("pytest -q", Ended(executed=3))
    await fakes.reply(command("all tests pass"))
    await settled()
    assert (await fakes.rest()).reason is Reason.ACHIEVED
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


async def test_a_prompt_during_a_goal_keeps_nothing_new(fakes: Fakes) -> None:
    fakes.store.save(with_goal())
    await fakes.tell(prompt())
    await settled()
    assert fakes.workspace.kept == []


async def test_where_supervisor_is_off_nothing_is_kept(fakes: Fakes) -> None:
    fakes.switches.turn(on=False, project=None)
    await fakes.tell(prompt())
    await settled()
    assert fakes.workspace.kept == []


async def test_a_skipped_test_is_sent_back_with_file_and_line_although_the_gate_passes(fakes: Fakes) -> None:
    fakes.catalog.gates = (PYTEST,)
    fakes.gates.script("pytest -q", Ended(executed=3))
    await fakes.reply(command("all tests pass"))
    fakes.workspace.changes = SKIPS
    fakes.transcripts.script(turn(edited("test_a.py"), message="All tests pass."))
    answer = await fakes.sent_back()
    assert answer.feedback.kind == "checks-changed"
    assert "test_a.py:" in answer.feedback.missing[0]
    assert "skip" in answer.feedback.missing[0]
    assert fakes.workspace.compared == ["s1"]
    (entry,) = fakes.record.read(KEY)[-1:]
    assert entry.findings == answer.feedback.missing


async def test_without_a_goal_the_turn_is_compared_with_how_it_began(fakes: Fakes) -> None:
    await fakes.tell(prompt())
    fakes.workspace.changes = SKIPS
    fakes.transcripts.script(turn(edited("test_a.py"), ran("pytest -q"), message="All tests pass."))
    fakes.judge.script(incomplete())
    answer = await fakes.sent_back()
    assert answer.feedback.kind == "checks-changed"
    assert fakes.workspace.compared == ["s1"]


async def test_where_nothing_was_kept_gates_alone_achieve_nothing(fakes: Fakes) -> None:
    fakes.catalog.gates = (PYTEST,)
    fakes.gates.script("pytest -q", Ended(executed=3))
    begun = with_goal("all tests pass")
    assert begun.goal is not None
    fakes.store.save(replace(begun, goal=replace(begun.goal, base=Base(unseen="no git"))))
    fakes.judge.script(incomplete())
    async with asyncio.timeout(LIMIT):
        await fakes.tell(stopped())
    assert fakes.goal().status is Status.ACTIVE
    assert fakes.judge.asked.is_set()


async def test_secrets_are_taken_out_of_what_changed(fakes: Fakes) -> None:
    fakes.catalog.gates = (PYTEST,)
    fakes.gates.script("pytest -q", Ended(executed=3))
    secret = "hunter2-hunter2"
    await fakes.reply(command("all tests pass"))
    after = AFTER.replace("mark.skip", f'mark.skip(reason="{secret}")')
    fakes.workspace.changes = Changes(files=(FileChange(path="test_a.py", before=BEFORE, after=after),))
    answer = await fakes.sent_back(environment={"API_TOKEN": secret})
    assert "[masked]" in answer.feedback.missing[0]


async def test_the_gates_run_on_the_very_files_that_were_compared(fakes: Fakes) -> None:
    fakes.catalog.gates = (PYTEST,)
    fakes.gates.script("pytest -q", Ended(executed=3))
    await fakes.reply(command("all tests pass"))
    assert (await fakes.rest()).reason is Reason.ACHIEVED
    assert fakes.workspace.looks == 0
    assert fakes.record.read(KEY)[-1].tree == "tree-1"
