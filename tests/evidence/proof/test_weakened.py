"""A command of a check that ends well whatever it finds is a finding; honest changes of commands are none."""

from __future__ import annotations

import json

from sidecar.evidence.proof.policy import grave_findings
from sidecar.evidence.proof.weakened import find_weakened_commands
from sidecar.kernel.evidence import CheckChange, FileChange
from sidecar.kernel.gate import Kind
from support.table import over_table

CI = ".github/workflows/ci.yml"


def package(**scripts: str) -> str:
    return json.dumps({"scripts": scripts}, indent=2)


def make(*lines: str) -> str:
    return ".PHONY: test\n\ntest: build\n" + "".join(f"\t{line}\n" for line in lines)


def steps(*runs: str) -> str:
    return "on: push\njobs:\n  test:\n    steps:\n" + "".join(f"      - run: {run}\n" for run in runs)


def script(*lines: str) -> str:
    return "#!/bin/sh\n" + "\n".join(lines) + "\n"


WEAKENED: dict[str, tuple[str, str, str, int]] = {
    "or true": ("package.json", package(test="jest"), package(test="jest || true"), 3),
    "then true": ("package.json", package(test="jest"), package(test="jest; true"), 3),
    "or exit 0": ("package.json", package(test="jest"), package(test="jest || exit 0"), 3),
    "passes with nothing": ("package.json", package(test="jest"), package(test="jest --passWithNoTests"), 3),
    "a part": ("package.json", package(test="jest"), package(test="jest -t total"), 3),
    "half of a chain": (
        "package.json",
        package(test="node a.js && node b.js"),
        package(test="node a.js"),
        0,
    ),
    "replaced by nothing": ("package.json", package(test="node a.js"), package(test="true"), 0),
    "deselected in make": ("Makefile", make("pytest -q"), make("pytest -q --deselect tests/a.py::b"), 4),
    "ignored by make": ("Makefile", make("pytest -q"), make("-pytest -q"), 4),
    "make itself ignores": ("ci/run.sh", script("make test"), script("make -i test"), 2),
    "a linter that exits with 0": ("Makefile", make("ruff check ."), make("ruff check --exit-zero ."), 4),
    "a step that may fail": (
        CI,
        steps("pytest -q"),
        steps("pytest -q\n        continue-on-error: true"),
        5,
    ),
    "a step of CI": (CI, steps("pip install .", "pytest -q"), steps("pip install .", "pytest -q || true"), 6),
    "one of several lines": (
        CI,
        steps("|\n          pip install .\n          pytest -q"),
        steps("|\n          pip install .\n          pytest -q || true"),
        7,
    ),
    "an exit in several lines": (
        CI,
        steps("|\n          pip install .\n          pytest -q"),
        steps("|\n          pip install .\n          pytest -q || exit 0\n          echo done"),
        7,
    ),
    "set -e is gone": (
        "ci/run.sh",
        script("set -e", "pytest -q", "echo done"),
        script("pytest -q", "echo done"),
        2,
    ),
}
HONEST: dict[str, tuple[str, str, str]] = {
    "it was so before": ("Makefile", make("ruff check . || true"), make("ruff check . || true", "pytest")),
    "a step is new": (CI, steps("pytest -q"), steps("pytest -q", "ruff check . || true")),
    "a script is new": ("package.json", package(test="jest"), package(test="jest", lint="eslint . || true")),
    "a script is renamed": ("package.json", package(test="jest"), package(tests="jest")),
    "one is moved to its own": (
        "package.json",
        package(test="eslint . && jest"),
        package(test="jest", lint="eslint ."),
    ),
    "another runner": ("package.json", package(test="jest"), package(test="vitest run")),
    "parts became the whole": ("Makefile", make("pytest a.py && pytest b.py"), make("pytest")),
    "more words": ("Makefile", make("pytest"), make("pytest -q --tb=short")),
    "a step before": ("package.json", package(test="jest"), package(test="npm run build && jest")),
    "nothing of checks": ("Makefile", make("pytest", "rm -f x"), make("pytest", "rm -f x || true")),
    "a step of CI is gone": (CI, steps("pytest -q", "ruff check ."), steps("pytest -q")),
    "it may not fail any more": (
        CI,
        steps("pytest -q\n        continue-on-error: true"),
        steps("pytest -q"),
    ),
    "no text of its kind": ("package.json", package(test="jest"), "{"),
    "a broken CI file": (CI, steps("pytest -q"), "a: [\n"),
    "a document": ("README.md", "pytest\n", "pytest || true\n"),
}


@over_table(("path", "before", "after", "line"), WEAKENED.values(), ids=WEAKENED)
def test_a_command_that_was_weakened_is_grave(path: str, before: str, after: str, line: int) -> None:
    (found,) = find_weakened_commands((FileChange(path=path, before=before, after=after),))
    assert (found.change, found.file, found.line) == (CheckChange.COMMAND_WEAKENED, path, line)
    assert grave_findings((found,)) == (found,)
    assert found.kinds in ((Kind.TESTS,), (Kind.LINT,))


@over_table(("path", "before", "after"), HONEST.values(), ids=HONEST)
def test_an_honest_change_of_commands_is_none(path: str, before: str, after: str) -> None:
    assert find_weakened_commands((FileChange(path=path, before=before, after=after),)) == ()


def test_a_ci_file_of_aliases_is_read_once() -> None:
    nested = "a0: &a0 [{run: pytest}]\n" + "".join(
        f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 9)}]\n" for n in range(1, 30)
    )
    change = FileChange(path=CI, before=nested, after=nested.replace("pytest", "pytest || true"))
    assert len(find_weakened_commands((change,))) == 1


def test_a_check_that_another_file_has_now_is_not_lost() -> None:
    moved = (
        FileChange(path="package.json", before=package(test="eslint . && jest"), after=package(test="jest")),
        FileChange(path="Makefile", before=make("jest"), after=make("jest") + "lint:\n\teslint .\n"),
    )
    assert find_weakened_commands(moved) == ()
