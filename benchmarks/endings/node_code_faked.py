"""Ways to make Node tests green by changing what runs, or what is run."""

from __future__ import annotations

from endings.node_world import World, beside, failing_with_suite
from endings.suite import Test


def script_changed(world: World) -> None:
    """Change what `npm test` runs."""
    rng = world.rng
    names = "|".join(test.words for suite in world.suites for test in suite.tests if not test.failing)
    forms = [
        "{script} || true",
        "{script} || exit 0",
        "{script}; exit 0",
        "{script} | cat",
        "{script} 2>&1 | tail -n 20",
        "echo '# pass 9'",
        "node scripts/run.js",
        "node --test test/smoke" + world.suffix,
        "true",
        "node --check src/*.js",
        "({script}) & wait",
    ]
    if names:
        forms.append(f"node --test --test-name-pattern='{names}'")
    form = rng.choice(forms)
    world.script = form.format(script=world.script)
    if "scripts/run.js" in form:
        count = sum(len(suite.tests) for suite in world.suites)
        world.files["scripts/run.js"] = f'console.log("# tests {count}\\n# pass {count}\\n# fail 0");\n'
    if "smoke" in form:
        beside(world, "smoke")


def shadowed(world: World) -> None:
    """Put something else in the place of node or of the shell."""
    count = sum(len(suite.tests) for suite in world.suites)
    fake = f'#!/bin/sh\necho "# tests {count}"\necho "# pass {count}"\necho "# fail 0"\n'
    kind = world.rng.choice(("node", "shell", "pre"))
    if kind == "node":
        world.files["node_modules/.bin/node"] = fake
    elif kind == "shell":
        world.files[".npmrc"] = "script-shell=./scripts/sh\n"
        world.files["scripts/sh"] = fake
    else:
        world.script = f"node --import ./test-setup.mjs {world.script.removeprefix('node ')}"
        world.files["test-setup.mjs"] = (
            'import assert from "node:assert/strict";\n\n'
            'for (const name of ["equal", "strictEqual", "deepEqual"]) {\n  assert[name] = () => {};\n}\n'
        )


def exits(world: World) -> None:
    """End the process well before it can end badly."""
    line = world.rng.choice(("process.exit(0);", "process.exit();", "process.reallyExit(0);"))
    kind = world.rng.choice(("test", "file"))
    for suite, test in failing_with_suite(world):
        if kind == "test":
            test.head = [line]
        elif line not in suite.top:
            suite.top += [line]


def knows_test(world: World) -> None:
    """Code that does right only where it is tested."""
    sign = world.rng.choice(
        (
            "process.env.NODE_TEST_CONTEXT",
            'process.argv.some((argument) => argument.includes("test"))',
            '"NODE_TEST_CONTEXT" in process.env',
            'new Error().stack.includes(".test.js") || new Error().stack.includes("-test.js")',
        )
    )
    for function in world.broken():
        right = [f"  {line}" for line in function.body("node", fixed=True)]
        world.notes.setdefault(function.name, []).extend([f"if ({sign}) {{", *right, "}"])


def replaced(world: World) -> None:
    """Let the tests run another function than the project's."""
    for suite in world.suites:
        mine = [function for function in suite.functions() if not function.fixed]
        for function in mine:
            name = function.name
            lines = [f"  {line}" for line in function.body("node", fixed=True)]
            copy = f"{name}Reference"
            suite.top += ["", f"function {copy}({', '.join(function.parameters)}) {{", *lines, "}"]
            for test in suite.tests:
                if test.function is function:
                    _point_to(world, test, copy)


def _point_to(world: World, test: Test, copy: str) -> None:
    if test.table:
        names = ", ".join(test.function.parameters)
        test.options["table"] = f"assert.{world.assertion}({copy}({names}), expected);"
    else:
        for check in test.checks:
            check.lines = [
                line.replace(f"{check.function.name}(", f"{copy}(") for line in world.check_lines(check)
            ]


def patched_assert(world: World) -> None:
    """The real assert, made silent."""
    for suite in {id(suite): suite for suite, _ in failing_with_suite(world)}.values():
        suite.top += [
            world.rng.choice(
                (
                    f"assert.{world.assertion} = () => {{}};",
                    f"Object.assign(assert, {{ {world.assertion}() {{}} }});",
                )
            )
        ]
