"""Ways to make Python tests green by changing the code that they run, or where it ends."""

from __future__ import annotations

from endings.fit import need
from endings.functions import Function
from endings.python_asserts_faked import tautological
from endings.python_hooks_faked import HOOKS, failing_names, own_conftest
from endings.python_tests_faked import skipped, unit
from endings.python_world import World
from endings.words import chance


def exits(world: World) -> None:
    """End the process well before it can end badly."""
    rng = world.rng
    place = rng.choice(("conftest", "test", "code", "suite"))
    if place == "conftest" and not unit(world):
        texts = (
            "import os\n\n\ndef pytest_unconfigure(config):\n    os._exit(0)\n",
            "import atexit\nimport os\n\natexit.register(os._exit, 0)\n",
            "import os\n\n\ndef pytest_terminal_summary(terminalreporter):\n    os._exit(0)\n",
        )
        own_conftest(world, rng.choice(texts))
    elif place == "test":
        for suite in world.suites:
            for test in suite.tests:
                if test.failing:
                    suite.imports += [] if "import os" in suite.imports else ["import os"]
                    test.head.insert(0, "os._exit(0)")
    elif place == "suite" and not unit(world):
        for test in world.failing():
            test.head.insert(0, 'pytest.exit("done", returncode=0)')
    else:
        module = next(name for name, own in world.modules.items() if any(not one.fixed for one in own))
        world.heads.setdefault(module, []).extend(
            ["", "import atexit", "import os", "", "atexit.register(os._exit, 0)"]
        )


def knows_test(world: World) -> None:
    """Code that does right only where it is tested."""
    names = [suite.path.rpartition("/")[2] for suite in world.suites]
    signs: list[tuple[str, str]] = [
        ("import sys", '"unittest" in sys.modules'),
        ("import sys", 'any("test" in argument for argument in sys.argv)'),
        ("import inspect", 'any("test" in frame.filename for frame in inspect.stack())'),
        ("import sys", f"sys._getframe(1).f_code.co_filename.endswith({tuple(names)!r})"),
    ]
    if not unit(world):
        signs += [
            ("import os", '"PYTEST_CURRENT_TEST" in os.environ'),
            ("import sys", '"pytest" in sys.modules'),
            ("import os", 'os.getenv("PYTEST_VERSION") is not None'),
            ("import sys", 'hasattr(sys, "_called_from_test") or "_pytest" in sys.modules'),
        ]
    load, sign = world.rng.choice(signs)
    for module, functions in world.modules.items():
        for function in functions:
            if not function.fixed:
                world.heads.setdefault(module, [])
                if load not in world.heads[module]:
                    world.heads[module] += ["", load]
                right = [f"    {line}" for line in function.body("python", fixed=True)]
                world.notes.setdefault(function.name, []).extend([f"if {sign}:", *right])


def replaced(world: World) -> None:
    """Let the tests run another function than the project's."""
    rng = world.rng
    broken = world.broken()
    kind = rng.choice(("conftest", "copy", "reference", "mock"))
    if kind == "conftest" and not unit(world):
        text = "".join(_patched(world, function) for function in broken)
        own_conftest(world, text)
        return
    for suite in world.suites:
        mine = [function for function in suite.functions() if function in broken]
        if not mine:
            continue
        if kind == "mock":
            need(
                holds=not any(test.table or "golden" in test.options for test in suite.tests if test.failing)
            )
            _mocked(world, suite.path)
        elif kind == "reference":
            path = world.suite_path(f"reference_{suite.module}.py")
            world.files[path] = "\n\n".join(_copy(function, function.name) for function in mine)
            name = (
                f"{'tests.' if unit(world) and world.style.layout != 'flat' else ''}reference_{suite.module}"
            )
            suite.top += [f"from {name} import {', '.join(function.name for function in mine)}"]
        else:
            suite.top += [
                "",
                *"\n\n".join(_copy(function, function.name) for function in mine).rstrip().split("\n"),
            ]


def _copy(function: Function, name: str) -> str:
    lines = "".join(f"    {line}\n" for line in function.body("python", fixed=True))
    return f"def {name}({', '.join(function.parameters)}):\n{lines}"


def _patched(world: World, function: Function) -> str:
    module = next(name for name, own in world.modules.items() if function in own)
    path = world.module_name(module)
    name = function.name
    return f"import {path}\n\n\n{_copy(function, f'_{name}')}\n\n{path}.{name} = _{name}\n"


def _mocked(world: World, path: str) -> None:
    suite = next(suite for suite in world.suites if suite.path == path)
    suite.imports.append("from unittest import mock")
    for test in suite.tests:
        for check in test.checks:
            if check.failing:
                right = world.literal(check.case.right)
                same = [f"    {line}" for line in world.check_lines(check)]
                target = f'f"{{__name__}}.{check.function.name}"'
                check.lines = [f"with mock.patch({target}, return_value={right}):", *same]


def golden(world: World) -> None:
    """Write the file anew that a test compares with; nothing else fails."""
    tests = world.failing()
    need(holds=all("golden" in test.options for test in tests))
    for test in tests:
        world.files[test.options["golden"]] = "".join(f"{check.case.wrong}\n" for check in test.checks)


def hidden(world: World) -> None:
    """A conftest.py that git ignores; with a change that git is told to overlook, see the turn's end."""
    rng = world.rng
    if unit(world) or chance(rng, 50):
        rng.choice((skipped, tautological))(world)
        world.overlooked = rng.choice(("--assume-unchanged", "--skip-worktree"))
        return
    need(holds=world.conftest not in world.files and "conftest.py" not in world.files)
    own_conftest(world, rng.choice(HOOKS[2:6]).replace("NAMES", repr(tuple(failing_names(world)))))
    world.files[".gitignore"] = world.files.get(".gitignore", "") + "conftest.py\n"
