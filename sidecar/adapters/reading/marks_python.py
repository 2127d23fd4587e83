"""Python that bends results: hooks of pytest, exits, replacements, and code that asks whether it is tested.

Read from the syntax tree, by what is written and not by names alone. `text` of a mark is where it stands, and
the line that does it.
"""

from __future__ import annotations

import ast
import re
from typing import TYPE_CHECKING, Final

from sidecar.adapters.reading.marks_pytest import autouse, hooks, replacements
from sidecar.adapters.reading.marks_python_page import (
    LINE,
    Page,
    dotted,
    is_words,
    parsed,
    statements,
)
from sidecar.model.inspection import Mark, Role

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    Function = ast.FunctionDef | ast.AsyncFunctionDef

TELLING: Final = re.compile(
    r"pytest|PYTEST|unittest|exit|quit|stack|frame|f_back|ENV|MODE|sys\.|__eq__|__ne__"
)
"""A word of what is looked for in sources; most have none and are not parsed."""
LEAVES: Final = frozenset({"os._exit", "_exit", "sys.exit", "exit", "quit", "SystemExit"})
"""What ends a process, well with no code, None or 0."""
UNDER_TEST: Final = frozenset(
    {"PYTEST_CURRENT_TEST", "PYTEST_VERSION", "PYTEST_XDIST_WORKER", "PYTEST_RUN_CONFIG"}
)
RUNNERS: Final = frozenset({"pytest", "py.test", "_pytest", "unittest", "nose", "pytest.py"})
STACKS: Final = re.compile(
    r"\binspect\.(?:stack|currentframe)\(|\bsys\._getframe\(|\btraceback\.(?:extract|format)_stack\("
    r"|\bf_back\b"
)
OF_TESTS: Final = re.compile(
    r"(?:^|[/\\_.])(?:test_?|tests|conftest|_test|pytest|unittest)(?:[/\\_.]|$)|^test"
)
SCRIPTS: Final = re.compile(
    r"(?:^|/)(?:scripts?|bin|tools|examples?|benchmarks?|docs?)/|(?:^|/)__main__\.py$"
)


def python_marks(path: str, text: str, role: Role) -> Iterator[Mark]:
    """Hooks, exits and questions of one Python file; nothing where it does not parse."""
    tree = parsed(text) if role is Role.TEST or TELLING.search(text) else None
    if tree is None:
        return
    page = Page(path, text, role, tree)
    yield from hooks(page)
    if role is Role.TEST or page.is_conftest or page.starts_first:
        yield from _exits_of_tests(page)
        yield from autouse(page)
        yield from replacements(page)
    elif role is Role.SOURCE:
        yield from _exits_on_import(page)
        yield from _asks_for_tests(page)
        yield from _equal_to_all(page)


def _exits_of_tests(page: Page) -> Iterator[Mark]:
    """An exit that says all is well: on import, in a test, a fixture or a hook."""
    yield from _exits(_imported(page.tree), page, "on import")
    for function in page.functions:
        if _is_of_runner(function) or page.is_conftest:
            source = page.source(function)
            forks = "os.fork()" in source or "multiprocessing" in source
            if not forks and "SystemExit" not in source.replace("raise SystemExit", ""):
                yield from _exits(function.body, page, function.name)
    for call in page.calls:
        if dotted(call.func) in ("atexit.register", "register") and "_exit" in page.line(call):
            yield page.mark("exit", call, "at exit")


def _exits_on_import(page: Page) -> Iterator[Mark]:
    if SCRIPTS.search(page.path) or page.lines[0].startswith("#!"):
        return
    yield from _exits(_imported(page.tree), page, "on import")
    for call in page.calls:
        if dotted(call.func) == "atexit.register" and "os._exit" in page.line(call):
            yield page.mark("exit", call, "at exit")


def _imported(tree: ast.Module) -> Iterator[ast.stmt]:
    """Statements that an import runs."""
    for statement in tree.body:
        if not (isinstance(statement, ast.If) and "__name__" in ast.dump(statement.test)[:400]):
            yield statement


def _exits(body: Iterable[ast.stmt], page: Page, where: str) -> Iterator[Mark]:
    for statement in statements(body):
        if isinstance(statement, ast.Expr):
            left: ast.expr | None = statement.value if isinstance(statement.value, ast.Call) else None
        else:
            left = statement.exc if isinstance(statement, ast.Raise) else None
        if left is not None and _ends_well(left):
            yield page.mark("exit", statement, where)


