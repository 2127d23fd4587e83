"""Detects JavaScript and TypeScript gates: package.json scripts, run by the project's package manager.

- A script of the project takes precedence over a tool that is only configured or listed.
- No command watches files: a script that would is called in a way that stops it, or left out.
- No command changes files: a lint script with --fix is left out.
"""

from __future__ import annotations

import posixpath
import re
import shlex
from collections.abc import Iterator, Mapping
from fnmatch import fnmatchcase
from itertools import islice
from typing import Final

from sidecar.evidence.detection.folder import (
    DetectedGate,
    PackageRoot,
    called_scripts,
    expand_script_calls,
    one_line_excerpt,
)
from sidecar.evidence.detection.started import StartedCommand, kind_of_commands, list_started_commands
from sidecar.kernel.gate import Kind
from sidecar.platform import formats
from sidecar.platform.tools import ToolWatch, detected_tools, is_package_manager, known_tools

SCRIPT_LIMIT: Final = 4_000
"""Characters of a script that are examined."""
PATTERN_LIMIT: Final = 100
"""Maximum number of workspace patterns that are used."""
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
    scripts = package_scripts(root)
    found = [gate for kind in SCRIPT_NAMES for gate in _find_script_gates(root, kind, scripts)]
    yield from found
    by_script = {gate.kind for gate in found}
    for gate in find_javascript_tool_gates(
        root, workspace=bool(_workspace_patterns(root)), script=scripts.get("test", "")
    ):
        if gate.kind not in by_script:
            yield gate


def package_scripts(root: PackageRoot) -> dict[str, str]:
    """Return the scripts of a package.json by name."""
    return formats.script_texts(root.json("package.json"))


def list_script_commands(scripts: Mapping[str, str], name: str) -> list[StartedCommand]:
    """Return the commands that a script and the scripts that it calls start."""
    lines = (scripts[called] for called in called_scripts(scripts, name))
    return list(list_started_commands(lines, scripts, "scripts"))


def covers_javascript_member(root: PackageRoot, member: PackageRoot, found: DetectedGate) -> bool:
    """Return whether a command of the root also covers the member, which the root knows as a workspace.

    The root's type checker reads only its own tsconfig.json; a linter enters every folder.
    """
    if found.kind is Kind.TYPES and not found.behind:
        return False
    below = member.below(root)
    named = any(fnmatchcase(below, pattern) for pattern in _workspace_patterns(root))
    return named or bool(root.has(*TASK_RUNNERS))


def _find_script_gates(root: PackageRoot, kind: Kind, scripts: Mapping[str, str]) -> Iterator[DetectedGate]:
    """Yield the preferred script; if that starts no known runner, also one of tests that does."""
    known: bool | None = None
    for name in SCRIPT_NAMES[kind]:
        text = scripts.get(name, "")[:SCRIPT_LIMIT]
        watches = WATCH_OPTION.search(text) or any(re.search(tool.always, text) for tool in _watching_tools())
        starts = list_script_commands(scripts, name)
        runs_tests = any(Kind.TESTS in one.kinds for one in starts)
        surplus = known is not None and (known or not runs_tests)
        unfit = watches or (kind is Kind.LINT and FIX_OPTION.search(text))
        if text and not surplus and not unfit and kind_of_commands(starts, kind) is kind:
            why = f"package.json has the script {name}: `{one_line_excerpt(text)}`"
            behind = expand_script_calls(scripts, name)
            command = _script_command(_package_manager(root), name, text, behind)
            known = runs_tests or kind is not Kind.TESTS
            yield DetectedGate(
                kind, _package_manager(root), command, why, behind=behind, starts=tuple(starts)
            )


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


# --- tools that a package configures or lists but calls in no script ----------------------------------------


DEPENDENCY_GROUPS: Final = ("dependencies", "devDependencies", "optionalDependencies", "peerDependencies")
TEST_FILES: Final = ("*.test.js", "*.test.mjs", "*.test.cjs", "*.test.ts", "test.js", "test.mjs")
TEST_FILE_LIMIT: Final = 10
"""Maximum number of test files that are searched for a test runner."""
REFERENCE_LIMIT: Final = 8
"""Maximum number of referenced projects of a tsconfig.json that are checked."""


def find_javascript_tool_gates(root: PackageRoot, *, workspace: bool, script: str) -> Iterator[DetectedGate]:
    """Yield the tools' gates. `workspace`: the root has workspaces. `script`: its unsuitable test script."""
    if tests := _find_test_runner(root, script):
        yield tests
    if types := _find_type_checker(root, workspace=workspace):
        yield types
    for tool, gate in detected_tools("node", {Kind.LINT}):
        sign = _settings_sign(root, tool.name, gate.files) or _dependency_sign(root, tool.package)
        if sign:
            yield _tool_gate(root, Kind.LINT, tool.name, gate.command, sign)


