"""Which process is the host of which session, and who may speak for one (law 9).

Only the host itself, or a relay that it started, speaks for a session; an agent's shell is below it. This is
remembered as long as the sidecar lives: the first process that speaks for a session is taken for its host.
One that is neither above nor below it is heard too, as one conversation can be open twice, and told.
"""

from __future__ import annotations

import os
from collections import OrderedDict
from typing import Final

from sidecar.kernel.errors import BadInputError
from sidecar.kernel.events import CommandTyped, HostEvent, SessionEnded
from sidecar.kernel.orders import Ancestry, Giver, Origin
from sidecar.kernel.session import SessionKey
from sidecar.platform.state import LOOK
from sidecar.systems.supervision.policy.origins import describe_processes, is_below, judge_origin
from sidecar.systems.supervision.ports import Services
from sidecar.systems.supervision.steering import SteeringWatch

MAX_SESSIONS: Final = 1000
"""Sessions whose hosts are remembered."""
MAX_HOSTS: Final = 4
"""Processes that are remembered as hosts of one session, those that spoke first last."""


class HostProcesses:
    """Tracks the processes of each session's host."""

    def __init__(self, services: Services, steering: SteeringWatch) -> None:
        """`steering` knows which agents are at work, and tells users."""
        self._services = services
        self._steering = steering
        self._hosts: OrderedDict[SessionKey, tuple[int, ...]] = OrderedDict()

    def impostor(self, event: HostEvent) -> Origin | None:
        """Return who speaks, where that may not speak for this session; else remember the host.

        A command counts only from a host that is not itself below a host at work.
        """
        if not event.speaker:
            return None
        known, typed = self._known(event.key), isinstance(event, CommandTyped)
        if event.speaker in known and not typed:
            return None
        chain = self._services.processes.ancestry(event.speaker)
        if event.speaker < 0 or is_below(chain, known) or (typed and is_below(chain, self._at_work())):
            seen = describe_processes(chain, at_work=event.key in self._steering.working())
            return Origin(Giver.AGENT, seen)
        if event.speaker in known or not chain:  # no chain: this system shows no processes
            return None
        return self._new_host(event, chain, known)

    def _new_host(self, event: HostEvent, chain: Ancestry, known: tuple[int, ...]) -> Origin | None:
        """Remember a host. Beside one that still runs, only a person's may command or end the session."""
        second = any(self._services.processes.find(pid) is not None for pid in known)
        if second and isinstance(event, CommandTyped | SessionEnded):
            origin = self.origin(event.speaker)
            if origin.giver is not Giver.USER:
                return origin
        self._remember(event.key, chain, known, second=second)
        return None

    def origin(self, pid: int) -> Origin:
        """Say who gave an order that came from this process; 0: nobody knows which."""
        self._steering.recall_once()
        chain = self._services.processes.ancestry(pid)
        leader = self._services.processes.find(chain[0].leader) if chain else None
        since = min(self._steering.working().values(), default=None)
        return judge_origin(chain, leader, self._at_work(), since)

    def _at_work(self) -> frozenset[int]:
        """Return the processes of the hosts whose agents are at work."""
        ours = {os.getpid()}  # what a check starts is no person either
        return frozenset(ours.union(*map(self._known, self._steering.working())))

    def _known(self, key: SessionKey) -> tuple[int, ...]:
        """Return the processes of a session's host: those heard, else the one that was saved with it."""
        if key not in self._hosts:
            try:
                session = self._services.store.load(key)
            except (BadInputError, OSError):
                return ()
            if session is not None and session.host_process:
                self._hosts[key] = (session.host_process,)
        return self._hosts.get(key, ())

    def _remember(self, key: SessionKey, chain: Ancestry, known: tuple[int, ...], *, second: bool) -> None:
        """Remember a host; tell of it where another one still runs."""
        if second:
            seen = describe_processes(chain, at_work=False)
            said = f"a second process speaks as this session ({seen}). If you opened it twice, all is well"
            self._steering.owe(key, [f"Supervisor: {said}. Not you? {LOOK}"])
        self._hosts[key] = (chain[0].pid, *known)[:MAX_HOSTS]
        self._hosts.move_to_end(key)
        while len(self._hosts) > MAX_SESSIONS:
            self._hosts.popitem(last=False)
