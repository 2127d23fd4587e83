"""Contents of files by git's names for them, each proved by its name: an object may have been forged."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from hashlib import sha1
from typing import Final

from msgspec import Struct

from sidecar.adapters.tree.git import Git, text

TEXT: Final = 512 << 10
"""Bytes of one file that is read."""
TEXTS: Final = 32 << 20
"""Bytes of all files that are read."""
BIG: Final = f"it is bigger than {TEXT >> 10} KiB"
GONE: Final = "it is not in the repository any more"
"""Of a content that was there when it was kept, as after a `git gc`."""
FORGED: Final = "what git keeps of it was altered"


class Content(Struct, frozen=True):
    """What is in a file: a text, or why there is none."""

    text: str | None = None
    unread: str = ""


def decoded(content: bytes) -> Content:
    """A text, if it is one."""
    if len(content) > TEXT:
        return Content(unread=BIG)
    if b"\0" in content:
        return Content(unread="it is no text")
    return Content(text=content.decode("utf-8", "replace"))


async def read(git: Git, names: Iterable[str]) -> Mapping[str, Content]:
    """The contents under these names, the first ones first as far as `TEXTS` goes. Raises UnseenError."""
    wanted = list(dict.fromkeys(names))
    found: dict[str, Content] = {}
    fit: list[str] = []
    left = TEXTS
    for name, size in zip(wanted, await _sizes(git, wanted), strict=True):
        if size is None:
            found[name] = Content(unread=GONE)
        elif size > TEXT:
            found[name] = Content(unread=BIG)
        elif size > left:
            found[name] = Content(unread=f"all changed texts together are bigger than {TEXTS >> 20} MiB")
        else:
            left -= size
            fit.append(name)
    found.update([(name, _proved(name, content)) for name, content in await _contents(git, fit)])
    return found


def _proved(name: str, content: bytes | None) -> Content:
    if content is None:
        return Content(unread=GONE)
    return decoded(content) if name == named(content) else Content(unread=FORGED)


def named(content: bytes) -> str:
    """Git's name for a content."""
    return sha1(b"blob %d\0" % len(content) + content, usedforsecurity=False).hexdigest()


async def _sizes(git: Git, names: list[str]) -> list[int | None]:
    if not names:
        return []
    said = await git.told("cat-file", "--batch-check=%(objecttype) %(objectsize)", stdin=_lines(names))
    lines = [line.split(" ") for line in text(said).splitlines()]
    return [int(line[1]) if line[0] == "blob" else None for line in lines]


async def _contents(git: Git, names: list[str]) -> Iterable[tuple[str, bytes | None]]:
    if not names:
        return ()
    said = await git.ask("cat-file", "--batch=%(objecttype) %(objectsize)", stdin=_lines(names))
    return zip(names, _divided(said.output, len(names)), strict=True)


def _divided(said: bytes, number: int) -> Iterator[bytes | None]:
    """Contents, each after a line with its type and size; None from where git gave up."""
    at = 0
    for _ in range(number):
        line, _, _ = said[at : at + 200].partition(b"\n")
        at += len(line) + 1
        kind, _, size = line.partition(b" ")
        if kind != b"blob" or at + int(size) > len(said):
            yield None
            continue
        yield said[at : at + int(size)]
        at += int(size) + 1


def _lines(names: Iterable[str]) -> bytes:
    return "".join(f"{name}\n" for name in names).encode()
