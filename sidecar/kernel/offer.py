"""What a system offers to the rest of the program, by name.

Each system declares it in its `__init__.py`. Wiring builds the sidecar's tools from it, and the
command line its verbs. Nothing here imports what it names, so listing the verbs loads no module.
"""

from __future__ import annotations

from enum import StrEnum
from typing import NamedTuple


class Section(StrEnum):
    """A heading in the list of commands, in the order of that list."""

    START = "Set up"
    GOAL = "Goals"
    LOOK = "What happened, and why"
    CHECKS = "Checks, and your idea of done"
    ALONE = "Agents that work without you"
    PARTS = "Settings and parts"


class Verb(NamedTuple):
    """A command of `supervisor`, where it is in `sidecar.cli`, a short summary, and its heading.

    `place` is a module, with `:function` where that is not called as the command.
    """

    name: str
    place: str
    summary: str
    section: Section


class SystemOffer(NamedTuple):
    """What one system offers: modules of `servers.tools` with its tools, and its commands."""

    tools: tuple[str, ...] = ()
    verbs: tuple[Verb, ...] = ()
