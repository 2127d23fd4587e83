"""Go: the go command, over the modules of a go.work where there is one, and golangci-lint if configured."""

from __future__ import annotations

import posixpath
import re
import shlex
from typing import TYPE_CHECKING, Final

from sidecar.adapters.detection.found import Found
from sidecar.model.gate import Kind

if TYPE_CHECKING:
    from collections.abc import Iterator

    from sidecar.adapters.detection.folder import Folder

USES: Final = 40
"""Modules of a go.work that are named in a command."""
USE: Final = re.compile(r"^use[ \t]+(?!\()(\S+)|^use[ \t]*\(([^()]*)\)", re.MULTILINE)
COMMENT: Final = re.compile(r"//[^\n]*")
LINTER: Final = (".golangci.yml", ".golangci.yaml", ".golangci.toml", ".golangci.json")


def find(root: Folder) -> Iterator[Found]:
    """Tests, build, vet and golangci-lint."""
    used = _used(root)
    sign = "go.work" if used else root.has("go.mod")
    if not sign:
        return
    go, why = f"{_alone(root)}go", f"the project has a {sign}"
    packages = " ".join(_pattern(module) for module in used) or "./..."
    # A package of a bigger project that has no test would fail for having run nothing.
    if not root.name or any(root.search("", "*_test.go")):
        yield Found(kind=Kind.TESTS, tool="go", command=f"{go} test {packages}", why=why)
    yield Found(kind=Kind.BUILD, tool="go", command=f"{go} build {packages}", why=why)
    yield Found(kind=Kind.LINT, tool="go-vet", command=f"{go} vet {packages}", why=why)
    if settings := root.has(*LINTER):
        command = f"{_alone(root)}golangci-lint run {packages if used else ''}".rstrip()
        why = f"the project has a {settings}"
        yield Found(kind=Kind.LINT, tool="golangci-lint", command=command, why=why)


def spans(root: Folder, member: Folder, found: Found) -> bool:  # noqa: ARG001 - all commands span the same
    """Whether the go.work of the root names the module. `./...` alone stops where another module begins."""
    return member.below(root) in _used(root)


def _used(root: Folder) -> tuple[str, ...]:
    """The modules of a go.work that lie in it, "." for the root itself."""
    named = USE.findall(COMMENT.sub("", root.text("go.work")))
    words = [word.strip('"`') for one, many in named for word in (one, *many.split()) if word]
    paths = dict.fromkeys(posixpath.normpath(word) for word in words[:USES])
    return tuple(path for path in paths if not path.startswith(("..", "/")) and _there(root, path))


def _alone(root: Folder) -> str:
    """What lets go work in a module that a go.work above leaves out."""
    left_out = any(_used(above) and root.below(above) not in _used(above) for above in root.above)
    return "GOWORK=off " if left_out and not _used(root) else ""


def _there(root: Folder, path: str) -> bool:
    return bool(root.has(posixpath.normpath(f"{path}/go.mod")))


def _pattern(module: str) -> str:
    return "./..." if module == "." else shlex.quote(f"./{module}/...")
