"""Rust: cargo, over the whole workspace where there is one; clippy only where the project sets it up."""

from __future__ import annotations

import posixpath
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING, Final

from sidecar.adapters.detection import formats
from sidecar.adapters.detection.found import Found
from sidecar.model.gate import Kind

if TYPE_CHECKING:
    from collections.abc import Iterator

    from sidecar.adapters.detection.folder import Folder
    from sidecar.adapters.detection.formats import Table

PATTERNS: Final = 100
"""Patterns of `exclude` that are looked at."""


def find(root: Folder) -> Iterator[Found]:
    """Tests, build, types and clippy."""
    manifest = _manifest(root)
    if not root.has("Cargo.toml") or formats.table(manifest, "package", "metadata").get("cargo-fuzz"):
        return
    why, whole = "the project has a Cargo.toml", ""
    if _workspace(root):
        why, whole = "Cargo.toml has [workspace]", " --workspace"
    for kind, verb in ((Kind.TESTS, "test"), (Kind.BUILD, "build"), (Kind.TYPES, "check")):
        yield Found(kind=kind, tool="cargo", command=f"cargo {verb}{whole}", why=why)
    if sign := _clippy(root):
        yield Found(kind=Kind.LINT, tool="clippy", command=f"cargo clippy{whole}", why=sign)


def spans(root: Folder, member: Folder, found: Found) -> bool:  # noqa: ARG001 - all commands span the same
    """Whether the root is a workspace that leaves the package in, and the package is none itself."""
    excluded = formats.strings(formats.table(_manifest(root), "workspace").get("exclude"))[:PATTERNS]
    out = any(_matches(member.below(root), posixpath.normpath(pattern)) for pattern in excluded)
    return _workspace(root) and not out and not _workspace(member)


def _matches(path: str, pattern: str) -> bool:
    return fnmatchcase(path, pattern) or path.startswith(f"{pattern}/")


def _manifest(root: Folder) -> Table:
    return root.toml("Cargo.toml")


def _workspace(root: Folder) -> bool:
    return isinstance(_manifest(root).get("workspace"), dict)


def _clippy(root: Folder) -> str:
    if name := root.has("clippy.toml", ".clippy.toml"):
        return f"the project has a {name}"
    manifest = _manifest(root)
    for path in (("lints",), ("workspace", "lints")):
        if "clippy" in formats.table(manifest, *path):
            return f"Cargo.toml has [{'.'.join(path)}.clippy]"
    return ""
