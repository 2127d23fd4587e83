"""Tools of JavaScript and TypeScript that a package is set up for, or lists, where no script calls them."""

from __future__ import annotations

import posixpath
import shlex
from itertools import islice
from typing import TYPE_CHECKING, Final

from sidecar.adapters.detection import formats
from sidecar.adapters.detection.found import Found, one_line
from sidecar.model.gate import Kind

if TYPE_CHECKING:
    from collections.abc import Iterator

    from sidecar.adapters.detection.folder import Folder

RUNNERS: Final = (
    ("vitest", "vitest run", ("vitest.config.*", "vitest.workspace.*")),
    ("jest", "jest --ci", ("jest.config.*",)),
    ("mocha", "mocha", (".mocharc.*",)),
    ("ava", "ava", ("ava.config.*",)),
)
"""Name and package, a command that does not watch, and settings."""
LINTERS: Final = (
    ("eslint", "eslint", "eslint .", ("eslint.config.*", ".eslintrc", ".eslintrc.*")),
    ("biome", "@biomejs/biome", "biome lint .", ("biome.json", "biome.jsonc")),
    ("oxlint", "oxlint", "oxlint", (".oxlintrc.json",)),
)
"""Name, package, a command that changes nothing, and settings."""
DEPENDENCIES: Final = ("dependencies", "devDependencies", "optionalDependencies", "peerDependencies")
TEST_FILES: Final = ("*.test.js", "*.test.mjs", "*.test.cjs", "*.test.ts", "test.js", "test.mjs")
READ: Final = 10
"""Test files in which a test runner is looked for."""
REFERENCES: Final = 8
"""Projects of a tsconfig.json that are checked."""


def find(root: Folder, *, workspace: bool, script: str) -> Iterator[Found]:
    """Look for tools. `workspace`: the root holds workspaces. `script`: its test script, which is unfit."""
    if tests := _tests(root, script):
        yield tests
    if types := _types(root, workspace=workspace):
        yield types
    for name, package, command, settings in LINTERS:
        sign = _set_up(root, name, settings) or _listed(root, package)
        if sign:
            yield _found(root, Kind.LINT, name, command, sign)


def _found(root: Folder, kind: Kind, tool: str, command: str, why: str) -> Found:
    """A tool out of node_modules/.bin, which is on PATH; without that folder, yarn finds it."""
    plugged = any(folder.has(".pnp.cjs") for folder in (root, *root.above))
    return Found(kind=kind, tool=tool, command=f"yarn run {command}" if plugged else command, why=why)


def _tests(root: Folder, script: str) -> Found | None:
    for name, command, settings in RUNNERS:
        sign = _set_up(root, name, settings) or _listed(root, name) or _called(name, script)
        if sign:
            watches = f"; its script test watches: `{one_line(script)}`" if name in script.split() else ""
            return _found(root, Kind.TESTS, name, command, sign + watches)
    for path in islice(_test_files(root), READ):
        text = root.text(path)
        if '"bun:test"' in text or "'bun:test'" in text:
            return Found(
                kind=Kind.TESTS, tool="bun", command="bun test", why=f"{one_line(path)} uses bun:test"
            )
        if ('"node:test"' in text or "'node:test'" in text) and not path.endswith(".ts"):
            why = f"{one_line(path)} uses node:test"
            return Found(kind=Kind.TESTS, tool="node", command="node --test", why=why)
    return None


def _called(name: str, script: str) -> str:
    return f"package.json calls {name}" if name in script.split() else ""


def _test_files(root: Folder) -> Iterator[str]:
    yield from root.matching(*TEST_FILES)
    for place in ("test", "tests", "src"):
        yield from root.search(place, *TEST_FILES)


def _types(root: Folder, *, workspace: bool) -> Found | None:
    if not root.has("tsconfig.json") or not (_near(root, "typescript") or _near(root, "vue-tsc")):
        return None
    if _listed(root, "svelte-check"):
        why = "package.json lists svelte-check"
        return _found(root, Kind.TYPES, "svelte-check", "svelte-check", why)
    tool = "vue-tsc" if _near(root, "vue-tsc") else "tsc"
    checks = [f"{tool} --noEmit -p {shlex.quote(path)}" for path in _projects(root, workspace=workspace)]
    why = "the project has a tsconfig.json"
    return _found(root, Kind.TYPES, tool, " && ".join(checks), why) if checks else None


def _projects(root: Folder, *, workspace: bool) -> list[str]:
    """What to check: the tsconfig.json, or those beside it that it refers to where it names no files.

    None where it is only the base of the workspaces', or refers to folders: those are built, not checked.
    """
    config = root.jsonc("tsconfig.json")
    references = config.get("references")
    named = references if isinstance(references, list) else []
    if config.get("files") == [] and not config.get("include"):
        paths = [str(formats.table(item).get("path", "")) for item in named[:REFERENCES]]
        beside = [posixpath.normpath(path) for path in paths if path.endswith(".json")]
        return [f"./{path}" for path in beside if "/" not in path and root.has(path)]
    base = workspace and not any(key in config for key in ("include", "files"))
    return [] if base else ["."]


def _set_up(root: Folder, name: str, settings: tuple[str, ...]) -> str:
    if found := root.matching(*settings):
        return f"the project has a {one_line(found[0])}"
    key = "eslintConfig" if name == "eslint" else name
    in_package = isinstance(root.json("package.json").get(key), dict)
    return f'package.json has "{key}"' if in_package else ""


def _listed(root: Folder, package: str) -> str:
    manifest = root.json("package.json")
    listed = any(package in formats.table(manifest, group) for group in DEPENDENCIES)
    return f"package.json lists {package}" if listed else ""


def _near(root: Folder, package: str) -> bool:
    """Whether the package is listed here or above: workspaces share what the root lists."""
    return any(_listed(folder, package) for folder in (root, *root.above))
