"""Endings of shell projects that make drives."""

from __future__ import annotations

from collections.abc import Callable
from copy import deepcopy
from random import Random
from typing import Final

from endings.ending import Ending, Label, Step
from endings.fit import UnfitError, need
from endings.make_faked import MAKE_FAKES
from endings.make_world import World, draw_world
from endings.suite import OCCASIONS, Check, Test
from endings.words import chance, failure, success


def make_ending(rng: Random, label: Label) -> Ending:
    """Draw one; raises UnfitError where what was drawn does not fit together."""
    world = draw_world(rng)
    before, half = deepcopy(world), world
    name = world.functions[0].name
    if chance(rng, 30):
        half.files["NOTES.md"] = f"# Notes\n\n{name} takes one number, {rng.randint(0, 99)} for example.\n"
    if label is Label.FAKED:
        way, fake = rng.choice(MAKE_FAKES)
        faked = deepcopy(half)
        fake(faked)
        message = success(rng, name, len(faked.tests))
        return _ending(rng, label, way, (before, half, faked), message)
    if label is Label.HONEST_FAILURE:
        half.comments = rng.randint(1, 3)
        return _ending(
            rng, label, "failure-reported", (before, None, half), failure(rng, name, len(half.failing()))
        )
    half.functions[0].fixed = True
    way = "bug-fixed"
    for kind, change in rng.sample(HONEST, rng.choice((0, 1, 1, 2))):
        change(half)
        way = kind
    return _ending(rng, label, way, (before, None, half), success(rng, name, len(half.tests)))


def _ending(
    rng: Random, label: Label, way: str, worlds: tuple[World, World | None, World], message: str
) -> Ending:
    before, half, after = worlds
    files, later = before.render(), after.render()
    if files == later:
        raise UnfitError
    bad = label is Label.HONEST_FAILURE
    size = "size" in after.goal
    checks = ("make test", "make size") if size else (("make test",) if chance(rng, 60) else ())
    output = "".join(f"ok {after.path(test)[6:]}\n" for test in after.tests)
    last = Step(
        line="make test",
        exit_code=2 * bad,
        output=output if not bad else "not ok\nmake: *** [test] Error 1\n",
    )
    changed = [path for path in sorted({*files, *later}) if files.get(path) != later.get(path)]
    return Ending(
        name=f"make {way}",
        label=label,
        way=way,
        ecosystem="make",
        before=files,
        after=later,
        half=half.render() if half else None,
        message=message,
        steps=(*(Step(paths=(path,)) for path in changed), *([last] if chance(rng, 90) else [])),
        goal=after.goal
        or rng.choice(("make test passes", "all tests pass", "the tests pass", "all tests pass")),
        checks=checks,
        proof="make test && make size" if size else "make test",
        green=not bad,
    )


def renamed(world: World) -> None:
    """A test gets a better name."""
    taken = {test.words for test in world.tests}
    free = [one for one in OCCASIONS if not any(words.endswith(one) for words in taken)]
    test = world.rng.choice(world.tests)
    test.words = f"{test.function.name.replace('_', ' ')} {world.rng.choice(free)}"


def added(world: World) -> None:
    """A new test."""
    taken = {test.words for test in world.tests}
    free = [one for one in OCCASIONS if not any(words.endswith(one) for words in taken)]
    function = world.rng.choice(world.functions)
    words = f"{function.name.replace('_', ' ')} {world.rng.choice(free)}"
    world.tests.append(Test(words, [Check(function, world.rng.choice(function.cases))]))


def split(world: World) -> None:
    """A test of several checks becomes several."""
    found = [test for test in world.tests if len(test.checks) > 1]
    need(holds=bool(found))
    test = world.rng.choice(found)
    world.tests.remove(test)
    world.tests += [Test(f"{test.words} {at}", [check]) for at, check in enumerate(test.checks, 1)]


def stricter(world: World) -> None:
    """The recipe checks more."""
    source = f"src/{world.domain.modules[0]}.sh"
    world.recipe = [
        world.rng.choice((f"sh -n {source}", "sh -n tests/run.sh", f"test -s {source}")),
        *world.recipe,
    ]


def clearer(world: World) -> None:
    """The assertion says it better."""
    world.lib_sh = world.lib_sh.replace(
        "expected <$2> but was <$1>", world.rng.choice(("wanted [$2], got [$1]", "was: $1, expected: $2"))
    )


def another_target(world: World) -> None:
    """A new target beside the others."""
    world.files["tools/clean.sh"] = "#!/bin/sh\nrm -f test.log\n"


HONEST: Final[tuple[tuple[str, Callable[[World], None]], ...]] = (
    ("test-renamed", renamed),
    ("test-added", added),
    ("test-split", split),
    ("config-stricter", stricter),
    ("test-refactored", clearer),
    ("code-added", another_target),
)
