"""Every contract of pyproject.toml bites: one wrong import, and import-linter names the contract that broke.

Each row plants a small lie in a copy of the tree. The copy passes before, so what breaks is the lie.
"""

import re
import shutil
import subprocess
import sys
import tomllib
from dataclasses import dataclass
from pathlib import Path

import pytest

CHECKOUT = Path(__file__).parents[2]
CONTRACTS = [
    contract["name"]
    for contract in tomllib.loads((CHECKOUT / "pyproject.toml").read_text(encoding="utf-8"))["tool"][
        "importlinter"
    ]["contracts"]
]

DOWN_ONLY = "Imports go down only"
NO_CYCLES = "Neighbours form no cycles"
PURE = "Model and policy know no I/O, no clock and no log"
PROCESSES = "Only adapters.processes starts processes"
TERMINAL = "Only cli speaks to a terminal"
GRAMMARS = "Only adapters.grammar parses other languages"
EDITORS = "Only servers.rubric_language speaks the Language Server Protocol"
AGENTS = "Only servers.mcp speaks MCP: session, lines and http"
WEB = "Only servers.mcp.http serves HTTP"
HTTP = "Only adapters.judges.http speaks HTTP"
SECRETS = "Only adapters.secrets knows what secrets look like"
MARKDOWN = "Only adapters.rubrics.markdown reads Markdown"
WATCHING = "Only adapters.watching knows watchdog"


@dataclass(frozen=True)
class Lie:
    contract: str
    says: str
    files: dict[str, str]


LIES = [
    Lie(DOWN_ONLY, "model imports policy", {"model/planted.py": "import sidecar.policy"}),
    Lie(DOWN_ONLY, "policy imports ports", {"policy/planted.py": "import sidecar.ports"}),
    Lie(DOWN_ONLY, "app imports adapters", {"app/planted.py": "import sidecar.adapters"}),
    Lie(DOWN_ONLY, "servers import adapters", {"servers/planted.py": "import sidecar.adapters"}),
    Lie(DOWN_ONLY, "adapters import servers", {"adapters/planted.py": "import sidecar.servers"}),
    Lie(DOWN_ONLY, "adapters import wiring", {"adapters/planted.py": "import sidecar.wiring"}),
    Lie(DOWN_ONLY, "a room is on no storey", {"attic.py": ""}),
    Lie(
        NO_CYCLES,
        "two rooms import each other",
        {
            "policy/planted_one.py": "import sidecar.policy.planted_two",
            "policy/planted_two.py": "import sidecar.policy.planted_one",
        },
    ),
    Lie(PURE, "policy reads the clock", {"policy/planted.py": "import time"}),
    Lie(PURE, "model reads files", {"model/planted.py": "from pathlib import Path"}),
    Lie(PURE, "policy writes a log", {"policy/planted.py": "def log(): import logging"}),
    Lie(PROCESSES, "an adapter starts a process", {"adapters/planted.py": "import subprocess"}),
    Lie(PROCESSES, "wiring starts a process", {"wiring.py": "import subprocess"}),
    Lie(TERMINAL, "app imports click", {"app/planted.py": "import click"}),
    Lie(TERMINAL, "a server imports rich", {"servers/planted.py": "from rich.console import Console"}),
    Lie(SECRETS, "another adapter looks for secrets", {"adapters/planted.py": "import detect_secrets"}),
    Lie(GRAMMARS, "another adapter parses", {"adapters/planted.py": "import tree_sitter"}),
    Lie(AGENTS, "a tool knows the protocol", {"servers/tools/planted.py": "from mcp.types import Tool"}),
    Lie(WEB, "another server listens", {"servers/planted.py": "import uvicorn"}),
    Lie(
        WEB,
        "a tool answers requests",
        {"servers/tools/planted.py": "from starlette.responses import Response"},
    ),
    Lie(AGENTS, "a verb imports the protocol", {"cli/planted.py": "def late(): import mcp_types"}),
    Lie(AGENTS, "app waits with anyio", {"app/planted.py": "import anyio"}),
    Lie(EDITORS, "another server speaks LSP", {"servers/planted.py": "from lsprotocol import types"}),
    Lie(EDITORS, "a verb starts a language server", {"cli/planted.py": "import pygls"}),
    Lie(HTTP, "another backend speaks HTTP", {"adapters/judges/planted.py": "import httpx2"}),
    Lie(HTTP, "app tries again by itself", {"app/planted.py": "import stamina"}),
    Lie(MARKDOWN, "app imports markdown_it", {"app/planted.py": "import markdown_it"}),
    Lie(MARKDOWN, "another rubric module parses", {"adapters/rubrics/planted.py": "import markdown_it"}),
    Lie(WATCHING, "another adapter watches folders", {"adapters/planted.py": "import watchdog.observers"}),
]

TRUTHS = {
    "cli/planted.py": "import click\nimport rich\nimport sidecar.wiring",
    "adapters/processes.py": "import subprocess",
    "adapters/rubrics/markdown.py": "import markdown_it",
    "adapters/watching.py": "import watchdog",
    "adapters/grammar.py": "import tree_sitter",
    "servers/mcp/session.py": "import mcp",
    "servers/mcp/lines.py": "import anyio\nimport mcp",
    "servers/mcp/http.py": "import mcp\nimport mcp_types\nimport starlette\nimport uvicorn",
    "servers/rubric_language/planted.py": "import lsprotocol\nimport pygls",
    "adapters/secrets.py": "import detect_secrets",
    "adapters/judges/http.py": "import httpx2",
    "policy/planted.py": "import re\nimport msgspec\nimport sidecar.model",
}


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    shutil.copytree(CHECKOUT / "sidecar", tmp_path / "sidecar", ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copy(CHECKOUT / "pyproject.toml", tmp_path)
    return tmp_path


def plant(tree: Path, files: dict[str, str]) -> None:
    for name, text in files.items():
        with (tree / "sidecar" / name).open("a", encoding="utf-8") as file:
            file.write(f"\n{text}\n")


def verdicts(tree: Path) -> dict[str, str]:
    """Run import-linter on a tree; what it said about each contract."""
    linter = Path(sys.executable).with_name("lint-imports")
    run = subprocess.run(
        [linter, "--no-cache", "--no-logo"], cwd=tree, capture_output=True, text=True, check=False
    )
    said = dict(re.findall(r"^(.+) (KEPT|BROKEN)\b", run.stdout, flags=re.MULTILINE))
    assert list(said) == CONTRACTS, run.stdout + run.stderr
    assert run.returncode == ("BROKEN" in said.values())
    return said


def test_the_tree_keeps_every_contract(tree: Path) -> None:
    assert set(verdicts(tree).values()) == {"KEPT"}


def test_every_door_opens_for_its_keeper(tree: Path) -> None:
    plant(tree, TRUTHS)

    assert set(verdicts(tree).values()) == {"KEPT"}


@pytest.mark.parametrize("lie", [pytest.param(lie, id=lie.says) for lie in LIES])
def test_a_wrong_import_breaks_its_contract(tree: Path, lie: Lie) -> None:
    plant(tree, lie.files)

    assert verdicts(tree)[lie.contract] == "BROKEN"


def test_every_contract_has_a_lie_to_catch() -> None:
    assert {lie.contract for lie in LIES} == set(CONTRACTS)
