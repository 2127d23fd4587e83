"""Settings of languages that go line by line: INI, make and just recipes, shell scripts, and loose text.

XML is read by its tags alone. Nothing here follows conditions, includes or variables.
"""

from __future__ import annotations

import re
from itertools import islice
from typing import TYPE_CHECKING, Final

from sidecar.adapters.reading.settings_values import DEPTH, SETTINGS_LIMIT, logical, many_lines, setting
from sidecar.model.inspection import Setting

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

TEXT_LIMIT: Final = 1 << 20
"""Characters of a file that is read line by line."""
SECTION: Final = re.compile(r"\[([^\]]{1,300})\]")
OPTION: Final = re.compile(r"([^=:\s][^=:]{0,200}?)\s*[=:]\s*(.*)", re.DOTALL)
RULE: Final = re.compile(
    r"(?![\t #]|export\b|override\b)"
    r"((?:[\w@.-]+(?: [\w+*$-]+(?:='[^'\n]*'|=\"[^\"\n]*\"|=[\w.-]+)?){1,20}|[^:=#\n]{1,300}?))"
    r"\s*::?(?!=)\s*([^\n]*)"
)
"""`targets: needs` of make, `name argument='default': needs` of just."""
VARIABLE: Final = re.compile(r"(?:export\s+|override\s+)?([\w.-]{1,100})\s*(?:[:?+!]{0,3}=)\s*(.*)")
WORDED_LIMIT: Final = 600
"""Characters of a line that may give a name a value."""
WORDED: Final = re.compile(
    r"(?:def\s+|val\s+)?['\"]?([A-Za-z_][\w.\-]{0,100})['\"]?\s*(?:=(?![=>~])|:(?!:)|\+=|\.set\(|[ (])\s*"
    r"('[^']{0,300}'|\"[^\"]{0,300}\"|[\w.%+-]{1,60})\s*\)?[,;]?$"
)
"""`key = value`, `key: value`, `key value`, `key(value)` or `key.set(value)` alone on a line."""
TAG: Final = re.compile(r"<(/?)([\w:.\-]{1,100})((?:[^<>\"']|\"[^\"<]*\"|'[^'<]*')*)>")
ATTRIBUTE: Final = re.compile(r"([\w:.\-]{1,100})\s*=\s*(?:\"([^\"]*)\"|'([^']*)')")


def ini_settings(text: str) -> tuple[Setting, ...]:
    """`section.key`; a value of several lines is a list of them."""
    return _bounded(_ini(_bounded_text(text)))


def recipe_settings(text: str) -> tuple[Setting, ...]:
    """A make- or justfile: recipes under "target NAME", line by line, what they need first, and variables."""
    return _bounded(_recipes(_bounded_text(text)))


def line_settings(text: str) -> tuple[Setting, ...]:
    """A shell script or a list of patterns: every line that is no comment, under "line"."""
    lines = logical(_bounded_text(text).split("\n"))
    return _bounded(setting("line", line, number) for number, line in lines)


def program_settings(text: str) -> tuple[Setting, ...]:
    """A program that runs checks: its lines, as those of a script."""
    return line_settings(text)


def worded_settings(text: str) -> tuple[Setting, ...]:
    """Other programs and lists, by their words: a line that gives a name a value is under that name."""
    lines = logical(_bounded_text(text).split("\n"), comment=("#", "//", "*", "/*"))
    return _bounded(_worded(number, line) for number, line in lines)


def xml_settings(text: str) -> tuple[Setting, ...]:
    """The text of every innermost element under the path of its tags, and attributes under `@name`."""
    return _bounded(_xml(_without_comments(_bounded_text(text))))


def _bounded(found: Iterable[Setting]) -> tuple[Setting, ...]:
    return tuple(islice(found, SETTINGS_LIMIT))


def _bounded_text(text: str) -> str:
    if len(text) > TEXT_LIMIT:
        raise ValueError(f"{len(text)} characters; at most {TEXT_LIMIT} are read")
    return text.removeprefix("\ufeff").replace("\r\n", "\n")


# --- INI ----------------------------------------------------------------------------------------------------


