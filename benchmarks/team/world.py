"""What the machines of `python benchmarks/team` share: a database, a remote and a network."""

from __future__ import annotations

import os
import shutil
import signal
import socket
import subprocess
import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path
from types import TracebackType
from typing import Final, Self

import psycopg
from team.nodes import BRIDGE, CENTS, CHECK, HOST, LIST, LOCAL, SUPERVISOR, Node, Proxies, run

OWNER: Final = "supervisor"
COPIED: Final = (
    "person, at, host, session, project, system, kind, origin, data FROM events "
    "WHERE kind = 'run-iteration-ended' LIMIT 1"
)
TO: Final = (
    "INSERT INTO events (machine, sequence, person, at, host, session, project, system, kind, origin, data)"
)
DAMAGES: Final = {
    "an event is dropped": "DELETE FROM events WHERE position = (SELECT max(position) FROM events)",
    "an event is there twice": f"{TO} SELECT machine, sequence + 1000000, {COPIED}",
    "an agent is charged twice": f"UPDATE accounts SET used = used + {CENTS} WHERE name = 'team/cents'",  # noqa: S608 - ours
    "a task that is merged is open": "UPDATE tasks SET state = 'open' WHERE id = 'T2'",
}
"""What spoils a result that is right, by what it is."""


def _unused_port() -> int:
    with socket.socket() as one:
        one.bind((LOCAL, 0))
        return int(one.getsockname()[1])


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
            run("ip", "link", "add", BRIDGE, "type", "bridge")
            run("ip", "address", "add", f"{HOST}/24", "dev", BRIDGE)
            run("ip", "link", "set", BRIDGE, "up")
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for node in self._nodes:
            node.kill()
            node.remove_network()
        if self.namespaces:
            run("ip", "link", "delete", BRIDGE)
        if self._daemon:
            os.killpg(self._daemon.pid, signal.SIGKILL)
            self._daemon.wait()
        if self.database_runs:
            self.stop_database()

    # --- the database ---

    def _make_database(self) -> None:
        found = sorted(Path("/usr/lib/postgresql").glob("*/bin"), key=lambda path: int(path.parent.name))
        self.binaries = found[-1] if found else Path(shutil.which("initdb") or "/").parent
        self._cluster.mkdir()
        self._as_owner: tuple[str, ...] = ()
        if os.geteuid() == 0:  # which PostgreSQL refuses
            shutil.chown(self._cluster, "postgres", "postgres")
            self._as_owner = ("setpriv", "--reuid=postgres", "--regid=postgres", "--init-groups")
        self._postgres("initdb", "-U", OWNER, "-A", "trust", "-E", "UTF8", "--locale=C")
        self.start_database()
        run(self.binaries / "createdb", "-h", self._cluster, "-U", OWNER, "team")
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
            self.binaries / program,
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
        for name, value in (("user.name", "A Person"), ("user.email", "person@example.invalid")):
            run("git", "-C", self._hand, "config", name, value)
        (self._hand / "check.sh").write_text(CHECK)
        self._commit("begin")
        run("git", "clone", "--quiet", "--bare", self._hand, self.remote)
        run("git", "-C", self.remote, "config", "core.logAllRefUpdates", "true")
        self.git_port = _unused_port()
        command = ("git", "daemon", "--reuseaddr", f"--listen={LOCAL}", f"--port={self.git_port}")
        rights = ("--export-all", "--enable=receive-pack", f"--base-path={self.folder}", str(self.folder))
        self._daemon = subprocess.Popen((*command, *rights), start_new_session=True)

    def _commit(self, message: str) -> None:
        run("git", "add", "--all", cwd=self._hand)
        run("git", "commit", "--quiet", "-m", message, cwd=self._hand)

    def push_by_hand(self) -> None:
        """Push a commit of a person's, again where somebody else did meanwhile."""
        for number in range(20):
            self._pull()
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
        person = partial(run, SUPERVISOR, "team", HOME=str(self.folder), SUPERVISOR_TEAM_PERSON=url)
        person("add", LIST, "--file", file)
        for unit in ("--cents", "--tokens"):
            person("limit", "team", unit, "1000000000")

    def damages(self) -> dict[str, Callable[[], object]]:
        """What spoils a result that is right, by what it is."""
        return {
            "a task is merged twice": self._merge_again,
            "a file is not whole": partial(self._spoil, "tasks/part_3.py", "half"),
            "work is pushed over": self._push_over,
            **{what: partial(self._execute, statement) for what, statement in DAMAGES.items()},
        }

    def _push_over(self) -> None:
        run("git", "push", "--quiet", "--force", self.remote, "HEAD^1:main", cwd=self._hand)

    def _merge_again(self) -> None:
        self._pull()
        message = f"again\n\nSupervisor-Task: {LIST}/T2"
        run("git", "commit", "--quiet", "--allow-empty", "-m", message, cwd=self._hand)
        run("git", "push", "--quiet", self.remote, "HEAD:main", cwd=self._hand)

    def _spoil(self, name: str, text: str) -> None:
        self._pull()
        (self._hand / name).write_text(text)
        self._commit("spoilt")
        run("git", "push", "--quiet", self.remote, "HEAD:main", cwd=self._hand)

    def _pull(self) -> None:
        run("git", "fetch", "--quiet", self.remote, "main", cwd=self._hand)
        run("git", "reset", "--quiet", "--hard", "FETCH_HEAD", cwd=self._hand)

    def _execute(self, statement: str) -> None:
        with psycopg.connect(self.url, options="-c search_path=supervisor") as connection:
            connection.execute(statement.encode())

    def add_node(self, number: int, agents: int, lease: int, seconds: float) -> Node:
        """Make a machine that has joined."""
        node = Node(self, number, agents, lease, seconds)
        self._nodes.append(node)
        node.make()
        return node
