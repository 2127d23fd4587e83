"""For which session a process calls our tools, whether a person answers through it, and what opens doors."""

from __future__ import annotations

import os
from dataclasses import replace as with_other

import pytest
from msgspec.structs import replace

from sidecar.hosts.shared import CLIENT
from sidecar.hosts.unrecorded import HOST as MARKER
from sidecar.kernel.errors import BadInputError
from sidecar.kernel.orders import Ancestry, Giver, Process, parse_order
from sidecar.kernel.session import Session, SessionKey
from sidecar.systems.supervision.clients import ClientSession, ToolClients
from sidecar.systems.supervision.people import CommandLineService, OrderRequest, SessionSelector
from sidecar.systems.supervision.supervisor import Supervisor
from support.cases import KEY, PROJECT
from support.fakes import Fakes, command, prompt
from support.memory_stores import NoProcesses

OTHER, MARKED, OPENED = SessionKey(KEY.host, "s2"), SessionKey(MARKER, "s3"), SessionKey(CLIENT, "ci")
TERMINAL, HOST, PIPE, SHELL, IN_SHELL, BECAME, NESTED, NESTED_PIPE = 50, 100, 105, 110, 120, 111, 130, 131
DETACHED, EDITOR, EDITED = 200, 300, 301
HERE, LATER = 60, 61
"""A person's program in a terminal that was there before, and in one that was opened since."""
TABLE = {
    process.pid: process
    for process in (
        Process(pid=TERMINAL, parent=1, name="zsh", leader=TERMINAL, terminal=True, started=10.0),
        Process(pid=HERE, parent=TERMINAL, name="supervisor", leader=TERMINAL, terminal=True, started=10.0),
        Process(pid=LATER, parent=1, name="supervisor", leader=LATER, terminal=True, started=9e9),
        Process(pid=HOST, parent=TERMINAL, name="claude", leader=TERMINAL, terminal=True, started=20.0),
        Process(pid=PIPE, parent=HOST, name="python3", leader=TERMINAL, terminal=True, started=21.0),
        Process(pid=SHELL, parent=HOST, name="bash", leader=SHELL),
        Process(pid=IN_SHELL, parent=SHELL, name="python3", leader=SHELL),
        Process(pid=BECAME, parent=HOST, name="python3", leader=BECAME),
        Process(pid=NESTED, parent=SHELL, name="claude", leader=SHELL),
        Process(pid=NESTED_PIPE, parent=NESTED, name="python3", leader=SHELL),
        Process(pid=DETACHED, parent=1, name="python3", leader=DETACHED),
        Process(pid=EDITOR, parent=1, name="code", leader=EDITOR),
        Process(pid=EDITED, parent=EDITOR, name="python3", leader=EDITOR),
    )
}


class Machine(NoProcesses):
    """Its processes, with a session at work under HOST, one under NESTED and one under EDITOR."""

    def __init__(self) -> None:
        self.fakes = Fakes()
        services = self.fakes.services = with_other(self.fakes.services, processes=self)
        supervisor = self.fakes.supervisor = Supervisor(services)
        self.people = CommandLineService(services, supervisor)
        self.clients = ToolClients(services, supervisor, self.people)

    def find(self, pid: int) -> Process | None:
        return TABLE.get(pid)

    def ancestry(self, pid: int) -> Ancestry:
        found = TABLE.get(pid)
        return (found, *self.ancestry(found.parent)) if found else ()

    async def begun(self) -> Machine:
        await self.fakes.reply(command("the parser accepts comments", speaker=HOST))
        await self.fakes.tell(prompt(key=OTHER, speaker=EDITOR))
        await self.fakes.tell(prompt(key=SessionKey(KEY.host, "nested"), speaker=NESTED))
        return self

    def told(self) -> str:
        return "\n".join(self.fakes.services.incidents.take(KEY))


@pytest.mark.parametrize(
    ("pid", "key", "serves"),
    [
        (PIPE, KEY, True),
        (PIPE, OTHER, False),
        (IN_SHELL, KEY, True),
        (IN_SHELL, OTHER, False),
        (IN_SHELL, MARKED, False),
        (NESTED_PIPE, KEY, True),
        (EDITED, OTHER, True),
        (EDITED, KEY, False),
        (DETACHED, KEY, False),
        (DETACHED, MARKED, True),
        (9999, KEY, False),
        (HERE, OTHER, True),
        (LATER, OTHER, False),
        (0, OTHER, True),
    ],
)
async def test_a_process_calls_for_the_sessions_of_its_host(
    pid: int, key: SessionKey, *, serves: bool
) -> None:
    machine = await Machine().begun()
    assert machine.clients.serves(pid, key) is serves


