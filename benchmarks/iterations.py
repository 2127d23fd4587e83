"""`supervisor run`: what an iteration costs beside its agent, and what many of them hold in memory.

The agent is a shell script that reads its prompt and makes a file, so that nothing is a stall. The goal's
check fails, so each iteration is judged by running it. All iterations are of one session.
"""

from __future__ import annotations

import json
import subprocess
import sys
import time
from pathlib import Path
from typing import Final

from measure import Figure, Report, Series, in_turn, rounds
from memory import KIB, RSS, resident
from stage import Stage, Unfit, staged

ROUNDS: Final = 10
MANY, FEW = 11, 1
"""Agents of the two runs whose difference is what ten iterations cost, without start and end."""
ITERATIONS: Final = 500
PER_RUN: Final = 100
"""Agents of one run."""
AGENT: Final = """#!/bin/sh
cat > /dev/null
: > "made-$$-$(date +%N)"
[ -z "$SUPERVISOR_RUN_MEMORY" ] || grep VmRSS "/proc/$PPID/status" >> "$SUPERVISOR_RUN_MEMORY"
"""


def measured(*, quick: bool) -> Report:
    """Runs and bare agents in turn; then many iterations."""
    with staged() as stage:
        program = stage.folder / "agent"
        program.write_text(AGENT, encoding="utf-8")
        program.chmod(0o755)
        stage.start()
        ours, alone = in_turn(
            rounds(ROUNDS, quick=quick), lambda: _iteration(stage, program), lambda: _alone(stage, program)
        )
        figures = [Figure(name="an iteration", ours=ours, against="its agent alone", peer=alone)]
        if sys.platform == "linux":
            figures += _memory(stage, program, rounds(ITERATIONS, quick=quick))
        log = stage.run.parent / "events.sqlite3"
        size = sum(path.stat().st_size for path in log.parent.glob(f"{log.name}*")) / KIB**2
    return Report(tuple(figures), (f"the log of all these iterations has {size:.1f} MiB",))


def _memory(stage: Stage, program: Path, iterations: int) -> list[Figure]:
    """Figures of the sidecar and of the run's own process, at their first iterations and at their last."""
    seen = stage.folder / "memory"
    first = resident(stage.pid())
    for number in range(0, iterations, PER_RUN):
        seen.unlink(missing_ok=True)
        _run(stage, program, min(PER_RUN, iterations - number), str(seen))
    last = resident(stage.pid())
    own = [int(kib) / KIB for kib in RSS.findall(seen.read_bytes())]
    return [
        _in_memory(f"the sidecar after {iterations} iterations more", last, "before them", first),
        _in_memory(f"the run itself in its iteration {len(own)}", own[-1], "in its first", own[0]),
    ]


def _in_memory(name: str, ours: float, against: str, peer: float) -> Figure:
    return Figure(name=name, ours=Series((ours,)), against=against, peer=Series((peer,)), unit="MiB")


def _iteration(stage: Stage, program: Path) -> float:
    many, few = (_run(stage, program, most) for most in (MANY, FEW))
    return (many - few) / (MANY - FEW)


def _alone(stage: Stage, program: Path) -> float:
    begun = time.perf_counter()
    for _ in range(MANY - FEW):
        subprocess.run(  # noqa: S603 - the script above
            [program], cwd=stage.project, env=stage.environment, input=b"Work.", check=True
        )
    return 1000 * (time.perf_counter() - begun) / (MANY - FEW)


def _run(stage: Stage, program: Path, most: int, memory: str = "") -> float:
    """Run so many agents under a goal of their own; return the milliseconds."""
    environment = {name: value for name, value in stage.environment.items() if not name.startswith("CLAUDE")}
    goal = ("--goal", f"it is done at {time.time_ns()}", "--check", "false")
    options = ("--session", "bench", "--max-iterations", str(most), "--json")
    begun = time.perf_counter()
    done = subprocess.run(  # noqa: S603 - the installed command
        [stage.supervisor, "run", *goal, *options, "--", program],
        cwd=stage.project,
        env={**environment, "SUPERVISOR_RUN_MEMORY": memory},
        capture_output=True,
        check=False,
    )
    took = 1000 * (time.perf_counter() - begun)
    end = json.loads(done.stdout.splitlines()[-1]) if done.stdout else {}
    if (end.get("outcome"), end.get("iterations")) != ("exhausted", most):
        raise Unfit(f"a run of {most} ended otherwise: {end} {done.stderr.decode()}")
    return took
