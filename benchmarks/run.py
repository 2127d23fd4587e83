"""Supervisor's speed and memory, each against a named peer in the same run.

    python benchmarks/run.py [NAME ...] [--quick] [--json FILE]

It measures the package that is installed in this Python, not the checkout. One table goes to standard output;
nothing is written but the FILE. See README.md beside this file.
"""

from __future__ import annotations

import argparse
import sys
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
import transcript
import tree
from measure import Report
from stage import Unfit
from table import as_json, machine, table

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
}


def main() -> int:
    """Measure what is asked for; 0, or 1 where something could not be measured."""
    asked = _arguments()
    reports: dict[str, Report] = {}
    for name in asked.names or BENCHMARKS:
        print(f"{name} ...", file=sys.stderr, flush=True)
        try:
            reports[name] = BENCHMARKS[name](quick=asked.quick)
        except Unfit as why:
            reports[name] = Report(remarks=(f"not measured: {why}",))
    print(f"\n{machine()}; median [p10-p90]\n\n{table(reports)}")
    if asked.json:
        asked.json.write_bytes(as_json(reports))
    return 0 if all(report.figures for report in reports.values()) else 1


class _Asked(argparse.Namespace):
    names: list[str]
    quick: bool
    json: Path | None


def _arguments() -> _Asked:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "names", nargs="*", metavar="NAME", help=f"all where none is named: {', '.join(BENCHMARKS)}"
    )
    parser.add_argument("--quick", action="store_true", help="a tenth of the runs: to see that it works")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write every value to this file")
    asked = parser.parse_args(namespace=_Asked())
    if unknown := sorted(set(asked.names) - set(BENCHMARKS)):
        parser.error(f"no such benchmark: {', '.join(unknown)}")
    return asked


if __name__ == "__main__":
    sys.exit(main())
