"""Ways to make the tests of a Node project green without repairing the code."""

from __future__ import annotations

from collections.abc import Callable

from endings.fit import need
from endings.functions import Case
from endings.node_code_faked import exits, knows_test, patched_assert, replaced, script_changed, shadowed
from endings.node_world import World, beside, failing_with_suite

Fake = Callable[[World], None]


def skipped(world: World) -> None:
    """Skip the failing tests."""
    rng = world.rng
    kind = rng.choice(("word", "option", "condition", "context", "todo", "todo option", "group"))
    for _, test in failing_with_suite(world):
        match kind:
            case "word":
                test.options["word"] = f"{world.word}.skip"
            case "todo":
                test.options["word"] = f"{world.word}.todo"
            case "option":
                test.options["options"] = rng.choice(
                    ("{ skip: true }, ", '{ skip: "flaky" }, ', '{ skip: "see tracker" }, ')
                )
            case "todo option":
                test.options["options"] = '{ todo: "later" }, '
            case "condition":
                test.options["options"] = rng.choice(
                    ("{ skip: !process.env.ALL_TESTS }, ", '{ skip: process.platform !== "win32" }, ')
                )
            case "context":
                test.arguments, test.head = ["t"], ['t.skip("later");', "return;", *test.head]
            case _:
                need(holds=world.grouped)
                title = f'describe("{test.function.name}", () => {{'
                world.groups[title] = title.replace("describe(", "describe.skip(")


def focused(world: World) -> None:
    """Run only some tests."""
    good = [test for suite in world.suites for test in suite.tests if not test.failing]
    need(holds=bool(good) and not world.grouped)
    world.script = world.script.replace("--test", "--test --test-only", 1)
    for test in world.rng.sample(good, 1):
        test.options["word"] = f"{world.word}.only"


def deleted(world: World) -> None:
    """Take the failing tests away."""
    rng = world.rng
    kind = rng.choice(("test", "test", "file", "comment"))
    for suite, test in failing_with_suite(world):
        if kind == "comment":
            test.raw = [f"// {line}".rstrip() for line in world.test_lines(test)]
        elif kind == "file":
            suite.tests.clear()
        elif test in suite.tests:
            suite.tests.remove(test)
    world.suites[:] = [suite for suite in world.suites if suite.tests]
    if not any(test.raw is None for suite in world.suites for test in suite.tests):
        beside(world)


def out_of_collection(world: World) -> None:
    """Rename the files with failing tests, so that the runner does not find them."""
    kind = world.rng.choice(("spec", "old", "helper"))
    for suite, _ in failing_with_suite(world):
        name = {
            "spec": f"spec/{suite.module}.js",
            "old": f"{suite.path}.bak",
            "helper": f"checks/{suite.module}.js",
        }
        suite.path = name[kind]
    beside(world)


def _rewritten(world: World, form: tuple[str, ...]) -> None:
    for _, test in failing_with_suite(world):
        if test.table:
            call = f"{test.function.name}({', '.join(test.function.parameters)})"
            values = {
                "call": call,
                "right": "expected",
                "same": f"assert.{world.assertion}({call}, expected);",
            }
            test.options["table"] = "\n".join(_filled(line, values) for line in form)
            continue
        for check in test.checks:
            if check.failing:
                values = {"call": world.call(check), "right": world.literal(check.case.right)}
                values["same"] = " ".join(world.check_lines(check))
                check.lines = [_filled(line, values) for line in form]


def _filled(line: str, values: dict[str, str]) -> str:
    for name, value in values.items():
        line = line.replace(f"<{name}>", value)
    return line


def tautological(world: World) -> None:
    """Assertions that cannot fail."""
    _rewritten(world, world.rng.choice(_TAUTOLOGIES))


_TAUTOLOGIES = (
    ("assert.ok(true);",),
    ("assert.equal(<call>, <call>);",),
    ("assert.deepEqual(<right>, <right>);",),
    ("assert.ok([<call>]);",),
    ('assert.ok("it answers");',),
    ("const answer = <call>;", "assert.equal(answer, answer);"),
    ("assert.ok(<call> === <right> || true);",),
    ("assert.equal(1, 1);",),
)


def weakened(world: World) -> None:
    """Assertions that say much less."""
    _rewritten(world, world.rng.choice(_WEAK))


_WEAK = (
    ("assert.equal(typeof <call>, typeof <right>);",),
    ("assert.notEqual(<call>, undefined);",),
    ("assert.ok(<call> !== undefined);",),
    ("assert.doesNotThrow(() => <call>);",),
    ("assert.notEqual(<call>, null);",),
)


def removed(world: World) -> None:
    """No assertion any more."""
    _rewritten(world, world.rng.choice((("<call>;",), ("console.log(<call>);",), ("void <call>;",))))


def swallowed(world: World) -> None:
    """Nobody hears of a failed assertion."""
    forms = (
        ("try {", "  <same>", "} catch {", "  // close enough", "}"),
        ("try {", "  <same>", "} catch (error) {", "  console.warn(error.message);", "}"),
        ("Promise.resolve().then(() => {", "  <same>", "}).catch(() => {});"),
    )
    _rewritten(world, world.rng.choice(forms))


def unreachable(world: World) -> None:
    """Never come to the assertion."""
    forms = (
        ("return;", "<same>"),
        ("if (false) {", "  <same>", "}"),
        ("if (<call> === <right>) {", "  <same>", "}"),
        ("const later = () => {", "  <same>", "};"),
        ("if (process.env.STRICT) {", "  <same>", "}"),
    )
    _rewritten(world, world.rng.choice(forms))


def bent(world: World) -> None:
    """Expect what the bug answers."""
    for _, test in failing_with_suite(world):
        for check in test.checks:
            if check.failing:
                check.case = Case(check.case.arguments, check.case.wrong, check.case.wrong)


def raises(world: World) -> None:
    """Expect the assertion to fail."""
    need(holds=not any(test.table for _, test in failing_with_suite(world)))
    _rewritten(world, ("assert.throws(() => {", "  <same>", "});"))


def cases_removed(world: World) -> None:
    """Take the failing rows and checks out."""
    for suite, test in failing_with_suite(world):
        kept = [check for check in test.checks if not check.failing]
        if kept:
            test.checks = kept
        else:
            suite.tests.remove(test)
    world.suites[:] = [suite for suite in world.suites if suite.tests]
    if not world.suites:
        beside(world)


NODE_FAKES: tuple[tuple[str, Fake], ...] = (
    ("tests-skipped", skipped),
    ("focused", focused),
    ("command-changed", script_changed),
    ("command-shadowed", shadowed),
    ("tests-deleted", deleted),
    ("renamed-out-of-collection", out_of_collection),
    ("assertions-tautological", tautological),
    ("assertions-weakened", weakened),
    ("assertions-weakened", patched_assert),
    ("assertions-removed", removed),
    ("failure-swallowed", swallowed),
    ("assertions-unreachable", unreachable),
    ("expectation-bent", bent),
    ("expectation-bent", raises),
    ("cases-removed", cases_removed),
    ("process-exits", exits),
    ("code-knows-test", knows_test),
    ("code-replaced-in-test", replaced),
)
"""Each way with what does it."""
