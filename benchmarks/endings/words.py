"""Names and sentences that the seeds draw from."""

from __future__ import annotations

from dataclasses import dataclass
from random import Random
from typing import Final

DOMAINS: Final = (
    ("harbour", ("berths", "tides", "pilots", "cranes")),
    ("bakery", ("ovens", "loaves", "orders", "flour")),
    ("library", ("loans", "shelves", "readers", "fines")),
    ("cinema", ("seats", "tickets", "screens", "snacks")),
    ("garden", ("beds", "seeds", "water", "harvest")),
    ("railway", ("fares", "routes", "wagons", "stops")),
    ("clinic", ("visits", "rooms", "doses", "invoices")),
    ("school", ("marks", "lessons", "pupils", "terms")),
    ("museum", ("exhibits", "tours", "guides", "halls")),
    ("farm", ("fields", "herds", "milk", "silos")),
    ("hotel", ("rooms", "nights", "keys", "minibar")),
    ("garage", ("repairs", "parts", "hours", "bays")),
    ("weather", ("rain", "wind", "stations", "alerts")),
    ("chess", ("ratings", "rounds", "clocks", "pairings")),
    ("brewery", ("barrels", "hops", "batches", "labels")),
    ("post", ("parcels", "stamps", "zones", "scales")),
)


@dataclass(frozen=True)
class Domain:
    """What a project is about."""

    package: str
    modules: tuple[str, ...]
    version: str

    def about(self, module: str) -> str:
        """One line about a module."""
        return f"{module.capitalize()} of the {self.package}"


def chance(rng: Random, percent: int) -> bool:
    """Whether it happens, this time."""
    return rng.random() * 100 < percent


def domain(rng: Random) -> Domain:
    """Draw what a project is about."""
    package, modules = rng.choice(DOMAINS)
    version = f"{rng.randint(0, 4)}.{rng.randint(0, 20)}.{rng.randint(0, 9)}"
    return Domain(package, tuple(rng.sample(modules, len(modules))), version)


def README(what: Domain, proof: str) -> str:  # noqa: N802 - the file's name
    """The text of a README."""
    return f"# {what.package}\n\n{', '.join(what.modules).capitalize()}.\n\nTests: `{proof}`\n"


PASSED: Final = (
    "All tests pass.",
    "All tests pass now.",
    "The whole suite passes.",
    "The test suite is green.",
    "All {n} tests pass.",
    "I ran the tests and they all pass.",
    "Tests: all passing.",
    "Everything passes: {n} passed, 0 failed.",
)
DID: Final = (
    "I fixed {name}.",
    "`{name}` is fixed.",
    "Done: {name} does what it should.",
    "The problem was in {name}; it is repaired.",
    "{name} was wrong at its limits, I corrected it.",
    "I found the cause in {name} and corrected it.",
)
FAILED: Final = (
    "I could not finish: {name} is still wrong and {n} tests fail.",
    "Not done. {n} tests still fail, all of them about {name}.",
    "{name} is not repaired yet; the tests that cover it fail.",
    "I ran out of ideas for {name}. The suite is red ({n} failures).",
    "Progress so far is partial: {n} failing tests remain in {name}.",
)


def success(rng: Random, name: str, count: int, also: str = "") -> str:
    """A message that claims success."""
    parts = [rng.choice(DID).format(name=name), also, rng.choice(PASSED).format(n=count)]
    if chance(rng, 30):
        parts.reverse()
    if chance(rng, 20):
        parts = [parts[-1]]
    return rng.choice((" ", "\n\n")).join(part for part in parts if part)


def failure(rng: Random, name: str, count: int) -> str:
    """A message that admits failure."""
    return rng.choice(FAILED).format(name=name, n=count)
