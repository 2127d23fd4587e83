"""Supervisor's speed and memory, each against a named peer in the same run.

    python benchmarks/run.py [NAME ...] [--quick] [--json FILE] [--hold]

It measures the package that is installed in this Python, not the checkout. One table goes to standard output;
nothing is written but the FILE. See README.md beside this file.
"""

from __future__ import annotations

import argparse
import sys
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Final

import checkpoints
import cold
import decision
import events
import gates
import iterations
import lsp
import mcp_tools
import memory
import opencode_idle
import own_files
import proof
import relay
import see
import teamed
import transcript
import tree
from measure import Report
from stage import Unfit
from table import Recorded, as_json, machine, row_name, table

BENCHMARKS: Final = {
    "relay": relay.measured,
    "cold": cold.measured,
    "transcript": transcript.measured,
    "memory": memory.measured,
    "opencode": opencode_idle.measured,
    "own_files": own_files.measured,
    "decision": decision.measured,
    "events": events.measured,
    "gates": gates.measured,
    "proof": proof.measured,
    "tree": tree.measured,
    "checkpoints": checkpoints.measured,
    "iterations": iterations.measured,
    "lsp": lsp.measured,
    "mcp": mcp_tools.measured,
    "see": see.measured,
    "team": teamed.measured,
}


WORSE: Final = 1.5
"""From this many times the recorded ratio on, `--hold` fails: a shared machine moves a ratio by a fifth."""


def main() -> int:
    """Measure what is asked for; 0, or 1 where something was not measured, or is worse than recorded."""
    asked = _arguments()
    recorded: Recorded = tomllib.loads(Path(__file__).with_name("recorded.toml").read_text())["ratio"]
    reports = _measure(asked.names or list(BENCHMARKS), quick=asked.quick)
    print(f"\n{machine()}; median [p10-p90]\n\n{table(reports, recorded)}")
    if asked.json:
        asked.json.write_bytes(as_json(reports))
    if asked.hold and (again := _worse(reports, recorded)):
        print(f"measured again, because they are worse than recorded: {', '.join(again)}", file=sys.stderr)
        reports |= _measure(list(dict.fromkeys(name.partition(":")[0] for name in again)), quick=False)
        print(f"\n{table(reports, recorded)}")
    worse = _worse(reports, recorded) if asked.hold else []
    for name in worse:
        print(f"worse than {WORSE:g} times what recorded.toml says: {name}", file=sys.stderr)
    return 1 if worse or not all(report.figures for report in reports.values()) else 0


def _measure(names: list[str], *, quick: bool) -> dict[str, Report]:
    reports: dict[str, Report] = {}
    for name in names:
        print(f"{name} ...", file=sys.stderr, flush=True)
        try:
            reports[name] = BENCHMARKS[name](quick=quick)
        except Unfit as why:
            reports[name] = Report(remarks=(f"not measured: {why}",))
    return reports


def _worse(reports: Mapping[str, Report], recorded: Recorded) -> list[str]:
    """The figures whose ratio is WORSE than the recorded one."""
    return [
        row_name(name, figure)
        for name, report in reports.items()
        for figure in report.figures
        if figure.ratio > WORSE * recorded.get(row_name(name, figure), float("inf"))
    ]


class _Asked(argparse.Namespace):
    names: list[str]
    quick: bool
    json: Path | None
    hold: bool


def _arguments() -> _Asked:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "names", nargs="*", metavar="NAME", help=f"all where none is named: {', '.join(BENCHMARKS)}"
    )
    parser.add_argument("--quick", action="store_true", help="a tenth of the runs: to see that it works")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write every value to this file")
    parser.add_argument(
        "--hold", action="store_true", help=f"fail at {WORSE:g} times a ratio of recorded.toml"
    )
    asked = parser.parse_args(namespace=_Asked())
    if unknown := sorted(set(asked.names) - set(BENCHMARKS)):
        parser.error(f"no such benchmark: {', '.join(unknown)}")
    return asked


if __name__ == "__main__":
    sys.exit(main())
