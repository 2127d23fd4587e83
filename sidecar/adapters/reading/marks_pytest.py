"""pytest bent from within: hooks that drop or rewrite results, fixtures and assignments that replace code.

A hook counts for what it assigns, adds or returns, not for its name.
"""

from __future__ import annotations

import ast
import re
import sys
from typing import TYPE_CHECKING, Final

from sidecar.adapters.reading.marks_python_page import (
    FUNCTIONS,
    SWALLOWS,
    Page,
    dotted,
    is_words,
    own_words,
    statements,
)
from sidecar.model.inspection import Mark

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    Function = ast.FunctionDef | ast.AsyncFunctionDef

ASKED: Final = re.compile(r"getoption|getini|\.option\b|environ|getenv|platform|version_info")
"""A condition that the user or the machine decides."""
MACHINERY: Final = re.compile(
    r"^(?:unittest|pytest|_pytest|builtins|TestCase|TestResult|TextTestResult|TestReport|CallInfo)\."
)
"""What checks are made of."""
WORLD: Final = frozenset(
    {
        "requests",
        "httpx",
        "aiohttp",
        "urllib3",
        "boto3",
        "botocore",
        "redis",
        "smtplib",
        "django",
        "flask",
        "celery",
    }
    | {
        "settings",
        "config",
        "logging",
        "structlog",
        "freezegun",
        "matplotlib",
        "plt",
        "np",
        "numpy",
        "pandas",
        "pd",
    }
    | {"torch", "random", "faker", "openai", "anthropic", "hypothesis"}
)
"""What tests rightly keep away from the network, the clock and chance."""


def _says(pattern: str) -> Callable[[str], bool]:
    compiled = re.compile(pattern)
    return lambda source: bool(compiled.search(source))


DROPS: Final = _says(
    r"\bitems\s*\[.*\]\s*=(?!=)(?!\s*(?:sorted|list\(reversed|reversed)\b)|\bitems\.(?:clear|remove"
    r"|pop)\(|\bdel items\b"
    r"|pytest_deselected|add_marker\(.*(?:skip|xfail)|pytest\.exit\(|pytest\.skip\("
)
REWRITES: Final = _says(
    r"\.(?:outcome|wasxfail|excinfo|_excinfo)\s*=(?!=)|setattr\(\s*\w+\s*,\s*[\"'](?:outcome"
    r"|wasxfail|excinfo|longrepr)[\"']"
    r"|force_result\(|force_exception\(|\.longrepr\s*=\s*None|^return\s+(?:\w+\.)?TestReport\("
    r"|[\"']outcome[\"']\s*\]\s*=|\.__dict__\b"
)
ENDS: Final = _says(
    r"\b(?:session\.)?exitstatus\s*=(?!=)|\.testsfailed\s*=(?!=)|setattr\(\s*session\b|\bos\._exit\("
    r"|\bsys\.exit\(|pytest\.exit\("
)
STEERS: Final = _says(
    r"\.option\.(?:keyword|markexpr|deselect|collectonly|ignore|ignore_glob|lf|maxfail|stepwise"
    r"|setuponly|setupplan)\s*=(?!=)"
    r"|\b(?:config\.)?args\s*(?:\[.*\])?\s*\+?=(?!=).*[\"'](?:-k|-m|--deselect|--ignore|--co\b"
    r"|--collect-only|--lf)"
    r"|\bargs\.(?:append|extend|insert)\(.*[\"'](?:-k|-m|--deselect|--ignore|--co\b|--collect-only|--lf)"
    r"|\bconfig\.args\s*=(?!=)|\bos\._exit\(|pytest\.exit\("
)
TAKES_OVER: Final = _says(
    r"^return\s+(?:True|1)\b|force_result\(|\.(?:_excinfo|excinfo)\s*=(?!=)|^except: swallowed"
)
RUNS_IT: Final = re.compile(
    r"runtestprotocol\(|\.runtest\(|\.obj\(|testfunction\(|funcargs\b|run_until_complete|\brun\("
)
"""A hook that takes over a test and runs it."""
FILTERS: Final = frozenset({"pytest_collection_modifyitems", "pytest_ignore_collect", "pytest_runtest_setup"})
"""Hooks with which a project rightly leaves tests to an option or a platform."""
BENDS: Final[dict[str, Callable[[str], bool]]] = {
    "pytest_collection_modifyitems": DROPS,
    "pytest_itemcollected": DROPS,
    "pytest_collection_finish": DROPS,
    "pytest_ignore_collect": _says(r"^return\s+(?!None\b|False\b)\S"),
    "pytest_pycollect_makeitem": _says(r"^return\s+(?:\[\]|\(\)|None\b)"),
    "pytest_runtest_makereport": REWRITES,
    "pytest_runtest_logreport": REWRITES,
    "pytest_report_from_serializable": REWRITES,
    "pytest_report_to_serializable": REWRITES,
    "pytest_report_teststatus": _says(r"\.outcome\s*=(?!=)|^return\s*\(?\s*[\"']passed[\"']"),
    "pytest_runtest_protocol": TAKES_OVER,
    "pytest_runtest_call": TAKES_OVER,
    "pytest_pyfunc_call": TAKES_OVER,
    "pytest_runtest_setup": _says(r"pytest\.(?:skip|xfail)\(|\.obj\s*=(?!=)"),
    "pytest_runtestloop": _says(r"^return\s+True\b|testsfailed\s*=(?!=)"),
    "pytest_sessionfinish": ENDS,
    "pytest_unconfigure": ENDS,
    "pytest_terminal_summary": ENDS,
    "pytest_configure": STEERS,
    "pytest_cmdline_main": _says(r"^return\s+(?:0|True|ExitCode\.OK|pytest\.ExitCode\.OK)\b|\bos\._exit\("),
    "pytest_cmdline_preparse": STEERS,
    "pytest_load_initial_conftests": STEERS,
    "pytest_cmdline_parse": STEERS,
    "pytest_exception_interact": REWRITES,
}
"""What each hook must not say in a statement of its own."""


