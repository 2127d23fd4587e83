"""The machines of a team for `python benchmarks/team`: namespaces, proxies, a database, a remote, nodes."""

from __future__ import annotations

import asyncio
import os
import shutil
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from types import TracebackType
from typing import Final, Self

SUPERVISOR: Final = Path(sys.executable).parent / "supervisor"
LIST: Final = "load"
OWNER: Final = "supervisor"
RUN: Final = os.getpid() % 200
"""Tells what this run makes on the machine from what another one does: links, networks and ports."""
SPACE: Final = f"svload{RUN}"
NETWORK: Final = f"10.77.{RUN}"
HOST: Final = f"{NETWORK}.254"
"""The address of this machine in the namespaces' network."""
LOCAL: Final = "127.0.0.1"
GIT_PORT: Final = 20_000 + 100 * RUN
PROXY_PORT: Final = GIT_PORT
"""Two ports for each node come after it."""
WAIT_S: Final = 60.0
CONFIG: Final = '[judge]\nbackend = "rules"\n[gates]\ndetect = false\n'
AGENT: Final = """\
#!/bin/sh
id=$(sed -n 's/^T\\([0-9][0-9]*\\): .*/\\1/p' | head -n 1)
echo "$SUPERVISOR_SESSION" >> "$LEDGER"
mkdir -p tasks
echo "whole = True" > "tasks/part_$id.py"
sleep "$AGENT_SECONDS"
case $id in
*0|*1)  # two of ten write a line into one file, so that they are in conflict where they meet
    lines=$(grep -v '^[<=>]' shared.py)
    printf '%s\\npart_%s = True\\n' "$lines" "$id" | sed '/^$/d' | sort -u > shared.py;;
esac
"""
CHECK: Final = """\
grep -qx "whole = True" "tasks/part_$1.py" || exit 1
case $1 in *0|*1) grep -qx "part_$1 = True" shared.py;; esac
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

    def listen(self, node: str, address: str, port: int, to: Path | int) -> None:
        """Pass what comes to a port on to a socket, or to a port of this machine."""

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

        started = asyncio.run_coroutine_threadsafe(asyncio.start_server(serve, address, port), self._loop)
        started.result(WAIT_S)

    async def _pass(self, node: str, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with suppress(OSError):
            while data := await reader.read(65536):
                while (delay := self.delay.get(node, 0.0)) < 0:  # noqa: ASYNC110 - another thread says when
                    await asyncio.sleep(0.2)
                if delay:
                    await asyncio.sleep(delay)
                writer.write(data)
                await writer.drain()
        with suppress(OSError):
            writer.close()


class World:
    """The database, the remote and the network. A context: everything ends with it."""

    def __init__(self, folder: Path, *, namespaces: bool) -> None:
        self.folder, self.namespaces = folder, namespaces and os.geteuid() == 0
        self.remote, self._cluster = folder / "remote.git", folder / "pg"
        self.proxies = Proxies()
        self.database_runs = False
        self._nodes: list[Node] = []
        self._daemon: subprocess.Popen[bytes] | None = None

    @property
    def url(self) -> str:
        """The database's, for its owner."""
        return f"postgresql://{OWNER}@/team?host={self._cluster}"

    @property
    def address(self) -> str:
        """Where nodes reach this machine."""
        return HOST if self.namespaces else LOCAL

    def __enter__(self) -> Self:
        self._make_database()
        self._make_remote()
        if self.namespaces:
            run("ip", "link", "add", SPACE, "type", "bridge")
            run("ip", "address", "add", f"{HOST}/24", "dev", SPACE)
            run("ip", "link", "set", SPACE, "up")
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for node in self._nodes:
            node.kill()
            node.remove_network()
        if self.namespaces:
            run("ip", "link", "delete", SPACE)
        if self._daemon:
            os.killpg(self._daemon.pid, signal.SIGKILL)
            self._daemon.wait()
        if self.database_runs:
            self.stop_database()

    # --- the database ---

    def _make_database(self) -> None:
        found = sorted(Path("/usr/lib/postgresql").glob("*/bin"), key=lambda path: int(path.parent.name))
        self._binaries = found[-1] if found else Path(shutil.which("initdb") or "/").parent
        self._cluster.mkdir()
        self._as_owner: tuple[str, ...] = ()
        if os.geteuid() == 0:  # which PostgreSQL refuses
            shutil.chown(self._cluster, "postgres", "postgres")
            self._as_owner = ("setpriv", "--reuid=postgres", "--regid=postgres", "--init-groups")
        self._postgres("initdb", "-U", OWNER, "-A", "trust", "-E", "UTF8", "--locale=C")
        self.start_database()
        run(self._binaries / "createdb", "-h", self._cluster, "-U", OWNER, "team")
        run(SUPERVISOR, "team", "init", self.url, HOME=str(self.folder))

    def start_database(self) -> None:
        """Start it; return when it takes connections."""
        options = f"-k {self._cluster} -h '' -c max_connections=200"
        self._postgres("pg_ctl", "-o", options, "-l", str(self._cluster / "log"), "-w", "start")
        self.database_runs = True

    def stop_database(self) -> None:
        """Stop it as if it had been killed."""
        self.database_runs = False
        self._postgres("pg_ctl", "-m", "immediate", "-w", "stop")

    def _postgres(self, program: str, *arguments: str) -> None:
        command: list[str | Path] = [
            *self._as_owner,
            self._binaries / program,
            "-D",
            self._cluster / "data",
            *arguments,
        ]
        done = subprocess.run(  # a server keeps a pipe open
            command, cwd=self._cluster, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=False
        )
        if done.returncode:
            sys.exit(f"{program} ended with {done.returncode}: see {self._cluster / 'log'}")

    # --- the remote ---

    def _make_remote(self) -> None:
        self._hand = self.folder / "by-hand"
        run("git", "init", "--quiet", "--initial-branch=main", self._hand)
        (self._hand / "check.sh").write_text(CHECK)
        (self._hand / "shared.py").touch()
        self._commit("begin")
        run("git", "clone", "--quiet", "--bare", self._hand, self.remote)
        command = ("git", "daemon", "--reuseaddr", f"--listen={LOCAL}", f"--port={GIT_PORT}")
        rights = ("--export-all", "--enable=receive-pack", f"--base-path={self.folder}", str(self.folder))
        self._daemon = subprocess.Popen((*command, *rights), start_new_session=True)

    def _commit(self, message: str) -> None:
        run("git", "add", "--all", cwd=self._hand)
        who = ("-c", "user.name=A Person", "-c", "user.email=person@example.invalid")
        run("git", *who, "commit", "--quiet", "-m", message, cwd=self._hand)

    def push_by_hand(self) -> None:
        """Push a commit of a person's, again where somebody else did meanwhile."""
        for number in range(20):
            run("git", "fetch", "--quiet", self.remote, "main", cwd=self._hand)
            run("git", "reset", "--quiet", "--hard", "FETCH_HEAD", cwd=self._hand)
            (self._hand / "by-hand").write_text(f"{number}\n")
            self._commit("by hand")
            pushed = ("git", "push", "--quiet", self.remote, "HEAD:main")
            if not subprocess.run(pushed, cwd=self._hand, capture_output=True, check=False).returncode:
                return
        sys.exit("the push of a person was refused 20 times")

    # --- the team ---

    def add_tasks(self, number: int) -> None:
        """Make the list; every fifth task waits for the two before it."""
        plan = ["# Load", ""]
        for one in range(1, number + 1):
            plan += [f"- [ ] `sh check.sh {one}` passes", f"  - check: sh check.sh {one}"]
            plan += [f"  - after: {one - 1}, {one - 2}"] if one % 5 == 0 else []
        file = self.folder / "plan.md"
        file.write_text("\n".join(plan) + "\n")
        invited = run(SUPERVISOR, "team", "invite", "ann", self.url, "--person", HOME=str(self.folder))
        url = invited.split("'")[1]
        run(
            SUPERVISOR, "team", "add", LIST, "--file", file, HOME=str(self.folder), SUPERVISOR_TEAM_PERSON=url
        )

    def add_node(self, number: int, agents: int, lease: int, seconds: float) -> Node:
        """Make a machine that has joined."""
        node = Node(self, number, agents, lease, seconds)
        self._nodes.append(node)
        node.make()
        return node


