"""Finds what a run rests on besides the project's files: other copies of its package, and changes outside.

A source layout without an editable install, or an installed copy on the path: the tests then pass or fail for
files that nobody edits. pytest is asked by a plugin of ours; other runners are not.
"""

from __future__ import annotations

import base64
import hashlib
import os
import shutil
import sys
from collections.abc import Iterable, Iterator, Mapping
from itertools import islice
from pathlib import Path
from typing import Final

import msgspec
from msgspec import Struct

from sidecar.evidence.reports.report import read_report_bytes
from sidecar.platform.data import load_data
from sidecar.platform.environments import is_marked, known_environments, tool_folders
from sidecar.platform.shell.line import parse_simple_commands

PLUGIN: Final = "supervisor_pytest_origins"
PLUGIN_SOURCE: Final = Path(__file__).with_name("pytest_origins.py")
"""Copied, never imported: it would load pytest into the sidecar."""
SOURCE: Final = "plugin.txt"
LOADER: Final = (
    f"exec(compile(open(__file__[:-{len(PLUGIN) + 3}] + {SOURCE!r}).read(), '<supervisor>', 'exec'))"
    "  # pragma: no cover\n"
)
"""Loads the plugin as code without a file: coverage does not count its lines as the project's."""
IMPORT_FAILED: Final = f'Error importing plugin "{PLUGIN}"'
"""What pytest says where it cannot find the plugin: a Python that reads no environment, for example."""
SOURCE_FOLDERS: Final = ("", "src", "lib", "python")
"""Folders of a project that hold its packages."""
WRITTEN_BY_BUILDS: Final = ("_version", "version")
"""Modules that a build writes anew each time."""
CUSTOMIZING: Final = ("sitecustomize", "usercustomize")
"""Modules that Python loads at every start."""
UNRECORDED: Final = ("_virtualenv",)
"""Files that virtualenv and uv write into a new environment, without a record."""
NAMED_CHANGES: Final = 5
PACKAGE_FILES: Final = 50_000
"""Files of installed packages that are looked at where nobody knows which were loaded."""


def with_origins_plugin(environment: Mapping[str, str], folder: Path) -> dict[str, str]:
    """Put the plugin into an empty folder, and return the environment in which pytest loads it."""
    shutil.copyfile(PLUGIN_SOURCE, folder / SOURCE)
    (folder / f"{PLUGIN}.py").write_text(LOADER, encoding="utf-8")
    added = {"PYTEST_ADDOPTS": f"-p {PLUGIN}", "PYTHONPATH": str(folder)}
    changed = dict(environment)
    for name, joint in (("PYTEST_ADDOPTS", " "), ("PYTHONPATH", os.pathsep)):
        before = environment.get(name, "")
        changed[f"SUPERVISOR_BEFORE_{name}"] = before
        changed[name] = f"{added[name]}{joint}{before}" if before else added[name]
    return changed


def find_other_copy(written: Path, folder: Path, project: Path) -> str:
    """Name a module of the folder that was imported with another content, and from where; "" if none.

    A copy that was installed from these very files, as tox and nox do, is this project's code.
    """
    top, own = project.resolve(), own_sources(folder)
    for name, origin in _origins(written):
        head, _, rest = name.partition(".")
        file = Path(origin)
        if head not in own or rest.rpartition(".")[2] in WRITTEN_BY_BUILDS or not _is_copy(file, top):
            continue
        sources = [source for source in _module_files(own[head], rest) if source.is_file()]
        if sources and all(_content(source) != _content(file) for source in sources):
            return f"{name} from {file.parent}"
    return ""


def find_loaded_copies(written: Path, files: Iterable[Path]) -> Iterator[Path]:
    """Yield those of these files of which a copy with the same content was imported, as from an install."""
    loaded: dict[tuple[str, ...], Path] = {}
    for name, origin in _origins(written):
        place = Path(origin)
        depth = name.count(".") + 1 + (place.name == "__init__.py")
        loaded[place.parts[-depth:]] = place
    for file in files:
        copies = (place for tail, place in loaded.items() if file.parts[-len(tail) :] == tail)
        if any(_content(place) == _content(file) for place in copies):
            yield file


