"""What starters, package managers and tools say when what was to be checked was never looked at.

Each pattern is the beginning of a line in the tool's own words. It counts only where the command failed and
no test or diagnostic is named.
"""

from __future__ import annotations

import re
from typing import Final

LINE: Final = 500
"""Characters of a line that are looked at."""
LINES: Final = 400
"""Lines that are looked at, from the end."""
NOT_THERE: Final = tuple(
    re.compile(pattern)
    for pattern in (
        r"\S*python[\d.]*: No module named \S+$",
        r"error: Failed to spawn: ",  # uv
        r"Command not found: ",  # poetry, pdm
        r"bundler: command not found: ",
        r"Could not find .* in (?:locally installed gems|any of the sources)",  # bundler
        r"npm (?:ERR!|error) (?:could not determine executable|Missing script)",
        r"npm (?:ERR!|error) code E(?:404|NOTFOUND|AI_AGAIN)",
        r"ERR_PNPM_(?:NO_SCRIPT|NO_IMPORTER|META_FETCH_FAIL|FETCH_)",
        r"ERR_PNPM_RECURSIVE_EXEC_FIRST_FAIL +Command \S+ not found",
        r"(?:error Command \S+ not found|Usage Error: Couldn't find)",  # yarn
        r"error: (?:Script not found|could not find a package\.json)",  # bun
        r"error: no such (?:sub)?command",  # cargo
        r"error: '\S+' is not installed for the toolchain",  # rustup
        r"error: (?:failed to download|failed to get `|could not find `Cargo\.toml`)",
        r"go: (?:go\.mod file not found|cannot find main module)",
        r"go: .* (?:dial tcp|i/o timeout|no such host)",
        r"The JAVA_HOME environment variable is not defined",
        r"(?:ERROR: )?JAVA_HOME is (?:not set|set to an invalid directory)",
        r"\[ERROR\] .*(?:ould not (?:transfer artifact|resolve dependencies|be resolved)|Unknown host)",
        r"> Could not (?:resolve all|GET 'http)",  # gradle
        r"g?make(?:\[\d+\])?: \*\*\* No rule to make target [^,]*\.\s+Stop",
        r"g?make(?:\[\d+\])?: \*\*\* No targets",
        r"error: Justfile does not contain recipe",
        r'task: Task "[^"]*" does not exist',
        r"\*\* \(Mix\) (?:The task|Could not find)",
        r"It was not possible to find any compatible framework version",  # dotnet
        r"Could not open input file: ",  # php
        r"ERROR:pip_audit\.\S*:",
    )
)


def could_not_start(text: str) -> str:
    """The line that says so; "" where none does."""
    for line in text.split("\n")[-LINES:]:
        said = line[:LINE].strip()
        if any(pattern.match(said) for pattern in NOT_THERE):
            return said
    return ""
