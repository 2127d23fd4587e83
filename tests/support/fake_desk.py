"""A language server of rubrics whose desk is made up, as a process: `python -m support.fake_desk`.

What its desk does stands in the text: CRASH raises, and everything else has one flaw, which says how many
texts were looked at, and how often the project was.
"""

from __future__ import annotations

import sys
from pathlib import PurePosixPath
from typing import Final

from sidecar.kernel.rubric import Flaw, FlawSeverity, RubricContext, RubricOutline, TextSpan
from sidecar.kernel.stop_history import CriterionStats
from sidecar.rubric.outline import parse_outline
from sidecar.servers.rubric_language.server import serve_language_server

SAID: Final = "replay on the last 20 stops: 3 verdicts change"
KEPT: Final = 30
"""Stops that are kept, unless the folder is called "new"."""


class FakeDesk:
    """Any rubric.md is a rubric."""

    def __init__(self) -> None:
        self._texts = 0
        self._seen = 0

    def flaws(self, path: str, text: str) -> tuple[Flaw, ...] | None:
        if not _is_rubric(path):
            return None
        if "CRASH" in text:
            raise RuntimeError("no flaws today")
        self._texts += 1
        return (
            Flaw(
                "looked",
                f"{self._texts} texts, {self._seen} looks",
                0,
                3,
                FlawSeverity.WARNING,
                "Do.",
                also=((TextSpan(1, 2), "here"),),
            ),
        )

    def outline(self, path: str, text: str) -> RubricOutline | None:
        if not _is_rubric(path):
            return None
        if "CRASH" in text:
            raise RuntimeError("no outline today")
        return parse_outline(text)

    def around(self, path: str) -> RubricContext:  # noqa: ARG002 - the port's signature
        return RubricContext()

    def refresh(self, path: str) -> bool:
        self._seen += 1
        if "broken" in path:
            raise OSError("no project today")
        return self._seen == 1

    def beginning(self, path: str) -> str:  # noqa: ARG002 - the protocol's
        return "## Patterns\n- **A**: b\n\n## Antipatterns\n- **C**: d\n"

    def history(self, path: str, criterion: str) -> CriterionStats:  # noqa: ARG002 - the port's signature
        return CriterionStats(fired=2, stops=0 if "new" in path else KEPT, last=86_400.0 * 365)

    def replay(self, path: str, text: str) -> str:  # noqa: ARG002 - the port's signature
        if "UNPLAYABLE" in text:
            raise OSError("nothing can be read")
        return SAID


def _is_rubric(path: str) -> bool:
    return PurePosixPath(path).name == "rubric.md"


if __name__ == "__main__":
    sys.exit(serve_language_server(FakeDesk(), "0"))
