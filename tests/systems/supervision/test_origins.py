"""Who gave an order, and who may speak for a session."""

from __future__ import annotations

import os
import subprocess
import sys
from dataclasses import replace as with_other

import pytest
from msgspec.structs import replace

from sidecar.kernel.effects import CommandReply
from sidecar.kernel.errors import BadInputError
from sidecar.kernel.events import AnyHostEvent
from sidecar.kernel.log import EventFilter
from sidecar.kernel.orders import COMMAND_NAMES, Ancestry, Giver, Process, parse_order
from sidecar.kernel.session import SessionKey
from sidecar.platform.process_table import ProcessTable
from sidecar.systems.supervision.forgetting import ForgetRequest, SessionRemover
from sidecar.systems.supervision.people import (
    CommandLineService,
    OrderRequest,
    SessionSelector,
    SwitchRequest,
)
from sidecar.systems.supervision.policy.orders import (
    describe_processes,
    general_order_message,
    judge_origin,
    order_message,
)
from sidecar.systems.supervision.supervisor import Supervisor
from support.cases import KEY, stopped, with_goal
from support.fakes import Fakes, command, prompt
from support.memory_stores import NoProcesses
from support.table import over_table

OTHER = SessionKey(host=KEY.host, id="s2")
HOST, SHELL, COMMAND, TERMINAL, STRANGER = 100, 110, 120, 50, 200
TABLE = {
    1: Process(pid=1, name="init"),
    TERMINAL: Process(pid=TERMINAL, parent=1, name="zsh", leader=TERMINAL, terminal=True, started=10.0),
    51: Process(pid=51, parent=TERMINAL, name="supervisor", leader=TERMINAL, terminal=True, started=2000.0),
    HOST: Process(pid=HOST, parent=TERMINAL, name="claude", leader=TERMINAL, terminal=True, started=20.0),
    SHELL: Process(pid=SHELL, parent=HOST, name="bash", leader=SHELL, started=1500.0),
    COMMAND: Process(pid=COMMAND, parent=SHELL, name="supervisor", leader=SHELL, started=1501.0),
    130: Process(pid=130, parent=SHELL, name="claude", leader=SHELL, started=1501.0),
    STRANGER: Process(pid=STRANGER, parent=1, name="sh", leader=STRANGER, started=1501.0),
    60: Process(pid=60, parent=1, name="bash", leader=60, terminal=True, started=1501.0),
    61: Process(pid=61, parent=60, name="supervisor", leader=60, terminal=True, started=1502.0),
    70: Process(pid=70, parent=1, name="supervisor", leader=69, terminal=True, started=1502.0),
}


class Table(NoProcesses):
    """The processes of a machine that was written down."""

    def find(self, pid: int) -> Process | None:
        return TABLE.get(pid)

    def ancestry(self, pid: int) -> Ancestry:
        found = TABLE.get(pid)
        return (found, *self.ancestry(found.parent)) if found else ()


def origin(pid: int, *, since: float | None = 1000.0, hosts: frozenset[int] = frozenset({HOST})) -> Giver:
    chain = Table().ancestry(pid)
    leader = TABLE.get(chain[0].leader) if chain else None
    return judge_origin(chain, leader, hosts if since else (), since).giver


@over_table(
    ("pid", "since", "giver"),
    [
        (COMMAND, 1000.0, Giver.AGENT),
        (130, 1000.0, Giver.AGENT),
        (COMMAND, None, Giver.UNSURE),
        (51, 1000.0, Giver.USER),
        (51, None, Giver.USER),
        (61, 1000.0, Giver.UNSURE),
        (61, None, Giver.USER),
        (70, None, Giver.UNSURE),
        (STRANGER, 1000.0, Giver.UNSURE),
        (STRANGER, None, Giver.UNSURE),
        (0, 1000.0, Giver.UNSURE),
        (HOST, 1000.0, Giver.USER),
    ],
)
def test_who_gave_an_order(pid: int, since: float | None, giver: Giver) -> None:
    assert origin(pid, since=since) is giver


def test_an_origin_is_described_in_a_few_words() -> None:
    assert describe_processes(Table().ancestry(COMMAND), at_work=True) == (
        "supervisor < bash < claude < zsh, without a terminal, while the agent worked"
    )
    assert describe_processes(Table().ancestry(51), at_work=False) == "supervisor < zsh < init, in a terminal"
    assert describe_processes((), at_work=False) == "a process that is gone"


@pytest.mark.parametrize(
    ("name", "arguments", "undo"),
    [
        ("goal", "clear", "/supervisor:goal the parser accepts comments"),
        ("goal", "pause", "/supervisor:goal resume"),
        ("goal", "resume", "/supervisor:goal pause"),
        ("goal", "another one", "/supervisor:goal the parser accepts comments"),
        ("retry", "100", "/supervisor:retry 7"),
        ("off", "", "supervisor on"),
        ("on", "", "supervisor off"),
        ("off", "/home/ann/shop", "in /home/ann/shop: supervisor on --project"),
    ],
)
def test_an_order_is_told_with_what_undoes_it(name: str, arguments: str, undo: str) -> None:
    seen = judge_origin((), None, (), None)
    told = (
        order_message(parse_order(name, arguments), seen, replace(with_goal(), retry=7))
        if name in COMMAND_NAMES
        else general_order_message(name, arguments, seen)
    )
    assert told.startswith(
        f"Supervisor: `{f'{name} {arguments}'.strip()}` was ordered by a process that is gone"
    )
    assert told.endswith(undo)


