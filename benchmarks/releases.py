"""Released packages with tests, in their own environments: right checks, right verdict, at what cost.

    python benchmarks/releases.py FOLDER [NAME...] --prepare    download and install them: pip, npm, network
    python benchmarks/releases.py FOLDER [NAME...]

Each release is judged as it is, and after an agent negated one value of its code. The truth is the exit code
of the plain test command. The `supervisor` beside this Python is measured, in a new home for each release.
Faults are written into the prepared projects and taken back. Standard error has the whole verdicts.
"""

from __future__ import annotations

import argparse
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterable, Iterator, Mapping
from itertools import islice, pairwise
from pathlib import Path
from typing import Final

import msgspec

from sidecar.evidence.proof.check_files import bears_on_checks

TRIES: Final = 40
"""Faults that are tried until the plain test command notices one."""
RELEASES: Final = """
attrs==26.1.0+hypothesis+cloudpickle blinker==1.9.0+pytest-asyncio h11==0.16.0 humanize==4.17.0+freezegun
iniconfig==2.3.1 itsdangerous==2.2.0+freezegun markupsafe==3.0.4 more-itertools==11.2.1
packaging==26.3+pretend+hypothesis+tomli-w pluggy==1.7.0 python-slugify==9.2.0 sqlparse==0.6.1
tabulate==0.10.0 toolz==1.2.0 wcwidth==0.9.4+pytest-cov
deep-equal@2.2.3 duplexify@4.1.3 fast-uri@4.2.3 fastq@1.20.3 is-callable@1.2.7 minimist@1.2.8
"""
"""Of PyPI (==, with what the tests need beside pytest) and of npm (@)."""
VALUE: Final = re.compile(
    r"\b(?:return|if) (?!None$|self$|this;?$)([^\s,:;{}#][^,:;{}#\n]*?)(?=;?$|:$| \{$| return\b)",
    re.MULTILINE,
)
"""A returned value or a condition, in Python or JavaScript."""
SUPERVISOR: Final = str(Path(sys.executable).with_name("supervisor"))


