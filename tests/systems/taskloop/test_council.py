"""Councils on a real project: five workers that a test wrote, and once five real processes."""

from __future__ import annotations

import asyncio
import dataclasses
import os
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from sidecar.evidence.tree.workspace import GitWorkspace
from sidecar.kernel.journal import Author
from sidecar.kernel.loop import CouncilMember, CouncilProposal, Loop, LoopFailure, LoopState
from sidecar.kernel.settings import LoopSettings, NamedModel, Settings, WorkerSettings
from sidecar.platform.secrets import SecretForms
from sidecar.systems.iteration.journals import SessionJournals
from sidecar.systems.taskloop.council import CouncilMeeting, LoopCouncils
from sidecar.systems.taskloop.service import TaskLoops
from sidecar.wiring.headless import build_loop_services, build_workers
from sidecar.workers.ports import WorkerError, WorkerFailure, Workers, WorkerTask
from support.cases import KEY, session
from support.fakes import Fakes, prompt
from support.git_projects import commit_all, everything, repository
from support.memory_stores import FixedConfiguration, MemorySpending
from support.worker_agents import LIMIT_S, ScriptedWorkers

pytestmark = pytest.mark.process

GOOD = {
    "findings": ["calc.py:2 adds instead of dividing", "I feel so"],
    "hypothesis": "divide adds",
    "suggested_fix": "in calc.py, return a / b",
    "confidence": 70,
}
MEMBERS = tuple(CouncilMember)
LIMITS = WorkerSettings(seconds=60)
PRICED = {"dear": NamedModel(model="dear", input_cents=100.0, output_cents=100.0, tier="large")}
PROGRAM = """
import json, os, signal, subprocess, sys
prompt = sys.stdin.read()
own = next(name for name in {names} if f"You are the {{name.replace('_', ' ')}}" in prompt)
open("calc.py", "w").write("broken by " + own)
log = subprocess.run(["git", "log", "--format=%s"], capture_output=True, text=True).stdout
{body}
print(json.dumps({answer} | {{"hypothesis": f"{{own}} read {{log.strip()}} in {{os.getcwd()}}/calc.py"}}))
"""


