"""JavaScript and TypeScript: the scripts of package.json, by the package manager that the project uses.

- A script of the project's own goes before a tool that is only set up or listed.
- No command waits for changes of files: a script that would is called so that it does not, or not at all.
- No command changes files to its liking: a lint script with --fix is none.
"""

from __future__ import annotations

import re
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING, Final

from sidecar.adapters.detection import formats, javascript_tools
from sidecar.adapters.detection.found import Found, drawn_in, one_line
from sidecar.model.gate import Kind

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from sidecar.adapters.detection.folder import Folder

SCRIPT: Final = 4_000
"""Characters of a script that are looked at."""
PATTERNS: Final = 100
"""Patterns of workspaces that are looked at."""
PLACEHOLDER: Final = "no test specified"
"""What npm writes into a new package.json in place of tests."""
SCRIPTS: Final = {
    Kind.TESTS: ("test", "test:ci", "test:run", "test:once", "test:unit"),
    Kind.BUILD: ("build",),
    Kind.TYPES: ("typecheck", "type-check", "check-types", "types:check", "types", "tsc"),
    Kind.LINT: ("lint",),
    Kind.COVERAGE: ("coverage", "test:coverage", "test:cov"),
}
"""Names of scripts by what they check, the better name first."""
MANAGERS: Final = ("npm", "pnpm", "yarn", "bun")
LOCKS: Final = {
    "pnpm-lock.yaml": "pnpm",
    "yarn.lock": "yarn",
    "bun.lock": "bun",
    "bun.lockb": "bun",
    "package-lock.json": "npm",
    "npm-shrinkwrap.json": "npm",
}
WATCHES: Final = re.compile(
    r"(?<!\S)--(?:watch(?:-?[aA]ll)?|ui)(?!\S|=false)|(?<!\S)--watch(?:-?[aA]ll)?=true"
    r"|\b(?:vitest|jest) (?:watch|dev)\b|\b(?:nodemon|tsc-watch|chokidar)\b"
    r"|\b(?:tsc|mocha|vitest|webpack|rollup|tsup|ava|vite build)\b[^&|;]{0,200} -w\b"
)
"""What makes a command wait for changes. `npm -w` means a workspace."""
CHANGES: Final = re.compile(r"(?<!\S)--(?:fix|write|apply)\b(?!=false)|\bprettier\b[^&|;]{0,200} -w\b")
"""What makes a linter change files."""
WATCHES_OUTSIDE_CI: Final = (
    (re.compile(r"\b(?:react-scripts|craco|react-app-rewired|rescripts) test\b"), "CI=true "),
    (
        re.compile(
            r"\bvitest\b(?! (?:run|bench|list|related|typecheck)\b)(?![^&|;]{0,500}--(?:run\b|watch=false))"
        ),
        "CI=1 ",
    ),
)
"""Commands that watch, unless a variable says that nobody is there, and the variable."""
ENDS_WITH: Final = (
    (re.compile(r"\bng test\b(?!.*--(?:no-)?watch)"), "--watch=false"),
    (re.compile(r"\bkarma start\b(?!.*--(?:no-)?single-run)"), "--single-run"),
)
"""Commands that watch, and the argument that stops them, where they are the last of a script."""
TASK_RUNNERS: Final = ("turbo.json", "nx.json", "lerna.json", "rush.json")


def find(root: Folder) -> Iterator[Found]:
    """What scripts check, then what tools do for the kinds without a script."""
    if not root.has("package.json"):
        return
    scripts = {
        name: text.strip()
        for name, text in formats.table(root.json("package.json"), "scripts").items()
        if isinstance(text, str)
    }
    by_script = {kind: found for kind in SCRIPTS if (found := _script(root, kind, scripts))}
    yield from by_script.values()
    for found in javascript_tools.find(root, workspace=bool(_patterns(root)), script=scripts.get("test", "")):
        if found.kind not in by_script:
            yield found


def spans(root: Folder, member: Folder, found: Found) -> bool:
    """Whether a command of the root goes through the member as well: the root knows it as a workspace.

    The type checker of the root reads its own tsconfig.json only; a linter goes down into every folder.
    """
    if found.kind is Kind.TYPES and not found.behind:
        return False
    below = member.below(root)
    named = any(fnmatchcase(below, pattern) for pattern in _patterns(root))
    return named or bool(root.has(*TASK_RUNNERS))


def _script(root: Folder, kind: Kind, scripts: Mapping[str, str]) -> Found | None:
    for name in SCRIPTS[kind]:
        text = scripts.get(name, "")[:SCRIPT]
        unfit = WATCHES.search(text) or (kind is Kind.LINT and CHANGES.search(text))
        if text and not unfit and not (kind is Kind.TESTS and PLACEHOLDER in text):
            why = f"package.json has the script {name}: `{one_line(text)}`"
            behind = drawn_in(scripts, name)
            command = _command(_manager(root), name, text, behind)
            return Found(kind=kind, tool=_manager(root), command=command, why=why, behind=behind)
    return None


def _command(manager: str, name: str, text: str, behind: str) -> str:
    """Call a script so that neither it nor one that it runs waits for changes."""
    before = next((said for pattern, said in WATCHES_OUTSIDE_CI if pattern.search(behind)), "")
    after = next((said for pattern, said in ENDS_WITH if pattern.search(text)), "")
    run = f"{manager} test" if name == "test" and manager != "bun" else f"{manager} run {name}"
    dashes = " --" if after and manager == "npm" else ""
    return f"{before}{run}{dashes} {after}".rstrip()


def _manager(root: Folder) -> str:
    """The package manager: what the nearest package.json or lock file says."""
    for folder in (root, *root.above):
        said = folder.json("package.json").get("packageManager")
        name = said.partition("@")[0] if isinstance(said, str) else ""
        if name in MANAGERS:
            return name
        if lock := folder.has(*LOCKS):
            return LOCKS[lock]
    return "npm"


def _patterns(root: Folder) -> list[str]:
    """The patterns of the workspaces below this folder, without those that leave out."""
    said = root.json("package.json").get("workspaces")
    listed = formats.strings(formats.table(said).get("packages") if isinstance(said, dict) else said)
    below = (*listed, *_pnpm(root.text("pnpm-workspace.yaml")))[:PATTERNS]
    return [pattern.removeprefix("./").rstrip("/") for pattern in below if not pattern.startswith("!")]


def _pnpm(text: str) -> Iterator[str]:
    """The list `packages:` of a pnpm-workspace.yaml."""
    inside = False
    for line in text.splitlines():
        item = line.strip()
        if item and not item.startswith("#") and not item.startswith("-"):
            inside = item == "packages:"
        elif inside and item.startswith("-"):
            yield item[1:].partition(" #")[0].strip().strip("'\"")