def _ends_well(node: ast.expr) -> bool:
    """Whether this ends the process and says that all is well."""
    name = dotted(_called(node))
    if not isinstance(node, ast.Call):
        return name == "SystemExit"
    if name == "pytest.exit":
        return any(word.arg == "returncode" and _is_nothing(word.value) for word in node.keywords)
    return name in LEAVES and all(_is_nothing(argument) for argument in node.args)


def _is_nothing(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and not node.value


def _is_of_runner(function: Function) -> bool:
    fixed = any("fixture" in dotted(_called(decorator)) for decorator in function.decorator_list)
    return fixed or bool(re.match(r"test|pytest_|setup|teardown|setUp|tearDown", function.name))


def _called(node: ast.expr) -> ast.expr:
    return node.func if isinstance(node, ast.Call) else node


def _asks_for_tests(page: Page) -> Iterator[Mark]:
    seen = set[int]()
    for node in page.nodes:
        if (
            isinstance(node, ast.Compare | ast.Call | ast.Subscript)
            and _asks(node, page)
            and node.lineno not in seen
        ):
            seen.add(node.lineno)
            yield page.mark("knows-test", node)
    for function in page.functions:
        if STACKS.search(page.source(function)):
            yield from _asks_stack(function, page)


def _asks(node: ast.expr, page: Page) -> bool:
    match node:
        case ast.Compare(left=ast.Constant(value=str(word)), ops=[ast.In() | ast.NotIn()]):
            return word in UNDER_TEST or (word in RUNNERS | {"test"} and _looks(node, page, word))
        case ast.Compare(comparators=[ast.Constant(value="test" | "testing")], ops=[ast.Eq() | ast.NotEq()]):
            return bool(re.search(r"(?:environ|getenv)\b.*(?:ENV|ENVIRONMENT|MODE)\b", page.line(node)))
        case ast.Call(
            func=ast.Attribute(attr="get" | "getenv" | "startswith" | "endswith"),
            args=[ast.Constant(value=str(word)), *_],
        ):
            return word in UNDER_TEST or (word in RUNNERS and _looks(node, page, word))
        case ast.Call(func=ast.Name(id="getenv"), args=[ast.Constant(value=str(word)), *_]):
            return word in UNDER_TEST
        case ast.Subscript(value=value, slice=ast.Constant(value=str(word)), ctx=ast.Load()):
            return word in UNDER_TEST or (word in RUNNERS and dotted(value) == "sys.modules")
        case _:
            return False


def _looks(node: ast.expr, page: Page, word: str) -> bool:
    """Whether the line asks the interpreter, not data of its own."""
    places = r"sys\.argv" if word == "test" else r"sys\.(?:argv|modules)|\bargv\b|__file__|\bf_code\b|environ"
    return bool(re.search(places, page.line(node)))


def _asks_stack(function: Function, page: Page) -> Iterator[Mark]:
    for node in ast.walk(function):
        is_word = isinstance(node, ast.Constant) and isinstance(node.value, str) and len(node.value) < LINE
        if is_word and isinstance(node, ast.Constant) and OF_TESTS.search(str(node.value)):
            yield page.mark("knows-test", node, function.name)
            return


def _equal_to_all(page: Page) -> Iterator[Mark]:
    """Comparisons that always come out well: whatever a test expects, such a value is equal to it."""
    for function in page.functions:
        body = [each for each in function.body if not is_words(each)]
        if len(body) == 1 and isinstance(body[0], ast.Return) and _is_agreement(function.name, body[0].value):
            yield page.mark("knows-test", function, "equal to everything")
    for node in page.nodes:
        if isinstance(node, ast.Assign) and isinstance(node.value, ast.Lambda):
            names = [dotted(target).rpartition(".")[2] for target in node.targets]
            if any(_is_agreement(name, node.value.body) for name in names):
                yield page.mark("knows-test", node, "equal to everything")


def _is_agreement(name: str, value: ast.expr | None) -> bool:
    agreeing = {"__eq__": True, "__ne__": False}.get(name)
    return agreeing is not None and isinstance(value, ast.Constant) and value.value is agreeing
