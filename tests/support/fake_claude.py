"""A `claude` that says what it was given to say, and writes down how it was called."""

from __future__ import annotations

import json
import os
from typing import TYPE_CHECKING, Any

from sidecar.kernel.effects import JudgeCase
from sidecar.kernel.evidence import Evidence, Source
from support.cases import RUBRIC

if TYPE_CHECKING:
    from pathlib import Path

CASE = JudgeCase(
    condition="the parser accepts comments",
    suspicion="",
    prompts=("Write a parser.",),
    rubric=RUBRIC,
    evidence=(Evidence(id="E1", source=Source.GATE, fact="Supervisor ran `pytest`: passed"),),
    last_message="All done.",
)
COMPLETE = {
    "verdict": "complete",
    "criteria": [{"criterion": "the tests pass", "evidence": ["E1"]}],
    "confidence": 0.9,
}
USAGE = {
    "input_tokens": 1,
    "cache_creation_input_tokens": 20,
    "cache_read_input_tokens": 5000,
    "output_tokens": 300,
}
SCRIPT = """#!/bin/sh
cd_at_start=$(pwd)
cd {folder}
n=$(ls | grep -c stdin)
cat > stdin.$n
printf '%s\\0' "$@" > arguments.$n
env > environment.$n
printf '%s' "$cd_at_start" > folder.$n
ls -A "$cd_at_start" > listing.$n
[ ! -e hold ] || {{ exec 9> hold; echo here >&9; sleep 600; }}
[ -e says.$n ] || n=last
cat says.$n
[ ! -e complains.$n ] || cat complains.$n >&2
exit $(cat ends.$n)
"""


def result(**fields: Any) -> str:
    """Build what `claude -p --output-format json` prints."""
    said = {"type": "result", "subtype": "success", "is_error": False, "result": "", "usage": USAGE}
    return json.dumps(said | {"total_cost_usd": 0.0125} | fields)


def structured(verdict: dict[str, Any]) -> str:
    """Build the result of a model that gave this verdict."""
    return result(structured_output={"answer": verdict})


class FakeClaude:
    """The program `folder/bin/claude`."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._notes = folder / "notes"
        self._notes.mkdir(parents=True)
        self.program = folder / "bin" / "claude"
        self.program.parent.mkdir()
        self.program.write_text(SCRIPT.format(folder=self._notes))
        self.program.chmod(0o755)
        self._said = 0

    @property
    def session(self) -> dict[str, str]:
        """An environment in which it is found."""
        return {"PATH": f"{self.program.parent}{os.pathsep}{os.defpath}", "HOME": str(self.folder)}

    def says(self, output: str | bytes, *, code: int = 0, errors: str = "") -> None:
        """Let it end so at the next call; the last one holds from then on."""
        for name in (f"{self._said}", "last"):
            (self._notes / f"says.{name}").write_bytes(
                output if isinstance(output, bytes) else output.encode()
            )
            (self._notes / f"ends.{name}").write_text(f"{code}")
            (self._notes / f"complains.{name}").write_text(errors)
        self._said += 1

    def holds(self, wire: Path) -> None:
        """Let it write a line into a named pipe, and hold that open without an end."""
        (self._notes / "hold").symlink_to(wire)

    def was(self, what: str, call: int = 0) -> str:
        """Read what it noted: `stdin`, `environment`, `folder` or `listing` of a call."""
        return (self._notes / f"{what}.{call}").read_text()

    def arguments(self, call: int = 0) -> list[str]:
        return self.was("arguments", call).split("\0")[:-1]

    @property
    def calls(self) -> int:
        return len(list(self._notes.glob("stdin.*")))
