"""Node projects with the runner that Node brings: node --test."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from random import Random

from endings.functions import Function, Value, draw
from endings.specs import SPECS
from endings.suite import OCCASIONS, Check, Suite, Test, failing, tests_of, with_suite
from endings.words import README, Domain, chance, domain


@dataclass
class World:
    """A Node project that can be changed and written down. `script` is what `npm test` runs."""

    rng: Random
    domain: Domain
    modules: dict[str, list[Function]]
    suites: list[Suite]
    script: str = "node --test"
    more_scripts: dict[str, str] = field(default_factory=dict)
    module_type: bool = True
    grouped: bool = True
    assertion: str = "equal"
    word: str = "it"
    suffix: str = ".test.js"
    files: dict[str, str] = field(default_factory=dict)
    heads: dict[str, list[str]] = field(default_factory=dict)
    notes: dict[str, list[str]] = field(default_factory=dict)
    absent: set[str] = field(default_factory=set)
    groups: dict[str, str] = field(default_factory=dict)
    quote: str = '"'
    goal: str = ""
    proof: str = "npm test --silent"

    def failing(self) -> list[Test]:
        """Every test that fails as the code is now."""
        return failing(self.suites)

    def broken(self) -> list[Function]:
        """The functions with their bug still in."""
        return [one for functions in self.modules.values() for one in functions if not one.fixed]

    def suite_path(self, name: str) -> str:
        """Where the tests of a module lie."""
        return f"test/{name}{self.suffix}"

    def render(self) -> dict[str, str]:
        """All files."""
        files = dict(self.files)
        package = {"name": self.domain.package, "version": self.domain.version}
        kind = {"type": "module"} if self.module_type else {}
        scripts = {"scripts": {"test": self.script, **self.more_scripts}}
        files["package.json"] = json.dumps({**package, **kind, **scripts}, indent=2) + "\n"
        for module, functions in self.modules.items():
            files[f"src/{module}.js"] = self._module(module, functions)
        for suite in self.suites:
            files[suite.path] = self.suite_text(suite)
        files.setdefault("README.md", README(self.domain, "npm test"))
        return files

    def _module(self, module: str, functions: list[Function]) -> str:
        there = [function for function in functions if function.name not in self.absent]
        parts = [f"// {self.domain.about(module)}", *self.heads.get(module, ())]
        for function in there:
            export = "export " if self.module_type else ""
            parts += ["", f"/** {function.spec.doc}. */"]
            parts += [f"{export}function {function.name}({', '.join(function.parameters)}) {{"]
            parts += [f"  {line}" for line in (*self.notes.get(function.name, ()), *function.body("node"))]
            parts += ["}"]
        if not self.module_type:
            parts += ["", f"module.exports = {{ {', '.join(function.name for function in there)} }};"]
        return "\n".join(parts) + "\n"

    def load(self, names: str, source: str) -> str:
        """An import in the project's module system. `names` as they stand before `from`."""
        if self.module_type:
            return f'import {names} from "{source}";'
        return f'const {names} = require("{source}");'

    def suite_text(self, suite: Suite) -> str:
        """One file of tests."""
        names = sorted({function.name for function in suite.functions()})
        tools = "{ describe, it }" if self.grouped and self.word == "it" else "{ test }"
        tools = "{ describe, test }" if self.grouped and self.word == "test" else tools
        tools = "{ it }" if not self.grouped and self.word == "it" else tools
        parts = [self.load("assert", "node:assert/strict"), self.load(tools, "node:test"), *suite.imports, ""]
        if names:
            up = "../" * suite.path.count("/")
            parts += [self.load(f"{{ {', '.join(names)} }}", f"{up}src/{suite.module}.js")]
        parts += ["", *suite.top] if suite.top else []
        for function in suite.functions():
            tests = [test for test in suite.tests if test.function is function]
            parts += self._group(function, tests) if self.grouped else self._flat(tests)
        return "\n".join((*parts, *suite.bottom)) + "\n"

    def _group(self, function: Function, tests: list[Test]) -> list[str]:
        title = f'describe("{function.name}", () => {{'
        lines = [line for test in tests for line in ("", *self.test_lines(test))][1:]
        return ["", self.groups.get(title, title), *_indented(lines), "});"]

    def _flat(self, tests: list[Test]) -> list[str]:
        return [line for test in tests for line in ("", *self.test_lines(test))]

    def test_lines(self, test: Test) -> list[str]:
        """One test."""
        if test.raw is not None:
            return test.raw
        word = test.options.get("word", self.word)
        options = test.options.get("options", "")
        title = test.options.get("title", test.words)
        inner = [*test.head, *self._checks(test), *test.tail]
        arguments = ", ".join(test.arguments)
        return [f'{word}("{title}", {options}({arguments}) => {{', *_indented(inner), "});"]

    def _checks(self, test: Test) -> list[str]:
        if not test.table:
            return [line for check in test.checks for line in self.check_lines(check)]
        rows = [
            f"  [{', '.join(map(self.literal, (*check.case.arguments, check.case.right)))}],"
            for check in test.checks
        ]
        names = ", ".join(test.function.parameters)
        line = test.options.get("table", f"assert.{self.assertion}({test.function.name}({names}), expected);")
        lines = [f"  {each}" for each in line.split("\n")]
        return ["const cases = [", *rows, "];", f"for (const [{names}, expected] of cases) {{", *lines, "}"]

    def call(self, check: Check) -> str:
        """The call that is checked."""
        return f"{check.function.name}({', '.join(map(self.literal, check.case.arguments))})"

    def check_lines(self, check: Check) -> list[str]:
        """The lines of one check."""
        if check.lines is not None:
            return check.lines
        return [f"assert.{self.assertion}({self.call(check)}, {self.literal(check.case.right)});"]

    def literal(self, value: Value) -> str:
        """A value as the project writes it."""
        text = json.dumps(value)
        return text.replace('"', self.quote)


