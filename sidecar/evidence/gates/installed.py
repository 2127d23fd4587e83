"""Says what is installed for a check: the version of what ran it, and what installs the packages it missed.

A run that only missing packages of others made fail has neither passed nor failed; a file or module of the
project's own that is missing is a failure. data/environments.toml says how each is told.
"""

from __future__ import annotations

import re
import shutil
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Final

from msgspec.structs import replace

from sidecar.evidence.gates.origins import own_sources
from sidecar.evidence.reports.report import read_report_bytes
from sidecar.evidence.reports.tools import find_started_tool
from sidecar.kernel.gate import GateRun, Outcome
from sidecar.platform import environments, processes
from sidecar.platform.environments import MissingPackages, folders_up_to_project, known_environments
from sidecar.platform.tools import find_tool

NAMED_PACKAGES: Final = 5
GO_MODULE: Final = re.compile(r"^module\s+(\S+)", re.MULTILINE)


def with_remedy(run: GateRun, folders: Sequence[Path]) -> GateRun:
    """Add what to type where a tool or a package is missing, and end the run as could-not-run if that is all.

    `folders`: that of the gate, and those above it up to the project.
    """
    failed = run.outcome is Outcome.FAILED
    for kind in known_environments().missing if failed or run.outcome is Outcome.COULD_NOT_RUN else ():
        if names := (_explaining_packages if failed else _absent_packages)(run, kind, folders):
            missed = f"{', '.join(names)} {'are' if names[1:] else 'is'} not installed"
            reason = f"{missed if failed else run.reason}; type: {_remedy(kind, names, folders)}"
            return replace(run, outcome=Outcome.COULD_NOT_RUN, reason=reason, failures=(), failing=())
    return run


def _explaining_packages(run: GateRun, kind: MissingPackages, folders: Sequence[Path]) -> list[str]:
    """Return the packages whose absence explains every failure; none if one of the names is the project's."""
    told = _found(kind.says, run.output)
    names = dict.fromkeys((*_found(kind.says, "\n".join(run.failures)), *told))
    others = [line for line in run.failures if not _found(kind.says, line)]
    silent = kind.silent and all(re.search(kind.silent, line) for line in others)
    explained = (silent and len(told) >= len(run.failing)) if others or not run.failures else True
    own = any(_is_own(name, kind.language, folders) for name in names)
    return list(names)[:NAMED_PACKAGES] if explained and not own else []


def _absent_packages(run: GateRun, kind: MissingPackages, folders: Sequence[Path]) -> list[str]:
    """Return the packages of the tools that were not found, and those that a tool gave up for."""
    said = f"{run.reason}\n{run.output}"
    found = map(find_tool, _found(known_environments().absent, said))
    tools = (tool.package for tool in found if tool and tool.language == kind.language)
    missed = (name for name in _found(kind.says, run.reason) if not _is_own(name, kind.language, folders))
    return list(dict.fromkeys((*tools, *missed)))[:NAMED_PACKAGES]


def _is_own(name: str, language: str, folders: Sequence[Path]) -> bool:
    """Return whether a name is the project's: of Node, what is not listed, or lacks only a part."""
    if language == "python":
        return name in own_sources(folders[0])
    if language == "node":
        return not _is_listed(name, folders) or any((at / "node_modules" / name).exists() for at in folders)
    modules = (found[1] for at in folders for found in GO_MODULE.finditer(_text(at / "go.mod")))
    return any(f"{name}/".startswith(f"{module}/") for module in modules)


def _remedy(kind: MissingPackages, names: Sequence[str], folders: Sequence[Path]) -> str:
    """Return what installs everything that the project lists, or else these packages."""
    listed = kind.language != "node" or all(_is_listed(name, folders) for name in names)
    return (
        listed and environments.install_command(folders, kind.language)
    ) or f"{kind.add} {' '.join(names)}"


def _is_listed(name: str, folders: Iterable[Path]) -> bool:
    return any(f'"{name}"' in _text(folder / "package.json") for folder in folders)


def _text(file: Path) -> str:
    return (read_report_bytes(file) or b"").decode("utf-8", "replace")


def _found(patterns: Iterable[str], text: str) -> list[str]:
    return [name for pattern in patterns for name in re.findall(pattern, text, re.MULTILINE)]


# --- The version of what ran a check ------------------------------------------------------------------------


ASK_LIMIT_S: Final = 5.0
VERSION: Final = re.compile(r"v?\d+\.\d+[\w.+-]*")
NODE_VERSION: Final = re.compile(r'^\s*"version": *"([^"]+)"', re.MULTILINE)


async def describe_runner(line: str, folder: Path, environment: Mapping[str, str], project: str) -> str:
    """Name the Python environment of a line, and its program: `.venv (Python 3.11.7), pytest 8.3.4`."""
    simple = find_started_tool(line, folder)
    tool, active = simple.name if simple else "", environment.get("VIRTUAL_ENV", "")
    shown = [environments.describe_environment(Path(active), project)] if active else []
    if tool and active and (version := _python_version(tool, Path(active))):
        shown.append(f"{tool} {version}")
    elif tool and (version := _node_version(tool, folders_up_to_project(str(folder), project))):
        shown += [await _ask("node", folder, environment, project), f"{tool} {version}"]
    else:
        shown.append(await _ask(tool, folder, environment, project))
    return ", ".join(filter(None, shown))


def _python_version(tool: str, environment: Path) -> str:
    from importlib.metadata import distributions  # noqa: PLC0415 - 13 ms of every start

    sites = [str(site) for site in environment.glob("lib/python3*/site-packages")]
    return next((found.version for found in distributions(name=tool, path=sites)), "")


def _node_version(tool: str, folders: Iterable[Path]) -> str:
    known = find_tool(tool)
    package = known.package if known else tool
    manifests = (_text(folder / "node_modules" / package / "package.json") for folder in folders)
    return next((found[1] for text in manifests if (found := NODE_VERSION.search(text))), "")


async def _ask(program: str, folder: Path, environment: Mapping[str, str], project: str) -> str:
    """Ask a program that is not the project's own; in the folder, as its files may choose the version."""
    tool = find_tool(program)
    words = tool.version if tool else ()
    found = processes.find_program(program, environment, project) if words else ""
    if not found or found != shutil.which(program, path=environment.get("PATH", "")):
        return ""
    line = (found, *words)
    done = await processes.run_process(line, cwd=str(folder), environment=environment, seconds=ASK_LIMIT_S)
    said = VERSION.search(done.output.decode(errors="replace"))
    return f"{program} {said[0]}" if said and done.exit_code == 0 else ""
