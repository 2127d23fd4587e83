"""Get the real hosts and clients: npm packages, kept in the user's cache, each whole or not at all.

The folder is `$SUPERVISOR_TEST_HOSTS`, or `supervisor-hosts` in the user's cache folder, with one folder
`PROGRAM-VERSION` for each version of each.
"""

from __future__ import annotations

import fcntl
import os
import pwd
import re
import shutil
import subprocess
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Final, NoReturn

import msgspec
import pytest

PINNED: Final = "2.1.197"
"""The version of Claude Code whose behaviour the facts were taken from."""
OPENCODE_PINNED: Final = "1.18.33"
"""The same of OpenCode; the only one that is tested."""
CODEX_PINNED: Final = "0.171.0"
"""The same of Codex."""
CODEX_OLDEST: Final = "0.144.0"
"""The oldest Codex that is tested: its records have another form."""
GEMINI_PINNED: Final = "0.61.0"
"""The same of Gemini CLI."""
GEMINI_OLDER: Final = "0.34.0"
"""An older one, whose chats have another form."""
COPILOT_PINNED: Final = "1.0.102"
"""The same of Copilot CLI."""
NODE_PINNED: Final = "24.21.0"
"""Node for programs that the machine's own is too old for."""
CONFORMANCE_PINNED: Final = "0.1.16"
"""The public MCP conformance suite; docs/proofs/mcp-conformance.md is about this version."""
MCP_SDK_PINNED: Final = "1.32.2"
"""The official TypeScript SDK, with which clients such as Cursor speak MCP."""
PLAYWRIGHT_PINNED: Final = "1.65.1"
"""What drives the machine's own Chromium."""
INSTALL_LIMIT_S: Final = 540.0
"""Longest time, in seconds, that npm may take for one version; a package is some 250 to 350 MB."""
LOOKUP_LIMIT_S: Final = 60.0
"""Longest time, in seconds, that npm may take to answer which version is the newest."""


class InstallError(Exception):
    """A host is not here and could not be fetched; the text says why."""


class Package(msgspec.Struct, frozen=True):
    """A host as npm knows it. Its folder is called `program-VERSION`. `beside`: more packages in it.

    `imported`: it is a library, and has no program.
    """

    name: str
    program: str
    beside: tuple[str, ...] = ()
    imported: bool = False


CLAUDE: Final = Package("@anthropic-ai/claude-code", "claude")
OPENCODE: Final = Package("opencode-ai", "opencode")
"""Its install script puts the machine's own binary in the place of the program, so no Node starts with it."""
CODEX: Final = Package("@openai/codex", "codex")
"""A launcher in Node, and the machine's own binary as a package of its own."""
GEMINI: Final = Package("@google/gemini-cli", "gemini")
COPILOT: Final = Package("@github/copilot", "copilot")
NODE: Final = Package("node", "node")
CONFORMANCE: Final = Package("@modelcontextprotocol/conformance", "conformance")
MCP_SDK: Final = Package("@modelcontextprotocol/sdk", "mcp-sdk", imported=True)
PLAYWRIGHT: Final = Package("playwright-core", "playwright-core", ("axe-core@4.14.1",))


def missing(reason: str) -> NoReturn:
    """End the test: a machine of a person may lack a host, the CI machine may not."""
    if os.environ.get("CI"):
        pytest.fail(reason, pytrace=False)
    pytest.skip(reason)


def hosts_folder() -> Path:
    """Where the hosts are kept. The home is the one of the account, for tests replace `$HOME`."""
    if named := os.environ.get("SUPERVISOR_TEST_HOSTS"):
        return Path(named)
    cache = os.environ.get("XDG_CACHE_HOME") or _home() / ".cache"
    return Path(cache) / "supervisor-hosts"


def newest_version(package: Package = CLAUDE) -> str:
    """The newest published version of a host. Raises `InstallError` when npm cannot tell."""
    return _npm("view", package.name, "version", limit_s=LOOKUP_LIMIT_S).strip()


def claude_binary(version: str, folder: Path) -> Path:
    """The `claude` of `version` below `folder`; see `installed`."""
    return installed(CLAUDE, version, folder)


def opencode_binary(folder: Path) -> Path:
    """The `opencode` of the tested version below `folder`; see `installed`."""
    return installed(OPENCODE, OPENCODE_PINNED, folder)


def node_binary(folder: Path) -> Path:
    """The newer `node` below `folder`; see `installed`."""
    return installed(NODE, NODE_PINNED, folder)


def installed(package: Package, version: str, folder: Path, node: Path | None = None) -> Path:
    """The program of `package` at `version` below `folder`, installed when it is not there yet.

    Of a library it is the file package.json.
    `node`: the Node that it runs in, the machine's own where there is none. Raises `InstallError` when npm
    fails or installs something else.
    """
    target = folder / f"{package.program}-{version}"
    named = (package.name, "package.json") if package.imported else (".bin", package.program)
    binary = Path("node_modules", *named)
    folder.mkdir(parents=True, exist_ok=True)
    with _locked(folder / f"{target.name}.lock"):
        if not (target / binary).exists():
            _install((f"{package.name}@{version}", *package.beside), version, target, binary, node)
    return target / binary


def with_node(node: Path) -> str:
    """A PATH on which this `node` comes first."""
    return os.pathsep.join((str(node.parent), os.environ.get("PATH", os.defpath)))


def _install(wanted: tuple[str, ...], version: str, target: Path, binary: Path, node: Path | None) -> None:
    with tempfile.TemporaryDirectory(dir=target.parent, prefix=".installing-") as scratch:
        fresh = Path(scratch) / target.name
        fresh.mkdir()
        _npm("install", "--prefix", str(fresh), "--no-audit", "--no-fund", *wanted)
        path = {"PATH": with_node(node)} if node else {}
        if binary.suffix == ".json":
            said = str(msgspec.json.decode((fresh / binary).read_bytes())["version"])
        else:
            said = _run([str(fresh / binary), "--version"], LOOKUP_LIMIT_S, path)
        if not re.search(rf"(?<![\d.]){re.escape(version)}", said):
            raise InstallError(f"{wanted[0]} says that it is {said!r}")
        shutil.rmtree(target, ignore_errors=True)
        fresh.replace(target)


def _npm(*arguments: str, limit_s: float = INSTALL_LIMIT_S) -> str:
    npm = shutil.which("npm")
    if npm is None:
        raise InstallError("npm is not on PATH")
    return _run([npm, *arguments], limit_s)


def _run(command: list[str], limit_s: float, more: Mapping[str, str] | None = None) -> str:
    try:
        done = subprocess.run(
            command,
            capture_output=True,
            text=True,
            timeout=limit_s,
            check=True,
            env={**os.environ, "HOME": str(_home()), **(more or {})},
        )
    except subprocess.CalledProcessError as error:
        raise InstallError(f"{' '.join(command)} ended with {error.returncode}: {error.stderr}") from error
    except (OSError, subprocess.TimeoutExpired) as error:
        raise InstallError(f"{' '.join(command)}: {error}") from error
    return done.stdout


def _home() -> Path:
    return Path(pwd.getpwuid(os.getuid()).pw_dir)


@contextmanager
def _locked(path: Path) -> Iterator[None]:
    """Hold the lock file `path`; it waits for another installation, which npm's own limit bounds."""
    with path.open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield
