"""A list of tasks on several machines at once: how fast it is done, and what faults lose or double.

    python benchmarks/team [--nodes 3] [--agents 4] [--tasks 24] [--faults all] [--prove]

Each node has a home, a clone and a sidecar of its own, as root also a network namespace. All share a
PostgreSQL and a git daemon. An agent is a shell script that writes one file, and for two tasks of ten a line
into one file that they share. Afterwards `check.py` looks at the database, git and the nodes' logs.

--faults: a node's link gets slow (`slow`), a node is cut off for one and a half leases (`cut`), a node is
killed and started again (`kill`), the database is killed and started again (`database`), a person pushes
(`push`). --prove: then spoil the result in seven ways, to see that the checker finds each.
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
from functools import partial
from pathlib import Path
from typing import Final, NamedTuple

BENCHMARKS: Final = Path(__file__).resolve().parents[1]
sys.path[0] = str(BENCHMARKS)  # instead of this folder, whose files are imported as `team.NAME`

from team.check import find_faults, read_states
from team.nodes import LIST, Node
from team.world import World

FAULTS: Final = ("slow", "cut", "kill", "database", "push")
LEASE_S: Final = 30
LOOK_S: Final = 1.0
"""Seconds between two looks at the list."""
SLOW_S: Final = 0.15
"""Seconds that a slow link takes for each way."""
SHIPPED_S: Final = 120.0
"""Seconds within which the nodes' logs must be shipped at the end."""


class Fault(NamedTuple):
    """Something that fails when a share of the list is merged, and is mended so many seconds later."""

    name: str
    share: float
    what: str
    fail: Callable[[], object]
    seconds: float = 0.0
    mend: Callable[[], object] | None = None


def _faults(world: World, nodes: list[Node], lease: float) -> list[Fault]:
    first, second, last = nodes[0], nodes[1 % len(nodes)], nodes[-1]
    stop, start = world.stop_database, world.start_database
    slow, fast = partial(last.slow, SLOW_S), partial(last.slow, 0.0)
    return [
        Fault("slow", 0.02, f"the link of {last.name} gets slow", slow, 6 * lease, fast),
        Fault("cut", 0.10, f"{first.name} is cut off", first.cut, 1.5 * lease, first.heal),
        Fault("kill", 0.30, f"{second.name} is killed", second.kill, lease, second.start),
        Fault("database", 0.45, "the database is killed", stop, lease / 2, start),
        Fault("push", 0.65, "a person pushes", world.push_by_hand),
    ]


class Schedule:
    """Lets fail what is asked for, one after the other; the slow link lasts meanwhile."""

    def __init__(self, faults: list[Fault], say: Callable[[str], None]) -> None:
        self._faults, self._say = faults, say
        self._broken: list[tuple[float, Fault]] = []

    def look(self, share: float) -> None:
        """Let fail, and mend, what is due."""
        now = time.monotonic()
        while self._faults and share >= self._faults[0].share and not self._waits:
            fault = self._faults.pop(0)
            self._say(fault.what)
            fault.fail()
            if fault.mend:
                self._broken.append((now + fault.seconds, fault))
        for due in [one for one in self._broken if one[0] <= now]:
            self._broken.remove(due)
            self._say(f"no more: {due[1].what}")
            if due[1].mend:
                due[1].mend()

    @property
    def _waits(self) -> bool:
        return any(fault.name != "slow" for _, fault in self._broken)

    @property
    def mended(self) -> bool:
        """Whether nothing is broken now."""
        return not self._broken


def main() -> int:
    """Play it; return 1 where something was lost or doubled."""
    asked = _parse_arguments()
    folder = Path(tempfile.mkdtemp(prefix="sv-team-", dir="/tmp"))
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
        wanted = FAULTS if "all" in asked.faults else asked.faults
        faults = [one for one in _faults(world, nodes, asked.lease) if one.name in wanted]
        seconds = _play(world, nodes, Schedule(faults, say), asked, say) - played
        say("all nodes have ended; their logs are shipped")
        homes = [node.home for node in nodes]
        found = find_faults(world.url, world.remote, homes, LIST, SHIPPED_S)
        _print_result(read_states(world.url, LIST), nodes, seconds, found, as_json=asked.json)
        missed = _try_checker(world, homes, say) if asked.prove and not found else []
    return 1 if found or missed else 0


def _try_checker(world: World, homes: list[Path], say: Callable[[str], None]) -> list[str]:
    """Spoil what is there, one thing after the other; return what the checker does not find."""
    before, missed = set(find_faults(world.url, world.remote, homes, LIST)), []
    for what, spoil in world.damages().items():
        spoil()
        now = set(find_faults(world.url, world.remote, homes, LIST))
        say(f"spoilt: {what}. Found: {sorted(now - before) or 'nothing'}")
        missed += [] if now - before else [what]
        before = now
    return missed


def _play(
    world: World,
    nodes: list[Node],
    schedule: Schedule,
    asked: argparse.Namespace,
    say: Callable[[str], None],
) -> float:
    """Watch the list until all nodes have ended; return when it changed last. Raises SystemExit."""
    until, last, changed = time.monotonic() + asked.timeout, dict[str, int](), 0.0
    while any(node.runs() for node in nodes) or not schedule.mended:
        if time.monotonic() > until:
            sys.exit(f"it did not end within {asked.timeout:g} s: {last}. See {world.folder}")
        if world.database_runs and (states := read_states(world.url, LIST)) != last:
            last, changed = states, time.monotonic()
            say(", ".join(f"{number} {state}" for state, number in sorted(states.items())))
        schedule.look(last.get("merged", 0) / asked.tasks)
        time.sleep(LOOK_S)
    return changed


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
    parser.add_argument("--faults", nargs="+", choices=("all", *FAULTS), default=[])
    parser.add_argument(
        "--prove", action="store_true", help="then spoil the result: does the checker find it?"
    )
    parser.add_argument("--local", action="store_true", help="without network namespaces, which need root")
    parser.add_argument("--keep", action="store_true", help="leave the folder")
    parser.add_argument("--json", action="store_true")
    return parser.parse_args()


if __name__ == "__main__":
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    sys.exit(main())
