"""A language server of rubrics whose check is made up, as a process: `python -m support.fake_check`.

What it does stands in the text: CRASH raises, and everything else has one flaw, which says how often the
project was read.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path

from sidecar.kernel.rubric import Flaw, FlawSeverity, RubricOutline
from sidecar.servers.rubric_language.checking import RubricCheck
from sidecar.servers.rubric_language.server import serve_language_server


class FakeCheck(RubricCheck):
    """Reads no project."""

    def __init__(self) -> None:
        super().__init__(Path(__file__), os.environ)
        self._seen = 0

    def flaws(self, path: str, text: str) -> tuple[Flaw, ...] | None:  # noqa: ARG002 - as RubricCheck has it
        if "CRASH" in text:
            raise RuntimeError("no flaws today")
        return (Flaw("looked", f"{self._seen} looks", 0, 3, FlawSeverity.WARNING, "Do."),)

    def outline(self, path: str, text: str) -> RubricOutline | None:
        if "CRASH" in text:
            raise RuntimeError("no outline today")
        return super().outline(path, text)

    def refresh(self, path: str) -> bool:
        self._seen += 1
        if "broken" in path:
            raise OSError("no project today")
        return self._seen == 1


if __name__ == "__main__":
    sys.exit(serve_language_server(FakeCheck(), "0"))
