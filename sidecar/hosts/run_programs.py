"""What is known of the programs that `supervisor run` starts: how they fail, and what their agents have."""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import cache
from pathlib import PurePath

from msgspec import Struct

from sidecar.kernel.text import one_printable_line
from sidecar.platform.data import load_data


class RunPrograms(Struct, frozen=True, forbid_unknown_fields=True):
    """The data file, which explains each field."""

    errors: tuple[str, ...]
    usage: tuple[str, ...]
    subagents: dict[str, str]


class AgentFault(Struct, frozen=True):
    """Why an agent failed, in one line. `unusable`: it would fail in the same way each time."""

    trouble: str
    unusable: bool = False


def find_agent_fault(exit_code: int | None, said: str, complaint: str) -> AgentFault | None:
    """Return how an agent that ended failed, None where it did not.

    One that printed nothing and did not understand its command line failed, whatever its exit code.
    """
    lines = [line.strip() for line in complaint.splitlines() if line.strip()]
    errors, usage = _patterns()
    wrong = next(filter(errors.match, lines), "")
    unusable = not said.strip() and bool(wrong or (exit_code and any(map(usage.match, lines))))
    if not unusable and exit_code in (0, None):
        return None
    first = one_printable_line(wrong or next(iter(lines), ""))
    return AgentFault(f"the agent ended with exit code {exit_code}{first and f': {first}'}", unusable)


def subagent_tool(command: Sequence[str]) -> str:
    """Return the name of the tool that starts subagents in this program, "" where none is known."""
    return _known().subagents.get(PurePath(command[0]).name, "")


def _known() -> RunPrograms:
    return load_data("run_programs", RunPrograms)


@cache
def _patterns() -> tuple[re.Pattern[str], re.Pattern[str]]:
    known = _known()
    errors, usage = (re.compile("|".join(each), re.IGNORECASE) for each in (known.errors, known.usage))
    return errors, usage
