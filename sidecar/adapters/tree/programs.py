"""Programs that checks find first, in folders that hold what tools made and are otherwise not looked into.

What an install puts there is left out: a link of npm into a package, its stand-in for such a link, a link of
a virtual environment to an interpreter elsewhere, an entry point that an installer wrote. All others count.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Final

SHELLS: Final = ("node", "npm", "npx", "sh", "bash")
"""What starts the scripts of npm: nothing of that name counts as installed, in whatever form it is there."""
PROGRAMS: Final = (
    *(
        f"{folder}/bin/{name}"
        for folder in (".venv", "venv")
        for name in ("python", "python3", "pytest", "sh")
    ),
    *(f"node_modules/.bin/{name}" for name in SHELLS),
    *(
        f"node_modules/.bin/{name}"
        for name in ("python", "pytest", "vitest", "jest", "mocha", "tsc", "eslint", "ava", "tap")
    ),
)
BEGINNINGS: Final = tuple(
    (beginning, program[len(beginning) :])
    for program in PROGRAMS
    for beginning in (
        *("/".join(program.split("/")[:number]) + "/" for number in range(1, program.count("/") + 1)),
        program,
    )
)
"""Every way in which git may name what is ignored: the folder, one inside it, or the program itself."""
PLACES: Final = 1_000
"""Programs that are looked for at most; a repository of many projects has several such folders."""
SMALL: Final = 8 << 10
"""Bytes of a script that an installer writes."""
BINARY: Final = (b"\x7fELF", b"\xcf\xfa\xed\xfe", b"\xca\xfe\xba\xbe", b"MZ")
"""How programs of Linux, macOS (of one and of several machines) and Windows begin."""
INTO_A_PACKAGE: Final = re.compile(r"\.\./(?:@[\w.-]+/)?\w[\w.-]*/[\w./-]+")
STAND_IN: Final = re.compile(
    rb"#!/bin/sh|basedir=\$\(dirname [^;|&]*(?:\| sed -e 's,\\\\,/,g'\)\"\))?|case `uname` in"
    rb"|\*CYGWIN\*(?:\|\*MINGW\*\|\*MSYS\*)?\)(?: basedir=`cygpath -w \"\$basedir\"`;;)?"
    rb"|if command -v cygpath > /dev/null 2>&1; then|basedir=`cygpath -w \"\$basedir\"`|;;|esac|fi|else"
    rb"|if \[ -[zx] \"\$\w+(?:/node)?\" \]; then|export NODE_PATH=\"[^\"`]*\""
    rb"|exec (?:\"\$basedir/node\"|node) +\"\$basedir/\.\./[\w@./+-]+\" \"\$@\"|"
)
"""A line of the script that npm and pnpm write where they make no link (cmd-shim)."""
ENTRY: Final = re.compile(
    rb"#!/[^\0]*|'''exec' [^\0;|&]*python[\d.]*[\"']? \"\$0\" \"\$@\"|' '''|# -\*- coding: utf-8 -\*-"
    rb"|import (?:re|sys)|from _?pytest(?:\.config)? import (?:_?console_)?main"
    rb"|if __name__ == ['\"]__main__['\"]:|if sys\.argv\[0\]\.endswith\(\"(?:-script\.pyw|\.exe)\"\):"
    rb"|elif sys\.argv\[0\]\.endswith\(\"\.exe\"\):|sys\.argv\[0\] = sys\.argv\[0\]\[:-\d+\]"
    rb"|sys\.argv\[0\] = re\.sub\(r['\"][^'\"]*['\"], ['\"]{2}, sys\.argv\[0\]\)"
    rb"|sys\.exit\((?:_?console_)?main\(\)\)|"
)
"""A line of the entry point that pip and uv write for pytest."""


def own_programs(top: Path, ignored: Iterable[str]) -> Iterator[str]:
    """Paths of programs in ignored folders that no install explains. What cannot be read is one."""
    seen = 0
    for path in ignored:
        for beginning, rest in BEGINNINGS:
            if not (path == beginning or path.endswith(f"/{beginning}")):
                continue
            seen += 1
            if seen > PLACES:
                return
            place = top / (path + rest)
            if os.path.lexists(place) and not _installed(place, top):
                yield path + rest


def _installed(place: Path, top: Path) -> bool:
    try:
        if place.parent.name == ".bin":
            return place.name not in SHELLS and _of_package(place)
        if place.name == "pytest":
            return _reads_as(place, ENTRY)
        return place.name != "sh" and _interpreter_elsewhere(place, top)
    except (OSError, RuntimeError):  # a loop of links
        return False


def _of_package(place: Path) -> bool:
    if place.is_symlink():
        target = str(place.readlink())
        return INTO_A_PACKAGE.fullmatch(target) is not None and "/../" not in target.removeprefix("../")
    return _reads_as(place, STAND_IN)


def _interpreter_elsewhere(place: Path, top: Path) -> bool:
    """Whether a link leads out of the project to a program that is named as Python's are."""
    end = place.resolve(strict=True)
    if not place.is_symlink() or end.is_relative_to(top.resolve()) or not end.is_file():
        return False
    with end.open("rb") as file:
        return file.read(4).startswith(BINARY) and re.match(r"python|pypy|graalpy", end.name) is not None


def _reads_as(place: Path, lines: re.Pattern[bytes]) -> bool:
    if place.is_symlink() or not place.is_file() or place.stat().st_size > SMALL:
        return False
    return all(lines.fullmatch(line.strip()) for line in place.read_bytes().split(b"\n"))
