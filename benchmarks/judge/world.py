"""A made-up project: its names and files, its commands, and what they print."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from random import Random
from typing import Final

from judge.blocks import Block, load
from judge.template import expand
from msgspec import Struct

TEXTS: Final = Path(__file__).resolve().parent / "words"
PACKAGES: Final = (
    *("billing", "shop", "fleet", "atlas", "notes", "relay", "ledger", "kiosk", "pixel", "harvest"),
    *("tracker", "portal", "gateway", "studio", "vault", "beacon", "orbit", "canvas", "depot", "pulse"),
)
MODULES: Final = (
    *("upload", "parser", "cart", "session", "invoice", "search", "export", "cache", "report", "scheduler"),
    *("router", "importer", "pricing", "profile", "webhook", "mailer", "tokens", "queue", "geometry"),
    *("calendar", "permissions", "feed", "sync", "playlist", "inventory", "telemetry", "checkout", "diff"),
)
SYMBOLS: Final = (
    *("retry", "load", "merge", "total", "normalize", "resolve", "fetch", "render", "encode", "validate"),
    *("paginate", "score", "split", "flush", "rotate", "digest", "expand", "clamp", "lookup", "dispatch"),
)
CASES: Final = (
    "empty",
    "timeout",
    "unicode",
    "large",
    "twice",
    "leap_year",
    "negative",
    "missing",
    "expired",
)


class World(Struct, frozen=True):
    """One project. `slots` are its names; the rest are templates over them."""

    block: Block
    slots: dict[str, str]

    def say(self, key: str, rng: Random) -> str:
        """One of the project's own lines: a command, a path, the name of a failing test."""
        return expand(self.block.get(key), rng, self.slots)

    def text(self, kind: str, rng: Random) -> str:
        """What a command prints, or a change of a file."""
        parts = [part.text for part in self.block.parts if part.kind == kind]
        return expand(rng.choice(parts), rng, self.slots)

    def lines(self, kind: str, rng: Random) -> tuple[str, ...]:
        """The lines of a change."""
        return tuple(self.text(kind, rng).split("\n"))


@cache
def _worlds() -> tuple[Block, ...]:
    return tuple(load(TEXTS / "worlds.txt"))


def world(rng: Random) -> World:
    """Draw a project, and every name and number that stays the same in its story."""
    block = rng.choice(_worlds())
    module, symbol = rng.choice(MODULES), rng.choice(SYMBOLS)
    count = rng.choice((rng.randint(3, 30), rng.randint(30, 400), rng.randint(400, 2400)))
    left, right = rng.sample(range(2, 60), 2)
    slots = {
        "pkg": rng.choice(PACKAGES),
        "mod": module,
        "sym": symbol,
        "Cls": module.capitalize(),
        "case": rng.choice(CASES),
        "n": str(count),
        "f": str(rng.randint(1, 4)),
        "a": str(left),
        "b": str(right),
        "secs": f"{rng.uniform(0.1, 40):.2f}",
        "dots": "." * min(count, 60),
    }
    for key, name in (
        ("src", "path"),
        ("test", "testfile"),
        ("doc", "doc"),
        ("all", "test"),
        ("lint", "lint"),
    ):
        slots[name] = expand(block.get(key), rng, slots)
    slots["fails"] = expand(block.get("fails"), rng, slots)
    return World(block, slots)
