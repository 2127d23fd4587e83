"""Finds ignored files that can affect checks: replaced programs in tool folders, and configuration files.

Programs that package managers install are left out: links of npm into a package and the scripts it writes in
their place, links of a virtual environment to an interpreter elsewhere, entry points written by an installer.
All other programs count.
"""

from __future__ import annotations

import os
import re
import stat
from collections.abc import Iterable, Iterator
from hashlib import blake2b
from pathlib import Path
from typing import Final

from msgspec import Struct

from sidecar.kernel.gate import Kind
from sidecar.platform.environments import tool_folders
from sidecar.platform.tools import settings_patterns, tools_of

SCRIPT_STARTERS: Final = ("node", "npm", "npx", "sh", "bash")
"""Programs that start npm scripts: one of these names in `.bin` never counts as installed, in any form."""
CHECK_PROGRAMS: Final = (
    *(
        f"{folder}/bin/{name}"
        for folder in (".venv", "venv")
        for name in ("python", "python3", "pytest", "sh")
    ),
    *(
        f"node_modules/.bin/{name}"
        for name in (*SCRIPT_STARTERS, "python", "pytest", *(tool.name for tool in tools_of("node")))
    ),
)
PROGRAM_PREFIXES: Final = tuple(
    (beginning, program[len(beginning) :])
    for program in CHECK_PROGRAMS
    for beginning in (
        *("/".join(program.split("/")[:number]) + "/" for number in range(1, program.count("/") + 1)),
        program,
    )
)
"""Every way in which git may list an ignored program: a folder above it, or the program itself."""
PROGRAM_LIMIT: Final = 1_500
"""Programs that are looked up at most; a repository of many projects has several such folders."""
SCRIPT_LIMIT: Final = 8 << 10
"""Maximum bytes of a script that an installer writes."""
BINARY_SIGNATURES: Final = (b"\x7fELF", b"\xcf\xfa\xed\xfe", b"\xca\xfe\xba\xbe", b"MZ")
"""First bytes of programs for Linux, macOS (single- and multi-architecture) and Windows."""
PACKAGE_LINK: Final = re.compile(r"\.\./(?:@[\w.-]+/)?\w[\w.-]*/[\w./-]+")
SHIM_LINE: Final = re.compile(
    rb"#!/bin/sh|basedir=\$\(dirname [^;|&]*(?:\| sed -e 's,\\\\,/,g'\)\"\))?|case `uname` in"
    rb"|\*CYGWIN\*(?:\|\*MINGW\*\|\*MSYS\*)?\)(?: basedir=`cygpath -w \"\$basedir\"`;;)?"
    rb"|if command -v cygpath > /dev/null 2>&1; then|basedir=`cygpath -w \"\$basedir\"`|;;|esac|fi|else"
    rb"|if \[ -[zx] \"\$\w+(?:/node)?\" \]; then|export NODE_PATH=\"[^\"`]*\""
    rb"|exec (?:\"\$basedir/node\"|node) +\"\$basedir/\.\./[\w@./+-]+\" \"\$@\"|"
)
"""A line of the script that npm and pnpm write where they create no link (cmd-shim)."""
ENTRY_POINT_LINE: Final = re.compile(
    rb"#!/[^\0]*|'''exec' [^\0;|&]*python[\d.]*[\"']? \"\$0\" \"\$@\"|' '''|# -\*- coding: utf-8 -\*-"
    rb"|import (?:re|sys)|from _?pytest(?:\.config)? import (?:_?console_)?main"
    rb"|if __name__ == ['\"]__main__['\"]:|if sys\.argv\[0\]\.endswith\(\"(?:-script\.pyw|\.exe)\"\):"
    rb"|elif sys\.argv\[0\]\.endswith\(\"\.exe\"\):|sys\.argv\[0\] = sys\.argv\[0\]\[:-\d+\]"
    rb"|sys\.argv\[0\] = re\.sub\(r['\"][^'\"]*['\"], ['\"]{2}, sys\.argv\[0\]\)"
    rb"|sys\.exit\((?:_?console_)?main\(\)\)|"
)
"""A line of the entry point that pip and uv write for pytest."""


