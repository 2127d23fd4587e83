"""`supervisor run --jobs 3` in a real terminal of 80 and of 120 columns."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Final

import pytest

from real_hosts.terminal import Terminal
from support.git_projects import git
from support.run_agents import Runs, hangs
from support.scene import staged

pytestmark = pytest.mark.proves("runs and the journal")

ROWS, WIDTH = 26, 80
AGENT: Final = """
import re
found = re.search(r"The task that is ready:\\n```text\\n(T\\d+): ", prompt)
if not found:
    names = ["read the words of a line", "a comment ends a line", "numbers have a sign"]
    names += ["strings hold any character", "lists nest, and an empty one is a list all the same"]
    names += ["name the line in every error"]
    tool("task_batch_add", tasks=[{"content": name} for name in names])
    tool("task_add", content="publish the package", status="blocked")
    tool("task_depends", id="T5", depends_on="T2")
    tool("note_add", type="stuck", content="there is no token for the package index")
    print("I wrote the work down as seven tasks.")
elif found[1] == "T1":
    pathlib.Path("words.py").touch()
    print("I begin with the words.")
    tool("task_status", id="T1", status="completed")
else:
    said = {"T2": "One test fails: a comment behind a string is", "T3": "I look at how signs are read"}
    print("[Write] " + found[1].lower() + ".py", flush=True)
    print(said.get(found[1], "Strings come next"), end="", flush=True)
    hang()
"""
SCROLLED: Final = (
    r"agent \d+ +\d+ \w+",
    r"verdict \d+ +sent back \d/\d+: \d open tasks",
    r"│ \d+ +\[Write\] t\d.py",
)
SHOWN: Final = (
    r"─{60,}",
    r"iteration \d/\d+, at most 3 at once · run \d\d:\d\d · \d\d:\d\d left",
    r"\d · \d\d:\d\d · (One test fails: a comment behind a string is|no output for \d\d:\d\d)",
    r"\d · \d\d:\d\d · (I look at how signs are read|no output for \d\d:\d\d)",
    r"\d · \d\d:\d\d · (Strings come next|no output for \d\d:\d\d)",
    r"tasks: 1 of 7 completed",
    r"✖ T7 blocked, \d+ \w+: publish the package",
    r"! N8 stuck, \d+ \w+: there is no token for the package index",
    r"▸ T2 in progress, \d+ \w+: a comment ends a line",
    r"○ T5 remaining, after T2, \d+ \w+: lists nest, and an empty one is a list",
    r"p pause after this iteration   a add a task   n note to the next   q stop now",
)
"""What stays below, line by line; other lines may be between them."""
WHOLE: Final = "".join((r"(?s)\A", *(f"(?=.*{one})" for one in SCROLLED), ".*", ".*\n.*".join(SHOWN)))


@pytest.fixture
async def runs(tmp_path: Path) -> AsyncIterator[Runs]:
    async with staged(tmp_path) as stage:
        for name in ("user.name", "user.email"):
            git(stage.scene.project, "config", name, "a@b")
        (tmp_path / "spec.md").write_text("A parser.", encoding="utf-8")
        yield Runs(stage, tmp_path)


async def test_each_of_several_agents_has_a_line_that_fits_and_the_page_shows_it(
    runs: Runs, tmp_path: Path
) -> None:
    runs.agent(AGENT)
    spec, scene = str(tmp_path / "spec.md"), runs.stage.scene
    command = runs.command("--spec", spec, "--check", "true", "--jobs", "3", goal=False)
    environment = {**scene.environment, "TERM": "tmux-256color"}
    with (
        runs.wire() as wire,
        Terminal.running(command, tmp_path, scene.project, environment, (WIDTH, ROWS)) as terminal,
    ):
        for _ in range(3):
            hangs(wire)
        lines = terminal.wait_for(WHOLE).splitlines()
        terminal.press("C-c")
        terminal.wait_for("interrupted")
        terminal.wait_for_end()
    below = lines[next(number for number, line in enumerate(lines) if line.startswith("───")) :]
    assert max(map(len, below)) < WIDTH  # joined where the terminal wrapped them