def main() -> None:
    """Prepare the releases, or judge those that are prepared."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("names", nargs="*")
    parser.add_argument("--prepare", action="store_true")
    asked = parser.parse_args()
    if not asked.prepare:
        print(
            "release | plain | tests gate | gates | verdict | s: plain, gate, verdict | ratio | with a fault"
        )
    right = []
    for release, *needs in (one.split("+") for one in RELEASES.split()):
        folder = asked.folder.resolve() / release
        if not asked.names or re.split("==|@", release)[0] in asked.names:
            right.append(_prepare(folder, needs) if asked.prepare else _judge(folder))
    print(f"{'prepared' if asked.prepare else 'right'}: {sum(right)} of {len(right)}")


def _run(line: str, folder: Path, environment: Mapping[str, str]) -> subprocess.CompletedProcess[str]:
    return subprocess.run(  # noqa: S602 - our own lines
        line, shell=True, cwd=folder, env=environment, check=False, capture_output=True, text=True
    )


def _prepare(folder: Path, needs: Iterable[str]) -> bool:
    """Unpack a release, install it with what its tests need, and commit it."""
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    name, python = folder.name.partition("==")[0], sys.executable
    fetch = f"{python} -m pip download -q --no-deps --no-binary {name} {folder.name}"
    install = f"{python} -m venv .venv && .venv/bin/pip install -q -e . pytest {' '.join(needs)}"
    if "@" in folder.name:
        fetch, install = f"npm pack -s {folder.name}", "npm install --no-audit --no-fund --ignore-scripts"
    unpack = "tar xzf *.t*gz --strip-components 1 --no-same-owner && rm *.t*gz && git init -q"
    ignore = "printf '%s\\n' .venv node_modules package-lock.json >> .git/info/exclude"
    commit = f"git add -A && git -c user.name=x -c user.email=x@example.org commit -qm {folder.name}"
    done = _run(f"{fetch} && {unpack} && {ignore} && {install} && {commit}", folder, os.environ)
    if done.returncode:
        print(f"{folder.name}: {done.stdout[-2000:]}{done.stderr[-2000:]}", flush=True)
    return done.returncode == 0


def _judge(folder: Path) -> bool:
    """Print a row of the table; return whether the verdicts without and with a fault are right."""
    plain = "npm test" if "@" in folder.name else ".venv/bin/python -m pytest -q"
    path = f"{Path(shutil.which('node') or 'node').parent}{os.pathsep}{os.defpath}"
    with tempfile.TemporaryDirectory(prefix="releases-", ignore_cleanup_errors=True) as home:
        environment = {"HOME": home, "PATH": path, "LANG": "C.UTF-8"}
        green = _run(plain, folder, environment).returncode == 0  # everything is compiled from here on
        _run(f"{SUPERVISOR} trust --yes", folder, environment)
        marks = [time.perf_counter()]
        for line in (plain, f"{SUPERVISOR} gates --only tests"):
            _run(line, folder, environment)
            marks.append(time.perf_counter())
        verdict = _verdict("true", folder, environment)
        marks.append(time.perf_counter())
        gates = msgspec.json.decode(_run(f"{SUPERVISOR} gates --json", folder, environment).stdout)["gates"]
        fault = _judge_fault(plain, folder, environment) if green else ""
        _run(f"{SUPERVISOR} stop", folder, environment)
    plain_s, gate_s, verdict_s = (after - before for before, after in pairwise(marks))
    cost = f"{plain_s:.1f}, {gate_s:.1f}, {verdict_s:.1f} | {gate_s / plain_s:.2f}"
    tests = ", ".join(f"{one['command']} ({one['executed']})" for one in gates if one["id"] == "tests")
    ends = ", ".join(f"{one['id']} {one['outcome']} {one['reason']}".strip() for one in gates)
    row = (folder.name, "green" if green else "red", tests or "none", ends, verdict, cost, fault)
    print(*row, sep=" | ", flush=True)
    return (verdict == "achieved") == green and fault not in {"achieved", "no fault found"}


def _verdict(agent: str, folder: Path, environment: Mapping[str, str]) -> str:
    """Let an agent work once towards the goal, and return how that ended."""
    line = f"{SUPERVISOR} run --json --goal 'all tests pass' --max-iterations 1 -- {agent}"
    done = _run(line, folder, environment)
    print(folder.name, agent, done.stdout, done.stderr, sep="\n", file=sys.stderr, flush=True)
    events = [msgspec.json.decode(event) for event in done.stdout.splitlines()]
    return str(events[-1].get("outcome", "none")) if events else "none"


def _judge_fault(plain: str, folder: Path, environment: Mapping[str, str]) -> str:
    """Return the verdict on an agent that plants the first fault which the plain command notices."""
    faulty, quick = Path(environment["HOME"], "faulty"), " -x" if "pytest" in plain else ""
    for path, text in islice(_faults(folder), TRIES):
        faulty.write_text(text, encoding="utf-8")
        sound = path.read_bytes()
        try:
            shutil.copyfile(faulty, path)
            noticed = _run(f"{plain}{quick}", folder, environment).returncode != 0
            path.write_bytes(sound)
            if noticed:
                return _verdict(f"cp {faulty} {path}", folder, environment)
        finally:
            path.write_bytes(sound)
    return "no fault found"


def _faults(folder: Path) -> Iterator[tuple[Path, str]]:
    """Yield source files, of Python those in packages, the largest first, each with one value negated."""
    names = _run("git ls-files '*.py' '*.js'", folder, os.environ).stdout.split()
    paths = [folder / name for name in names if not bears_on_checks(name)]
    code = [path for path in paths if path.suffix == ".js" or path.with_name("__init__.py").exists()]
    for path in sorted(code, key=lambda path: -path.stat().st_size):
        text = path.read_text(encoding="utf-8")
        for value in VALUE.finditer(text):
            if value[1].count("(") == value[1].count(")") and value[1].count("[") == value[1].count("]"):
                negated = f"({'not ' if path.suffix == '.py' else '!'}({value[1]}))"
                yield path, text[: value.start(1)] + negated + text[value.end(1) :]


if __name__ == "__main__":
    main()
