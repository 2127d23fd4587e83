"""Which test runner a project has: the first sign found decides, and the gate says which it was.

Nothing is executed here. `PYTEST` names no interpreter: `gates` chooses the project's own when it runs.
"""

from __future__ import annotations

from itertools import chain, islice
from typing import TYPE_CHECKING, Final

import msgspec
from msgspec import Struct

from sidecar.model.gate import Gate

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

PYTEST: Final = "python -m pytest -q"
"""The gate of a Python project."""
PACKAGE_LIMIT: Final = 1 << 20
"""Bytes of a package.json that are read."""
SEARCHED: Final = 2_000
"""Files and folders below a test folder among which a test file is looked for."""
PLACEHOLDER: Final = "no test specified"
"""What npm writes into a new package.json in place of tests."""


class _Package(Struct, frozen=True):
    """The part of a package.json that matters here."""

    scripts: dict[str, object] = {}


def detect(project: Path) -> Gate | None:
    """The project's test runner with the reason, None where undetermined. Never raises."""
    for command, sign in RUNNERS:
        try:
            why = sign(project)
        except (OSError, ValueError, msgspec.DecodeError):
            why = ""
        if why:
            return Gate(id="tests", command=command, why=why, counts=True)
    return None


def _file(*names: str) -> Callable[[Path], str]:
    """Make a sign of the first of these files that the project has."""

    def sign(project: Path) -> str:
        return next((f"the project has a {name}" for name in names if (project / name).is_file()), "")

    return sign


def _npm(project: Path) -> str:
    with (project / "package.json").open("rb") as file:
        package = msgspec.json.decode(file.read(PACKAGE_LIMIT), type=_Package)
    script = str(package.scripts.get("test") or "").strip()
    return (
        f"package.json has the test script `{script[:100]}`" if script and PLACEHOLDER not in script else ""
    )


def _pytest(project: Path) -> str:
    """Look for settings that belong to Python, then for test files: beside them only in test folders."""
    named = _file("pyproject.toml", "pytest.ini", ".pytest.ini", "setup.cfg", "setup.py")(project)
    folders = (project / "tests").rglob("*"), (project / "test").rglob("*"), project.glob("*")
    below = chain.from_iterable(islice(folder, SEARCHED) for folder in folders)
    tests = (path.name for path in below if path.match("test_*.py"))
    return named or next((f"the project has tests such as {name}" for name in tests), "")


RUNNERS: Final[tuple[tuple[str, Callable[[Path], str]], ...]] = (
    ("go test ./...", _file("go.mod")),
    ("npm test", _npm),
    (PYTEST, _pytest),
    ("cargo test", _file("Cargo.toml")),
    ("bundle exec rspec", _file("Gemfile")),
    ("mix test", _file("mix.exs")),
)
"""Command and sign, in the order in which they are tried (SYSTEMS.md, section 2)."""
