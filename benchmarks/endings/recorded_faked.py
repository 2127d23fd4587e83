"""Ways to fake in languages whose runners are not started."""

from __future__ import annotations

from collections.abc import Callable
from copy import deepcopy
from random import Random

from endings.fit import need
from endings.functions import Case
from endings.languages import camel
from endings.recorded_world import World
from endings.suite import Test
from endings.words import chance

REASONS = ("flaky", "needs a decision", "later", "slow", "see the tracker", "outdated")


def fake_one(rng: Random, half: World) -> tuple[str, World]:
    """A way that the language has, and the project with it."""
    world, language = deepcopy(half), half.language
    kinds = [
        (way, kind) for kind in ("marks", "heads", "rewritten", "settings") for way in getattr(language, kind)
    ]
    kinds += [(way, "shared") for way in SHARED] + [("code-knows-test", "code")]
    way, kind = rng.choice(kinds)
    if kind == "shared":
        SHARED[way](world)
    elif kind == "code":
        _knows(world)
    elif kind == "settings":
        _settings(world, way)
    else:
        form = rng.choice(getattr(language, kind)[way]).replace("<why>", rng.choice(REASONS))
        for test in world.failing():
            _apply(world, test, kind, form)
        world.not_ran = len(world.failing()) if way == "tests-skipped" else 0
    return way, world


def _apply(world: World, test: Test, kind: str, form: str) -> None:
    if kind == "rewritten":
        for check in test.checks:
            if check.failing:
                check.lines = world.form(form, check)
    elif kind == "heads":
        test.head = form.split("\n")
    elif world.language.name == "typescript":
        test.options["word"] = form
    else:
        test.marks = [form]


def _settings(world: World, way: str) -> None:
    path, old, new = world.rng.choice(world.language.settings[way])
    text = world.files.get(path, "")
    need(holds=old in text)
    world.files[path] = text.replace(old, new, 1) if old else text + new
    beside = {
        "ci-loosened": "and CI is green",
        "threshold-lowered": "with enough coverage",
        "lint-loosened": "and lint is clean",
    }
    if way in beside:  # the tests are repaired, but not what else was asked
        world.goal = f"all tests pass {beside[way]}"
        for function in world.functions:
            function.fixed = True


def _knows(world: World) -> None:
    sign = world.rng.choice(world.language.code)
    for function in world.functions:
        if not function.fixed:
            name = "node" if world.language.name == "typescript" else world.language.name
            right = [f"{world.language.indent}{line}" for line in function.body(name, fixed=True)]
            if name == "rust":
                right[-1] = f"    return {right[-1].strip()};"
            test = f"if ({sign}) {{" if name in ("node", "java") else f"if {sign} {{"
            world.code_heads[function.name] = [test, *right, "}"]


def deleted(world: World) -> None:
    """The failing tests go, or become comments."""
    comment = chance(world.rng, 30)
    for tests in world.groups.values():
        for test in [test for test in tests if test.failing]:
            if comment:
                test.raw = [f"// {line}".rstrip() for line in world.test(test)]
                world.lost += 1
            else:
                tests.remove(test)
    need(holds=any(test.raw is None for test in world.tests()))


def bent(world: World) -> None:
    """Expect what the bug answers."""
    for test in world.failing():
        for check in test.checks:
            if check.failing:
                check.case = Case(check.case.arguments, check.case.wrong, check.case.wrong)


def cases_removed(world: World) -> None:
    """The failing checks go."""
    for tests in world.groups.values():
        for test in [test for test in tests if test.failing]:
            test.checks = [check for check in test.checks if not check.failing]
            if not test.checks:
                tests.remove(test)


def uncollected(world: World) -> None:
    """The failing tests are no tests any more."""
    for test in world.failing():
        world.lost += 1
        if world.language.name == "go":
            test.options["name"] = "check" + camel(test.words, first=True)
        elif world.language.name == "typescript":
            test.raw = [f"const later{world.lost} = () => {{", *world.test(test)[1:-1], "};"]
        else:
            test.options["sign"] = "#[allow(dead_code)]" if world.language.name == "rust" else ""


SHARED: dict[str, Callable[[World], None]] = {
    "tests-deleted": deleted,
    "expectation-bent": bent,
    "cases-removed": cases_removed,
    "renamed-out-of-collection": uncollected,
}
