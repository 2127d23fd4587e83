"""Who gave an order, and who may speak for a session."""

from __future__ import annotations

import math
import os
import re
import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace as with_other

import pytest
from msgspec.structs import replace

from sidecar.kernel.effects import CommandReply, NoReply
from sidecar.kernel.errors import BadInputError
from sidecar.kernel.events import AnyHostEvent
from sidecar.kernel.log import EventFilter
from sidecar.kernel.orders import COMMAND_NAMES, Ancestry, Giver, Process, parse_order
from sidecar.kernel.session import SessionKey
from sidecar.platform.process_table import ProcessTable
from sidecar.systems.supervision.forgetting import ForgetRequest, SessionRemover
from sidecar.systems.supervision.people import (
    CommandLineService,
    HeldEditsRequest,
    OrderPermission,
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
from support.cases import KEY, PROJECT, stopped, with_goal
from support.fakes import Fakes, command, prompt
from support.memory_stores import MANUAL_CLOCK_START, NoProcesses

OTHER = SessionKey(host=KEY.host, id="s2")
HOST, SHELL, COMMAND, TERMINAL, STRANGER = 100, 110, 120, 50, 200
DAEMONS_ORDER, LATER_ORDER = 72, 82
WORK = (1000.0, 1600.0)
"""A turn of the agent in HOST, and what began before, in and after it."""
BEFORE, DURING, AFTER = 10.0, 1300.0, 9000.0


def process(pid: int, parent: int, name: str, started: float = BEFORE, *, leader: int = 0) -> Process:
    """A process; one with a `leader` has a terminal."""
    terminal = bool(leader)
    return Process(
        pid=pid, parent=parent, name=name, started=started, leader=leader or pid, terminal=terminal
    )


INIT, MANAGER = process(1, 0, "init"), process(2, 1, "systemd")
KITTY = (process(40, 2, "kitty"), MANAGER, INIT)
TABLE = {
    found.pid: found
    for found in (
        *KITTY,
        process(TERMINAL, 40, "zsh", leader=TERMINAL),
        process(51, TERMINAL, "supervisor", AFTER, leader=TERMINAL),
        process(HOST, TERMINAL, "claude", 20.0, leader=TERMINAL),
        process(SHELL, HOST, "bash", DURING),
        process(COMMAND, SHELL, "supervisor", DURING),
        process(130, SHELL, "claude", DURING),
        process(STRANGER, 1, "sh", DURING),
        process(70, 1, "tmux: server", MANUAL_CLOCK_START + 30.0),
        process(71, 70, "zsh", MANUAL_CLOCK_START + 150.0, leader=71),
        process(DAEMONS_ORDER, 71, "supervisor", MANUAL_CLOCK_START + 151.0, leader=71),
        process(80, 1, "tmux: server", MANUAL_CLOCK_START + 150.0),
        process(81, 80, "zsh", MANUAL_CLOCK_START + 150.0, leader=81),
        process(LATER_ORDER, 81, "supervisor", MANUAL_CLOCK_START + 151.0, leader=81),
    )
}


class Table(NoProcesses):
    """The processes of a machine that was written down."""

    def find(self, pid: int) -> Process | None:
        return TABLE.get(pid)

    def ancestry(self, pid: int) -> Ancestry:
        found = TABLE.get(pid)
        return (found, *self.ancestry(found.parent)) if found else ()


def order_in(*above: Process, by: str = "zsh", since: float = DURING) -> Ancestry:
    """An order in a window that `above` opened; `by` names what is above the command there."""
    names = ("supervisor", *by.split())
    typed = (
        process(300 + at, 301 + at, name, since, leader=299 + len(names)) for at, name in enumerate(names)
    )
    return (*typed, *above)


def opened(by: str, parent: Ancestry, started: float = DURING) -> Ancestry:
    """What opens windows, and what is above it."""
    return (process(60, parent[0].pid, by, started), *parent)


BELOW_HOST = opened("script", Table().ancestry(SHELL))
ORDERS = {
    "in a terminal from before": (order_in(*KITTY, since=500.0), Giver.USER),
    "in a new window of an old terminal": (order_in(*KITTY), Giver.USER),
    "in a new window of an old tmux": (order_in(*opened("tmux: server", (INIT,), BEFORE)), Giver.USER),
    "in a new terminal of an old desktop": (
        order_in(*opened("kitty", opened("gnome-shell", (MANAGER, INIT), BEFORE))),
        Giver.USER,
    ),
    "in a new login": (order_in(*opened("sshd-session", opened("sshd", (INIT,), BEFORE))), Giver.USER),
    "in a container": (order_in(), Giver.USER),
    "with sudo": (order_in(*KITTY, by="sudo zsh"), Giver.USER),
    "in shells of a shell": (order_in(*KITTY, by="bash env fish"), Giver.USER),
    "in a tmux of the turn": (order_in(*opened("tmux: server", (INIT,))), Giver.UNSURE),
    "in a later window of it": (order_in(*opened("tmux: server", (INIT,)), since=AFTER), Giver.UNSURE),
    "in one below the user's manager": (order_in(*opened("tmux", (MANAGER, INIT))), Giver.UNSURE),
    "in a shell that nobody keeps": (order_in(INIT), Giver.UNSURE),
    "in a terminal that the agent's shell opened": (order_in(*BELOW_HOST), Giver.UNSURE),
    "by a git hook": (order_in(*KITTY, by="sh git zsh"), Giver.UNSURE),
    "by a recipe": (order_in(*KITTY, by="sh make zsh"), Giver.UNSURE),
    "by a script": (order_in(*KITTY, by="deploy.sh zsh"), Giver.UNSURE),
    "by a window's own command": (order_in(*KITTY, by=""), Giver.UNSURE),
    "in a terminal whose leader is not above": ((*order_in()[:1], INIT), Giver.UNSURE),
    "without a terminal": ((process(9, 40, "supervisor"), *KITTY), Giver.UNSURE),
    "of which nothing is seen": ((), Giver.UNSURE),
}


@pytest.mark.parametrize("name", ORDERS)
def test_whose_order_it_is(name: str) -> None:
    chain, giver = ORDERS[name]
    assert judge_origin(chain, {7}, {7, HOST}, [(0.0, 5.0), WORK]).giver is giver
    assert judge_origin(chain, {7}, {7, HOST}, [(WORK[0], math.inf)]).giver is giver
    below = name == "in a terminal that the agent's shell opened"
    assert judge_origin(chain, {7, HOST}, {7, HOST}, [WORK]).giver is (Giver.AGENT if below else giver)


def test_an_origin_is_described_in_a_few_words() -> None:
    assert describe_processes(Table().ancestry(COMMAND), at_work=True) == (
        "supervisor < bash < claude < zsh, without a terminal, while the agent worked"
    )
    assert describe_processes(Table().ancestry(51)[:3], at_work=False) == (
        "supervisor < zsh < kitty, in a terminal"
    )
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
    seen = judge_origin((), (), (), ())
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

    def __init__(self, fakes: Fakes | None = None) -> None:
        self.fakes = fakes or Fakes()
        self.fakes.services = with_other(self.fakes.services, processes=Table())
        self.fakes.supervisor = Supervisor(self.fakes.services)
        self.people = CommandLineService(self.fakes.services, self.fakes.supervisor)

    async def begin(self) -> None:
        await self.fakes.reply(command("the parser accepts comments", speaker=HOST))

    def told(self) -> str:
        incidents = self.fakes.services.incidents.take(KEY)
        return "\n".join((*incidents, "\n".join(self.fakes.supervisor.steering.take_lines(KEY))))

    async def note(self, key: SessionKey, speaker: int = HOST) -> str:
        """What a host shows at a prompt."""
        answer = await self.fakes.tell(prompt(key=key, speaker=speaker))
        assert isinstance(answer, NoReply)
        return answer.note

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


async def test_what_ends_a_goal_is_told_once_at_the_next_prompt_whosever_it_is() -> None:
    room = Room()
    await room.begin()
    assert "cleared" in (await room.order("clear", 51)).text
    assert room.fakes.record.read(KEY)[-1].origin.startswith("supervisor < zsh")
    assert room.fakes.services.incidents.take(OTHER) == ()
    assert await room.note(OTHER) == ""
    told = await room.note(KEY)
    seen = "supervisor < zsh < kitty < systemd, in a terminal, while the agent worked"
    assert re.fullmatch(
        rf"Supervisor: `goal clear` was ordered by {seen}, at \d\d:\d\d\. "
        r"Not you\? Type /supervisor:goal the parser accepts comments",
        told,
    )
    assert await room.note(KEY) == ""
    assert room.told() == ""


async def test_an_order_of_a_shell_during_a_tool_call_is_told_once_by_its_own_origin() -> None:
    room = Room()
    await room.begin()
    room.fakes.transcripts.runs = True
    await room.order("clear", 51)
    room.fakes.transcripts.runs = False
    assert (await room.note(KEY)).count("was ordered by") == 1
    assert room.told() == ""


async def test_a_command_that_the_host_did_not_take_for_one_is_told_and_approves_nothing() -> None:
    room = Room()
    await room.begin()
    scheduled = replace(command("clear", speaker=HOST), expanded=False, prompt_id="p-9")
    trust = replace(command("yes", name="trust", speaker=HOST), expanded=False, prompt_id="p-8")
    assert (await room.fakes.reply(trust)).refused
    await room.fakes.reply(scheduled)
    told = room.told()
    assert "`goal clear` was ordered by a prompt in the host that the host did not take for" in told
    typed = replace(command("it builds", speaker=HOST), prompt_id="p-10")
    await room.fakes.reply(typed)
    await room.fakes.tell(replace(typed, expanded=False))
    assert room.told() == "", "the host reports a typed command twice"


async def test_what_may_be_made_up_takes_no_line_from_the_user() -> None:
    room = Room()
    await room.begin()
    await room.order("clear", 51)
    assert await room.note(KEY, STRANGER) == ""
    room.fakes.transcripts.runs = True
    assert await room.note(KEY) == ""
    assert "`goal clear` was ordered" in room.told()


ORDERED: dict[str, tuple[Callable[[CommandLineService], object], set[SessionKey]]] = {
    "off": (lambda people: people.toggle(SwitchRequest(on=False), 51), {KEY, OTHER}),
    "off for a folder": (
        lambda people: people.toggle(SwitchRequest(on=False, project="/elsewhere"), 51),
        {OTHER},
    ),
    "on": (lambda people: people.toggle(SwitchRequest(on=True), 51), set()),
    "trust": (lambda people: people.permission(OrderPermission(name="trust", folder=PROJECT), 51), {KEY}),
    "config edit": (
        lambda people: people.permission(OrderPermission(name="config edit", folder=PROJECT), 51),
        set(),
    ),
    "accept": (lambda people: people.accept(HeldEditsRequest(project="/elsewhere/sub"), 51), {OTHER}),
}


@pytest.mark.parametrize("name", ORDERED)
async def test_what_gives_freedom_is_told_in_the_sessions_that_it_concerns(name: str) -> None:
    room = Room()
    await room.begin()
    await room.fakes.tell(prompt(key=OTHER, project="/elsewhere", speaker=HOST))
    ordered, concerned = ORDERED[name]
    ordered(room.people)
    told = {key: await room.note(key) for key in (KEY, OTHER)}
    assert {key for key, line in told.items() if f"`{name.partition(' ')[0]}" in line} == concerned
    assert all(not line for key, line in told.items() if key not in concerned)


async def test_a_session_that_a_person_forgets_is_told_of_in_no_other() -> None:
    room = Room()
    await room.begin()
    await room.fakes.tell(prompt(key=OTHER, speaker=HOST))
    SessionRemover(room.fakes.services, room.fakes.supervisor, room.people).forget(
        ForgetRequest(session=OTHER.id), 51
    )
    assert await room.note(KEY) == ""
    assert "`forget` was ordered" in await room.note(OTHER)


async def test_an_order_of_nobody_knows_whom_is_carried_out_and_told() -> None:
    room = Room()
    await room.begin()
    assert "cleared" in (await room.order("clear", STRANGER)).text
    assert "Not you? Type /supervisor:goal the parser accepts comments" in room.told()
    assert room.people.refusal("stop", STRANGER) == ""
    assert "by sh < init, without a terminal" in room.told()


@pytest.mark.parametrize("restarted", [False, True])
async def test_what_began_in_a_turn_is_remembered_after_it(*, restarted: bool) -> None:
    room = Room()
    await room.begin()
    for event in (prompt(speaker=HOST), stopped(speaker=HOST)):
        room.fakes.clock.advance(60.0)
        await room.fakes.tell(event)
    room.fakes.clock.advance(60.0)
    if restarted:
        room = Room(room.fakes)
    assert room.fakes.supervisor.hosts.origin(DAEMONS_ORDER).giver is Giver.UNSURE
    assert room.fakes.supervisor.hosts.origin(LATER_ORDER).giver is Giver.USER


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


async def test_a_second_host_of_a_session_is_heard_and_told_of_once_by_the_first() -> None:
    room = Room()
    await room.begin()
    for answered in range(2):
        for _ in range(2):
            await room.fakes.tell(prompt(speaker=STRANGER))
        assert room.told() == "", "nobody may see what it shows itself"
        await room.fakes.tell(prompt(speaker=HOST))
        assert room.told().count("a second process speaks as this session (sh < init") == 1 - answered


async def test_a_second_host_that_was_heard_still_commands_nothing_and_ends_no_turn() -> None:
    room = Room()
    await room.begin()
    await room.fakes.tell(prompt(speaker=STRANGER))
    assert (await room.fakes.reply(command("clear", speaker=STRANGER))).refused
    answer = await room.fakes.tell(stopped(speaker=STRANGER))
    assert isinstance(answer, NoReply)
    assert "is not its host. It was ignored" in answer.note
    assert KEY in room.fakes.supervisor.steering.working()
    assert "is not its host. It was ignored" in room.told(), "its own host tells of it, too"
    assert not (await room.fakes.reply(command("clear", speaker=HOST))).refused


async def test_a_session_that_a_daemon_of_the_turn_resumes_is_told_of_when_its_user_comes_back() -> None:
    room = Room()
    await room.begin()
    await room.fakes.tell(prompt(key=OTHER, speaker=70))
    assert room.fakes.supervisor.steering.take_lines(OTHER) == ()
    await room.fakes.tell(prompt(key=OTHER, speaker=HOST))
    (told,) = room.fakes.supervisor.steering.take_lines(OTHER)
    assert "a second process speaks as this session (tmux: server < init" in told


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
