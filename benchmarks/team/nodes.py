"""The machines of `python benchmarks/team`: their namespaces, links, clones and calls."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from team.world import World

SUPERVISOR: Final = Path(sys.executable).parent / "supervisor"
LIST: Final = "load"
OWN: Final = os.getpid() % 10000
"""Tells the namespaces of two calls on one machine apart."""
BRIDGE: Final = f"svt{OWN}"
NETWORK: Final = f"10.77.{OWN % 250}"
HOST: Final = f"{NETWORK}.254"
"""The address of this machine in the namespaces' network."""
LOCAL: Final = "127.0.0.1"
CENTS: Final = 1.25
"""What an agent says that it cost."""
WAIT_S: Final = 60.0
CONFIG: Final = '[judge]\nbackend = "rules"\n[gates]\ndetect = false\n'
AGENT: Final = """\
#!/bin/sh
id=$(sed -n 's/^T\\([0-9][0-9]*\\): .*/\\1/p' | head -n 1)
echo "$SUPERVISOR_SESSION" >> "$LEDGER"  # that it began
mkdir -p tasks
echo "whole = True" > "tasks/part_$id.py"
sleep "$AGENT_SECONDS"
case $id in
*0|*1)  # these two of ten write into one file, so that they are in conflict where they meet
    shared="shared_$((id / 10)).py"
    lines=$(test ! -e "$shared" || grep -v '^[<=>]' "$shared")
    printf '%s\\npart_%s = True\\n' "$lines" "$id" | sed '/^$/d' | sort -u > "$shared";;
esac
usage='"usage": {"input_tokens": 100, "output_tokens": 28}, "total_cost_usd": 0.0125'
echo '{"type": "result", "subtype": "success", "result": "done", '"$usage}"
"""
CHECK: Final = """\
grep -qx "whole = True" "tasks/part_$1.py" || exit 1
case $1 in *0|*1) grep -qx "part_$1 = True" "shared_$(($1 / 10)).py";; esac
"""


def run(*command: str | Path, cwd: Path | None = None, **variables: str) -> str:
    """Run a command that must succeed; return what it printed."""
    environment = {**os.environ, **variables}
    done = subprocess.run(command, cwd=cwd, env=environment, capture_output=True, text=True, check=False)
    if done.returncode:
        sys.exit(f"{' '.join(map(str, command))}: {done.stdout}{done.stderr}")
    return done.stdout


