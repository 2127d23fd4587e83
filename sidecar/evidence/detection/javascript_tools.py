"""Detects JavaScript and TypeScript tools that a package configures or lists but calls in no script."""

from __future__ import annotations

import posixpath
import shlex
from itertools import islice
from typing import TYPE_CHECKING, Final

from sidecar.evidence.detection.folder import DetectedGate, one_line_excerpt
from sidecar.kernel.gate import Kind
from sidecar.platform import formats
from sidecar.platform.tools import detected_tools

if TYPE_CHECKING:
    from collections.abc import Iterator

    from sidecar.evidence.detection.folder import PackageRoot


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
    return DetectedGate(kind=kind, tool=tool, command=f"yarn run {command}" if plugged else command, why=why)


def _find_test_runner(root: PackageRoot, script: str) -> DetectedGate | None:
    for tool, gate in detected_tools("node", {Kind.TESTS}):
        name = tool.name
        sign = (
            _settings_sign(root, name, gate.files)
            or _dependency_sign(root, tool.package)
            or _script_call_sign(name, script)
        )
        if sign:
            watches = (
                f"; its script test watches: `{one_line_excerpt(script)}`" if name in script.split() else ""
            )
            return _tool_gate(root, Kind.TESTS, name, gate.command, sign + watches)
    for path in islice(_test_files(root), TEST_FILE_LIMIT):
        text = root.text(path)
        if '"bun:test"' in text or "'bun:test'" in text:
            return DetectedGate(
                kind=Kind.TESTS, tool="bun", command="bun test", why=f"{one_line_excerpt(path)} uses bun:test"
            )
        if ('"node:test"' in text or "'node:test'" in text) and not path.endswith(".ts"):
            why = f"{one_line_excerpt(path)} uses node:test"
            return DetectedGate(kind=Kind.TESTS, tool="node", command="node --test", why=why)
    return None


def _script_call_sign(name: str, script: str) -> str:
    return f"package.json calls {name}" if name in script.split() else ""


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
