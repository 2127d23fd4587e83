"""What `supervisor gates` and `supervisor trust` work with: the real adapters of this user."""

from __future__ import annotations

import os
from collections.abc import Awaitable, Callable

from msgspec import Struct

from sidecar.adapters.detection import detect
from sidecar.adapters.forge.remote import Forge
from sidecar.adapters.gates.project import ProjectGates
from sidecar.adapters.paths import of_user
from sidecar.adapters.settings.catalog import ProjectCatalog
from sidecar.adapters.settings.trust_file import TrustFile
from sidecar.adapters.workspace import GitWorkspace
from sidecar.ports import Environment, GateCatalog, GateRunner


class Checks(Struct, frozen=True):
    """The doors to a project's checks. `fingerprint`: see ports.Workspace."""

    catalog: GateCatalog
    runner: GateRunner
    trust: TrustFile
    fingerprint: Callable[[str, Environment], Awaitable[str]]


def real() -> Checks:
    """Those of the user who types."""
    state = of_user().state
    forge, trust, workspace = Forge(), TrustFile(state), GitWorkspace(state / "trees")
    return Checks(
        catalog=ProjectCatalog(os.environ, trust, detect, forge),
        runner=ProjectGates(look=workspace.fingerprint, forge=forge),
        trust=trust,
        fingerprint=workspace.fingerprint,
    )


def visible(text: str) -> str:
    """A text that others wrote, on one line: what a terminal would obey or hide is escaped."""
    return "".join(char if char.isprintable() else _escaped(char) for char in text)


def visible_lines(text: str) -> list[str]:
    """The same for a text of several lines."""
    return [visible(line.expandtabs()) for line in text.split("\n")]


def _escaped(char: str) -> str:
    return ascii(char)[1:-1]
