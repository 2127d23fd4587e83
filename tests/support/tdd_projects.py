"""Two small projects that lack a behaviour, its test, and the code that makes it pass."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final

from support.git_projects import everything

SPEC: Final = "sub(a, b) subtracts b from a"
PYTHON: Final = {
    "pyproject.toml": '[tool.pytest.ini_options]\npythonpath = ["."]\n',
    "calc.py": "def add(a, b):\n    return a + b\n",
    "tests/test_calc.py": "from calc import add\n\n\ndef test_add():\n    assert add(1, 2) == 3\n",
}
SUB_TEST: Final = "from calc import sub\n\n\ndef test_sub():\n    assert sub(30, 13) == 17\n"
SUB: Final = PYTHON["calc.py"] + "\n\ndef sub(a, b):\n    return a - b\n"
NODE: Final = {
    "package.json": '{"type": "module", "scripts": {"test": "node --test"}}',
    "calc.js": "export const add = (a, b) => a + b;\n",
    "calc.test.js": 'import test from "node:test"; import assert from "node:assert";\n'
    'import { add } from "./calc.js";\ntest("adds", () => assert.equal(add(1, 2), 3));\n',
}
SUB_TEST_JS: Final = (
    'import test from "node:test"; import assert from "node:assert";\n'
    'import { sub } from "./calc.js";\ntest("subtracts", () => assert.equal(sub(30, 13), 17));\n'
)
SUB_JS: Final = NODE["calc.js"] + "export const sub = (a, b) => a - b;\n"


def lay_out(project: Path, files: Mapping[str, str]) -> None:
    """Write files, in a folder that may be there already."""
    for name, text in files.items():
        (project / name).parent.mkdir(parents=True, exist_ok=True)
        (project / name).write_text(text)


def contents(project: Path, but: Sequence[str] = ()) -> dict[str, str]:
    """Every file of a project, by its path; but for what lies in folders, or is a file, of these names."""
    return {
        name: content.decode()
        for name, (_, content) in everything(project).items()
        if not {*but} & {*Path(name).parts}
    }
