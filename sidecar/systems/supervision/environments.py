"""The environment in which a session's host began: checks and judges run in it, whatever the host says later.

An agent can write what a host says later: `env` in the settings of Claude Code counts at once, and a plugin
may change OpenCode's own. What differs is named, its values never are, and it counts once the user accepts
it. Values are held in memory only. A digest is saved with the session: a later sidecar that hears something
else takes the environment in which the system says that the process began. Of OpenCode that holds always, as
it adds nothing that a check needs.
"""

from __future__ import annotations

import os
from collections import OrderedDict
from collections.abc import Collection
from typing import Final

from msgspec import Struct
from msgspec.structs import replace

from sidecar.hosts.shared import AGENT_VARIABLES, CLIENT, OPENCODE
from sidecar.kernel.events import AnyHostEvent, HostEvent
from sidecar.kernel.orders import Process
from sidecar.kernel.rubric import HeldEdit
from sidecar.kernel.session import Environment, Session, SessionKey
from sidecar.kernel.text import clean_line
from sidecar.platform.ports import Processes, load_readable, remember_newest
from sidecar.platform.steering import text_digest
from sidecar.rubric.policy import ENVIRONMENT
from sidecar.systems.supervision.ports import Services

CLOCK_TOLERANCE_S: Final = 2.0
"""Seconds by which the system's word for the start of a process may be late."""
MAX_ENVIRONMENTS: Final = 200
"""Sessions whose environment is remembered; each takes some kilobytes."""
OF_EVENT: Final = ("PWD", "CLAUDE_PROJECT_DIR", *AGENT_VARIABLES)
"""Variables of the event itself, which say whose it is."""
LATER: Final = "SUPERVISOR_LATER_"
"""Begins the names of what came later: no check gets these, and their values are masked in texts."""


class _Start(Struct):
    """The environment that counts for the sessions of a process, and what was `heard` last.

    `held` is what differs. `now` is what checks run in. `pid`: not above zero where the system shows no
    process, and only the host names it.
    """

    pid: int
    environment: Environment
    heard: Environment = {}
    held: tuple[HeldEdit, ...] = ()
    now: Environment = {}


class StartEnvironments:
    """Remembers the environment of each session's start; sessions of one process have the same."""

    def __init__(self, services: Services) -> None:
        """Ask these services which processes run, and what was saved."""
        self._services = services
        self._starts: OrderedDict[SessionKey, _Start] = OrderedDict()

    def at_start(self, event: AnyHostEvent) -> AnyHostEvent:
        """Return the event with the environment that counts; what differs from it now is held."""
        heard, start, pid = event.environment, self._starts.get(event.key), event.speaker or -event.host_pid
        if not heard or event.ours:
            return event
        if start is None or start.pid != pid:
            start = self._begin(event, pid)
        remember_newest(self._starts, event.key, start, MAX_ENVIRONMENTS)
        if start.heard == heard and not start.held:
            return replace(event, environment=start.now)
        counts, said = map(_own_variables, (start.environment, heard))
        names = sorted({name for name, _ in counts.items() ^ said.items()})
        own = {name: heard[name] for name in OF_EVENT if name in heard}
        start.now = {**start.environment, **own, **{f"{LATER}{name}": heard.get(name, "") for name in names}}
        digest, told = digest_environment(heard), clean_line(", ".join(names))
        edit = HeldEdit(path=ENVIRONMENT, digest=digest, summary=told, project=event.project)
        start.heard, start.held = heard, (edit,) if names else ()
        return replace(event, environment=start.now)

    def find(self, key: SessionKey) -> Environment | None:
        """Return the environment that counts for a session, None where nothing came since this began.

        Of a client's session nothing comes: it has that of the shell in which it was opened, else ours.
        """
        if key in self._starts:
            return self._starts[key].now
        return os.environ if key.host == CLIENT else None

    def opened(self, key: SessionKey, environment: Environment) -> None:
        """Let this environment count for a client's session."""
        remember_newest(self._starts, key, _Start(0, environment, now=environment), MAX_ENVIRONMENTS)

    def held(self, project: str) -> tuple[HeldEdit, ...]:
        """Return what differs from the start of sessions of this project that still run."""
        find = self._services.processes.find
        here = (
            (one.pid, edit) for one in self._starts.values() for edit in one.held if edit.project == project
        )
        return tuple(dict.fromkeys(edit for pid, edit in here if pid <= 0 or find(pid)))

    def accept(self, project: str, digests: Collection[str]) -> tuple[HeldEdit, ...]:
        """Let what was told by these digests count, and return it."""
        accepted = tuple(edit for edit in self.held(project) if edit.digest in digests)
        for start in self._starts.values():
            if {*start.held} & {*accepted}:
                start.environment, start.heard, start.held = start.heard, {}, ()
        return accepted

    def _begin(self, event: HostEvent, pid: int) -> _Start:
        processes, saved = self._services.processes, load_readable(self._services.store, event.key)
        before = running_host(processes, saved)
        changed = saved and before and saved.environment not in ("", digest_environment(event.environment))
        own, pid = event.key.host == OPENCODE or changed, before.pid if before else pid
        shared = (one for one in self._starts.values() if event.host_pid and one.pid == pid)
        return next(shared, None) or _Start(pid, (own and processes.environment(pid)) or event.environment)


def running_host(processes: Processes, session: Session | None) -> Process | None:
    """Return the process that was saved as a session's host, None where it is over."""
    process = processes.find(session.host_process) if session else None
    return process if session and process and process.started <= session.seen_at + CLOCK_TOLERANCE_S else None


def digest_environment(environment: Environment) -> str:
    """Return the digest of what an environment says, but for what hosts set by themselves."""
    return text_digest(repr(sorted(_own_variables(environment).items())))


def _own_variables(environment: Environment) -> Environment:
    """Return the variables that no host sets by itself."""
    # A waiting sidecar does without what runs programs.
    from sidecar.platform.environments import without_host_variables  # noqa: PLC0415

    return without_host_variables(environment)
