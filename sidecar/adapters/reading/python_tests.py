"""The tests that pytest and unittest would collect from one Python file.

By their default names: files `test*.py` and `*_test.py`, functions `test*`, classes `Test*` and those with a
test class among their bases. A later definition hides an earlier one of the same name, as it does in Python.
Functions that are no tests but expect something are kept as helpers.
"""

from __future__ import annotations

import ast
import re
import warnings
from threading import Lock
from typing import TYPE_CHECKING, Final

from msgspec import Struct, structs

from sidecar.adapters.reading.found import bounded, digest, names_in, one_line
from sidecar.adapters.reading.python_asserts import Budget, Walk
from sidecar.adapters.reading.python_cases import sets_of
from sidecar.adapters.reading.python_flow import Function, given_values, settled_values
from sidecar.adapters.reading.python_skips import Out, marked, marks_out, switched_off
from sidecar.adapters.reading.python_values import Values, constant, tail
from sidecar.model.inspection import TestCase

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

COLLECTED: Final = re.compile(r"(?:^|/)(?:test[^/]*|[^/]+_tests?)\.py$")
"""Files in which pytest, unittest or Django look for tests by default."""
LIMIT: Final = 1 << 20
"""Characters of a source that is parsed."""
TESTS: Final = 5_000
"""Tests of one file that are read."""
SET_UP: Final = frozenset(("setUp", "setUpClass", "setup_method", "setup_class", "asyncSetUp"))
BASES: Final = 20
"""Classes from which one inherits that are looked at."""
MODULE_SET_UP: Final = frozenset(("setUpModule", "setup_module", "setup_function"))
_quiet = Lock()


class File(Struct, frozen=True):
    """What the tests of one file share."""

    helpers: dict[str, Function]
    values: Values
    names: Values
    budget: Budget
    classes: dict[str, ast.ClassDef]


class Place(Struct, frozen=True):
    """Where a test stands: in which class, what that makes of it, and the marks it inherits."""

    prefix: str = ""
    out: Out = Out()
    marks: tuple[ast.expr, ...] = ()


def parsed(text: str) -> ast.Module:
    """The syntax tree of a source; raises ValueError where there is none."""
    if len(text) > LIMIT:
        raise ValueError(f"{len(text)} characters of Python; at most {LIMIT} are parsed")
    try:
        with _quiet, warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return ast.parse(text.removeprefix("\ufeff"))
    except (SyntaxError, RecursionError, MemoryError) as error:
        raise ValueError(f"no Python: {error}") from None


def python_tests(path: str, text: str) -> tuple[TestCase, ...]:
    """The tests and helpers of a file; raises ValueError where it does not parse."""
    tree = parsed(text)
    try:
        return _tests(tree, collected=COLLECTED.search(path) is not None)
    except RecursionError:
        raise ValueError("nested too deep") from None


def _tests(tree: ast.Module, *, collected: bool) -> tuple[TestCase, ...]:
    body = list(_flat(tree.body))
    names = {
        node.targets[0].id: node.value
        for node in body
        if isinstance(node, ast.Assign) and len(node.targets) == 1 and isinstance(node.targets[0], ast.Name)
    }
    shallow = [node for node in body if not isinstance(node, Function | ast.ClassDef)]
    written = settled_values(shallow, {}).items()
    literals: Values = {
        name: value for name, value in written if isinstance(value, ast.Constant | ast.UnaryOp)
    }
    functions = dict(_functions(body))
    tests = {name: node for name, node in functions.items() if collected and _is_test(node)}
    helpers = {name: node for name, node in functions.items() if name not in tests}
    file = File(helpers, literals, names, Budget(), _classes(body))
    out = marked(body, names).within(_set_up(body, MODULE_SET_UP, file)).within(_module_skip(body, file))
    off = switched_off(body)
    marks = tuple(
        node.value for node in body if isinstance(node, ast.Assign) and tail(node.targets[0]) == "pytestmark"
    )
    found = list[TestCase]()
    if collected:
        found += _collect(body, file, Place(out=out, marks=marks))
    found = [structs.replace(one, skipped=one.skipped or _off(one.name, off)) for one in found]
    return (*found[:TESTS], *_helpers(helpers, file))


def _off(name: str, off: dict[str, str]) -> str:
    return off.get(name) or off.get(name.partition("::")[0], "")


def _collect(body: list[ast.stmt], file: File, place: Place) -> list[TestCase]:
    """The tests of a module or class, the last of each name."""
    found: dict[str, TestCase | list[TestCase]] = {}
    classes = [node for node in body if isinstance(node, ast.ClassDef)]
    chosen = _test_classes(classes)
    for node in body:
        if isinstance(node, Function) and _is_test(node):
            found[node.name] = _test(node, file, place)
        elif isinstance(node, ast.ClassDef):
            found[node.name] = _class(node, file, place) if node.name in chosen else []
    return [test for one in found.values() for test in (one if isinstance(one, list) else [one])]


def _class(node: ast.ClassDef, file: File, place: Place) -> list[TestCase]:
    body = list(_flat(node.body))
    marks = (*place.marks, *node.decorator_list)
    out = marks_out(node.decorator_list, file.names).within(marked(body, file.names))
    out = out.within(_set_up(body, SET_UP, file)).within(place.out)
    own = [one for base in (*reversed(_bases(node, file.classes)), node) for one in _flat(base.body)]
    methods = {name: one for name, one in _functions(own) if not _is_test(one)}
    inner = structs.replace(file, helpers={**file.helpers, **methods})
    return _collect(body, inner, Place(f"{place.prefix}{node.name}::", out, marks))