class Room:
    """A project with a task that nobody could solve, a council over it, and what was told."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.project = folder, repository(folder / "project")
        (self.project / "calc.py").write_text("def divide(a, b):\n    return a + b\n")
        commit_all(self.project, "divides")
        self.before = everything(self.project)
        self.session = replace(session(), project=str(self.project))
        self.told: list[tuple[CouncilMember, str]] = []
        self.workers = ScriptedWorkers(self._answer)
        self.answers: dict[CouncilMember, object] = dict.fromkeys(MEMBERS, GOOD)
        self.loop = Loop(key=KEY)

    async def _answer(self, task: WorkerTask[Any]) -> object:
        answer = self.answers[whose(task)]
        if answer is None:
            await asyncio.Event().wait()
        if callable(answer):
            answer(Path(task.project))
            return GOOD
        return answer

    async def councils(self, own: Workers | None = None, **settings: Any) -> LoopCouncils:
        fakes = Fakes(configuration=FixedConfiguration(Settings(**settings)))
        environment = {**os.environ, "API_KEY": "s3cret-of-mine"}
        await fakes.tell(prompt(project=self.session.project, environment=environment))
        services = dataclasses.replace(fakes.services, workspace=GitWorkspace(self.folder / "trees"))
        journals = SessionJournals(fakes.journals)
        journals.add_task(KEY, "Divide, with s3cret-of-mine.", Author.USER)
        failure = LoopFailure(iteration=1, task="T1", model="large", failing=("test_divide",))
        stuck = Loop(key=KEY, task="T1", state=LoopState.ACTIVATING_BUG_COUNCIL, failures=(failure,))
        fakes.loops.save(stuck)
        parts = build_loop_services(
            self.folder, services, fakes.supervisor.checks, journals, own or self.workers
        )
        self.loops = fakes.loops
        return TaskLoops(parts).councils

    async def meet(
        self, workers: Workers | None = None, limits: WorkerSettings = LIMITS, **settings: Any
    ) -> CouncilMeeting:
        councils = await self.councils(workers, workers=limits, **settings)
        async with asyncio.timeout(LIMIT_S):
            met = await councils.meet(self.session, lambda member, line: self.told.append((member, line)))
        self.loop = self.loops.load(KEY) or self.loop
        return met


def whose(task: WorkerTask[Any]) -> CouncilMember:
    return next(one for one in MEMBERS if f"You are the {one.replace('_', ' ')}." in task.prompt)


@pytest.fixture
def room(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Room]:
    scratch = tmp_path / "scratch"
    scratch.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(scratch))
    room = Room(tmp_path)
    yield room
    assert everything(room.project) == room.before  # whatever the members did
    assert list(scratch.iterdir()) == []


@pytest.mark.proves("the loop")
async def test_five_perspectives_are_asked_alone_and_the_proposals_weighed(room: Room) -> None:
    secret = GOOD | {"hypothesis": "it prints s3cret-of-mine"}
    room.answers[CouncilMember.PATTERN_MATCHER] = secret | {"findings": ["nothing"], "confidence": 100}
    met = await room.meet()

    assert [one.member for one in room.loop.proposals] == list(MEMBERS)
    assert met.decision is not None
    assert met.decision.winner is MEMBERS[0]
    assert "1 of 2 findings name what is there)" in met.decision.reasons[0]
    assert "it prints [masked]" in "".join(met.decision.dissent)
    assert (met.left_out, room.loop.input_tokens) == ((), 1200)
    assert room.loop.spent_cents == pytest.approx(1.0)
    assert (room.loop.state, room.loop.decision) == (LoopState.EXECUTING, met.decision)
    prompts = {whose(task): task.prompt for task in room.workers.tasks}
    assert prompts.keys() == set(MEMBERS)
    for told in prompts.values():
        assert "Divide, with [masked]." in told
        assert "$" not in told
        assert "Errors:" not in told  # none are known
        assert "divide adds" not in told  # what another member says
    assert {task.tools for task in room.workers.tasks} == {("Bash", "Read", "Grep", "Glob")}
    assert {task.model for task in room.workers.tasks} == {"large"}
    assert {task.guarded for task in room.workers.tasks} == {str(room.project)}


@pytest.mark.proves("the loop")
async def test_one_agent_in_turn_is_told_the_case_once(room: Room) -> None:
    councils = await room.councils()
    for member in MEMBERS[:3]:
        councils.submit(room.session, CouncilProposal(member=member, **GOOD))  # type: ignore[arg-type]
    said = councils.prompt_in_turn(room.session)
    assert said.count("Divide, with [masked].") == 1
    assert all((f"[{one}]\n" in said) is (one in MEMBERS[3:]) for one in MEMBERS)


LEFT_OUT = {
    "one hangs": (None, "left out: it did not end within 1 s"),
    "one says prose": ("I would rather not.", "left out: the worker gave no answer in JSON"),
    "one is too sure": (GOOD | {"confidence": 101}, "left out: the worker's answer does not fit its schema"),
    "one found nothing": (GOOD | {"findings": []}, "left out: the worker's answer does not fit its schema"),
}


@pytest.mark.parametrize("case", LEFT_OUT)
async def test_a_member_without_a_proposal_is_left_out_and_told(room: Room, case: str) -> None:
    room.answers[MEMBERS[1]], said = LEFT_OUT[case]
    met = await room.meet(limits=WorkerSettings(seconds=1))

    [(member, why)] = met.left_out
    assert member is MEMBERS[1]
    assert why.startswith(said)
    assert (member, why) in room.told
    assert len(room.loop.proposals) == 4


async def test_fewer_than_three_decide_nothing_and_each_reason_is_said(room: Room) -> None:
    room.answers |= dict.fromkeys(MEMBERS[2:], "no")
    met = await room.meet()

    assert met.decision is None
    assert [member for member, _ in met.left_out] == list(MEMBERS[2:])
    assert str(met.left_out).count("gave no answer in JSON") == 3
    assert room.loop.input_tokens == 480
    assert room.loop.spent_cents == pytest.approx(0.4)
    assert (room.loop.state, room.loop.proposals) == (LoopState.ACTIVATING_BUG_COUNCIL, ())


@pytest.mark.proves("the loop")
async def test_after_a_member_whose_login_is_refused_no_other_is_started(room: Room) -> None:
    refused = WorkerError(WorkerFailure.REFUSED, "Please run /login")
    room.workers.failure = refused
    met = await room.meet(limits=WorkerSettings(seconds=60, parallel=1))
    assert set(met.left_out) == {(member, "left out: Please run /login") for member in MEMBERS}
    assert len(room.workers.tasks) == 1


def refuses(*_place: object, **_limits: object) -> dict[str, str]:
    raise WorkerError(WorkerFailure.NOT_STARTED, "no agent can be started")


@pytest.mark.proves("the loop")
async def test_no_council_begins_that_costs_more_than_is_left_or_that_no_worker_could_hold(
    room: Room,
) -> None:
    councils = await room.councils(models=PRICED)
    cents = councils.estimate(room.session).cents
    assert cents is not None
    refused = await room.meet(models=PRICED, loop=LoopSettings(max_cents=cents * 0.9))
    assert "not begun: a council costs about" in refused.left_out[0][1]
    assert room.workers.tasks == []

    room.workers.models = refuses  # type: ignore[method-assign]
    assert (await room.meet()).left_out[4] == (MEMBERS[4], "not begun: no agent can be started")
    assert room.workers.tasks == []
    del room.workers.models

    await room.meet(models=PRICED, loop=LoopSettings(max_cents=cents * 1.1))
    assert len(room.loop.proposals) == 5


def play(room: Room, body: str) -> tuple[Workers, WorkerSettings]:
    """Real workers that are processes of this program."""
    program = room.folder / "agent.py"
    program.write_text(PROGRAM.format(names=[str(one) for one in MEMBERS], body=body, answer=GOOD))
    own = WorkerSettings(seconds=60, backend="command", command=(sys.executable, str(program)), parallel=5)
    return build_workers(room.folder, MemorySpending(), SecretForms()), own


@pytest.mark.long
async def test_real_processes_hold_a_council(room: Room) -> None:
    body = f"if own == {str(MEMBERS[4])!r}: sys.exit('{{}}')\nif own == {str(MEMBERS[3])!r}: sys.exit(3)"
    workers, limits = play(room, body)
    met = await room.meet(workers, limits)

    assert [one.hypothesis for one in room.loop.proposals] == [
        f"{one} read divides\nfirst in calc.py" for one in MEMBERS[:3]
    ]
    assert [member for member, _ in met.left_out] == list(MEMBERS[3:])


async def test_a_cancelled_council_leaves_no_process_and_no_copy(room: Room) -> None:
    """Each process holds the writing end of a pipe open: its end is the end of the last of them."""
    pipe = room.folder / "pipe"
    os.mkfifo(pipe)
    holds = f"held = open({str(pipe)!r}, 'w'); held.write(own + '\\n'); held.flush(); signal.pause()"
    workers, limits = play(room, holds)
    meeting = asyncio.create_task(room.meet(workers, limits))
    meeting.add_done_callback(lambda _: open_shut(pipe))
    reading = asyncio.to_thread(read_until_cancelled, pipe, meeting.cancel, asyncio.get_running_loop())
    async with asyncio.timeout(LIMIT_S):
        assert sorted(await reading) == sorted(MEMBERS)
    with pytest.raises(asyncio.CancelledError):
        await meeting


def read_until_cancelled(
    pipe: Path, cancel: Callable[[], bool], loop: asyncio.AbstractEventLoop
) -> list[str]:
    with pipe.open() as held:
        names = [held.readline().strip() for _ in MEMBERS]
        loop.call_soon_threadsafe(cancel)
        return names + held.readlines()


def open_shut(pipe: Path) -> None:
    """Let the reader go on where no member ever wrote."""
    with suppress(OSError):
        os.close(os.open(pipe, os.O_WRONLY | os.O_NONBLOCK))