def hooks(page: Page) -> Iterator[Mark]:
    """Hooks that drop tests or rewrite results, each at the first line that does it."""
    for function in page.functions:
        bends = BENDS.get(function.name)
        if bends is None:
            continue
        asked = " where it is asked for" if ASKED.search(page.source(function)) else ""
        for statement in statements(function.body):
            if isinstance(statement, (*FUNCTIONS, ast.ClassDef)) or is_words(statement):
                continue
            own = own_words(statement, page)
            if bends(own) and not _is_excused(own, statement, function, page):
                soft = asked if function.name in FILTERS else ""
                yield page.mark("hook", statement, function.name + soft)
                break
    if page.is_conftest:
        yield from _uncollected(page)


def _is_excused(own: str, statement: ast.stmt, function: Function, page: Page) -> bool:
    """A hook that takes over a test and runs it; an error swallowed where no test runs."""
    if own == SWALLOWS:
        return not (RUNS_IT.search(page.source(statement)) or "yield" in page.source(statement))
    return own.startswith("return") and bool(RUNS_IT.search(page.source(function)))


def _uncollected(page: Page) -> Iterator[Mark]:
    asked = False
    for statement in statements(page.tree.body):
        source = own_words(statement, page)
        asked = asked or (isinstance(statement, ast.If) and bool(ASKED.search(source)))
        if re.match(r"collect_ignore(?:_glob)?\b.*(?:=|append|extend|\+=)\s*+[\[(]*+\s*+(?![\])])\S", source):
            soft = " where it is asked for" if asked or ASKED.search(source) else ""
            yield page.mark("hook", statement, f"collect_ignore{soft}")


def autouse(page: Page) -> Iterator[Mark]:
    """A fixture that every test gets, and that skips it or replaces the code of the project."""
    for function in page.functions:
        heads = [page.source(decorator) for decorator in function.decorator_list]
        if not any("fixture" in head and re.search(r"autouse\s*=\s*True", head) for head in heads):
            continue
        asked = " where it is asked for" if ASKED.search(page.source(function)) else ""
        for statement in statements(function.body):
            source = "" if is_words(statement) else own_words(statement, page)
            if re.search(r"pytest\.(?:skip|xfail)\(|add_marker\(.*(?:skip|xfail)", source):
                yield page.mark("hook", statement, f"autouse {function.name} skips{asked}")
            elif (target := _patched(source)) and _is_ours(target):
                yield page.mark("hook", statement, f"autouse {function.name} replaces {target}")


def _patched(source: str) -> str:
    """What a line replaces: "shop.cart.total"."""
    named = re.search(
        r"(?:monkeypatch\.setattr|(?:mock\.|mocker\.)?patch(?:\.object)?)\(\s*(?:[\"']([\w.]+)[\"']"
        r"|([\w.]+)\s*,\s*[\"'](\w+)[\"'])",
        source,
    )
    return "" if named is None else named[1] or f"{named[2]}.{named[3]}"


def _is_ours(target: str) -> bool:
    root = target.partition(".")[0]
    return bool(MACHINERY.match(target)) or not (
        root in WORLD
        or root in sys.stdlib_module_names
        or any(part in sys.stdlib_module_names or part in WORLD for part in target.split(".")[1:-1])
        or re.search(
            r"(?i)(?:^|[._])(?:env|sleep|now|today|utcnow|time|uuid4?|home|settings|config|path|dir"
            r"|url|client)$",
            target,
        )
        or target.rpartition(".")[2].isupper()
    )


def replacements(page: Page) -> Iterator[Mark]:
    """An assignment on import to a part of another module: `TestCase.assertEqual = lambda *a: None`."""
    imported = {
        (alias.asname or alias.name).partition(".")[0]
        for node in page.nodes
        if isinstance(node, ast.Import | ast.ImportFrom)
        for alias in node.names
    }
    own = {function.name for function in page.functions}
    for statement in statements(page.tree.body):
        if not isinstance(statement, ast.Assign) or not isinstance(statement.targets[0], ast.Attribute):
            continue
        target, value = dotted(statement.targets[0]), statement.value
        fake = isinstance(value, ast.Lambda) or dotted(value) in own or "Mock(" in page.line(statement)
        if fake and target.partition(".")[0] in imported and (MACHINERY.match(target) or _is_ours(target)):
            yield page.mark("hook", statement, f"replaces {target}")