def _is_copy(file: Path, top: Path) -> bool:
    """Whether a Python module came from outside the project, or from where installers copy to."""
    if file.suffix != ".py":
        return False
    return not file.resolve().is_relative_to(top) or not {*known_environments().packages, "build"}.isdisjoint(
        file.parts
    )


def _module_files(places: Iterable[Path], rest: str) -> Iterator[Path]:
    """Yield the files that may hold a module of a package, or the one file that is a module."""
    for place in places:
        if place.suffix == ".py":
            yield place
        else:
            inner = place.joinpath(*filter(None, rest.split(".")))
            yield from (inner / "__init__.py", inner.with_name(f"{inner.name}.py"))


def _content(file: Path) -> bytes:
    try:
        return file.read_bytes()
    except OSError:
        return b""


def find_unexplained_changes(
    written: Path, project: Path, since: float, environment: str = ""
) -> tuple[str, ...]:
    """Return what the run loaded from outside the project that changed since, and that no record explains.

    A patched runner, a `sitecustomize`, a `.pth`, settings or a conftest in a folder above the project.
    `since`: seconds since the epoch; the change time of a file counts, which nobody can set. What tests load
    from anywhere else, such as a folder for temporary files, is their own business. What another runner than
    pytest loaded nobody knows: all packages of `environment`, the folder of a Python environment, count.
    """
    top, origins = project.resolve(), {name: Path(origin) for name, origin in _origins(written)}
    sites = {
        parent
        for file in origins.values()
        for parent in file.parents
        if parent.name in known_environments().packages
    }
    library = origins["os"].parent if "os" in origins else None
    packages: Iterable[Path] = ()
    if not origins and environment:
        sites = {*Path(environment).glob("lib/python3*/site-packages")}
        packages = islice((file for site in sites for file in site.rglob("*.py")), PACKAGE_FILES)
    files = (
        {file for site in sites for file in site.glob("*.pth")}
        | {*packages}
        | {
            file
            for name, file in origins.items()
            if name in CUSTOMIZING
            or file.parent.resolve() in top.parents
            or any(place in file.parents for place in (*sites, library))
        }
    )
    changed = [
        file
        for file in sorted(files)
        if _changed_since(file, since)
        and file.stem not in UNRECORDED
        and (not sites.isdisjoint(file.parents) or not file.resolve().is_relative_to(top))
    ]
    recorded = dict(entry for site in sites for entry in _recorded_digests(site)) if changed else {}
    return tuple(str(file) for file in changed if recorded.get(file) != _digest(file))[:NAMED_CHANGES]


def _changed_since(file: Path, since: float) -> bool:
    try:
        return file.is_file() and file.stat().st_ctime >= since
    except OSError:
        return True


def _recorded_digests(site: Path) -> Iterator[tuple[Path, str]]:
    """Yield what installers wrote down: PATH,sha256=DIGEST,SIZE in the RECORD of each package."""
    for record in site.glob("*.dist-info/RECORD"):
        for line in (read_report_bytes(record) or b"").decode("utf-8", "replace").splitlines():
            path, _, digest = line.rpartition(",")[0].rpartition(",")
            if digest.startswith("sha256="):
                yield site / path.strip('"'), digest


def _digest(file: Path) -> str:
    """Return the digest of a file in the form of a RECORD."""
    try:
        found = hashlib.sha256(file.read_bytes()).digest()
    except OSError:
        return "unreadable"
    return f"sha256={base64.urlsafe_b64encode(found).rstrip(b'=').decode()}"


def _origins(written: Path) -> Iterator[tuple[str, str]]:
    for file in sorted(written.glob("origins-*.json")):
        try:
            yield from msgspec.json.decode(read_report_bytes(file) or b"{}", type=dict[str, str]).items()
        except msgspec.MsgspecError:
            continue


def own_sources(folder: Path) -> dict[str, list[Path]]:
    """Return by name the packages and modules of this folder."""
    found: dict[str, list[Path]] = {}
    for source in SOURCE_FOLDERS:
        for place in (folder / source).glob("*"):
            name = place.stem if place.suffix == ".py" else place.name
            importable = place.suffix == ".py" or (place / "__init__.py").is_file()
            if importable and name not in known_environments().shared and name not in sys.stdlib_module_names:
                found.setdefault(name, []).append(place)
    return found


# --- what lies outside of a project, decides what its checks do, and changed since the work began -----------


