"""A run that ends well because nothing was executed decides nothing, and says what was seen."""

from __future__ import annotations

import json
import os
import shutil
import sys
from pathlib import Path
from typing import Final

import pytest

from sidecar.evidence.detection.detect import detect_gates
from sidecar.evidence.gates.runner import run_gate_once
from sidecar.evidence.ports import GateContext
from sidecar.kernel.gate import Gate, GateRun, Kind, Outcome
from support.projects import lay

pytestmark = pytest.mark.process

LIMIT_S: Final = 60.0
PATH: Final = os.pathsep.join((str(Path(sys.executable).parent), os.environ["PATH"]))
CASE: Final = "const t = require('node:test')\nt('adds', () => {})\n"
PRINTER: Final = "#!/bin/sh\nprintf '%s\\n' \"$TURBO_FORCE $NX_SKIP_NX_CACHE\"\ncat said\n"


def scripts(**texts: str) -> dict[str, str | bytes]:
    return {"package.json": json.dumps({"scripts": texts})}


async def ended(project: Path, command: str, *, counts: bool = True, kind: Kind = Kind.TESTS) -> GateRun:
    gate = Gate(id="tests", command=command, why="", kind=kind, counts=counts)
    at = GateContext(project=str(project), tree="t", environment={"PATH": PATH})
    return await run_gate_once(gate, at, LIMIT_S)


@pytest.mark.skipif(not shutil.which("npm"), reason="npm is not here")
@pytest.mark.parametrize("counts", [True, False], ids=["detected", "typed"])
@pytest.mark.parametrize("script", ["true", ":", "exit 0", "echo TODO", "node --test --help", "npm run"])
async def test_a_script_that_only_prints_executes_nothing(
    script: str, tmp_path: Path, *, counts: bool
) -> None:
    lay(tmp_path, scripts(test=script))
    done = await ended(tmp_path, "npm test", counts=counts)
    assert (done.outcome, done.exit_code) == (Outcome.COULD_NOT_RUN, 0)
    assert done.reason == f"nothing was executed: `npm test` only prints or prepares: `{script}`"


@pytest.mark.skipif(not shutil.which("npm"), reason="npm is not here")
@pytest.mark.parametrize(
    "script", ["node check.js", "npm run unit", "echo start && node --test", "sh all.sh"]
)
async def test_a_script_that_starts_tests_or_a_program_passes(script: str, tmp_path: Path) -> None:
    files = {"check.js": "", "all.sh": "node check.js", "a.test.js": CASE}
    lay(tmp_path, {**scripts(test=script, unit="node --test"), **files})
    assert (await ended(tmp_path, "npm test")).outcome is Outcome.PASSED


@pytest.mark.skipif(not shutil.which("npm"), reason="npm is not here")
async def test_tests_that_only_compile_executed_none(tmp_path: Path) -> None:
    lay(tmp_path, {**scripts(test="tsc"), "tsc": "#!/bin/sh\n", "node_modules/.bin/tsc": "#!/bin/sh\n"})
    (tmp_path / "node_modules/.bin/tsc").chmod(0o755)
    done = await ended(tmp_path, "npm test")
    assert (done.outcome, done.reason) == (
        Outcome.COULD_NOT_RUN,
        "nothing was executed that tests: `npm test` starts `tsc`",
    )
    assert (await ended(tmp_path, "npm test", counts=False, kind=Kind.BUILD)).outcome is Outcome.PASSED


@pytest.mark.skipif(not shutil.which("make"), reason="make is not here")
async def test_a_recipe_that_only_prints_executes_nothing(tmp_path: Path) -> None:
    lay(
        tmp_path,
        {
            "Makefile": ".PHONY: test\ntest:\n\t@echo TODO\n",
            "more.mk": "test:\n\t./more\n",
            "more": "#!/bin/sh",
        },
    )
    (tmp_path / "more").chmod(0o755)
    done = await ended(tmp_path, "make test", counts=False)
    assert done.reason == "nothing was executed: `make test` only prints or prepares: `echo TODO`"
    assert (await ended(tmp_path, "make -f more.mk test")).outcome is Outcome.PASSED


