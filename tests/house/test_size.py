"""What there is to read stays within the budgets of `[tool.supervisor.size]` in pyproject.toml."""

from __future__ import annotations

import ast
import subprocess
import tomllib
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, Final

import pytest

ROOT: Final = Path(__file__).resolve().parent.parent.parent
BUDGET: Final[Mapping[str, Any]] = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))[
    "tool"
]["supervisor"]["size"]
CODE: Final = ("sidecar", "hooks")


def _files(folders: Iterable[str], pattern: str) -> Iterator[Path]:
    for folder in folders:
        for path in (ROOT / folder).rglob(pattern):
            if not path.is_symlink() and "_plugin" not in path.parts:
                yield path


def _code_lines(path: Path) -> int:
    """The lines of a Python file without docstrings, comments and blanks."""
    text = path.read_text(encoding="utf-8")
    docs = {
        line
        for node in ast.walk(ast.parse(text))
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
        if isinstance(node.value.value, str)
        for line in range(node.lineno, (node.end_lineno or node.lineno) + 1)
    }
    return sum(
        1
        for number, line in enumerate(text.split("\n"), 1)
        if line.strip() and not line.strip().startswith("#") and number not in docs
    )


def _room(path: Path) -> str:
    """`sidecar/ROOM`, or the first folder."""
    parts = path.relative_to(ROOT).parts
    return "/".join(parts[: 2 if len(parts) > 2 else 1])


def _hold(name: str, found: float, where: str) -> None:
    limit = BUDGET[name]
    assert found <= limit, f"{name}: {found:,} is {found - limit:,} over the budget of {limit:,}. {where}"


def test_the_code_is_within_its_budget() -> None:
    files = list(_files(CODE, "*.py"))
    found: Counter[str] = Counter()
    for path in files:
        found[_room(path)] += _code_lines(path)
    over = {room: lines - BUDGET["rooms"].get(room, 0) for room, lines in found.items()}
    grown = [f"{room} +{by:,}" for room, by in sorted(over.items(), key=lambda row: -row[1]) if by > 0]
    _hold("code_lines", found.total(), f"Since the budget was set: {', '.join(grown)}")
    count = Counter(_room(path) for path in files)
    _hold("code_files", count.total(), f"Now: {dict(count)}")


def test_the_data_is_within_its_budget() -> None:
    found = {
        path.name: len(path.read_text(encoding="utf-8").splitlines())
        for path in _files(("sidecar/data",), "*.toml")
    }
    _hold("data_lines", sum(found.values()), f"Now: {found}")


def test_the_tests_are_within_their_budget() -> None:
    found: Counter[str] = Counter()
    for path in _files(("tests",), "*.py"):
        found[_room(path)] += len(path.read_text(encoding="utf-8").splitlines())
    _hold("test_lines", found.total(), f"Now: {dict(found.most_common())}")


@pytest.mark.process
def test_the_repository_without_its_history_is_within_its_budget() -> None:
    command = ("git", "-C", str(ROOT), "ls-files", "-z", "--cached", "--others", "--exclude-standard")
    listed = subprocess.run(command, capture_output=True, text=True, check=False)
    if listed.returncode:
        pytest.skip("this is no checkout")
    found: Counter[str] = Counter()
    for name in filter(None, listed.stdout.split("\0")):
        if (path := ROOT / name).is_file() and not path.is_symlink():
            found[_room(path)] += path.stat().st_size
    _hold("repository_bytes", found.total(), f"The largest: {dict(found.most_common(8))}")