def _tool_gate(root: PackageRoot, kind: Kind, tool: str, command: str, why: str) -> DetectedGate:
    """Return the gate of a tool in node_modules/.bin, which is on PATH; with Plug'n'Play, yarn runs it."""
    plugged = any(folder.has(".pnp.cjs") for folder in (root, *root.above))
    return DetectedGate(kind, tool, f"yarn run {command}" if plugged else command, why)


def _find_test_runner(root: PackageRoot, script: str) -> DetectedGate | None:
    for tool, gate in detected_tools("node", {Kind.TESTS}):
        name, called = tool.name, tool.name in script.split()
        sign = _settings_sign(root, name, gate.files) or _dependency_sign(root, tool.package)
        if sign or called:
            sign = sign or f"package.json calls {name}"
            watches = f"; its script test watches: `{one_line_excerpt(script)}`" if called else ""
            return _tool_gate(root, Kind.TESTS, name, gate.command, sign + watches)
    for path in islice(_test_files(root), TEST_FILE_LIMIT):
        text = root.text(path)
        if '"bun:test"' in text or "'bun:test'" in text:
            return DetectedGate(Kind.TESTS, "bun", "bun test", f"{one_line_excerpt(path)} uses bun:test")
        if ('"node:test"' in text or "'node:test'" in text) and not path.endswith(".ts"):
            return DetectedGate(Kind.TESTS, "node", "node --test", f"{one_line_excerpt(path)} uses node:test")
    return None


def _test_files(root: PackageRoot) -> Iterator[str]:
    yield from root.matching(*TEST_FILES)
    for place in ("test", "tests", "src"):
        yield from root.search(place, *TEST_FILES)


def _find_type_checker(root: PackageRoot, *, workspace: bool) -> DetectedGate | None:
    if not root.has("tsconfig.json") or not (
        _is_listed_here_or_above(root, "typescript") or _is_listed_here_or_above(root, "vue-tsc")
    ):
        return None
    if _dependency_sign(root, "svelte-check"):
        why = "package.json lists svelte-check"
        return _tool_gate(root, Kind.TYPES, "svelte-check", "svelte-check", why)
    tool = "vue-tsc" if _is_listed_here_or_above(root, "vue-tsc") else "tsc"
    checks = [
        f"{tool} --noEmit -p {shlex.quote(path)}" for path in _tsconfig_projects(root, workspace=workspace)
    ]
    why = "the project has a tsconfig.json"
    return _tool_gate(root, Kind.TYPES, tool, " && ".join(checks), why) if checks else None


def _tsconfig_projects(root: PackageRoot, *, workspace: bool) -> list[str]:
    """Return the projects to check: the tsconfig.json or, if it names no files, its references beside it.

    Empty if the tsconfig.json is only the base of the workspaces' configurations, or if it references only
    folders: those are for `tsc --build`, not for a check.
    """
    config = root.jsonc("tsconfig.json")
    references = config.get("references")
    named = references if isinstance(references, list) else []
    if config.get("files") == [] and not config.get("include"):
        paths = [str(formats.table_at(item).get("path", "")) for item in named[:REFERENCE_LIMIT]]
        beside = [posixpath.normpath(path) for path in paths if path.endswith(".json")]
        return [f"./{path}" for path in beside if "/" not in path and root.has(path)]
    base = workspace and not any(key in config for key in ("include", "files"))
    return [] if base else ["."]


def _settings_sign(root: PackageRoot, name: str, settings: tuple[str, ...]) -> str:
    if found := root.matching(*settings):
        return f"the project has a {one_line_excerpt(found[0])}"
    key = "eslintConfig" if name == "eslint" else name
    in_package = isinstance(root.json("package.json").get(key), dict)
    return f'package.json has "{key}"' if in_package else ""


def _dependency_sign(root: PackageRoot, package: str) -> str:
    manifest = root.json("package.json")
    listed = any(package in formats.table_at(manifest, group) for group in DEPENDENCY_GROUPS)
    return f"package.json lists {package}" if listed else ""


def _is_listed_here_or_above(root: PackageRoot, package: str) -> bool:
    """Return whether the package is listed here or above: workspaces share the root's dependencies."""
    return any(_dependency_sign(folder, package) for folder in (root, *root.above))