ENTRY_LIMIT: Final = 200_000
"""Files of installed packages that are looked at; a look at 50,000 takes about a quarter of a second."""


class Surroundings(Struct, frozen=True, forbid_unknown_fields=True):
    """What is looked at; the data file explains each list."""

    above: tuple[str, ...]
    home: tuple[str, ...]
    packages: dict[str, str]


def find_changed_surroundings(
    line: str, folder: Path, environment: Mapping[str, str], project: Path, since: float
) -> Iterator[str]:
    """Yield files that a line in a folder depends on and that changed since, in seconds since the epoch."""
    known = load_data("surroundings", Surroundings)
    top = _repository_of(project)
    home = environment.get("HOME", "")
    settings = [place / name for place in top.parents for name in known.above]
    settings += [Path(home, name) for name in known.home if home]
    programs = [file for file in _programs(line, folder, environment) if not _is_below(file, top)]
    yield from sorted({str(file) for file in (*settings, *programs) if _place_changed(file, since)})
    budget = iter(range(ENTRY_LIMIT))
    for name, manifest in known.packages.items():
        for place in dict.fromkeys((folder / name, project / name, top / name)):
            yield from _changed_package_files(place, manifest, since, budget)
    yield from _changed_behind_links(top, since, budget)


def _repository_of(project: Path) -> Path:
    """Return the folder that holds the project's repository: changes in it are seen as the project's own."""
    real = project.resolve()
    return next((place for place in (real, *real.parents) if (place / ".git").exists()), real)


def _is_below(file: Path, top: Path) -> bool:
    """Whether a file, or what it links to, is the project's, or of an environment with records of its own."""
    return any(path.is_relative_to(top) or is_marked(path.parent.parent) for path in (file, file.resolve()))


def _programs(line: str, folder: Path, environment: Mapping[str, str]) -> Iterator[Path]:
    path = environment.get("PATH", os.defpath)
    for word in dict.fromkeys(word for one in parse_simple_commands(line) for word in one.argv[:1]):
        found = str(folder / word) if "/" in word else shutil.which(word, path=path)
        if found:
            yield Path(found)


def _place_changed(file: Path, since: float) -> bool:
    """Whether a file, or the link at its place, changed."""
    try:
        return max(file.stat().st_ctime, file.lstat().st_ctime) >= since
    except OSError:
        return False


def _changed_package_files(folder: Path, manifest: str, since: float, budget: Iterable[int]) -> Iterator[str]:
    """Yield changed files of packages whose manifest is older: an installer replaces packages as a whole."""
    waiting = [folder]
    while waiting:
        place = waiting.pop()
        entries = _entries(place, budget)
        inner = [Path(entry.path) for entry in entries if entry.is_dir(follow_symlinks=False)]
        if place.name == folder.name or place.name.startswith("@"):
            waiting += [one for one in inner if not one.name.startswith(".")]  # caches are no packages
            continue
        own = next((entry for entry in entries if entry.name == manifest), None)
        if own is not None and _entry_changed(own, since):
            continue
        waiting += inner
        yield from (entry.path for entry in entries if entry.is_file() and _entry_changed(entry, since))


def _changed_behind_links(top: Path, since: float, budget: Iterable[int]) -> Iterator[str]:
    """Yield the changed files outside of a repository to which its links lead."""
    waiting = [top]
    while waiting:
        for entry in _entries(waiting.pop(), budget):
            if entry.is_dir(follow_symlinks=False):
                waiting += [Path(entry.path)] if entry.name not in tool_folders() else []
            elif entry.is_symlink() and not (target := Path(entry.path).resolve()).is_relative_to(top):
                files = target.rglob("*") if target.is_dir() else (target,)
                seen = (file for file, _ in zip(files, budget, strict=False) if file.is_file())
                yield from (str(file) for file in seen if _place_changed(file, since))


def _entries(place: Path, budget: Iterable[int]) -> list[os.DirEntry[str]]:
    try:
        with os.scandir(place) as found:
            return [entry for entry, _ in zip(found, budget, strict=False)]
    except OSError:
        return []


def _entry_changed(entry: os.DirEntry[str], since: float) -> bool:
    """Whether it changed; the change time of a file with several names moves when it gets another name."""
    try:
        about = entry.stat()
    except OSError:
        return False
    return (about.st_mtime if about.st_nlink > 1 else about.st_ctime) >= since
