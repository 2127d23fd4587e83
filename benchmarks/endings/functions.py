"""What the made-up projects compute: small functions, each with one bug, in several languages.

In a body, `⟦right¦wrong⟧` are the two versions of one place and `@A@` is a constant drawn by the seed. The
Python body is run here to find out what a test must expect, and what the bug answers instead.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from random import Random
from typing import Final

Value = int | str | bool | list[int]


Arguments = tuple[Value, ...]


Constants = dict[str, int]


PLACE: Final = re.compile("⟦(.*?)¦(.*?)⟧", re.DOTALL)


@dataclass(frozen=True)
class Spec:
    """One function: its possible names, parameters with types, what it returns and the bodies by language."""

    names: tuple[str, ...]
    params: tuple[tuple[str, str], ...]
    returns: str
    doc: str
    constants: Callable[[Random], Constants]
    arguments: Callable[[Random, Constants], Sequence[Arguments]]
    bodies: dict[str, str]


@dataclass(frozen=True)
class Case:
    """One call with what is right, and what the bug answers."""

    arguments: Arguments
    right: Value
    wrong: Value

    @property
    def shows(self) -> bool:
        """Whether this case shows the bug."""
        return self.right != self.wrong


@dataclass
class Function:
    """A function as one project has it. `fixed` is changed by the turn; `head` are lines put before."""

    spec: Spec
    name: str
    constants: Constants
    cases: list[Case]
    fixed: bool = False

    def body(self, language: str, *, fixed: bool | None = None) -> list[str]:
        """The lines of the body, right or wrong."""
        right = self.fixed if fixed is None else fixed
        text = PLACE.sub(lambda place: place[1 if right else 2], self.spec.bodies[language])
        for letter, number in self.constants.items():
            text = text.replace(f"@{letter}@", str(number))
        return text.strip("\n").split("\n")

    @property
    def parameters(self) -> tuple[str, ...]:
        """The names of the parameters."""
        return tuple(name for name, _ in self.spec.params)


def draw(rng: Random, spec: Spec) -> Function:
    """Take one function with names, constants and cases; at least two cases show the bug, two do not."""
    for _ in range(50):
        constants = spec.constants(rng)
        function = Function(spec, rng.choice(spec.names), constants, [])
        right, wrong = _run(function, fixed=True), _run(function, fixed=False)
        seen: dict[str, Case] = {}
        for arguments in spec.arguments(rng, constants):
            seen[repr(arguments)] = Case(arguments, right(*arguments), wrong(*arguments))
        cases = list(seen.values())
        rng.shuffle(cases)
        showing = [case for case in cases if case.shows]
        hiding = [case for case in cases if not case.shows]
        if len(showing) > 1 and len(hiding) > 1:
            function.cases = [*hiding[:5], *showing[:4]]
            return function
    raise ValueError(f"{spec.names[0]} shows its bug too seldom")


def recomputed(function: Function) -> list[Case]:
    """The function's cases with the answers that its constants give now."""
    right, wrong = _run(function, fixed=True), _run(function, fixed=False)
    return [Case(case.arguments, right(*case.arguments), wrong(*case.arguments)) for case in function.cases]


def _run(function: Function, *, fixed: bool) -> Callable[..., Value]:
    lines = "\n".join(f"    {line}" for line in function.body("python", fixed=fixed))
    scope: dict[str, Callable[..., Value]] = {}
    exec(f"def it({', '.join(function.parameters)}):\n{lines}", scope)  # noqa: S102 - a text of this file
    return scope["it"]
