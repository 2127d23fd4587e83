"""What agents wait for at our tools, and what a connection holds in memory.

The peer is the least server with the same tool, by the high-level API of the same package (peer_mcp.py). Over
stdio a host starts one of it for itself; ours is a pipe to the sidecar, which serves all hosts: the plugin's,
as Claude Code starts it, or `supervisor mcp`. The tool is `status`: ours reads the session, its goal, the
settings and the rubric; the peer's answer is made up. A ping is what all but the tool costs.
"""

from __future__ import annotations

import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Final, TypeVar

import msgspec
from host import HostSession
from mcp_clients import Client, Piped, Posted, called, pinged
from measure import MEDIAN, Figure, Report, Series, in_turn, rounds
from stage import HERE, SILENCE_S, Line, Stage, Unfit, staged

from sidecar.hosts.ports import McpAccess
from sidecar.platform.installation import plugin_root

CALLS: Final = 1_000
STARTS: Final = 20
COLD_STARTS: Final = 5
CROWDS: Final = 3
CROWD: Final = 50
"""Clients at once."""
PROCESSES: Final = 5
"""The same, where each is a server of its own."""
HIGH: Final = 0.99
PSS: Final = re.compile(rb"^Pss:\s+(\d+) kB$", re.MULTILINE)
PEER: Final = (sys.executable, str(HERE / "peer_mcp.py"))
STDIO: Final = "the least MCPServer, stdio"
HTTP: Final = "the least MCPServer, HTTP"


def measured(*, quick: bool) -> Report:
    """Starts, calls, memory; ours and the peer in turn."""
    if sys.platform != "linux":
        return Report(remarks=("there is no /proc on this system: not measured",))
    with staged() as stage:
        return Report((*_starts(stage, quick), *_calls(stage, quick), *_crowds(stage, quick)))


class _Access(msgspec.Struct):
    result: McpAccess


class _Server(msgspec.Struct):
    command: str
    args: tuple[str, ...]


class _Plugin(msgspec.Struct, rename="camel"):
    mcp_servers: dict[str, _Server]


def _plugin_pipe(stage: Stage) -> Piped:
    """What Claude Code starts, from the plugin's own file."""
    root = plugin_root()
    found = msgspec.json.decode((root / ".mcp.json").read_bytes(), type=_Plugin)
    (server,) = found.mcp_servers.values()
    arguments = (part.replace("${CLAUDE_PLUGIN_ROOT}", str(root)) for part in server.args)
    return Piped(stage, (stage.program(server.command), *arguments))


def _command_pipe(stage: Stage) -> Piped:
    return Piped(stage, (str(stage.supervisor), "mcp"))


def _peer(stage: Stage) -> Piped:
    return Piped(stage, PEER)


PIPES: Final = {"the plugin's pipe": _plugin_pipe, "supervisor mcp": _command_pipe}


def _access(stage: Stage) -> McpAccess:
    """Where our tools are over HTTP, with the user's own token."""
    with Line(stage) as line:
        line.send("mcp_access", {"host": "", "session": ""})
        return msgspec.json.decode(line.receive(), type=_Access).result


@contextmanager
def _peer_listens(stage: Stage) -> Iterator[tuple[str, int]]:
    """The peer over HTTP: its URL and its process."""
    with subprocess.Popen(  # noqa: S603 - our own command
        [*PEER, "http"], cwd=stage.project, env=dict(stage.environment), stdout=subprocess.PIPE
    ) as process:
        assert process.stdout is not None  # noqa: S101 - for mypy: it is a pipe
        try:
            yield process.stdout.readline().decode().strip(), process.pid
        finally:
            process.send_signal(signal.SIGTERM)
            process.wait(SILENCE_S)


# --- time ---------------------------------------------------------------------------------------------------


def _starts(stage: Stage, quick: bool) -> Iterator[Figure]:  # noqa: FBT001 - handed on
    """Until `initialize` is answered."""
    jobs = (partial(_started, join, stage) for join in (*PIPES.values(), _peer))
    *ours, peer = in_turn(rounds(STARTS, quick=quick), *jobs)
    for name, series in zip(PIPES, ours, strict=True):
        yield Figure(name=f"{name}, start -> initialize answered", ours=series, against=STDIO, peer=peer)
    cold, beside = in_turn(
        1 if quick else COLD_STARTS,
        partial(_cold, stage),
        partial(_started, _peer, stage),
        warm_up=0,
    )
    name = "the plugin's pipe, no sidecar -> initialize answered"
    yield Figure(name=name, ours=cold, against=STDIO, peer=beside)


