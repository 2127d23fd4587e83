"""Detects JavaScript and TypeScript gates: package.json scripts, run by the project's package manager.

- A script of the project takes precedence over a tool that is only configured or listed.
- No command watches files: a script that would is called in a way that stops it, or left out.
- No command changes files: a lint script with --fix is left out.
"""

from __future__ import annotations

import re
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING, Final

from sidecar.evidence.detection import javascript_tools
from sidecar.evidence.detection.folder import DetectedGate, expand_script_calls, one_line_excerpt
from sidecar.kernel.gate import Kind
from sidecar.platform import formats
from sidecar.platform.tools import ToolWatch, is_package_manager, known_tools

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from sidecar.evidence.detection.folder import PackageRoot


SCRIPT_LIMIT: Final = 4_000
"""Characters of a script that are examined."""
PATTERN_LIMIT: Final = 100
"""Maximum number of workspace patterns that are used."""
PLACEHOLDER_TEST: Final = "no test specified"
"""Text of the placeholder test script that npm writes into a new package.json."""
SCRIPT_NAMES: Final = {
    Kind.TESTS: ("test", "test:ci", "test:run", "test:once", "test:unit"),
    Kind.BUILD: ("build",),
    Kind.TYPES: ("typecheck", "type-check", "check-types", "types:check", "types", "tsc"),
    Kind.LINT: ("lint",),
    Kind.COVERAGE: ("coverage", "test:coverage", "test:cov"),
}
"""Script names by what they check, preferred names first."""
LOCK_FILES: Final = {
    "pnpm-lock.yaml": "pnpm",
    "yarn.lock": "yarn",
    "bun.lock": "bun",
    "bun.lockb": "bun",
    "package-lock.json": "npm",
    "npm-shrinkwrap.json": "npm",
}
WATCH_OPTION: Final = re.compile(
    r"(?<!\S)--(?:watch(?:-?[aA]ll)?|ui)(?!\S|=false)|(?<!\S)--watch(?:-?[aA]ll)?=true"
)
"""Options that make any tool watch files."""
FIX_OPTION: Final = re.compile(r"(?<!\S)--(?:fix|write|apply)\b(?!=false)|\bprettier\b[^&|;]{0,200} -w\b")
"""Options that make a linter change files."""
TASK_RUNNERS: Final = ("turbo.json", "nx.json", "lerna.json", "rush.json")


def find_javascript_gates(root: PackageRoot) -> Iterator[DetectedGate]:
    """Yield the checks of scripts, then those of tools for the kinds without a script."""
    if not root.has("package.json"):
        return
    scripts = {
        name: text.strip()
        for name, text in formats.table_at(root.json("package.json"), "scripts").items()
        if isinstance(text, str)
    }
    by_script = {kind: found for kind in SCRIPT_NAMES if (found := _find_script_gate(root, kind, scripts))}
    yield from by_script.values()
    for found in javascript_tools.find_javascript_tool_gates(
        root, workspace=bool(_workspace_patterns(root)), script=scripts.get("test", "")
    ):
        if found.kind not in by_script:
            yield found


def covers_javascript_member(root: PackageRoot, member: PackageRoot, found: DetectedGate) -> bool:
    """Return whether a command of the root also covers the member, which the root knows as a workspace.

    The root's type checker reads only its own tsconfig.json; a linter enters every folder.
    """
    if found.kind is Kind.TYPES and not found.behind:
        return False
    below = member.below(root)
    named = any(fnmatchcase(below, pattern) for pattern in _workspace_patterns(root))
    return named or bool(root.has(*TASK_RUNNERS))


def _find_script_gate(root: PackageRoot, kind: Kind, scripts: Mapping[str, str]) -> DetectedGate | None:
    for name in SCRIPT_NAMES[kind]:
        text = scripts.get(name, "")[:SCRIPT_LIMIT]
        watches = WATCH_OPTION.search(text) or any(re.search(tool.always, text) for tool in _watching_tools())
        unfit = watches or (kind is Kind.LINT and FIX_OPTION.search(text))
        if text and not unfit and not (kind is Kind.TESTS and PLACEHOLDER_TEST in text):
            why = f"package.json has the script {name}: `{one_line_excerpt(text)}`"
            behind = expand_script_calls(scripts, name)
            command = _script_command(_package_manager(root), name, text, behind)
            return DetectedGate(
                kind=kind, tool=_package_manager(root), command=command, why=why, behind=behind
            )
    return None


def _script_command(manager: str, name: str, text: str, behind: str) -> str:
    """Return the command that runs a script so that neither it nor a script it calls watches files."""
    tools = _watching_tools()
    before = next((f"{tool.variable} " for tool in tools if re.search(tool.outside_ci, behind)), "")
    after = next((tool.stop for tool in tools if re.search(tool.at_end, text)), "")
    run = f"{manager} test" if name == "test" and manager != "bun" else f"{manager} run {name}"
    dashes = " --" if after and manager == "npm" else ""
    return f"{before}{run}{dashes} {after}".rstrip()


def _watching_tools() -> tuple[ToolWatch, ...]:
    return tuple(tool.watch for tool in known_tools().tools if tool.watch)


def _package_manager(root: PackageRoot) -> str:
    """Return the package manager that the nearest package.json or lock file names; npm by default."""
    for folder in (root, *root.above):
        said = folder.json("package.json").get("packageManager")
        name = said.partition("@")[0] if isinstance(said, str) else ""
        if is_package_manager(name):
            return name
        if lock := folder.has(*LOCK_FILES):
            return LOCK_FILES[lock]
    return "npm"


def _workspace_patterns(root: PackageRoot) -> list[str]:
    """Return the patterns of the workspaces below this folder, without the excluding ones."""
    said = root.json("package.json").get("workspaces")
    listed = formats.string_items(formats.table_at(said).get("packages") if isinstance(said, dict) else said)
    below = (*listed, *_pnpm_packages(root.text("pnpm-workspace.yaml")))[:PATTERN_LIMIT]
    return [pattern.removeprefix("./").rstrip("/") for pattern in below if not pattern.startswith("!")]


def _pnpm_packages(text: str) -> Iterator[str]:
    """Yield the items of the list `packages:` in a pnpm-workspace.yaml."""
    inside = False
    for line in text.splitlines():
        item = line.strip()
        if item and not item.startswith("#") and not item.startswith("-"):
            inside = item == "packages:"
        elif inside and item.startswith("-"):
            yield item[1:].partition(" #")[0].strip().strip("'\"")
