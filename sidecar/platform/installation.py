"""Locates Supervisor's own files: the plugin, the corpus, and the packages imported at start-up.

It also tells one state of the code from another, which a version does not: a clone that was pulled keeps it.
"""

from __future__ import annotations

import base64
import hashlib
import os
import re
import sys
from collections.abc import Callable, Iterator, Sequence
from functools import cache
from pathlib import Path
from typing import Final

import sidecar

COMPILED: Final = (
    *("sidecar", "click", "markdown_it", "msgspec", "rich"),
    *("anyio", "attr", "cattrs", "lsprotocol", "mcp", "mcp_types", "pydantic", "pygls", "starlette"),
)
"""Packages imported at start-up, by the sidecar and by the servers that hosts start."""


PACKAGED: Final = "sidecar/_plugin/"
"""The plugin's folder in an installed package."""
LOADED_BY_HOSTS: Final = (
    *("hooks/", "commands/", ".gemini-extension/", ".mcp.json"),
    *(".claude-plugin/plugin.json", ".plugin/plugin.json"),
)
"""What a host loads of the plugin."""
REINSTALL: Final = "uv tool install --reinstall supervisor-sidecar"


class HostError(Exception):
    """The host is missing or refused. `moves` are next steps for the user, one line each."""

    def __init__(self, message: str, *moves: str) -> None:
        """Store the message and the next steps."""
        super().__init__(message)
        self.moves = moves


def plugin_root() -> Path:
    """The plugin's folder: the checkout we run from, else the copy inside our package. Raises HostError."""
    package = Path(sidecar.__file__).parent
    for root in (package.parent, package / "_plugin"):
        if (root / ".claude-plugin" / "plugin.json").is_file() and (root / "hooks" / "hooks.json").is_file():
            return root
    raise HostError(
        f"the plugin's files are neither beside {package} nor in it",
        "install the package whole: uv tool install supervisor-sidecar",
    )


def altered_plugin_files(root: Path) -> tuple[str, ...]:
    """Return the files of a plugin's folder that are not those that we were installed with.

    A checkout was not installed, so there are none. Raises OSError.
    """
    record = Path(code_root(), f"supervisor_sidecar-{sidecar.__version__}.dist-info", "RECORD")
    lines = record.read_text(encoding="utf-8").splitlines() if record.is_file() else ()
    known = (line.removeprefix(PACKAGED).split(",") for line in lines if line.startswith(PACKAGED))
    loaded = ((name, digest) for name, digest, *_ in known if digest and name.startswith(LOADED_BY_HOSTS))
    return tuple(name for name, digest in loaded if digest != _record_digest(root / name))


def altered_notice(root: Path, altered: Sequence[str], way: str) -> str:
    """Return what the user is told of altered files of a plugin, "" for none; `way` is what to type."""
    said = f"{', '.join(altered[:2])} of the plugin in {root} is not what was installed. Type: {way}"
    return f"Supervisor: {said}" if altered else ""


def _record_digest(path: Path) -> str:
    """Return a file's digest as an installer records it."""
    digest = hashlib.sha256(path.read_bytes() if path.is_file() else b"").digest()
    return f"sha256={base64.urlsafe_b64encode(digest).decode().rstrip('=')}"


def code_root() -> str:
    """Return the folder in which the package is."""
    return str(Path(sidecar.__file__).parents[1])


def read_code_digest() -> str:
    """Return 16 hexadecimal digits of our code and its data as they are on disk; "" while they are replaced.

    This reads some 450 files, so a command does it once, and the sidecar seldom and in a thread.
    """
    root, digest = code_root(), hashlib.blake2b(digest_size=8)
    try:
        for path in sorted(_code_files(f"{root}/sidecar")):
            with open(path, "rb", buffering=0) as file:  # noqa: PTH123 - half of the time goes into objects
                digest.update(path[len(root) :].encode() + b"\0" + file.read())
    except OSError:
        return ""
    return digest.hexdigest()


@cache
def first_reading(read: Callable[[], str]) -> str:
    """Return what `read` returned when this process first asked: the digest of the code it began with."""
    return read()


def _code_files(folder: str) -> Iterator[str]:
    with os.scandir(folder) as entries:
        for entry in entries:
            if entry.name.endswith((".py", ".toml")):
                yield entry.path
            elif entry.name not in ("__pycache__", "_plugin") and entry.is_dir():
                yield from _code_files(entry.path)


def add_package_command(package: str) -> str:
    """Return what to type so that our own environment has this package, too: one of a tool has no pip."""
    import shlex  # noqa: PLC0415 - who lacks a package needs it, and not the sidecar
    from importlib.util import find_spec  # noqa: PLC0415 - as above

    if find_spec("pip") is not None:
        return f"{shlex.quote(sys.executable)} -m pip install {shlex.quote(package)}"
    if Path(sys.prefix, "pipx_metadata.json").exists():
        return f"pipx inject {Path(sys.prefix).name} {shlex.quote(package)}"
    return f"uv pip install --python {shlex.quote(sys.executable)} {shlex.quote(package)}"


def corpus_folder() -> Path:
    """The folder of labelled stops that judges are measured with; in a checkout, part of the benchmarks.

    Raises HostError if there is no plugin. The folder itself may not exist.
    """
    root = plugin_root()
    packaged = root / "corpus"
    return packaged if packaged.is_dir() else root / "benchmarks" / "judge" / "corpus"


def compiled_packages() -> tuple[str, ...]:
    """Return the packages imported at start-up that are there: some come with an extra."""
    from importlib.util import find_spec  # noqa: PLC0415 - an install needs it, and not the sidecar

    return tuple(name for name in COMPILED if find_spec(name))


def compile_packages() -> tuple[str, ...]:
    """Compile the packages imported at start-up, since some installers do not; return those not compiled."""
    import compileall  # noqa: PLC0415 - an install needs it, and not the sidecar, which asks for a folder
    from importlib.util import find_spec  # noqa: PLC0415 - as above

    failed = []
    for name in compiled_packages():
        found = find_spec(name)
        folder = found and found.origin and Path(found.origin).parent
        if not folder or not compileall.compile_dir(folder, quiet=2):
            failed.append(name)
    return tuple(failed)


def is_newer_version(one: str, other: str) -> bool:
    """Whether version `one` is newer than `other`, by the numbers with which they begin."""
    return _version_numbers(one) > _version_numbers(other)


def _version_numbers(version: str) -> tuple[int, ...]:
    found = re.match(r"\d{1,9}(?:\.\d{1,9})*", version)
    return tuple(int(number) for number in found[0].split(".")) if found else ()