def _test(node: Function, file: File, place: Place) -> TestCase:
    walk = Walk(file.helpers, settled_values(node.body, file.values), budget=file.budget)
    walk.whole(node.body)
    out = marks_out(node.decorator_list, file.names).within(place.out)
    statements = _statements(node.body)
    local = {
        one.targets[0].id: one.value
        for one in node.body
        if isinstance(one, ast.Assign) and isinstance(one.targets[0], ast.Name)
    }
    sets = sets_of((*node.decorator_list, *place.marks), node.body, {**file.names, **local})
    body = "\n".join(map(ast.unparse, statements))
    return TestCase(
        name=f"{place.prefix}{node.name}",
        line=node.lineno,
        skipped=out.skipped or walk.skipped,
        expected_to_fail=out.expected_to_fail or walk.expected_to_fail,
        assertions=bounded(walk.found),
        cases=sets.count,
        body=digest(body),
        parameters=sets.parameters,
        sets=sets.sources,
        uses=names_in(body),
        given=given_values(node.body),
    )


def _helpers(helpers: dict[str, Function], file: File) -> Iterator[TestCase]:
    """Functions that expect something. What they expect of their parameters is read in the tests."""
    for name, node in helpers.items():
        walk = Walk({}, settled_values(node.body, file.values), depth=1)
        walk.whole(node.body)
        if walk.found:
            yield TestCase(name=name, line=node.lineno, assertions=bounded(walk.found), helper=True)


def _flat(body: Iterable[ast.stmt]) -> Iterator[ast.stmt]:
    """The statements of a module or class, those under an `if` or `try` among them, if they can run."""
    for node in body:
        if isinstance(node, ast.If):
            always = False if ast.unparse(node.test).endswith("TYPE_CHECKING") else constant(node.test)
            yield from _flat(node.body) if always is not False else ()
            yield from _flat(node.orelse) if always is not True else ()
        elif isinstance(node, ast.Try):
            yield from _flat([*node.body, *node.orelse, *node.finalbody])
        elif isinstance(node, ast.With):
            yield from _flat(node.body)
        else:
            yield node


def _functions(body: Iterable[ast.stmt]) -> Iterator[tuple[str, Function]]:
    for node in body:
        if isinstance(node, Function):
            yield node.name, node


def _is_test(node: Function) -> bool:
    return node.name.startswith("test") and not any(tail(one) == "fixture" for one in node.decorator_list)


def _test_classes(classes: list[ast.ClassDef]) -> set[str]:
    """Classes that are collected, and those of the same file whose tests they inherit."""
    known = _classes(classes)
    chosen = {
        node.name for node in classes if _is_test_class(node) or any(map(_derived, _bases(node, known)))
    }
    bases = {tail(base) for node in classes if node.name in chosen for base in node.bases}
    return chosen | {node.name for node in classes if node.name in bases}


def _classes(body: Iterable[ast.stmt]) -> dict[str, ast.ClassDef]:
    return {node.name: node for node in body if isinstance(node, ast.ClassDef)}


def _derived(node: ast.ClassDef) -> bool:
    """Whether a class makes those that inherit from it test classes too, whatever they are called."""
    return any("Test" in tail(base) for base in node.bases)


def _bases(node: ast.ClassDef, classes: dict[str, ast.ClassDef]) -> list[ast.ClassDef]:
    """The classes of the same file from which one inherits, nearest first; at most 20."""
    found, waiting = list[ast.ClassDef](), [node]
    while waiting and len(found) < BASES:
        for base in waiting.pop(0).bases:
            one = classes.get(tail(base))
            if one is not None and one is not node and one not in found:
                found.append(one)
                waiting.append(one)
    return found


def _is_test_class(node: ast.ClassDef) -> bool:
    if any("Test" in tail(base) for base in node.bases):
        return True
    built = any(isinstance(one, Function) and one.name == "__init__" for one in node.body)
    return node.name.startswith("Test") and not built


def _set_up(body: Iterable[ast.stmt], names: frozenset[str], file: File) -> Out:
    """What the preparation of a module or class makes of its tests."""
    out = Out()
    for node in body:
        if isinstance(node, Function) and (node.name in names or _is_autouse(node)):
            walk = Walk({}, file.values)
            walk.whole(node.body)
            out = out.within(
                Out("" if walk.skipped.startswith("return") else walk.skipped, walk.expected_to_fail)
            )
    return out


def _is_autouse(node: Function) -> bool:
    return any(
        isinstance(one, ast.Call)
        and tail(one) == "fixture"
        and any(word.arg == "autouse" and constant(word.value) is True for word in one.keywords)
        for one in node.decorator_list
    )


def _module_skip(body: list[ast.stmt], file: File) -> Out:
    walk = Walk({}, file.values)
    walk.whole([node for node in body if isinstance(node, ast.Expr | ast.Raise)])
    return Out(one_line(walk.skipped), one_line(walk.expected_to_fail))


def _statements(body: list[ast.stmt]) -> list[ast.stmt]:
    """What a test does: no docstring, no `pass`."""
    return [
        node
        for node in body
        if not isinstance(node, ast.Pass)
        and not (isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant))
    ]
