"""Locates Supervisor's own files: the plugin, the corpus, and the packages imported at start-up."""

from __future__ import annotations

from pathlib import Path
from typing import Final

import sidecar

COMPILED: Final = (
    *("sidecar", "click", "markdown_it", "msgspec", "rich"),
    *("anyio", "attr", "cattrs", "lsprotocol", "mcp", "mcp_types", "pydantic", "pygls", "starlette"),
)
"""Packages imported at start-up, by the sidecar and by the servers that hosts start."""


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