def _cold(stage: Stage) -> float:
    stage.end()
    return _started(_plugin_pipe, stage)


def _started(join: Callable[[Stage], Client], stage: Stage) -> float:
    begun = time.perf_counter()
    client = join(stage)
    cost = (time.perf_counter() - begun) * 1000
    client.end()
    return cost


def _calls(stage: Stage, quick: bool) -> Iterator[Figure]:  # noqa: FBT001 - handed on
    """A call of the tool, and a ping."""
    session = _session(stage)
    access = _access(stage)
    with _peer_listens(stage) as (url, _):
        clients = (_plugin_pipe(stage), _peer(stage), Posted(access.url, access.token), Posted(url))
        jobs = [partial(called, client, session) for client in clients]
        jobs += [partial(pinged, client) for client in clients]
        found = in_turn(rounds(CALLS, quick=quick), *jobs, warm_up=20)
        for client in clients:
            client.end()
    for at, what in ((0, "a call"), (len(clients), "a ping")):
        yield from _of_two(f"{what} over stdio", STDIO, found[at], found[at + 1])
        yield from _of_two(f"{what} over HTTP", HTTP, found[at + 2], found[at + 3])


def _of_two(name: str, against: str, ours: Series, peer: Series) -> Iterator[Figure]:
    for part, told in ((MEDIAN, ""), (HIGH, ", 99th percentile")):
        yield Figure(name=f"{name}{told}", ours=ours, against=against, peer=peer, part=part)


def _session(stage: Stage) -> str:
    """A session that the sidecar knows. It rests: below a host at work nobody is given a token."""
    session = HostSession(stage)
    with Line(stage) as line:
        line.await_built()
        line.hook(session.prompted())
        line.hook(session.wrote(session.author.talk()))
    return session.id


# --- memory -------------------------------------------------------------------------------------------------


def _crowds(stage: Stage, quick: bool) -> Iterator[Figure]:  # noqa: FBT001 - handed on
    """What one client more holds, all processes together."""
    jobs = [partial(_crowd_of_pipes, stage, join) for join in PIPES.values()]
    jobs += [partial(job, stage) for job in (_crowd_of_peers, _crowd_of_posts, _crowd_of_posts_to_peer)]
    times = 1 if quick else CROWDS  # one round starts 130 clients
    *piped, servers, posted, posted_to_peer = in_turn(times, *jobs, warm_up=0)
    for name, series in zip(PIPES, piped, strict=True):
        yield _held(f"{name}, memory of a connection", STDIO, series, servers)
    yield _held("HTTP, memory of a connection", HTTP, posted, posted_to_peer)


def _held(name: str, against: str, ours: Series, peer: Series) -> Figure:
    return Figure(name=name, ours=ours, against=against, peer=peer, unit="KiB")


def _crowd_of_pipes(stage: Stage, join: Callable[[Stage], Piped]) -> float:
    session = _fresh(stage)
    sidecar = stage.pid()
    return _grown(partial(join, stage), session, CROWD, lambda pipes: (sidecar, *(one.pid for one in pipes)))


def _crowd_of_peers(stage: Stage) -> float:
    return _grown(partial(_peer, stage), "any", PROCESSES, lambda servers: [one.pid for one in servers])


def _crowd_of_posts(stage: Stage) -> float:
    session = _fresh(stage)
    access, sidecar = _access(stage), stage.pid()
    return _grown(lambda: Posted(access.url, access.token), session, CROWD, lambda _: (sidecar,))


def _crowd_of_posts_to_peer(stage: Stage) -> float:
    with _peer_listens(stage) as (url, pid):
        return _grown(lambda: Posted(url), "any", CROWD, lambda _: (pid,))


def _fresh(stage: Stage) -> str:
    stage.end()
    stage.start()
    return _session(stage)


C = TypeVar("C", bound=Client)


def _grown(
    join: Callable[[], C], session: str, size: int, processes: Callable[[Sequence[C]], Sequence[int]]
) -> float:
    """KiB for each client after the first, when each has called the tool once."""
    clients: list[C] = []
    try:
        sizes = []
        for number in range(1, size + 1):
            clients.append(join())
            called(clients[-1], session)
            if number in (1, size):
                sizes.append(sum(map(held, processes(clients))))
        return (sizes[1] - sizes[0]) / (size - 1)
    finally:
        for client in clients:
            client.end()


def held(pid: int) -> float:
    """KiB that a process holds, its part of what it shares with others (Pss)."""
    found = PSS.search(Path(f"/proc/{pid}/smaps_rollup").read_bytes())
    if found is None:
        raise Unfit("/proc names no Pss")
    return float(found[1])