class Proxies:
    """Connections of the nodes to the database and the remote, which can be slow, or swallow everything."""

    def __init__(self) -> None:
        self._loop = asyncio.new_event_loop()
        self.delay: dict[str, float] = {}
        """Seconds that each way takes, by node; less than 0: nothing arrives."""
        threading.Thread(target=self._loop.run_forever, daemon=True).start()

    def listen(self, node: str, address: str, to: Path | int) -> int:
        """Pass what comes to a new port on to a socket, or to a port of this machine; return the new one."""

        async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            try:
                there = (
                    await asyncio.open_unix_connection(to)
                    if isinstance(to, Path)
                    else await asyncio.open_connection(LOCAL, to)
                )
            except OSError:
                writer.close()
                return
            await asyncio.gather(self._pass(node, reader, there[1]), self._pass(node, there[0], writer))

        started = asyncio.run_coroutine_threadsafe(asyncio.start_server(serve, address, 0), self._loop)
        return int(started.result(WAIT_S).sockets[0].getsockname()[1])

    async def _pass(self, node: str, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with suppress(OSError):
            while data := await reader.read(65536):
                while (delay := self.delay.get(node, 0.0)) < 0:  # noqa: ASYNC110 - a link that is down
                    await asyncio.sleep(0.2)
                if delay:
                    await asyncio.sleep(delay)
                writer.write(data)
                await writer.drain()
        with suppress(OSError):
            writer.close()


class Node:
    """A machine: its home, its network and its calls of `supervisor run --team`."""

    def __init__(self, world: World, number: int, agents: int, lease: int, seconds: float) -> None:
        self._world, self._number, self._agents = world, number, agents
        self._lease, self._seconds = lease, seconds
        self.name, self.home = f"node{number}", world.folder / f"node{number}"
        self._space, self._link = f"{BRIDGE}n{number}", f"{BRIDGE}n{number}"
        self.exit_codes: list[int] = []
        self._agent = self.home / "claude"  # whose reports say what it cost
        self._clone = self.home / "clone"
        self._run: subprocess.Popen[bytes] | None = None

    def make(self) -> None:
        """Make its network, its clone and its membership."""
        world, address = self._world, self._world.address
        config = self.home / ".config" / "supervisor"
        config.mkdir(parents=True)
        (config / "config.toml").write_text(CONFIG)
        self._agent.write_text(AGENT)
        self._agent.chmod(0o755)
        if world.namespaces:
            run("ip", "netns", "add", self._space)
            peer = ("type", "veth", "peer", "name", "eth0", "netns", self._space)
            run("ip", "link", "add", self._link, *peer)
            run("ip", "link", "set", self._link, "master", BRIDGE, "up")
            own = ("ip", "-n", self._space)
            run(*own, "address", "add", f"{NETWORK}.{self._number}/24", "dev", "eth0")
            for device in ("eth0", "lo"):
                run(*own, "link", "set", device, "up")
        port = world.proxies.listen(self.name, address, world.folder / "pg" / ".s.PGSQL.5432")
        git = world.proxies.listen(self.name, address, world.git_port)
        self._type("git", "clone", "--quiet", f"git://{address}:{git}/remote.git", str(self._clone))
        for name, value in (("user.name", self.name), ("user.email", f"{self.name}@example.invalid")):
            self._type("git", "-C", str(self._clone), "config", name, value)
        invited = run(SUPERVISOR, "team", "invite", self.name, world.url, HOME=str(world.folder))
        login = invited.split("'")[1].removeprefix("postgresql://").partition("@")[0]
        url = f"postgresql://{login}@{address}:{port}/team?sslmode=disable"
        self._type(str(SUPERVISOR), "team", "join", url, "--name", self.name)

    def start(self) -> None:
        """Begin to work on the list."""
        options = ("--team", LIST, "--jobs", str(self._agents), "--lease", str(self._lease), "--json")
        command = self._command(str(SUPERVISOR), "run", *options, "--", str(self._agent), "-p")
        with (self.home / "told.jsonl").open("ab") as told, (self.home / "errors").open("ab") as errors:
            self._run = subprocess.Popen(
                command, cwd=self._clone, stdout=told, stderr=errors, start_new_session=True
            )

    def runs(self) -> bool:
        """Whether its call has not ended."""
        if self._run is None or (code := self._run.poll()) is None:
            return self._run is not None
        self.exit_codes.append(code)
        self._run = None
        return False

    def ledger(self) -> list[str]:
        """The sessions for which an agent began to work here, by the agents' own word."""
        file = self.home / "ledger"
        return file.read_text().split() if file.exists() else []

    def kill(self) -> None:
        """Kill all processes of the machine, the sidecar included."""
        pids = self._pids()
        for pid in pids:
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        if self._run:
            self._run.wait(WAIT_S)
            self.runs()

    def _pids(self) -> list[int]:
        if self._world.namespaces:
            return [int(pid) for pid in run("ip", "netns", "pids", self._space).split()]
        lock = self.home / ".local" / "state" / "supervisor" / "run" / "sidecar.lock"
        sidecar = lock.read_text().strip() if lock.exists() else ""
        alive = sidecar.isdecimal() and Path("/proc", sidecar, "environ").exists()
        ours = alive and f"HOME={self.home}".encode() in Path("/proc", sidecar, "environ").read_bytes()
        return [*([int(sidecar)] if ours else []), *([self._run.pid] if self._run else [])]

    def cut(self) -> None:
        """Cut its link: nothing arrives, and nothing is refused."""
        if self._world.namespaces:
            run("ip", "link", "set", self._link, "down")
        else:
            self._world.proxies.delay[self.name] = -1.0

    def heal(self) -> None:
        """Mend its link."""
        if self._world.namespaces:
            run("ip", "link", "set", self._link, "up")
        else:
            self._world.proxies.delay.pop(self.name, None)

    def slow(self, seconds: float) -> None:
        """Let each way of its link take so many seconds."""
        self._world.proxies.delay[self.name] = seconds

    def remove_network(self) -> None:
        """Remove its namespace, and with it its link."""
        if self._world.namespaces:
            until = time.monotonic() + WAIT_S
            while self._pids() and time.monotonic() < until:
                time.sleep(0.1)
            run("ip", "netns", "delete", self._space)

    def _type(self, *command: str) -> None:
        run(*self._command(*command))

    def _command(self, *command: str) -> Sequence[str]:
        """Return a command line that runs on this machine, with nothing of our environment."""
        variables = {
            "PATH": "/usr/bin:/bin",
            "HOME": str(self.home),
            "LEDGER": str(self.home / "ledger"),
            "AGENT_SECONDS": str(self._seconds),
        }
        inside = ("ip", "netns", "exec", self._space) if self._world.namespaces else ()
        return (*inside, "env", "-i", *(f"{name}={value}" for name, value in variables.items()), *command)
