"""A real editor: Neovim with its built-in client, in a home of its own, set up as docs/rubric.md says."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import msgspec
import pytest

from real_hosts.install import missing
from sidecar.rubric.reader import parse_rubric

pytestmark = pytest.mark.proves("rubrics in an editor")

ROOT = Path(__file__).resolve().parent.parent.parent
LIMIT_S = 240.0
GOOD = """\
# Ours

## Patterns

- **DONE**: a test fails without the change

## Antipatterns

- **NO-PRINT**: a print statement is left in the diff
"""


@pytest.fixture(scope="session")
def nvim() -> str:
    """The editor on PATH."""
    return shutil.which("nvim") or missing("nvim is not on PATH")


@pytest.fixture
def seen(nvim: str, tmp_path: Path) -> Any:
    """What the editor showed while a rubric was opened, broken and mended: see neovim.lua."""
    home, project = tmp_path / "home", tmp_path / "shop é"
    (home / ".config" / "nvim").mkdir(parents=True)
    (home / ".config" / "nvim" / "init.lua").write_text(settings(), encoding="utf-8")
    rubric, elsewhere = project / ".supervisor" / "rubric.md", project / "grading" / "rubric.md"
    for path in (rubric, elsewhere):
        path.parent.mkdir(parents=True)
        path.write_text(GOOD, encoding="utf-8")
    script = Path(__file__).with_name("neovim.lua")
    programs = os.pathsep.join((str(Path(sys.executable).parent), "/usr/local/bin", "/usr/bin", "/bin"))
    done = subprocess.run(
        [nvim, "--headless", "-n", "-i", "NONE", "-c", f"luafile {script}", str(rubric)],
        cwd=project,
        env={"HOME": str(home), "PATH": programs, "LANG": "C.UTF-8", "ELSEWHERE": str(elsewhere)},
        capture_output=True,
        text=True,
        timeout=LIMIT_S,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return msgspec.json.decode(done.stdout)


def settings() -> str:
    """The Lua that the documents give to users of Neovim 0.7 and newer."""
    page = (ROOT / "docs" / "rubric.md").read_text(encoding="utf-8")
    found = re.search(r"```lua\n(?P<lua>.*?)```", page, re.DOTALL)
    assert found is not None
    return found["lua"]


def test_a_rubric_is_opened_broken_and_mended_in_neovim(seen: Any) -> None:
    assert seen["opened"] == []
    (fault,) = [found for found in seen["broken"] if found["severity"] == 1]
    assert fault["message"].startswith("the section `## Antipatterns` has no criterion")
    assert (fault["line"], fault["source"]) == (
        GOOD.split("\n").index("## Antipatterns"),
        "supervisor-rubric",
    )
    assert seen["offered"]
    assert parse_rubric("\n".join(seen["cured"])).antipatterns
    assert seen["hover"].startswith("DONE (done)\n")
    assert "## Legitimate stops" in seen["completed"]
    assert set(seen["published"]) == {".supervisor"}, "of a rubric.md in another place nothing is said"