class Room:
    """A supervisor on a machine whose processes are known, with a session at work under HOST."""

    def __init__(self) -> None:
        self.fakes = Fakes()
        self.fakes.services = with_other(self.fakes.services, processes=Table())
        self.fakes.supervisor = Supervisor(self.fakes.services)
        self.people = CommandLineService(self.fakes.services, self.fakes.supervisor)

    async def begin(self) -> None:
        await self.fakes.reply(command("the parser accepts comments", speaker=HOST))

    def told(self) -> str:
        incidents = self.fakes.services.incidents.take(KEY)
        return "\n".join((*incidents, "\n".join(self.fakes.supervisor.steering.take_lines(KEY))))

    async def order(self, arguments: str, pid: int) -> CommandReply:
        asked = OrderRequest(who=SessionSelector(session=KEY.id), order=parse_order("goal", arguments))
        return await self.people.order(asked, pid)


async def test_an_order_of_an_agent_is_refused_and_told() -> None:
    room = Room()
    await room.begin()
    with pytest.raises(BadInputError, match="only the user may do this"):
        await room.order("clear", COMMAND)
    with pytest.raises(BadInputError, match="only the user may do this"):
        room.people.toggle(SwitchRequest(on=False), COMMAND)
    with pytest.raises(BadInputError, match="only the user may do this"):
        SessionRemover(room.fakes.services, room.fakes.supervisor, room.people).forget(
            ForgetRequest(session=KEY.id), COMMAND
        )
    assert room.people.refusal("stop", COMMAND)
    assert room.fakes.goal().status == "active"
    assert room.told().count("refused `") == 4
    orders = room.fakes.log.newest(EventFilter(kinds=("order-given",)), 4)
    assert {(repr(order.data).partition("decided=")[2][:9], order.origin[:16]) for order in orders} == {
        ("'refused'", "supervisor < bas")
    }


async def test_an_order_of_the_user_is_carried_out_and_not_told() -> None:
    room = Room()
    await room.begin()
    assert "cleared" in (await room.order("clear", 51)).text
    assert room.told() == ""
    assert room.fakes.record.read(KEY)[-1].origin.startswith("supervisor < zsh")


async def test_an_order_of_nobody_knows_whom_is_carried_out_and_told() -> None:
    room = Room()
    await room.begin()
    assert "cleared" in (await room.order("clear", STRANGER)).text
    assert "Not you? Type /supervisor:goal the parser accepts comments" in room.told()
    assert room.people.refusal("stop", STRANGER) == ""
    assert "`stop` was ordered by sh" in room.told()


@pytest.mark.parametrize("event", [prompt(), stopped(), command("clear"), command("yes", name="trust")])
async def test_only_the_host_speaks_for_its_session(event: AnyHostEvent) -> None:
    room = Room()
    await room.begin()
    answer = await room.fakes.tell(replace(event, speaker=SHELL))
    assert not isinstance(answer, CommandReply) or answer.refused
    assert room.fakes.goal().status == "active"
    assert "ignored" in (told := room.told()) or "refused" in told


async def test_a_command_in_a_host_below_a_host_at_work_is_refused() -> None:
    room = Room()
    await room.begin()
    assert (await room.fakes.reply(command("yes", name="trust", key=OTHER, speaker=130))).refused
    assert (await room.fakes.reply(command("clear", speaker=HOST))).refused is False


async def test_one_process_may_be_the_host_of_many_sessions() -> None:
    room = Room()
    await room.begin()
    assert not (await room.fakes.reply(command("it builds", key=OTHER, speaker=HOST))).refused


async def test_a_second_host_of_a_session_is_heard_and_told_once() -> None:
    room = Room()
    await room.begin()
    for _ in range(2):
        await room.fakes.tell(prompt(speaker=STRANGER))
        await room.fakes.tell(prompt(speaker=HOST))
    assert room.told().count("a second process speaks as this session (sh < init, without a terminal)") == 1


@pytest.mark.process
@pytest.mark.skipif(sys.platform != "linux", reason="the table of processes is Linux's")
def test_the_table_of_this_machine_shows_who_is_above_whom() -> None:
    table = ProcessTable()
    chain = table.ancestry(os.getpid())
    assert [chain[0].pid, chain[1].pid] == [os.getpid(), os.getppid()]
    with subprocess.Popen(["sleep", "60"], start_new_session=True) as child:
        found = table.find(child.pid)
        child.kill()
        os.waitid(os.P_PID, child.pid, os.WEXITED | os.WNOWAIT)  # it ended, and nobody has asked how
        assert table.find(child.pid) is None
    assert found is not None
    assert (found.parent, found.leader, found.terminal) == (os.getpid(), child.pid, False)
    assert 0 <= found.started - chain[0].started < 100_000
    assert table.find(child.pid) is None
    assert table.ancestry(0) == ()
