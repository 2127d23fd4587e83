"""Detects Go and Rust gates.

- Go: the go command, for the modules of a go.work if there is one, and golangci-lint if it is configured.
- Rust: cargo, for the whole workspace if there is one, and clippy only if the project configures it.
"""

from __future__ import annotations

import posixpath
import re
import shlex
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING, Final

from sidecar.evidence.detection.folder import DetectedGate
from sidecar.kernel.gate import Kind
from sidecar.platform import formats

if TYPE_CHECKING:
    from collections.abc import Iterator

    from sidecar.evidence.detection.folder import PackageRoot
    from sidecar.platform.formats import Table


MODULE_LIMIT: Final = 40
"""Maximum number of modules of a go.work that a command names."""
USE_DIRECTIVE: Final = re.compile(r"^use[ \t]+(?!\()(\S+)|^use[ \t]*\(([^()]*)\)", re.MULTILINE)
LINE_COMMENT: Final = re.compile(r"//[^\n]*")
LINTER_FILES: Final = (".golangci.yml", ".golangci.yaml", ".golangci.toml", ".golangci.json")


def find_go_gates(root: PackageRoot) -> Iterator[DetectedGate]:
    """Yield tests, build, vet and golangci-lint."""
    used = _workspace_modules(root)
    sign = "go.work" if used else root.has("go.mod")
    if not sign:
        return
    go, why = f"{_workspace_off_prefix(root)}go", f"the project has a {sign}"
    packages = " ".join(_package_pattern(module) for module in used) or "./..."
    # A package without tests inside a larger project would fail because nothing ran.
    if not root.name or any(root.search("", "*_test.go")):
        yield DetectedGate(kind=Kind.TESTS, tool="go", command=f"{go} test {packages}", why=why)
    yield DetectedGate(kind=Kind.BUILD, tool="go", command=f"{go} build {packages}", why=why)
    yield DetectedGate(kind=Kind.LINT, tool="go-vet", command=f"{go} vet {packages}", why=why)
    if settings := root.has(*LINTER_FILES):
        command = f"{_workspace_off_prefix(root)}golangci-lint run {packages if used else ''}".rstrip()
        why = f"the project has a {settings}"
        yield DetectedGate(kind=Kind.LINT, tool="golangci-lint", command=command, why=why)


def covers_go_member(root: PackageRoot, member: PackageRoot, found: DetectedGate) -> bool:  # noqa: ARG001 - all commands span the same
    """Return whether the root's go.work names the module; `./...` alone stops at the next module."""
    return member.below(root) in _workspace_modules(root)


def _workspace_modules(root: PackageRoot) -> tuple[str, ...]:
    """Return the modules of a go.work that lie below it; "." is the root itself."""
    named = USE_DIRECTIVE.findall(LINE_COMMENT.sub("", root.text("go.work")))
    words = [word.strip('"`') for one, many in named for word in (one, *many.split()) if word]
    paths = dict.fromkeys(posixpath.normpath(word) for word in words[:MODULE_LIMIT])
    return tuple(path for path in paths if not path.startswith(("..", "/")) and _has_go_module(root, path))


def _workspace_off_prefix(root: PackageRoot) -> str:
    """Return the prefix that makes go work in a module that a go.work above leaves out."""
    left_out = any(
        _workspace_modules(above) and root.below(above) not in _workspace_modules(above)
        for above in root.above
    )
    return "GOWORK=off " if left_out and not _workspace_modules(root) else ""


def _has_go_module(root: PackageRoot, path: str) -> bool:
    return bool(root.has(posixpath.normpath(f"{path}/go.mod")))


def _package_pattern(module: str) -> str:
    return "./..." if module == "." else shlex.quote(f"./{module}/...")


# --- Rust ---------------------------------------------------------------------------------------------------


PATTERN_LIMIT: Final = 100
"""Maximum number of `exclude` patterns that are used."""


def find_rust_gates(root: PackageRoot) -> Iterator[DetectedGate]:
    """Yield tests, build, type check and clippy."""
    manifest = _cargo_manifest(root)
    if not root.has("Cargo.toml") or formats.table_at(manifest, "package", "metadata").get("cargo-fuzz"):
        return
    why, whole = "the project has a Cargo.toml", ""
    if _is_workspace(root):
        why, whole = "Cargo.toml has [workspace]", " --workspace"
    for kind, verb in ((Kind.TESTS, "test"), (Kind.BUILD, "build"), (Kind.TYPES, "check")):
        yield DetectedGate(kind=kind, tool="cargo", command=f"cargo {verb}{whole}", why=why)
    if sign := _clippy_sign(root):
        yield DetectedGate(kind=Kind.LINT, tool="clippy", command=f"cargo clippy{whole}", why=sign)


def covers_rust_member(root: PackageRoot, member: PackageRoot, found: DetectedGate) -> bool:  # noqa: ARG001 - all commands span the same
    """Return whether the root is a workspace that includes the package, which is not a workspace itself."""
    excluded = formats.string_items(formats.table_at(_cargo_manifest(root), "workspace").get("exclude"))[
        :PATTERN_LIMIT
    ]
    out = any(_matches_pattern(member.below(root), posixpath.normpath(pattern)) for pattern in excluded)
    return _is_workspace(root) and not out and not _is_workspace(member)


def _matches_pattern(path: str, pattern: str) -> bool:
    return fnmatchcase(path, pattern) or path.startswith(f"{pattern}/")


def _cargo_manifest(root: PackageRoot) -> Table:
    return root.toml("Cargo.toml")


def _is_workspace(root: PackageRoot) -> bool:
    return isinstance(_cargo_manifest(root).get("workspace"), dict)


def _clippy_sign(root: PackageRoot) -> str:
    if name := root.has("clippy.toml", ".clippy.toml"):
        return f"the project has a {name}"
    manifest = _cargo_manifest(root)
    for path in (("lints",), ("workspace", "lints")):
        if "clippy" in formats.table_at(manifest, *path):
            return f"Cargo.toml has [{'.'.join(path)}.clippy]"
    return ""