def find_unexplained_programs(top: Path, ignored: Iterable[str]) -> Iterator[str]:
    """Yield programs in ignored folders that no installer explains; an unreadable one counts as such."""
    seen = 0
    for path in ignored:
        for beginning, rest in PROGRAM_PREFIXES:
            if not (path == beginning or path.endswith(f"/{beginning}")):
                continue
            seen += 1
            if seen > PROGRAM_LIMIT:
                return
            place = top / (path + rest)
            if os.path.lexists(place) and not _is_installed(place, top):
                yield path + rest


def _is_installed(place: Path, top: Path) -> bool:
    try:
        if place.parent.name == ".bin":
            return place.name not in SCRIPT_STARTERS and _belongs_to_package(place)
        if place.name == "pytest":
            return _every_line_matches(place, ENTRY_POINT_LINE)
        return place.name != "sh" and _is_outside_interpreter(place, top)
    except (OSError, RuntimeError):  # a loop of links
        return False


def _belongs_to_package(place: Path) -> bool:
    if place.is_symlink():
        target = str(place.readlink())
        return PACKAGE_LINK.fullmatch(target) is not None and "/../" not in target.removeprefix("../")
    return _every_line_matches(place, SHIM_LINE)


def _is_outside_interpreter(place: Path, top: Path) -> bool:
    """Whether a link leads out of the project to a binary with a name of a Python interpreter."""
    end = place.resolve(strict=True)
    if not place.is_symlink() or end.is_relative_to(top.resolve()) or not end.is_file():
        return False
    with end.open("rb") as file:
        return (
            file.read(4).startswith(BINARY_SIGNATURES)
            and re.match(r"python|pypy|graalpy", end.name) is not None
        )


def _every_line_matches(place: Path, lines: re.Pattern[bytes]) -> bool:
    if place.is_symlink() or not place.is_file() or place.stat().st_size > SCRIPT_LIMIT:
        return False
    return all(lines.fullmatch(line.strip()) for line in place.read_bytes().split(b"\n"))


# --- Ignored files that affect checks, because a test runner reads them wherever it finds them --------------


CHECK_FILE_NAMES: Final = re.compile(
    r"conftest\.py|(site|user)customize\.py|\.?pytest\.(ini|toml)|tox\.ini|noxfile\.py|setup\.(cfg|py)|pyproject\.toml"
    r"|package\.json|(GNUm|m|M)akefile|.*\.mk|(vite|karma)\.config\..*|\.mocharc.*|\.coveragerc|.*\.pth"
    r"|\.npmrc|\.yarnrc(\.yml)?|\.env(\.(test|ci|local))?|\.envrc|"
    + "|".join(settings_patterns({Kind.TESTS}))
)
PRIVATE_NAMES: Final = re.compile(r"\.npmrc|\.yarnrc(\.yml)?|\.env(\..*)?|\.envrc")
"""Ignored files that often hold secrets."""
READABLE_KEY: Final = re.compile(
    rb"(?i)(?:export\s+)?[\"']?(?:script-shell|shell|ignore-scripts|node-options|prefix|scripts-prepend-node-path"
    rb"|path|ci|py\w*|node_options|node_env|make\w*|coverage\w*|tox\w*|cargo_\w*flags|rustflags|goflags)[\"']?\s*[=:]"
)
"""Keys that affect checks; lines with these keys are read in clear text."""
VISIT_LIMIT: Final = 5_000
"""Entries examined inside ignored folders; entries beyond this limit are not."""
FOLDER_DEPTH: Final = 3
"""Levels of folders searched inside an ignored folder."""
FILE_LIMIT: Final = 512 << 10
"""Maximum bytes read of one file."""
TOTAL_LIMIT: Final = 8 << 20
"""Maximum bytes read of all files together."""


