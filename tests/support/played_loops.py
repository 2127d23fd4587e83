"""A loop that `supervisor loop` plays, as its state, its journal and the log have it."""

from __future__ import annotations

from msgspec.structs import replace

from sidecar.kernel.journal import Journal, Task, TaskStatus
from sidecar.kernel.log import LoopTaskBegun
from sidecar.kernel.loop import LOOP_HOST, Loop, LoopStatus, Tier
from sidecar.kernel.session import Session, SessionKey
from sidecar.kernel.work import Standing
from sidecar.platform.services import note_event
from sidecar.systems.supervision.people import CommandLineService
from support.cases import PROJECT
from support.fakes import Fakes

SHOP = SessionKey(LOOP_HOST, "shop")
TASKS = (
    Task(id="T1", content="add sub", status=TaskStatus.COMPLETED, shown=Standing.PROVED),
    Task(id="T2", content="add mul", status=TaskStatus.IN_PROGRESS),
)
DOES = "1 of 2 done; T2: report 3, medium (sonnet); 4.20 cents"


def playing(fakes: Fakes, status: LoopStatus = LoopStatus.RUNNING, *tasks: Task) -> CommandLineService:
    """A loop of two tasks whose second one is at work, or which ended so."""
    begun = LoopTaskBegun(task="T2", agent="debugger", tier="medium", model="sonnet", complexity=4)
    note_event(fakes.services.log, fakes.clock, "taskloop", begun, SHOP, PROJECT)
    fakes.store.save(Session(key=SHOP))
    fakes.journals.save(SHOP, Journal(tasks=tasks or TASKS))
    loop = Loop(key=SHOP, command="add sub; add mul", status=status, task="T2", tier=Tier.MEDIUM)
    fakes.loops.save(replace(loop, iteration=2, spent_cents=4.2))
    return CommandLineService(fakes.services, fakes.supervisor)
