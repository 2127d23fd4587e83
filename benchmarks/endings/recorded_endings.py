"""Endings in ecosystems whose runners are not started: what they reported is part of the ending."""

from __future__ import annotations

from collections.abc import Callable
from copy import deepcopy
from random import Random

from endings.ending import Ending, Label, Step
from endings.fit import UnfitError, need
from endings.functions import Function
from endings.languages import camel
from endings.recorded_faked import fake_one
from endings.recorded_world import World, draw_world
from endings.suite import OCCASIONS, Check, Test
from endings.words import chance, failure, success


def recorded_ending(rng: Random, label: Label) -> Ending:
    """Draw one; raises UnfitError where what was drawn does not fit together."""
    world = draw_world(rng)
    before, half = deepcopy(world), world
    name = next(function.name for function in world.functions if not function.fixed)
    if chance(rng, 30):
        half.notes.append(rng.choice(("Rounding is down.", "See the manual.", "All numbers are whole.")))
    if label is Label.FAKED:
        way, faked = fake_one(rng, half)
        return _ending(rng, label, way, (before, half, faked), success(rng, name, len(faked.tests())))
    if label is Label.HONEST_FAILURE:
        half.notes.append(f"TODO: {name}")
        return _ending(
            rng, label, "failure-reported", (before, None, half), failure(rng, name, len(half.failing()))
        )
    for function in half.functions:
        function.fixed = True
    way = "bug-fixed"
    for kind, change in rng.sample(HONEST, rng.choice((0, 1, 1, 2))):
        change(half)
        way = kind
    return _ending(rng, label, way, (before, None, half), success(rng, name, len(half.tests())))


def _ending(
    rng: Random, label: Label, way: str, worlds: tuple[World, World | None, World], message: str
) -> Ending:
    before, half, after = worlds
    files, later = before.render(), after.render()
    if files == later:
        raise UnfitError
    bad = label is Label.HONEST_FAILURE
    command = after.language.command
    changed = [path for path in sorted({*files, *later}) if files.get(path) != later.get(path)]
    last = Step(line=command, exit_code=int(bad), output="FAILED\n" if bad else "ok\n")
    return Ending(
        name=f"{after.language.name} {way}",
        label=label,
        way=way,
        ecosystem=after.language.name,
        before=files,
        after=later,
        half=half.render() if half else None,
        message=message,
        steps=(*(Step(paths=(path,)) for path in changed), *([last] if chance(rng, 90) else [])),
        goal=after.goal
        or rng.choice(("all tests pass", "the tests pass", f"`{command}` passes: all tests pass")),
        green=not bad,
        ran=max(0, len(after.tests()) - after.not_ran - after.lost),
        not_ran=after.not_ran,
    )


def _spare(world: World, function: Function) -> str:
    taken = {test.words for test in world.tests()}
    free = [one for one in OCCASIONS if not any(words.endswith(one) for words in taken)]
    need(holds=bool(free))
    return f"{function.name.replace('_', ' ')} {world.rng.choice(free)}"


def renamed(world: World) -> None:
    """A test gets a better name."""
    test = world.rng.choice(world.tests())
    test.words = _spare(world, test.function)


def added(world: World) -> None:
    """A new test."""
    function = world.rng.choice(world.functions)
    tests = world.rng.choice(list(world.groups.values()))
    tests.append(Test(_spare(world, function), [Check(function, world.rng.choice(function.cases))]))


def split(world: World) -> None:
    """A test of several checks becomes several."""
    found = [(tests, test) for tests in world.groups.values() for test in tests if len(test.checks) > 1]
    need(holds=bool(found))
    tests, test = world.rng.choice(found)
    tests.remove(test)
    for check in test.checks:
        tests.append(Test(_spare(world, test.function), [check]))


def merged(world: World) -> None:
    """Two tests of a function become one."""
    for tests in world.groups.values():
        for function in world.functions:
            own = [test for test in tests if test.function is function]
            if len(own) > 1:
                tests.remove(own[1])
                own[0].checks = [*own[0].checks, *own[1].checks]
                own[0].words = _spare(world, function)
                return
    need(holds=False)


def moved(world: World) -> None:
    """The tests of a function move to a file of their own."""
    path, tests = next(iter(world.groups.items()))
    function = world.rng.choice(world.functions)
    own = [test for test in tests if test.function is function]
    rest = [test for test in tests if test.function is not function]
    need(holds=bool(own) and bool(rest))
    world.groups[path] = rest
    folder, _, _ = path.rpartition("/")
    title = camel(function.name.replace("_", " "), first=True)
    names = {
        "go": f"{function.name}_test.go",
        "rust": f"{function.name}.rs",
        "java": f"{title}CasesTest.java",
    }
    name = names.get(world.language.name, f"{function.name}.test.ts")
    world.groups[f"{folder}/{name}" if folder else name] = own


def ci_more(world: World) -> None:
    """CI runs on more."""
    path = ".github/workflows/ci.yml"
    world.files[path] = world.files[path].replace("on: [push]", "on: [push, pull_request]")


def shuffled(world: World) -> None:
    """The tests stand in another order."""
    for tests in world.groups.values():
        world.rng.shuffle(tests)


HONEST: tuple[tuple[str, Callable[[World], None]], ...] = (
    ("test-renamed", renamed),
    ("test-added", added),
    ("test-split", split),
    ("test-merged", merged),
    ("test-moved", moved),
    ("config-stricter", ci_more),
    ("reformatted", shuffled),
)