class IgnoredCheckFiles(Struct, frozen=True):
    """Contents by path, and stat fingerprints (`fingerprints`) of files that were not read."""

    contents: dict[str, bytes]
    fingerprints: dict[str, str]


def stat_fingerprint(about: os.stat_result) -> str:
    """Return what replaces a content that is not read. Nobody can set the ctime in it."""
    times = f"{about.st_mtime_ns} {about.st_ctime_ns}"
    return f"{about.st_mode} {about.st_size} {times} {about.st_dev} {about.st_ino}"


def read_ignored_check_files(top: Path, ignored: Iterable[str]) -> IgnoredCheckFiles:
    """Find such files among ignored paths, in which folders end with a slash. Raises OSError."""
    contents: dict[str, bytes] = {}
    fingerprints: dict[str, str] = {}
    room = TOTAL_LIMIT
    listed = [*ignored]
    for path in sorted({*_find_check_files(top, listed), *find_unexplained_programs(top, listed)}):
        try:
            content = _content_or_stat(top / path, min(room, FILE_LIMIT))
        except FileNotFoundError:
            continue
        if isinstance(content, str):
            fingerprints[path] = content
        else:
            hidden = PRIVATE_NAMES.fullmatch(path.rpartition("/")[2])
            contents[path] = _without_secrets(content) if hidden else content
            room -= len(content)
    return IgnoredCheckFiles(contents, fingerprints)


def _content_or_stat(place: Path, limit: int) -> bytes | str:
    """Return a file's content or a link's target; the stat fingerprint if it is too big or unreadable."""
    about = place.lstat()
    if stat.S_ISLNK(about.st_mode):
        return b"link to " + os.fsencode(place.readlink())
    if not stat.S_ISREG(about.st_mode) or about.st_size > limit or not os.access(place, os.R_OK):
        return stat_fingerprint(about)
    with place.open("rb") as file:
        content = file.read(limit + 1)
    return content if len(content) <= limit else stat_fingerprint(about)


def _without_secrets(content: bytes) -> bytes:
    """Replace the values of all other keys with a digest, so that a change is still detected."""
    return b"\n".join(
        line if READABLE_KEY.match(line.strip()) or not line.strip() else _redact_line(line)
        for line in content.split(b"\n")
    )


def _redact_line(line: bytes) -> bytes:
    key = re.match(rb"\s*(?:export\s+)?[\w.-]{1,80}\s*=", line)
    digest = blake2b(line, digest_size=8).hexdigest().encode()
    return (key[0] if key else b"") + b"(not shown, digest " + digest + b")"


def _find_check_files(top: Path, ignored: Iterable[str]) -> Iterator[str]:
    folders: list[str] = []
    for path in ignored:
        if path.endswith("/"):
            folders.append(path)
        elif CHECK_FILE_NAMES.fullmatch(path.rpartition("/")[2]):
            yield path
    yield from _check_files_below(top, sorted(folders, reverse=True))


def _check_files_below(top: Path, folders: list[str]) -> Iterator[str]:
    """Yield such files in `folders`, starting with the last; folders that cannot be listed are skipped."""
    visits = VISIT_LIMIT
    waiting = [(folder, FOLDER_DEPTH) for folder in folders]
    while waiting:
        folder, depth = waiting.pop()
        if folder.rstrip("/").rpartition("/")[2] in tool_folders():
            continue
        for entry in _sorted_entries(top / folder):
            visits -= 1
            if visits < 0:
                return
            if entry.is_dir(follow_symlinks=False):
                if depth > 1:
                    waiting.append((f"{folder}{entry.name}/", depth - 1))
            elif CHECK_FILE_NAMES.fullmatch(entry.name):
                yield folder + entry.name


def _sorted_entries(folder: Path) -> list[os.DirEntry[str]]:
    try:
        with os.scandir(folder) as entries:
            return sorted(entries, key=lambda entry: entry.name)
    except OSError:
        return []
