"""What else a pass depends on besides the files of the tree, in one digest that costs a few hundred looks.

In it:

- variables of the environment that change what a tool does (`VARIABLES`);
- the content of lock files (`LOCKS`) beside the gate, above it, and in the project, even if git ignores them;
- what is installed: the lists that package managers keep in node_modules, and the folders into which they
  install for Python, by modification time;
- tools and interpreters: every word of the line that names a program, and `RUNTIMES`, each by its resolved
  path, size and modification time, in place of its version, which would have to be asked for;
- files of the user's that choose a version (`CHOICES`).

Not in it: a package installed for editing from outside the project, a service that a test talks to, the
clock, the kernel. Passes of gates that look out of the tree by their nature are never kept: see
`memory.lasting`.
"""

from __future__ import annotations

import hashlib
import os
import re
import shutil
from collections.abc import Iterator, Mapping
from itertools import islice
from pathlib import Path
from typing import Final

from sidecar.adapters.project_python import at_home
from sidecar.model.gate import Gate
from sidecar.ports import Site

VARIABLES: Final = re.compile(
    r"CI|NODE_ENV|NODE_OPTIONS|NODE_PATH|PYTHON\w*|PYTEST_\w+|TOX_\w+|NOX\w*|HYPOTHESIS_\w+|DJANGO_\w+|FLASK_\w+"
    r"|GO\w+|CGO_\w+|RUST\w+|CARGO_\w+|JAVA_\w+|JDK_\w+|MAVEN_\w+|GRADLE_\w+|MAKE\w*|CC|CXX|C\w*FLAGS|LDFLAGS"
    r"|RUBY\w*|BUNDLE_\w+|GEM_\w+|RAILS_ENV|RACK_ENV|MIX_\w+|DOTNET_\w+|COMPOSER_\w+|APP_ENV|ENV|TZ|LANG|LC_ALL"
    r"|LD_\w+|DYLD_\w+|PYENV_VERSION|ASDF_\w+|MISE_\w+|npm_config_\w+"
)
"""Names of variables by which tools are steered."""
LOCKS: Final = (
    "poetry.lock",
    "uv.lock",
    "pdm.lock",
    "Pipfile.lock",
    "requirements.txt",
    "package-lock.json",
    "npm-shrinkwrap.json",
    "pnpm-lock.yaml",
    "yarn.lock",
    "bun.lock",
    "bun.lockb",
    "Cargo.lock",
    "go.sum",
    "go.work.sum",
    "Gemfile.lock",
    "composer.lock",
    "mix.lock",
    "packages.lock.json",
    "gradle.lockfile",
    ".env",
)
"""Files of which a gate's outcome depends though git may not see them; `.env` is read by many tools."""
INSTALLED: Final = (
    "node_modules/.package-lock.json",
    "node_modules/.yarn-integrity",
    "node_modules/.yarn-state.yml",
    "node_modules/.modules.yaml",
    ".pnp.cjs",
    ".bundle/config",
)
"""What package managers note of what they installed."""
RUNTIMES: Final = (
    "python3",
    "python",
    "node",
    "go",
    "rustc",
    "java",
    "ruby",
    "php",
    "dotnet",
    "elixir",
    "cc",
)
"""Programs that a line may start without naming them."""
CHOICES: Final = (
    ".pyenv/version",
    ".rustup/settings.toml",
    ".tool-versions",
    ".config/mise/config.toml",
    ".cargo/config.toml",
    ".npmrc",
)
"""Files below the user's home that choose which version a shim starts, or how a tool behaves."""
PROGRAM: Final = re.compile(r"[\w.+/-]{1,200}")
PROGRAMS: Final = 16
"""Words of a line that are looked up as programs."""
CONTENT: Final = 64 << 20
"""Bytes of a file up to which its content is digested; of a bigger one, size and time."""
DEEP: Final = 20
"""Folders between a gate and its project in which lock files are looked for."""


def world(gate: Gate, at: Site) -> str:
    """Digest it. Never raises; what is not there counts as that."""
    project, folder = Path(at.project), Path(at.project, gate.folder)
    environment = at_home(str(folder), at.environment, at.project)
    digest = hashlib.blake2b(digest_size=20)
    for part in (
        *_variables(environment),
        *(_content(place / name) for place in _places(project, folder) for name in (*LOCKS, *INSTALLED)),
        *_tools(gate.command, folder, environment),
        *_pythons(folder, environment),
        *(_content(Path(environment.get("HOME", "/"), name)) for name in CHOICES),
    ):
        digest.update(part.encode("utf-8", "surrogateescape") + b"\0")
    return digest.hexdigest()


def _variables(environment: Mapping[str, str]) -> list[str]:
    names = (name for name in sorted(environment) if VARIABLES.fullmatch(name))
    return [f"{name}={environment[name]}" for name in names]


def _places(project: Path, folder: Path) -> list[Path]:
    """The gate's folder and those above it up to the project."""
    above = [place for place in (folder, *folder.parents)[:DEEP] if place.is_relative_to(project)]
    return list(dict.fromkeys((*above, project)))


def _content(path: Path) -> str:
    try:
        status = path.stat()
        if status.st_size > CONTENT:
            return _stat(path)
        with path.open("rb") as file:
            return f"{path}:{hashlib.file_digest(file, 'blake2b').hexdigest()}"
    except (OSError, ValueError):
        return ""


def _stat(path: Path) -> str:
    """Stand in for a version: where it really is, its size and its time."""
    try:
        real = path.resolve()
        status = real.stat()
    except (OSError, RuntimeError, ValueError):
        return ""
    return f"{real}:{status.st_size}:{status.st_mtime_ns}"


def _tools(line: str, folder: Path, environment: Mapping[str, str]) -> Iterator[str]:
    words = dict.fromkeys(found[0] for found in islice(PROGRAM.finditer(line), 4 * PROGRAMS))
    path = environment.get("PATH", os.defpath)
    for word in (*islice(words, PROGRAMS), *RUNTIMES):
        found = str(folder / word) if "/" in word else shutil.which(word, path=path)
        yield _stat(Path(found)) if found else ""


def _pythons(folder: Path, environment: Mapping[str, str]) -> Iterator[str]:
    """The environment that is active, and those that a tool may find: settings, and when they changed."""
    found = shutil.which("python3", path=environment.get("PATH", os.defpath))
    roots = [folder / ".venv", folder / "venv", Path(environment.get("HOME", "/"), ".local")]
    if environment.get("VIRTUAL_ENV"):
        roots.append(Path(environment["VIRTUAL_ENV"]))
    if found:
        roots += [Path(found).parent.parent, Path(found).resolve().parent.parent]
    for root in dict.fromkeys(roots):
        yield _content(root / "pyvenv.cfg")
        yield _stat(root / "bin" / "python")
        for packages in sorted(islice(_packages(root), PROGRAMS)):
            yield _stat(packages)


def _packages(root: Path) -> Iterator[Path]:
    for name in ("site-packages", "dist-packages"):
        yield from root.glob(f"lib/python3*/{name}")
