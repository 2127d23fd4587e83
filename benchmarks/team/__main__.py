"""A list of tasks on several machines at once: how fast it is done, and what faults lose or double.

    python benchmarks/team [--nodes 3] [--agents 4] [--tasks 24] [--faults] [--local] [--keep]

Each node has a home, a clone and a sidecar of its own, as root also a network namespace. All share a
PostgreSQL and a git daemon. An agent is a shell script that writes one file, and for two tasks of ten a line
into one file that they share. Afterwards `check.py` looks at the database, git and the nodes' logs.

With --faults, by the share of tasks that are merged: a node is cut off for one and a half leases, another one
is killed and started again, the database is killed and started again, the last node's link gets slow, and a
person pushes.
"""

# ruff: noqa: E402 - imports of this folder come after the path

from __future__ import annotations

import argparse
import json
import shutil
import signal
import sys
import tempfile
import time
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path
from typing import Final

BENCHMARKS: Final = Path(__file__).resolve().parents[1]
sys.path[0] = str(BENCHMARKS)  # instead of this folder, whose files are imported as `team.NAME`

from team.check import find_faults, read_states
from team.nodes import LIST, Node, World

LEASE_S: Final = 30
LOOK_S: Final = 1.0
"""Seconds between two looks at the list."""
SLOW_S: Final = 0.15
"""Seconds that a slow link takes for each way."""
SHIPPED_S: Final = 120.0
"""Seconds within which the nodes' logs must be shipped at the end."""


class Schedule:
    """What fails when: at a share of the list that is merged, or so many seconds after what failed."""

    def __init__(self, world: World, nodes: list[Node], lease: float, say: Callable[[str], None]) -> None:
        first, second, last = nodes[0], nodes[1 % len(nodes)], nodes[-1]
        self._say = say
        self._shares: list[tuple[float, str, Callable[[], object]]] = [
            (0.10, f"{first.name} is cut off", first.cut),
            (0.30, f"{second.name} is killed", second.kill),
            (0.45, "the database is killed", world.stop_database),
            (0.55, f"the link of {last.name} gets slow", lambda: last.slow(SLOW_S)),
            (0.65, "a person pushes", world.push_by_hand),
            (0.80, f"the link of {last.name} is fast again", lambda: last.slow(0.0)),
        ]
        after = {
            self._shares[0][1]: (1.5 * lease, f"{first.name} is back", first.heal),
            self._shares[1][1]: (lease, f"{second.name} starts again", second.start),
            self._shares[2][1]: (lease / 2, "the database starts again", world.start_database),
        }
        self._after = after
        self._times: list[tuple[float, str, Callable[[], object]]] = []

    def look(self, share: float) -> None:
        """Let fail, and heal, what is due."""
        now = time.monotonic()
        while self._shares and share >= self._shares[0][0] and not self._times:  # one fault at a time
            _, name, fail = self._shares.pop(0)
            self._do(name, fail)
            if found := self._after.get(name):
                seconds, healed, heal = found
                self._times.append((now + seconds, healed, heal))
        for due in [one for one in self._times if one[0] <= now]:
            self._times.remove(due)
            self._do(*due[1:])

    @property
    def healed(self) -> bool:
        """Whether nothing is broken now."""
        return not self._times

    def _do(self, name: str, act: Callable[[], object]) -> None:
        self._say(name)
        act()


def main() -> int:
    """Play it; return 1 where something was lost or doubled."""
    asked = _parse_arguments()
    folder = Path(tempfile.mkdtemp(prefix="svload-", dir="/tmp"))
    folder.chmod(0o755)
    began = time.monotonic()

    def say(text: str) -> None:
        print(f"{time.monotonic() - began:7.1f} s  {text}", file=sys.stderr, flush=True)

    with ExitStack() as stack:
        if not asked.keep:
            stack.callback(shutil.rmtree, folder, ignore_errors=True)
        world = stack.enter_context(World(folder, namespaces=not asked.local))
        world.add_tasks(asked.tasks)
        nodes = [
            world.add_node(number, asked.agents, asked.lease, asked.seconds)
            for number in range(1, asked.nodes + 1)
        ]
        say(f"{asked.nodes} nodes, {asked.agents} agents on each, {asked.tasks} tasks in {folder}")
        played = time.monotonic()
        for node in nodes:
            node.start()
        _play(world, nodes, Schedule(world, nodes, asked.lease, say) if asked.faults else None, asked, say)
        seconds = time.monotonic() - played
        say("all nodes have ended; their logs are shipped")
        faults = find_faults(world.url, world.remote, [node.home for node in nodes], LIST, SHIPPED_S)
        _print_result(read_states(world.url, LIST), nodes, seconds, faults, as_json=asked.json)
    return 1 if faults else 0


def _play(
    world: World,
    nodes: list[Node],
    schedule: Schedule | None,
    asked: argparse.Namespace,
    say: Callable[[str], None],
) -> None:
    """Watch the list until all nodes have ended. Raises SystemExit where that takes too long."""
    until, last = time.monotonic() + asked.timeout, dict[str, int]()
    while any(node.runs() for node in nodes) or not (schedule is None or schedule.healed):
        if time.monotonic() > until:
            sys.exit(f"it did not end within {asked.timeout:g} s: {last}. See {world.folder}")
        if world.database_runs and (states := read_states(world.url, LIST)) != last:
            last = states
            say(", ".join(f"{number} {state}" for state, number in sorted(states.items())))
        if schedule:
            schedule.look(last.get("merged", 0) / asked.tasks)
        time.sleep(LOOK_S)


def _print_result(
    states: dict[str, int], nodes: list[Node], seconds: float, faults: list[str], *, as_json: bool
) -> None:
    merged = states.get("merged", 0)
    result = {
        "tasks": states,
        "seconds": round(seconds, 1),
        "tasks_a_minute": round(60 * merged / seconds, 1),
        "agents": sum(len(node.ledger()) for node in nodes),
        "exit_codes": [node.exit_codes for node in nodes],
        "faults": faults,
    }
    if as_json:
        print(json.dumps(result))
        return
    for name, value in result.items():
        print(f"{name}: {value}")


def _parse_arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--nodes", type=int, default=3)
    parser.add_argument("--agents", type=int, default=4, help="agents at once on each node")
    parser.add_argument("--tasks", type=int, default=24)
    parser.add_argument("--seconds", type=float, default=1.0, help="seconds that an agent takes")
    parser.add_argument("--lease", type=int, default=LEASE_S, help="seconds of a lease")
    parser.add_argument("--timeout", type=float, default=3600.0, help="seconds within which it must end")
    parser.add_argument("--faults", action="store_true")
    parser.add_argument("--local", action="store_true", help="without network namespaces, which need root")
    parser.add_argument("--keep", action="store_true", help="leave the folder")
    parser.add_argument("--json", action="store_true")
    return parser.parse_args()


if __name__ == "__main__":
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    sys.exit(main())
