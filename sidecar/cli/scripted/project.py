"""A small real project with a test that really fails, in its own folder and with its own home."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from pathlib import Path

from msgspec import Struct

from sidecar.platform.processes import run_process

BROKEN_SOURCE = '''"""Prices."""


def total(prices: list[float], discount: float) -> float:
    """The sum of the prices less a discount between 0 and 1."""
    return sum(prices) - discount
'''
REPAIRED_SOURCE = BROKEN_SOURCE.replace("sum(prices) - discount", "sum(prices) * (1 - discount)")
TEST_SOURCE = """import unittest

from shop import total


class Total(unittest.TestCase):
    def test_a_tenth_is_taken_off(self):
        self.assertEqual(total([10.0, 20.0], 0.1), 27.0)

    def test_nothing_costs_nothing(self):
        self.assertEqual(total([], 0.0), 0.0)
"""
"""Tests that need no package but Python."""
SKIPPED_TEST_SOURCE = TEST_SOURCE.replace("    def test_a", '    @unittest.skip("flaky")\n    def test_a', 1)
"""The same tests, with the failing one skipped."""


class ScriptedScene(Struct, frozen=True):
    """Where the demo is played: project, home, and the complete environment of the processes there."""

    project: Path
    home: Path
    environment: Mapping[str, str]


async def build_shop_project(root: Path, runtime: Path, tests: str = TEST_SOURCE) -> ScriptedScene:
    """Create the project below `root`. `runtime`: the `supervisor` executable that the hooks start."""
    project, home = root / "shop", root / "home"
    state = home / ".local" / "state" / "supervisor"
    for folder in (project, home, state):
        folder.mkdir(parents=True, mode=0o700)
    (project / "shop.py").write_text(BROKEN_SOURCE, encoding="utf-8")
    (project / "test_shop.py").write_text(tests, encoding="utf-8")
    (project / ".gitignore").write_text("__pycache__/\n.pytest_cache/\n", encoding="utf-8")
    (state / "runtime").write_text(f"{runtime}\n", encoding="utf-8")
    scene = ScriptedScene(project=project, home=home, environment=_shop_environment(home))
    identity = "-c user.name=Demo -c user.email=demo@example.invalid"
    await run_process(
        f"git init -q . && git add -A && git {identity} commit -qm 'A shop'",
        cwd=str(project),
        environment=scene.environment,
        seconds=30,
    )
    return scene


def _shop_environment(home: Path) -> dict[str, str]:
    """Nothing of the user's but PATH and language; the tests run with the Python of this process."""
    own = {
        "HOME": str(home),
        "PATH": os.pathsep.join((str(Path(sys.executable).parent), os.environ.get("PATH", os.defpath))),
        "LANG": os.environ.get("LANG", "C.UTF-8"),
        "TERM": "dumb",
        "PYTHONDONTWRITEBYTECODE": "1",
    }
    return own | ({"VIRTUAL_ENV": sys.prefix} if sys.prefix != sys.base_prefix else {})
