"""Whose a call of our own tools is, and whether the host may let it through without asking its user.

The laws of this file:

- What only reads is let through, and so is the journal: it is the agent's own, informs the judge and binds
  nobody.
- What makes something run is not: there the host's own rules decide, as they do for a shell.
- What is only called as our tools are is not either: a project may name a server as it likes. It is left
  alone where it has no tool of ours.
"""

from __future__ import annotations

from typing import Final

from sidecar.model.effects import Identified, Nothing
from sidecar.model.events import ToolCalled

JOURNAL: Final = "journal"
"""The toolset in which an agent writes, for itself."""


def spared(toolset: str, *, reads: bool, asks: bool) -> bool:
    """Whether nobody need be asked about a tool; `reads` and `asks` are the tool's own flags."""
    return (reads or toolset == JOURNAL) and not asks


def answer(call: ToolCalled, spare: bool | None) -> Identified | Nothing:  # noqa: FBT001 - it has three values
    """Answer a call of a tool about which nobody need be asked (`spare`), None for one that is not ours."""
    if spare is None:
        return Nothing()
    return Identified(session=call.key.id, spared=spare and call.certain)