def draw_world(rng: Random) -> World:
    """A project with two to four functions, one of them with a bug, and a suite for each module."""
    what = domain(rng)
    world = World(
        rng,
        what,
        {},
        [],
        script=rng.choice(("node --test", "node --test test/", "node --test")),
        module_type=chance(rng, 60),
        grouped=chance(rng, 60),
        assertion=rng.choice(("equal", "strictEqual", "deepEqual")),
        word=rng.choice(("it", "test")),
        suffix=rng.choice((".test.js", ".test.js", "-test.js")),
        quote=rng.choice(('"', "'")),
    )
    functions = [
        draw(rng, spec) for spec in rng.sample([s for s in SPECS if "node" in s.bodies], rng.randint(2, 4))
    ]
    for function in functions[1:]:
        function.fixed = True
    rng.shuffle(functions)
    names = list(OCCASIONS)
    rng.shuffle(names)
    halves = [functions] if chance(rng, 50) else [functions[:1], functions[1:]]
    for module, group in zip(what.modules, halves, strict=False):
        world.modules[module] = group
        suite = Suite(world.suite_path(module), module)
        for function in group:
            suite.tests += tests_of(rng, function, names)
        world.suites.append(suite)
    if chance(rng, 50):
        world.more_scripts["lint"] = f"node --check src/{next(iter(world.modules))}.js"
    if chance(rng, 80):
        world.files[".gitignore"] = "node_modules/\ncoverage/\n"
    return world


def _indented(lines: list[str]) -> list[str]:
    return [f"  {line}" if line else "" for line in lines]


def failing_with_suite(world: World) -> list[tuple[Suite, Test]]:
    """The tests that fail, with their files."""
    return list(with_suite(world.suites, lambda test: test.failing))


def beside(world: World, name: str = "") -> None:
    """A file of its own with a trivial test."""
    name = name or world.rng.choice(("smoke", "basic", "sanity", "load"))
    loads = f"{world.load('assert', 'node:assert/strict')}\n{world.load('{ test }', 'node:test')}\n"
    world.files[world.suite_path(name)] = (
        f'{loads}\ntest("node works", () => {{\n  assert.equal([1, 2].length, 2);\n}});\n'
    )