@pytest.mark.parametrize("script", ["#!/bin/sh\n", "#!/bin/sh\ntrue\n"])
async def test_a_silent_command_that_the_user_typed_is_their_word(script: str, tmp_path: Path) -> None:
    lay(tmp_path, {"smoke.sh": script})
    (tmp_path / "smoke.sh").chmod(0o755)
    assert (await ended(tmp_path, "./smoke.sh", counts=False, kind=Kind.CHECK)).outcome is Outcome.PASSED


@pytest.mark.skipif(not shutil.which("make"), reason="make is not here")
@pytest.mark.parametrize("counts", [True, False], ids=["detected", "typed"])
async def test_a_target_that_is_up_to_date_executes_nothing(tmp_path: Path, *, counts: bool) -> None:
    lay(tmp_path, {"Makefile": "test:\n\texit 1\ncheck: test\n", "test": "", **scripts(test="make -s test")})
    for command in (
        "make test",
        "make -s test",
        "make check",
        "npm test" if shutil.which("npm") else "make test",
    ):
        done = await ended(tmp_path, command, counts=counts, kind=Kind.TESTS if counts else Kind.CHECK)
        assert (done.outcome, done.reason) == (
            Outcome.COULD_NOT_RUN,
            f"nothing was executed: for `{command}` everything is up to date already",
        )


@pytest.mark.skipif(not shutil.which("make"), reason="make is not here")
@pytest.mark.parametrize(
    ("makefile", "command"),
    [
        (".PHONY: test\ntest:\n\t./run\n", "make test"),
        ("test: out\n\t./run\nout: run\n\tcp run out\n", "make test"),
        ("check:\n\t$(MAKE) inner\ninner:\n\t./run\n", "make check"),
        ("build: run\n", "make build"),
    ],
)
async def test_a_target_that_runs_something_passes_each_time(
    makefile: str, command: str, tmp_path: Path
) -> None:
    lay(tmp_path, {"Makefile": makefile, "run": "#!/bin/sh\n"})
    (tmp_path / "run").chmod(0o755)
    kind = Kind.BUILD if "build" in command else Kind.TESTS
    ends = [(await ended(tmp_path, command, counts=kind is Kind.TESTS, kind=kind)).outcome for _ in range(2)]
    assert ends == [Outcome.PASSED, Outcome.PASSED]


@pytest.mark.skipif(not shutil.which("npm"), reason="npm is not here")
async def test_a_red_test_deep_in_the_tree_is_found_beside_a_green_root(tmp_path: Path) -> None:
    files = {
        **scripts(test="node --test"),
        "requirements.txt": "flask\n",
        "a.test.js": CASE,
        "api/cart.py": "def total():\n    return 2\n",
        "api/tests/test_cart.py": "from cart import total\n\n\ndef test_total():\n    assert total() == 3\n",
    }
    gates = detect_gates(lay(tmp_path, files), {})
    at = GateContext(project=str(tmp_path), tree="t", environment={"PATH": PATH})
    ends = {gate.named: await run_gate_once(gate, at, LIMIT_S) for gate in gates}
    assert {name: done.outcome for name, done in ends.items()} == {
        "`npm test`": Outcome.PASSED,
        "`python -m pytest -q` in api": Outcome.FAILED,
    }
    assert (
        ends["`python -m pytest -q` in api"]
        .failures[0]
        .startswith("tests/test_cart.py::test_total: assert 2 == 3")
    )


@pytest.mark.parametrize(
    ("said", "replayed"),
    [
        (
            "app:test: cache hit, replaying logs\nTests: 3 passed, 3 total\n Cached:    1 cached, 1 total\n",
            True,
        ),
        ("   Nx read the output from the cache instead of running the command for 1 out of 1 tasks.\n", True),
        (
            "app:test: cache miss, executing\nTests: 3 passed, 3 total\n\n Cached:    0 cached, 1 total\n",
            False,
        ),
    ],
)
async def test_a_replayed_result_is_none_and_caches_are_off(
    said: str, tmp_path: Path, *, replayed: bool
) -> None:
    lay(tmp_path, {"turbo": PRINTER, "said": said})
    (tmp_path / "turbo").chmod(0o755)
    done = await ended(tmp_path, "./turbo run test")
    assert done.output.startswith("true true\n")
    assert (done.outcome is Outcome.COULD_NOT_RUN) is replayed
    reason = "nothing was executed: an earlier result was replayed from a cache"
    assert done.reason == (reason if replayed else "")
