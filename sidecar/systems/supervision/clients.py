"""Clients of the agent's tools: for which session a process calls, and whether a person answers through it.

The system says which process is at the other end of a connection, and which are above it. A host starts its
MCP servers in its own session of processes, and each shell and hook in a new one.
"""

from __future__ import annotations

import itertools
import os

from msgspec import Struct
from msgspec.structs import replace

from sidecar.hosts.shared import CLIENT, checked_project_folder, checked_session_id
from sidecar.hosts.unrecorded import HOST as MARKER
from sidecar.kernel.errors import BadInputError
from sidecar.kernel.orders import Giver
from sidecar.kernel.session import Session, SessionKey
from sidecar.systems.supervision.people import CommandLineService
from sidecar.systems.supervision.policy.orders import general_order_message
from sidecar.systems.supervision.ports import Services
from sidecar.systems.supervision.supervisor import Supervisor


class ClientSession(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A session for a client that is no host. Its checks run in the `environment` of the person's shell."""

    name: str
    project: str
    environment: dict[str, str]


class ToolClients:
    """Implements servers.tools.tool.Clients. A process id is 0 where nobody knows which process it is."""

    def __init__(self, services: Services, supervisor: Supervisor, people: CommandLineService) -> None:
        """`supervisor` knows the processes of hosts, `people` who gives orders."""
        self._services = services
        self._hosts, self._steering = supervisor.hosts, supervisor.steering
        self.people, self.session = people, people.session

    def open_session(self, asked: ClientSession) -> None:
        """Make a session known, or its environment anew. Raises BadInputError, OSError."""
        key = SessionKey(CLIENT, checked_session_id(asked.name))
        project = checked_project_folder(asked.project)
        session = self._services.store.load(key) or Session(key=key, project=project)
        if session.project != project:
            raise BadInputError(f"the session {key.id} is of {session.project}: take another --name")
        self._services.store.save(replace(session, seen_at=self._services.clock.now()))
        self._steering.environments.opened(key, {**asked.environment, "PWD": project})

    def serves(self, pid: int, key: SessionKey) -> bool:
        """Whether a process may call tools for this session.

        One below the session's host may. Any other is a person's, or an agent's that has no host (a marker).
        """
        chain = self._services.processes.ancestry(pid)
        above = itertools.takewhile(lambda process: process.pid != os.getpid(), chain)
        if not pid or any(self._hosts.is_host(process.pid, key) for process in above):
            return True
        giver = self._hosts.origin(pid).giver
        return giver is Giver.USER or (giver is Giver.UNSURE and key.host == MARKER)

    def may_ask(self, pid: int, session: Session, tool: str, *, person: bool) -> bool:
        """Whether a client may be asked for a person's answer, during a call of this tool.

        It has the token of a `person`, or its host started it. No other call of the agent may run, and no
        changed setting of the host wait (its hook), as these could answer. Of a host that nothing shows to be
        a person's, the user is told.
        """
        runs = self._services.transcripts.unanswered(session.key, session.transcript, but=tool)
        if runs or self._steering.unaccepted(session.project):
            return False
        client = self._services.processes.find(pid)
        host = self._services.processes.find(client.parent) if client is not None else None
        if person or client is None or host is None:
            return person
        if not self._hosts.is_host(host.pid, session.key) or client.leader != host.leader:
            return False
        origin = self._hosts.origin(host.pid)
        if origin.giver is Giver.UNSURE:
            self._services.incidents.report(general_order_message("an answer in a form", "", origin))
        return origin.giver is not Giver.AGENT

    def token_giver(self, key: SessionKey, pid: int) -> Giver:
        """Say who asks for a token. Raises BadInputError for an agent; a host gets that of its session.

        The token of a client's session is for an agent, whoever asks.
        """
        if self._hosts.is_host(pid, key):
            return Giver.UNSURE
        giver = self.people.check_order("mcp --print-config", "", pid)
        return Giver.UNSURE if key.host == CLIENT else giver

    def shell_giver(self, tool: str, pid: int, *, reads: bool) -> Giver:
        """Say who calls a tool from a shell. One that changes things and may be an agent's call is told."""
        giver = self._hosts.origin(pid).giver
        if pid and giver is Giver.UNSURE and not reads:
            self.people.check_order(f"tool {tool}", "", pid)
        return giver
