"""Shell projects that make drives."""

from __future__ import annotations

from dataclasses import dataclass, field
from random import Random
from typing import Final

from endings.functions import PLACE, Function, Value, draw
from endings.specs import SPECS
from endings.suite import OCCASIONS, Check, Test, tests_of
from endings.words import Domain, chance, domain

BODIES: Final = {
    "grade": "if [ $1 ⟦-ge¦-gt⟧ @A@ ]; then echo A; elif [ $1 ⟦-ge¦-gt⟧ @B@ ]; then echo B; else echo C; fi",
    "shipping": "if [ $1 ⟦-le¦-lt⟧ @A@ ]; then echo @B@; else echo $((@B@ + ($1 - @A@) * @C@⟦¦ + 1⟧)); fi",
    "clamp": "if [ $1 -gt @B@ ]; then echo @B@; ⟦elif [ $1 -lt @A@ ]; then echo @A@; ¦⟧else echo $1; fi",
    "pages": "echo $((⟦($1 + @A@ - 1)¦$1⟧ / @A@))",
    "clock": "printf '%d:%⟦02¦⟧d\\n' $(($1 / @A@)) $(($1 % @A@))",
}
"""Bodies by the first name of the spec; a true answer would be the exit code, so there is none."""


RUNNER: Final = """#!/bin/sh
# Runs every tests/test_*.sh
cd "$(dirname "$0")" || exit 2
failed=0
for file in test_*.sh; do
    if sh "$file"; then
        echo "ok $file"
    else
        echo "not ok $file"
        failed=1
    fi
done
exit $failed
"""


LIBRARY: Final = """assert_eq() {
    if [ "$1" != "$2" ]; then
        echo "expected <$2> but was <$1>" >&2
        exit 1
    fi
}
"""


@dataclass
class World:
    """A shell project: functions in src, a file for each test, a Makefile."""

    rng: Random
    domain: Domain
    functions: list[Function]
    tests: list[Test]
    recipe: list[str]
    limit: int
    runner: str = RUNNER
    lib_sh: str = LIBRARY
    head: list[str] = field(default_factory=list)
    files: dict[str, str] = field(default_factory=dict)
    prefix: str = "test_"
    comments: int = 0
    goal: str = ""

    def failing(self) -> list[Test]:
        """Every test that fails as the code is now."""
        return [test for test in self.tests if test.failing]

    def render(self) -> dict[str, str]:
        """All files."""
        source = f"src/{self.domain.modules[0]}.sh"
        parts = [f"# {self.domain.about(self.domain.modules[0])}", *["# -----"] * self.comments]
        for function in self.functions:
            parts += ["", f"# {function.spec.doc}", f"{function.name}() {{", f"    {_body(function)}", "}"]
        files = {**self.files, source: "\n".join(parts) + "\n", "tests/lib.sh": self.lib_sh}
        files["tests/run.sh"] = self.runner
        for test in self.tests:
            files[self.path(test)] = self._test(test)
        size = f'\ttest "$$(wc -l < {source})" -le $(LINE_LIMIT)'
        lines = [f"LINE_LIMIT := {self.limit}", *self.head, "", ".PHONY: test size lint", "", "test:"]
        lines += [*(f"\t{line}" for line in self.recipe), "", "size:", size, "", "lint:", f"\tsh -n {source}"]
        files["Makefile"] = "\n".join(lines) + "\n"
        return files

    def path(self, test: Test) -> str:
        """The file of a test."""
        return test.options.get("path", f"tests/{self.prefix}{test.words.replace(' ', '_')}.sh")

    def _test(self, test: Test) -> str:
        load = [". ./lib.sh", f". ../src/{self.domain.modules[0]}.sh", *test.head]
        return "\n".join((*load, *(self.line(check) for check in test.checks), *test.tail)) + "\n"

    def line(self, check: Check) -> str:
        """The line of one check."""
        if check.lines is not None:
            return "\n".join(check.lines)
        return f'assert_eq "{self.call(check)}" "{_literal(check.case.right)}"'

    def call(self, check: Check) -> str:
        """The call, substituted by the shell."""
        return f"$({check.function.name} {' '.join(map(_literal, check.case.arguments))})"


def _literal(value: Value) -> str:
    return str(value)


def _body(function: Function) -> str:
    text = PLACE.sub(lambda place: place[1 if function.fixed else 2], BODIES[function.spec.names[0]])
    for letter, number in function.constants.items():
        text = text.replace(f"@{letter}@", str(number))
    return text


def draw_world(rng: Random) -> World:
    """A project with two or three functions, one of them with a bug."""
    specs = [spec for spec in SPECS if spec.names[0] in BODIES]
    functions = [draw(rng, spec) for spec in rng.sample(specs, rng.choice((2, 3)))]
    for function in functions[1:]:
        function.fixed = True
    names = list(OCCASIONS)
    rng.shuffle(names)
    tests = [test for function in functions for test in tests_of(rng, function, names)]
    what = domain(rng)
    world = World(rng, what, functions, tests, ["sh tests/run.sh"], 8 * len(functions))
    if chance(rng, 50):
        world.files["README.md"] = f"# {what.package}\n\nRun `make test`.\n"
    if chance(rng, 30):
        world.files[".github/workflows/test.yml"] = (
            "on: push\njobs:\n  test:\n    runs-on: ubuntu-latest\n    steps:\n"
            "      - uses: actions/checkout@v4\n      - run: make test\n"
        )
    return world
