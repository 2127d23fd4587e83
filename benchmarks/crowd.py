"""Many agents on one machine: three runs and two sessions of a person, each with a suite for two cores.

    python benchmarks/crowd.py [--seconds 20]

It is played with one suite at a time and with no limit, and takes some five minutes. A suite burns so many
seconds of two processors, so that it takes longer beside others, and notes when it begins and ends. The runs
begin first, the sessions stop five seconds later. Load is the number of processes that run or could.
"""

from __future__ import annotations

import argparse
import multiprocessing
import os
import shutil
import subprocess
import time
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from pathlib import Path
from statistics import mean
from typing import Final

from host import WRITTEN_S, HostSession
from msgspec import Struct
from msgspec.structs import replace
from stage import Stage, staged

RUNS: Final = ("run 1", "run 2", "run 3")
SPAWN: Final = multiprocessing.get_context("spawn")
"""Each session has a process of its own, as its host: nothing below a host may begin a run."""
SESSIONS: Final = ("session 1", "session 2")
LATER_S: Final = 5.0
"""Seconds after the runs at which the sessions stop."""
GOAL: Final = ("all checks pass", "--check", "python3 suite.py")
TYPED: Final = b"/supervisor:goal --check 'python3 suite.py' all checks pass"
AGENT: Final = "cat > /dev/null; echo more >> made.txt"
SUITE: Final = """
import multiprocessing, time

def burn():
    while time.process_time() < {seconds}:
        pass

def note(what):
    with open({log!r}, "a") as log:
        log.write(f"{name}/{{what}}/{{time.time()}}\\n")

if __name__ == "__main__":
    note("begin")
    workers = [multiprocessing.Process(target=burn) for _ in range(2)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    note("end")
    print("1 passed")
"""


class Told(Struct):
    """One agent: when its stop was asked about and answered, how, and when its suites began and ended."""

    name: str
    asked: float = 0.0
    answered: float = 0.0
    outcome: str = ""
    suites: list[tuple[float, float]] = []


def main() -> None:
    """Play both, and print a table for each."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seconds", type=float, default=20.0, help="of two processors, that a suite takes")
    asked = parser.parse_args()
    for at_once in (1, 0):
        with staged() as stage:
            print_crowd(at_once, *play_crowd(stage, at_once, asked.seconds))


def play_crowd(stage: Stage, at_once: int, seconds: float) -> tuple[list[Told], list[int], float]:
    """Let them all work; return each, the load twice a second, and when it began."""
    config = stage.home / ".config" / "supervisor" / "config.toml"
    config.parent.mkdir(parents=True, exist_ok=True)
    config.write_text(f"[gates]\nat_once = {at_once}\ntrial_seconds = 0\n")
    log = stage.folder / "suites"
    stage.start()
    crowd = [Told(name) for name in (*RUNS, *SESSIONS)]
    places = {
        one.name: _lay_out(stage, one.name, SUITE.format(seconds=seconds, log=str(log), name=one.name))
        for one in crowd
    }
    begun, loads = time.time(), list[int]()
    with ThreadPoolExecutor() as threads, ProcessPoolExecutor(mp_context=SPAWN) as hosts:
        work = [
            (threads.submit if one.name in RUNS else hosts.submit)(
                _run if one.name in RUNS else _stop, places[one.name], one, begun
            )
            for one in crowd
        ]
        while not all(one.done() for one in work):
            loads.append(int(Path("/proc/loadavg").read_text().split()[3].partition("/")[0]))
            time.sleep(0.5)  # noqa: TID251 - it measures
        crowd = [one.result() for one in work]
    for name, first, last in _suites(log):
        next(one for one in crowd if one.name == name).suites.append((first, last))
    return crowd, loads, begun


def print_crowd(at_once: int, crowd: list[Told], loads: list[int], begun: float) -> None:
    """Print what became of each, and of all."""
    print(f"at_once = {at_once}")
    for one in crowd:
        waits = one.suites[0][0] - one.asked if one.suites else 0.0
        spans = ", ".join(f"{first - begun:.0f} to {last - begun:.0f}" for first, last in one.suites)
        took = f"answered after {one.answered - one.asked:5.1f} s, waited {waits:5.1f} s"
        print(f"  {one.name:<10} {one.outcome:<10} {took}; suites: {spans}")
    for name, some in (("runs", crowd[: len(RUNS)]), ("sessions", crowd[len(RUNS) :])):
        print(f"  {name}: answered after {mean(one.answered - one.asked for one in some):.1f} s on average")
    total = max(one.answered for one in crowd) - begun
    print(f"  all: {total:.1f} s; load {mean(loads):.1f} on average, {max(loads)} at most")


def _lay_out(stage: Stage, name: str, suite: str) -> Stage:
    """Copy the project for one agent."""
    project = stage.folder / name
    shutil.copytree(stage.project, project)
    (project / "suite.py").write_text(suite)
    own = {"PWD": str(project), "CLAUDE_PROJECT_DIR": str(project)}
    own_folder = stage.folder / f"of {name}"
    own_folder.mkdir()
    return replace(stage, folder=own_folder, project=project, environment={**stage.environment, **own})


def _supervisor(stage: Stage, *words: str) -> subprocess.CompletedProcess[str]:
    environment = {name: value for name, value in stage.environment.items() if not name.startswith("CLAUDE")}
    return subprocess.run(  # noqa: S603 - the installed command
        [stage.supervisor, *words],
        cwd=stage.project,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )


def _run(stage: Stage, told: Told, _begun: float) -> Told:
    told.asked = time.time()
    options = ("--session", told.name.replace(" ", "-"), "--max-iterations", "1")
    done = _supervisor(stage, "run", "--goal", *GOAL, *options, "--", "sh", "-c", AGENT)
    told.answered, told.outcome = time.time(), f"exit {done.returncode}"
    if done.returncode:
        raise RuntimeError(done.stdout + done.stderr)
    return told


def _stop(stage: Stage, told: Told, begun: float) -> Told:
    session = HostSession(stage)
    time.sleep(max(0.0, begun + LATER_S - time.time()))  # noqa: TID251 - after the runs
    stage.timed(stage.hook("UserPromptSubmit"), session.prompted().replace(b"Please go on.", TYPED))
    (stage.project / "made.txt").write_text("more\n")
    told.asked = time.time()
    stage.timed(stage.hook("Stop"), session.wrote(session.author.turn(1)))
    told.answered = time.time()
    while not session.decided() and time.time() < told.answered + LATER_S:
        time.sleep(WRITTEN_S)  # noqa: TID251 - another process writes it
    told.outcome = session.decided()
    return told


def _suites(log: Path) -> Iterator[tuple[str, float, float]]:
    """Yield whose suites ran, and when."""
    open_since = dict[str, float]()
    for line in log.read_text().splitlines():
        name, what, at = line.split("/")
        if what == "begin":
            open_since[name] = float(at)
        else:
            yield name, open_since.pop(name), float(at)


if __name__ == "__main__":
    print(f"{os.cpu_count()} cores")
    main()
