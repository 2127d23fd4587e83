"""What the capabilities of this folder may reach."""

from __future__ import annotations

from dataclasses import dataclass

from sidecar.app.checks import Checks
from sidecar.app.explaining import Explainer
from sidecar.app.journals import Journals
from sidecar.app.people import People
from sidecar.ports import Clock, Rubrics
from sidecar.servers.tools.tool import Words


@dataclass(frozen=True, kw_only=True)
class Reach:
    """The use cases behind the tools, and the words of the answers."""

    checks: Checks
    clock: Clock
    explainer: Explainer
    journals: Journals
    people: People
    rubrics: Rubrics
    words: Words