class Node:
    """A machine: its home, its network and its calls of `supervisor run --team`."""

    def __init__(self, world: World, number: int, agents: int, lease: int, seconds: float) -> None:
        self._world, self._number, self._agents = world, number, agents
        self._lease, self._seconds = lease, seconds
        self.name, self.home = f"node{number}", world.folder / f"node{number}"
        self._space = self._link = f"{SPACE}n{number}"
        self.exit_codes: list[int] = []
        self._run: subprocess.Popen[bytes] | None = None

    def make(self) -> None:
        """Make its network, its clone and its membership."""
        world, address, port = self._world, self._world.address, PROXY_PORT + 2 * self._number
        config = self.home / ".config" / "supervisor"
        config.mkdir(parents=True)
        (config / "config.toml").write_text(CONFIG)
        (self.home / "agent").write_text(AGENT)
        (self.home / "agent").chmod(0o755)
        if world.namespaces:
            run("ip", "netns", "add", self._space)
            peer = ("type", "veth", "peer", "name", "eth0", "netns", self._space)
            run("ip", "link", "add", self._link, *peer)
            run("ip", "link", "set", self._link, "master", SPACE, "up")
            own = ("ip", "-n", self._space)
            run(*own, "address", "add", f"{NETWORK}.{self._number}/24", "dev", "eth0")
            for device in ("eth0", "lo"):
                run(*own, "link", "set", device, "up")
        world.proxies.listen(self.name, address, port, world.folder / "pg" / ".s.PGSQL.5432")
        world.proxies.listen(self.name, address, port + 1, GIT_PORT)
        clone = self.home / "clone"
        self._type("git", "clone", "--quiet", f"git://{address}:{port + 1}/remote.git", str(clone))
        for name, value in (("user.name", self.name), ("user.email", f"{self.name}@example.invalid")):
            self._type("git", "-C", str(clone), "config", name, value)
        invited = run(SUPERVISOR, "team", "invite", self.name, world.url, HOME=str(world.folder))
        login = invited.split("'")[1].removeprefix("postgresql://").partition("@")[0]
        url = f"postgresql://{login}@{address}:{port}/team?sslmode=disable"
        self._type(str(SUPERVISOR), "team", "join", url, "--name", self.name)

    def start(self) -> None:
        """Begin to work on the list."""
        options = ("--team", LIST, "--jobs", str(self._agents), "--lease", str(self._lease), "--json")
        command = self._command(str(SUPERVISOR), "run", *options, "--", str(self.home / "agent"))
        with (self.home / "told.jsonl").open("ab") as told, (self.home / "errors").open("ab") as errors:
            self._run = subprocess.Popen(
                command, cwd=self.home / "clone", stdout=told, stderr=errors, start_new_session=True
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
