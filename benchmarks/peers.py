"""Peers from the package index on the endings of `tests/endings/worth`: what they flag, and cannot read.

    python benchmarks/peers.py checkwash=VENV/bin/checkwash pr-witness=VENV/bin/pr-witness [--json FILE]

A peer gets two commits: the project as it was, and as the turn left it. pr-witness gets the agent's last
message as the description, and the `pytest` beside it. "Flagged" is what ends its run badly by default
(checkwash) and in `strict` mode (pr-witness); "shown" is that or any finding of at least medium weight.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import tempfile
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from pathlib import Path
from typing import Any, Final

import msgspec
from endings.ending import Ending, Label
from endings.report import Share
from msgspec import Struct

from endings import by_hand, ground

COMMIT: Final = "git add -A && git commit -q --allow-empty -m Work"
BASE: Final = "git rev-parse HEAD"
SHOWN: Final = frozenset(("warn", "medium", "high", "critical"))
READ_BY_CHECKWASH: Final = (".py", ".js", ".ts", ".mjs", ".cjs", ".jsx", ".tsx")


class Verdict(Struct, frozen=True):
    """What a peer said of one ending. `applies`: whether it could read, or run, any test of it."""

    peer: str
    name: str
    faked: bool
    applies: bool
    flagged: bool
    shown: bool
    why: tuple[str, ...] = ()


def main() -> None:
    """Ask each peer about each ending, and print the counts."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("peers", nargs="+")
    parser.add_argument("--json", type=Path)
    asked = parser.parse_args()
    peers = [(name, path) for name, _, path in (peer.partition("=") for peer in asked.peers)]
    endings = [ending for folder in by_hand.WORTH[:2] for ending in by_hand.load(folder)]
    with ProcessPoolExecutor(os.cpu_count()) as pool:
        said = [one for some in pool.map(partial(ask_all, peers), endings) for one in some]
    for peer, _ in peers:
        for faked in (True, False):
            _print_counts(peer, [one for one in said if (one.peer, one.faked) == (peer, faked)])
    if asked.json:
        asked.json.write_bytes(msgspec.json.format(msgspec.json.encode(said), indent=1))


def _print_counts(peer: str, said: list[Verdict]) -> None:
    read = [one for one in said if one.applies]
    kind = "faked" if said[0].faked else "honest"
    print(f"{peer}: {len(said)} {kind}, it applies to {len(read)}")
    print(f"    flagged {Share(sum(one.flagged for one in read), len(read))}, of all {len(said)}")
    print(f"    shown   {Share(sum(one.shown for one in read), len(read))}")
    print(f"    {dict(Counter(why for one in read if one.flagged for why in one.why).most_common(6))}")


def ask_all(peers: list[tuple[str, str]], ending: Ending) -> list[Verdict]:
    """Lay the ending out as two commits, and ask every peer."""
    with tempfile.TemporaryDirectory(prefix="peers-", ignore_cleanup_errors=True) as name:
        project, home = Path(name, "project"), Path(name, "home")
        ground.begin(ending, project, home)
        base = ground.prove(BASE, project, home).output.strip()
        ground.end(ending, project, home)
        ground.prove(COMMIT, project, home)
        body = Path(name, "message")
        body.write_text(ending.message, encoding="utf-8")
        return [ASK[peer](ending, (path, base, str(body)), project, home) for peer, path in peers]


def _checkwash(ending: Ending, run: tuple[str, str, str], project: Path, home: Path) -> Verdict:
    path, base, _ = run
    code, found = _told((path, "check", f"{base}..HEAD", "--format", "json"), project, home)
    return Verdict(
        peer="checkwash",
        name=ending.name,
        faked=ending.label is Label.FAKED,
        applies=any(file.endswith(READ_BY_CHECKWASH) for file in ending.before),
        flagged=code == 1,
        shown=any(one.get("severity") in SHOWN for one in _findings(found)),
        why=tuple({str(one.get("rule") or one.get("rule_id")) for one in _findings(found)}),
    )


def _pr_witness(ending: Ending, run: tuple[str, str, str], project: Path, home: Path) -> Verdict:
    path, base, body = run
    line = (
        path,
        "--base",
        base,
        "--mode",
        "strict",
        "--format",
        "json",
        "--pr-body",
        body,
        "--timeout",
        "120",
    )
    code, found = _told(line, project, home)
    collected = found["counts"]["base"]["collected"] if found else 0
    return Verdict(
        peer="pr-witness",
        name=ending.name,
        faked=ending.label is Label.FAKED,
        applies=collected > 0,
        flagged=code == 1,
        shown=any(one.get("severity") in SHOWN for one in _findings(found)),
        why=tuple({str(one["signal"]) for one in _findings(found)}),
    )


ASK: Final = {"checkwash": _checkwash, "pr-witness": _pr_witness}


def _findings(found: Any) -> Iterator[dict[str, Any]]:  # noqa: ANN401 - another program's JSON
    yield from found.get("findings", ()) if isinstance(found, dict) else ()


def _told(line: tuple[str, ...], project: Path, home: Path) -> tuple[int, Any]:
    """Run a peer; return its exit code and its JSON."""
    environment = ground.environment(home)
    environment["PATH"] = f"{Path(line[0]).parent}{os.pathsep}{environment['PATH']}"
    done = subprocess.run(line, cwd=project, env=environment, capture_output=True, text=True, check=False)  # noqa: S603 - the peer that was named
    try:
        return done.returncode, json.loads(done.stdout)
    except ValueError:
        return done.returncode, None


if __name__ == "__main__":
    main()
