"""Every contract of pyproject.toml bites: of wrong imports, import-linter names each under its contract.

All lies are planted in one copy of the tree, each in a module of its own, and looked for in one report.
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

DOWN_ONLY = "Rooms import downwards only"
INDEPENDENT = "Systems are independent of one another"
NO_CYCLES = "Neighbours form no cycles"
PURE = "Kernel and policy know no I/O, no clock and no log"
PROCESSES = "Only platform.processes starts processes"
TERMINAL = "Only cli speaks to a terminal"
GRAMMARS = "Only platform.shell parses shell lines"
EDITORS = "Only servers.rubric_language speaks the Language Server Protocol"
AGENTS = "Only servers.mcp speaks MCP: session, lines and http"
WEB = "Only servers.http_server serves HTTP; mcp.http and page.http answer"
HTTP = "Only platform.http speaks HTTP"
TELEMETRY = "Only platform.telemetry speaks OpenTelemetry"
MARKDOWN = "Only rubric.markdown reads Markdown"
WATCHING = "Only platform.watching knows watchdog"
SQL = "Only platform.event_log and platform.team speak SQL"


@dataclass(frozen=True)
class Lie:
    """One wrong import, in a module of its own in `room`."""

    contract: str
    says: str
    room: str
    text: str


LIES = [
    Lie(DOWN_ONLY, "the kernel imports the platform", "kernel", "import sidecar.platform"),
    Lie(DOWN_ONLY, "the platform imports hosts", "platform", "import sidecar.hosts"),
    Lie(DOWN_ONLY, "hosts import evidence", "hosts", "import sidecar.evidence"),
    Lie(DOWN_ONLY, "evidence imports the rubric", "evidence", "import sidecar.rubric"),
    Lie(DOWN_ONLY, "evidence imports workers", "evidence", "import sidecar.workers"),
    Lie(DOWN_ONLY, "workers import the rubric", "workers", "import sidecar.rubric"),
    Lie(DOWN_ONLY, "workers import judging", "workers", "import sidecar.judging"),
    Lie(DOWN_ONLY, "hosts import workers", "hosts", "import sidecar.workers"),
    Lie(DOWN_ONLY, "the rubric imports judging", "rubric", "import sidecar.judging"),
    Lie(DOWN_ONLY, "judging imports a system", "judging", "import sidecar.systems"),
    Lie(DOWN_ONLY, "a system imports servers", "systems", "import sidecar.servers"),
    Lie(DOWN_ONLY, "servers import wiring", "servers", "import sidecar.wiring"),
    Lie(DOWN_ONLY, "wiring imports the command line", "wiring", "import sidecar.cli"),
    Lie(
        INDEPENDENT,
        "supervision imports iteration",
        "systems/supervision",
        "import sidecar.systems.iteration",
    ),
    Lie(
        INDEPENDENT,
        "iteration imports supervision",
        "systems/iteration",
        "import sidecar.systems.supervision",
    ),
    Lie(PURE, "a policy reads the clock", "systems/supervision/policy", "import time"),
    Lie(PURE, "the kernel reads files", "kernel", "from pathlib import Path"),
    Lie(PURE, "a rule writes a log", "judging/rules", "def log(): import logging"),
    Lie(PROCESSES, "a room starts a process", "platform", "import subprocess"),
    Lie(PROCESSES, "wiring starts a process", "wiring", "import subprocess"),
    Lie(TERMINAL, "a system imports click", "systems/supervision", "import click"),
    Lie(TERMINAL, "a server imports rich", "servers", "from rich.console import Console"),
    Lie(GRAMMARS, "another room parses", "evidence", "import tree_sitter"),
    Lie(AGENTS, "a tool knows the protocol", "servers/tools", "from mcp.types import Tool"),
    Lie(AGENTS, "a verb imports the protocol", "cli", "def late(): import mcp_types"),
    Lie(AGENTS, "a system waits with anyio", "systems/supervision", "import anyio"),
    Lie(WEB, "another server listens", "servers", "import uvicorn"),
    Lie(WEB, "a tool answers requests", "servers/tools", "from starlette.responses import Response"),
    Lie(EDITORS, "another server speaks LSP", "servers", "from lsprotocol import types"),
    Lie(EDITORS, "a verb starts a language server", "cli", "import pygls"),
    Lie(HTTP, "another backend speaks HTTP", "judging/backends", "import httpx2"),
    Lie(HTTP, "a system tries again by itself", "systems/supervision", "import stamina"),
    Lie(MARKDOWN, "another rubric module parses", "rubric", "import markdown_it"),
    Lie(TELEMETRY, "servers export traces", "servers", "import opentelemetry"),
    Lie(SQL, "a system speaks to PostgreSQL", "systems", "import psycopg"),
    Lie(SQL, "a system asks the database", "systems/supervision", "import sqlite3"),
    Lie(WATCHING, "a server watches folders", "servers", "import watchdog.observers"),
]

TRUTHS = {
    "cli/planted.py": "import click\nimport rich\nimport sidecar.wiring",
    "platform/processes.py": "import subprocess",
    "rubric/markdown.py": "import markdown_it",
    "platform/watching.py": "import watchdog",
    "platform/event_log.py": "import sqlite3",
    "platform/shell/words.py": "import tree_sitter",
    "servers/mcp/session.py": "import mcp",
    "servers/mcp/lines.py": "import anyio\nimport mcp",
    "servers/mcp/http.py": "import mcp\nimport mcp_types\nimport starlette",
    "servers/http_server.py": "import starlette\nimport uvicorn",
    "servers/page/http.py": "import starlette",
    "servers/rubric_language/planted.py": "import lsprotocol\nimport pygls",
    "platform/http.py": "import httpx2",
    "systems/supervision/policy/planted.py": "import re\nimport msgspec\nimport sidecar.kernel",
}


def copied(folder: Path) -> Path:
    shutil.copytree(CHECKOUT / "sidecar", folder / "sidecar", ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copy(CHECKOUT / "pyproject.toml", folder)
    return folder


def plant(tree: Path, name: str, text: str) -> None:
    with (tree / "sidecar" / name).open("a", encoding="utf-8") as file:
        file.write(f"\n{text}\n")


def linted(tree: Path) -> str:
    """What import-linter says of a tree, after its heading of contracts was held against pyproject.toml."""
    linter = Path(sys.executable).with_name("lint-imports")
    run = subprocess.run(
        [linter, "--no-cache", "--no-logo"], cwd=tree, capture_output=True, text=True, check=False
    )
    verdicts = dict(re.findall(r"^(.+) (KEPT|BROKEN)\b", run.stdout, flags=re.MULTILINE))
    assert list(verdicts) == CONTRACTS, run.stdout + run.stderr
    assert run.returncode == ("BROKEN" in verdicts.values())
    return run.stdout


def sections(report: str) -> dict[str, str]:
    """What was found wrong, by contract."""
    parts = re.split(r"^(.+)\n-+\n", report.partition("Broken contracts")[2], flags=re.MULTILINE)
    return {name: text for name, text in zip(parts[1::2], parts[2::2], strict=True) if name in CONTRACTS}


@pytest.fixture(scope="module")
def found(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    tree = copied(tmp_path_factory.mktemp("lies"))
    for number, lie in enumerate(LIES):
        plant(tree, f"{lie.room}/planted_{number}.py", lie.text)
    plant(tree, "attic.py", "")
    plant(tree, "judging/circle_one.py", "import sidecar.judging.circle_two")
    plant(tree, "judging/circle_two.py", "import sidecar.judging.circle_one")
    return sections(linted(tree))


@pytest.mark.process
def test_every_contract_is_kept_and_every_door_opens_for_its_keeper(tmp_path: Path) -> None:
    tree = copied(tmp_path)
    for name, text in TRUTHS.items():
        plant(tree, name, text)

    assert "BROKEN" not in linted(tree)


@pytest.mark.process
@pytest.mark.parametrize("lie", [pytest.param(lie, id=lie.says) for lie in LIES])
def test_a_wrong_import_breaks_its_contract(found: dict[str, str], lie: Lie) -> None:
    module = f"sidecar.{lie.room.replace('/', '.')}.planted_{LIES.index(lie)} "

    assert module in found[lie.contract]


def test_a_room_on_no_storey_breaks_the_layers(found: dict[str, str]) -> None:
    assert "attic" in found[DOWN_ONLY]


def test_two_files_of_a_room_that_import_each_other_are_a_cycle(found: dict[str, str]) -> None:
    assert "circle_one" in found[NO_CYCLES]


def test_every_contract_has_a_lie_to_catch() -> None:
    assert {lie.contract for lie in LIES} | {NO_CYCLES} == set(CONTRACTS)
