"""Verifies the lines of an audit.

Entries are numbered from 1, and each line holds the digest of the one before it and, at its end, its own:
SHA-256 of the line without that last field. A number that is missing is a fault. Who can write the state
folder could make a whole new chain: only a signature, or an export in other hands, shows that.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from hashlib import sha256
from itertools import pairwise
from typing import Annotated, Final

from msgspec import Meta, Struct
from msgspec.structs import replace

from sidecar.kernel.decoding import read_json

_TAIL: Final = len(',"digest":""}') + 64


class Head(Struct, frozen=True, kw_only=True):
    """The last entry that was written. `at` is its time in seconds since the epoch."""

    version: int = 1
    number: int = 0
    digest: str = ""
    at: float = 0.0


class Seal(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The last line of an export: how many entries there are, and the number and digest of the last one.

    `lock` is set where only its entries were exported. A number that is missing is no fault then.
    """

    entries: int
    first: int
    last: int
    head: str
    exported_at: str
    lock: str = ""


class Fault(Struct, frozen=True, kw_only=True):
    """What is wrong. `line` counts from 1, `number` is that of the entry."""

    line: int
    number: int
    what: str


class Verification(Struct, frozen=True, kw_only=True):
    """The result. `first` is the least number."""

    entries: int
    first: int = 0
    faults: tuple[Fault, ...] = ()


def line_digest(line: bytes) -> str:
    """Return the digest of a line: that of the line without its last field, in hexadecimal."""
    return sha256(line[:-_TAIL] + b"}").hexdigest()


def verify_lines(lines: Iterable[bytes], head: Head, *, part: bool = False) -> Verification:
    """Find what is wrong. `head`: what the last line must be; `part`: numbers may be missing."""
    links: dict[int, _Line] = {}
    faults: list[Fault] = []
    place = last = 0
    for place, line in enumerate(lines, 1):
        link = _read_line(place, line, last + 1)
        known = links.get(link.number)
        if not link.intact:
            faults.append(link.fault("changed"))
        elif known and known.intact:
            faults.append(link.fault(f"added: line {known.line} is the entry of this number"))
        elif link.number < last:
            faults.append(link.fault(f"out of order: entry {last} stands before it"))
        if known is None or not known.intact:
            links[link.number], last = link, link.number
    ordered = [_Line(), *(links[number] for number in sorted(links))]
    for before, link in pairwise(ordered):
        gap = range(before.number + 1, link.number)
        if gap and not part:
            faults.append(link.fault(f"missing: {_named(gap)}", gap[0]))
        elif not gap and before.intact and link.intact and link.previous != before.digest:
            what = f"changed: it does not follow entry {before.number}, so one of the two was replaced"
            faults.append(link.fault(what))
    faults += _faults_at_end(ordered[-1], head)
    faults.sort(key=lambda fault: fault.line)
    return Verification(entries=place, first=min(links, default=0), faults=tuple(faults))


def verify_export(data: bytes) -> Verification:
    """Find what is wrong with an exported file."""
    *lines, last = data.removesuffix(b"\n").split(b"\n")
    end = len(lines) + 1
    if (seal := read_json(last, Seal)) is None:
        what = "cut off at the end: the last line is not the seal of an export"
        return Verification(entries=len(lines), faults=(Fault(line=end, number=0, what=what),))
    found = verify_lines(lines, Head(number=seal.last, digest=seal.head), part=bool(seal.lock))
    if found.faults or (found.entries, found.first) == (seal.entries, seal.first):
        return found
    what = f"missing: the seal counts {seal.entries} entries from number {seal.first}"
    return replace(found, faults=(Fault(line=end, number=seal.last, what=what),))


class _Line(Struct, frozen=True, kw_only=True):
    """What chains an entry to the one before it. `line` counts from 1; one that is not intact was changed."""

    line: int = 0
    number: Annotated[int, Meta(ge=0, le=1 << 53)] = 0
    previous: str = ""
    digest: str = ""
    intact: bool = True

    def fault(self, what: str, number: int = 0) -> Fault:
        return Fault(line=self.line, number=number or self.number, what=what)


def _read_line(place: int, line: bytes, expected: int) -> _Line:
    """Read a line. One whose digest is not its own stands for the entry that is `expected` there."""
    own = line.endswith(b',"digest":"%s"}' % line_digest(line).encode())
    read = read_json(line, _Line) if own else None
    return replace(read, line=place) if read else _Line(line=place, number=expected, intact=False)


def _faults_at_end(last: _Line, head: Head) -> Iterator[Fault]:
    """Compare the greatest number with the head. After a kill between the two one more was written."""
    if cut := range(last.number + 1, head.number + 1):
        yield Fault(line=last.line + 1, number=cut[0], what=f"cut off at the end: {_named(cut)}")
    elif last.number > head.number + 1:
        missing = "missing: governance/head.json, so nothing shows what the last entry was"
        added = f"added: the last entry that was written is {head.number}"
        yield last.fault(added if head.number else missing)
    elif last.intact and last.number == head.number and last.digest != head.digest:
        yield last.fault("changed: it is not the entry that was written last")


def _named(numbers: range) -> str:
    first, last = numbers[0], numbers[-1]
    return f"entry {first}" if first == last else f"entries {first} to {last}"