def _ini(text: str) -> Iterator[Setting]:
    section, key, first, held = "", "", 0, list[tuple[int, str]]()
    for number, raw in enumerate(text.split("\n"), start=1):
        line = re.split(r"\s[#;](?:\s|$)", raw, maxsplit=1)[0].rstrip()
        if not line or line.lstrip().startswith(("#", ";")):
            continue
        if line[0] in " \t" and key:
            held.append((number, line.strip()))
            continue
        yield from _option(key, first, held)
        key, first, held = "", number, []
        if header := SECTION.match(line):
            section = header[1].strip()
            continue
        option = OPTION.match(line.strip())
        name, value = (option[1], option[2]) if option else (line.strip(), "")
        key = f"{section}.{name}" if section else name
        held = [(number, value)] if value else []
    yield from _option(key, first, held)


def _option(key: str, first: int, held: list[tuple[int, str]]) -> Iterator[Setting]:
    if not key:
        return
    if len(held) == 1 and held[0][0] == first:
        yield setting(key, held[0][1], first)
    elif not held:
        yield setting(key, "", first)
    elif any(value.endswith("\\") for _, value in held):
        yield from many_lines(key, [value for _, value in held], held[0][0])
    else:
        for at, (number, value) in enumerate(held):
            yield setting(f"{key}[{at}]", value, number)


# --- recipes ------------------------------------------------------------------------------------------------


def _recipes(text: str) -> Iterator[Setting]:
    targets, at = list[str](), 0
    for number, indented, line in _joined(text):
        if indented and targets:
            for target in targets:
                yield setting(f"target {target}[{at}]", line, number)
            at += 1
        elif not indented and (rule := RULE.match(line)) and not line.startswith(("if", "else", "endif")):
            names, (needs, _, inline) = rule[1].split(), rule[2].partition(";")
            targets, at = names[:1] if "=" in rule[1] else names[:20], 0
            for target in targets:
                yield setting(f"target {target}.needs", needs, number)
                if inline.strip():
                    yield setting(f"target {target}[0]", inline, number)
            at = 1 if inline.strip() else 0
        elif named := VARIABLE.match(line):
            targets = [] if not indented else targets
            yield setting(named[1], named[2], number)


def _joined(text: str) -> Iterator[tuple[int, bool, str]]:
    """Logical lines: number, whether they are indented, and their words."""
    begun, indented, held = 0, False, list[str]()
    for number, raw in enumerate(text.split("\n"), start=1):
        line = raw.strip()
        if not held:
            if not line or line.startswith("#"):
                continue
            begun, indented = number, raw[0] in " \t"
        if line.endswith("\\"):
            held.append(line[:-1].strip())
            continue
        yield begun, indented, " ".join([*held, line])
        held = []
    if held:
        yield begun, indented, " ".join(held)


# --- loose text and XML -------------------------------------------------------------------------------------


def _worded(number: int, line: str) -> Setting:
    named = WORDED.match(line) if len(line) < WORDED_LIMIT else None
    return setting(named[1], named[2].strip("'\""), number) if named else setting("line", line, number)


def _without_comments(text: str) -> str:
    """Comments become blank lines, so that the others keep their numbers."""
    head, *rest = text.split("<!--")
    kept = [head]
    for part in rest:
        comment, _, after = part.partition("-->")
        kept.append("\n" * comment.count("\n") + after)
    return "".join(kept)


def _xml(text: str) -> Iterator[Setting]:
    path, line, end = list[str](), 1, 0
    opened = False
    for tag in TAG.finditer(text):
        content = text[end : tag.start()]
        if tag[1] and opened and content.strip():
            yield setting(".".join(path), content, line)
        line += content.count("\n")
        if tag[1]:
            while path and path.pop() != tag[2]:
                pass
            opened = False
        else:
            if len(path) >= DEPTH:
                raise ValueError("it nests too deep")
            path.append(tag[2])
            for name, double, single in ATTRIBUTE.findall(tag[3]):
                yield setting(f"{'.'.join(path)}@{name}", double or single, line)
            opened = not tag[3].rstrip().endswith("/")
            if not opened:
                path.pop()
        line += tag[0].count("\n")
        end = tag.end()