@pytest.mark.parametrize(
    ("pid", "key", "asks", "told"),
    [
        (PIPE, KEY, True, ""),
        (PIPE, OTHER, False, ""),
        (IN_SHELL, KEY, False, ""),
        (BECAME, KEY, False, ""),
        (DETACHED, KEY, False, ""),
        (NESTED_PIPE, SessionKey(KEY.host, "nested"), False, ""),
        (EDITED, OTHER, True, "`an answer in a form` was ordered by code, without a terminal"),
        (0, KEY, False, ""),
    ],
)
async def test_a_person_answers_through_the_client_that_the_host_itself_started(
    pid: int, key: SessionKey, told: str, monkeypatch: pytest.MonkeyPatch, *, asks: bool
) -> None:
    machine = await Machine().begun()
    assert machine.clients.may_ask(pid, Session(key=key), "phase_plan", person=False) is asks
    assert machine.clients.may_ask(pid, Session(key=key), "phase_plan", person=True)
    assert (said := machine.told()).startswith(f"Supervisor: {told}" if told else "")
    assert bool(said) is bool(told)
    steering = machine.fakes.supervisor.steering
    with monkeypatch.context() as changed:
        changed.setattr(steering, "unaccepted", lambda _project: "a hook that answers forms")
        assert not machine.clients.may_ask(pid, Session(key=key), "phase_plan", person=True)
    machine.fakes.transcripts.runs = True
    assert not machine.clients.may_ask(pid, Session(key=key), "phase_plan", person=True)


@pytest.mark.parametrize(
    ("pid", "token", "page", "told"),
    [
        (HERE, Giver.USER, True, ""),
        (IN_SHELL, None, False, "refused `dashboard`"),
        (LATER, Giver.UNSURE, False, "`mcp --print-config` was ordered by supervisor"),
        (HOST, Giver.UNSURE, True, ""),
        (0, Giver.UNSURE, True, "`dashboard` was ordered by"),
    ],
)
async def test_an_agent_gets_neither_a_token_nor_the_page(
    pid: int, token: Giver | None, told: str, *, page: bool
) -> None:
    machine = await Machine().begun()
    if token is None:
        with pytest.raises(BadInputError, match="only the user may do this"):
            machine.clients.token_giver(KEY, pid)
    else:
        assert machine.clients.token_giver(KEY, pid) is token
    if page:
        machine.people.check_page(pid)
    else:
        with pytest.raises(BadInputError):
            machine.people.check_page(pid)
    said = machine.told()
    assert told in said
    assert bool(said) is bool(told)


@pytest.mark.parametrize(
    ("pid", "giver", "told"), [(HERE, Giver.USER, 0), (IN_SHELL, Giver.AGENT, 0), (DETACHED, Giver.UNSURE, 1)]
)
async def test_a_call_from_a_shell_that_may_be_an_agents_is_told(pid: int, giver: Giver, told: int) -> None:
    machine = await Machine().begun()
    for reads in (True, False):
        assert machine.clients.shell_giver("task_add", pid, reads=reads) is giver
    assert machine.told().count("`tool task_add` was ordered by") == told


async def test_a_clients_session_is_for_tools_alone_in_one_folder() -> None:
    machine = await Machine().begun()
    asked = ClientSession(name=OPENED.id, project=PROJECT, environment={"A": "1"})
    machine.clients.open_session(asked)
    environments = machine.fakes.supervisor.steering.environments
    assert environments.find(OPENED) == {"A": "1", "PWD": PROJECT}
    found = machine.people.find(SessionSelector(project=PROJECT))
    assert found is not None
    assert found.key.host == KEY.host  # which may have a goal
    with pytest.raises(BadInputError, match="take another --name"):
        machine.clients.open_session(replace(asked, project="/elsewhere"))
    goal = OrderRequest(who=SessionSelector(session="client:ci"), order=parse_order("goal", "it works"))
    with pytest.raises(BadInputError, match="nothing would be enforced"):
        await machine.people.order(goal, HERE)
    assert Machine().fakes.supervisor.steering.environments.find(OPENED) is os.environ


async def test_the_token_of_a_clients_session_is_no_persons_and_an_agent_gets_none() -> None:
    machine = await Machine().begun()
    assert machine.clients.token_giver(OPENED, HERE) is Giver.UNSURE
    assert not machine.told()
    with pytest.raises(BadInputError, match="only the user may do this"):
        machine.clients.token_giver(OPENED, IN_SHELL)
    assert "refused `mcp --print-config`" in machine.told()
