"""Looks whether anything was lost, done, merged or charged twice. Knows tables and git, and none of our code.

python benchmarks/team/check.py --url URL --remote FOLDER --list NAME HOME...
"""

from __future__ import annotations

import argparse
import json
import sqlite3
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

import psycopg

LOG: Final = Path(".local/state/supervisor/events.sqlite3")
BEGAN: Final = "run-iteration-begun"
PAID: Final = ("worker-ran", "judging-paid")
KEPT: Final = "stop-kept"
"""The one kind that stays on its machine: it holds whole prompts."""
LOOK_S: Final = 1.0
ROUNDING: Final = 1e-6


def find_faults(
    url: str, remote: Path, homes: Sequence[Path], list_name: str, seconds: float = 0.0
) -> list[str]:
    """Return what is wrong, a line each. `seconds`: how long logs may take to be shipped."""
    return [
        *task_faults(url, remote, list_name),
        *log_faults(url, homes, seconds),
        *agent_faults(url, homes),
        *charge_faults(url, homes),
    ]


def read_states(url: str, list_name: str) -> dict[str, int]:
    """Return how many tasks are in each state."""
    found = _rows(url, "SELECT state, COUNT(*) FROM tasks WHERE list = %s GROUP BY state", list_name)
    return {str(state): int(number) for state, number in found}


def task_faults(url: str, remote: Path, list_name: str) -> list[str]:
    """Each task is merged once, by one commit, with all its lines, or waits for a person with its branch."""
    rows = _rows(url, "SELECT id, state, token, branch FROM tasks WHERE list = %s", list_name)
    form = "--format=%(trailers:key=Supervisor-Task,valueonly)"
    trailers = Counter(_git(remote, "log", "--first-parent", form, "main").split())
    files = set(_git(remote, "ls-tree", "-r", "--name-only", "main", "tasks/").split())
    shared = Counter(_git(remote, "grep", "-h", "^part_", "main", "--", "shared_*.py").splitlines())
    branches = set(_git(remote, "for-each-ref", "--format=%(refname:short)", "refs/heads").split())
    faults = []
    for ident, state, token, branch in rows:
        number, times = ident.removeprefix("T"), trailers.pop(f"{list_name}/{ident}", 0)
        waits = state == "held" and branch in branches  # for a person
        if times != (state == "merged") or (state != "merged" and not waits):
            faults.append(f"{ident} is {state}, and {times} merges name it")
        if token and state != "claimed":
            faults.append(f"{ident} is {state} and has a token")
        if times and f"tasks/part_{number}.py" not in files:
            faults.append(f"{ident}: its file is not there")
        if times and number[-1] in "01" and shared[f"part_{number} = True"] != 1:
            faults.append(f"{ident}: its line is not there once in the shared file")
    faults += [f"a merge names {name}, which is no task" for name in trailers]
    faults += [
        f"{name} is not whole"
        for name in _git(remote, "grep", "-L", "^whole = True$", "main", "--", "tasks/").split()
    ]
    lost = set(_git(remote, "reflog", "show", "--format=%H", "main").split()) - set(
        _git(remote, "rev-list", "main").split()
    )
    faults += [f"the commit {commit} was pushed and is not there" for commit in sorted(lost)]
    merges = _git(remote, "log", "--first-parent", "--merges", "--format=%H", "main").split()
    files_of = [
        _git(remote, "diff", "--name-only", f"{one}^1", one, "--", "tasks/").split() for one in merges
    ]
    made = Counter(name for names in files_of for name in names)
    return [*faults, *(f"{name} was merged {times} times" for name, times in made.items() if times > 1)]


def log_faults(url: str, homes: Sequence[Path], seconds: float) -> list[str]:
    """Every event that a node has in its log is in the team's, once."""
    until = time.monotonic() + seconds
    while True:
        there = Counter(_rows(url, "SELECT session, kind, at FROM events"))
        local = Counter(row for home in homes for row in _local(home))
        missing, more = local - there, there - local
        if not missing or time.monotonic() > until:
            break
        time.sleep(LOOK_S)
    return [
        *(f"not in the team's log: {kind} of {session}" for session, kind, _ in missing),
        *(f"in the team's log and in no node's, or twice: {kind} of {session}" for session, kind, _ in more),
    ]


def agent_faults(url: str, homes: Sequence[Path]) -> list[str]:
    """Every agent that began to work is in the log, and no attempt is in two logs."""
    began = _rows(url, "SELECT session, machine FROM events WHERE kind = %s", BEGAN)
    machines: dict[str, set[str]] = {}
    for session, machine in began:
        machines.setdefault(session, set()).add(machine)
    known = Counter(session for session, _ in began)
    worked = _agents(homes)
    return [
        *(
            f"{session} was worked on by {len(names)} machines"
            for session, names in machines.items()
            if len(names) > 1
        ),
        *(f"an agent of {session} is not in the log" for session in worked - known),
    ]


def charge_faults(url: str, homes: Sequence[Path]) -> list[str]:
    """What is used of an account is what the team's log says was paid, and no agent is paid for twice."""
    paid = [
        json.loads(data) for (data,) in _rows(url, "SELECT data FROM events WHERE kind = ANY(%s)", list(PAID))
    ]
    used = _rows(
        url, "SELECT name, used FROM accounts WHERE name IN ('team/cents', 'team/tokens') AND NOT daily"
    )
    sums = {name: sum(data.get(name.partition("/")[2]) or 0.0 for data in paid) for name, _ in used}
    agents = _agents(homes).total()
    return [
        *(
            f"{name}: {amount:g} are used, and the log says {sums[name]:g}"
            for name, amount in used
            if abs(amount - sums[name]) > ROUNDING
        ),
        *([f"{len(paid)} agents are paid for, and {agents} began"] if len(paid) > agents else []),
        *([] if any(sums.values()) else ["nothing was charged"]),
    ]


def _agents(homes: Sequence[Path]) -> Counter[str]:
    """The sessions for which agents began to work, by their own word."""
    ledgers = [home / "ledger" for home in homes]
    return Counter(line for one in ledgers if one.exists() for line in one.read_text().split())


def _rows(url: str, statement: str, *values: object) -> list[tuple[Any, ...]]:
    with psycopg.connect(url, options="-c search_path=supervisor") as connection:
        return connection.execute(statement.encode(), values or None).fetchall()


def _local(home: Path) -> list[tuple[Any, ...]]:
    with sqlite3.connect(f"file:{home / LOG}?mode=ro", uri=True) as log:
        return log.execute("SELECT session, kind, at FROM events WHERE kind <> ?", (KEPT,)).fetchall()


def _git(remote: Path, *arguments: str) -> str:
    done = subprocess.run(("git", *arguments), cwd=remote, capture_output=True, text=True, check=False)
    if done.returncode > 1:  # 1 is: nothing was found
        raise OSError(done.stderr)
    return done.stdout


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--url", required=True)
    parser.add_argument("--remote", type=Path, required=True)
    parser.add_argument("--list", required=True)
    parser.add_argument("homes", type=Path, nargs="*")
    asked = parser.parse_args()
    found = find_faults(asked.url, asked.remote, asked.homes, asked.list)
    print("\n".join(found) or "nothing was lost or doubled")
    sys.exit(bool(found))
