"""Hooks, exits and questions of code that is not Python: JavaScript, TypeScript, Go, Rust, Java, Ruby, PHP.

Where there is a grammar, strings and comments are no code; elsewhere lines are searched as text.
"""

from __future__ import annotations

import re
from itertools import chain
from typing import TYPE_CHECKING, Final

from sidecar.adapters import grammar
from sidecar.adapters.grammar import Tongue
from sidecar.adapters.reading.marks_comments import TONGUES, ending_of
from sidecar.model.inspection import Mark, Role

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from sidecar.adapters.grammar import Node

LINE: Final = 240
"""Characters of a line that are quoted and searched."""
SCRIPTED: Final = frozenset({Tongue.JAVASCRIPT, Tongue.TYPESCRIPT, Tongue.TSX})
RUNS_AS_PROGRAM: Final = re.compile(r"(?:^|/)(?:scripts?|bin|tools|examples?|benchmarks?|cli)(?:/|\.)")
OF_RUNNER: Final = re.compile(
    r"(?i)(?:^|/)(?:global[-_.]?(?:setup|teardown)|(?:jest|vitest|test|mocha)[-_.]?(?:setup|teardown"
    r"|global\w*|helper)"
    r"|setup[-_.]?(?:tests?|jest|vitest|files?(?:after\w*)?)|(?:custom|jest|test)?[-_.]?(?:reporter"
    r"|runner|environment))\w*"
    r"(?:\.[\w-]+)*\.[cm]?[jt]sx?$"
)
"""Files that a JavaScript runner loads around the tests."""

EXIT: Final = re.compile(r"process\.(?:reallyExit|exit)\(\s*0?\s*\)")
EXIT_CODE: Final = re.compile(r"process\.exitCode\s*=\s*0\b")
ENVIRONMENT: Final = re.compile(
    r"process\.env(?:\."
    r"|\[['\"])(?:JEST_WORKER_ID|VITEST(?:_\w+)?|MOCHA_\w+|CYPRESS(?:_\w+)?|PLAYWRIGHT_TEST\w*"
    r"|NODE_TEST_CONTEXT)\b"
)
NAMED: Final = re.compile(
    r"(?:process\.env(?:\.|\[['\"])NODE_ENV(?:['\"]\])?"
    r"|import\.meta\.env\.MODE)\s*(?P<is>[!=]==?)\s*['\"`]test(?:ing)?['\"`]"
    r"|['\"`]test['\"`]\s*(?P<was>[!=]==?)\s*process\.env\.NODE_ENV"
)
PRESENT: Final = re.compile(
    r"typeof\s+(?:global(?:This)?\.)?(?:jest|vi|describe|it|test|expect|mocha"
    r"|beforeEach)\s*[!=]==?\s*['\"](?:undefined|function)"
    r"|(?:global(?:This)?|window)\.(?:jest|vi|it|describe|beforeEach|__vitest_worker__"
    r"|__coverage__|Cypress)\b"
    r"|process\.argv\b.{0,80}['\"/](?:jest|vitest|mocha)\b|\.stack\b.{0,80}(?:\.test\.|\.spec\."
    r"|__tests__|['\"/](?:jest|vitest|mocha))"
    r"|['\"](?:(?:\w+-)?(?:jest|vitest)|NODE_TEST_CONTEXT|VITEST|JEST_WORKER_ID)['\"]\s+in\s+"
    r"|process\.argv(?:\[1\]|\??\.(?:some|find|join|toString)\b).{0,80}test|process\.argv\b.{0,80}['\"]--test\b"
    r"|process\.execArgv\b.{0,80}test|require\.main\b.{0,80}(?:test|jest|mocha)"
)
"""A subcommand `test` in `process.argv`, and `require.main === module`, are rightly asked for."""
SERVES: Final = re.compile(
    r"\.(?:listen|start|use|connect)\(|\b(?:main|start\w*|listen|bootstrap|morgan)\(|logger|\blog\b"
)
"""What is rightly left out under test: opening a port, logging."""

ASKING: Final = frozenset(
    {"binary_expression", "member_expression", "subscript_expression", "call_expression"}
)
AT_END: Final = re.compile(r"process\.(?:on|once)\(\s*['\"](?:exit|beforeExit)")
REPORTS: Final = re.compile(r"(?:async )?on(?:RunComplete|Finished|End)\(")
GO_EXIT: Final = re.compile(r"(?:os|syscall)\.Exit\(\s*0\s*\)")
GO_ASKS: Final = re.compile(
    r"testing\.Testing\(\)|flag\.Lookup\(\s*\"test\."
    r"|strings\.(?:HasSuffix|Contains)\((?:filepath\.Base\()?os\.Args\[0\]\)?,\s*\"[^\"]*test"
)
RUST_EXIT: Final = re.compile(r"(?:std::)?process::exit\(\s*0\s*\)")
JAVA: Final = {
    "method_invocation": re.compile(r"System\.exit\(\s*0\s*\)|Runtime\.getRuntime\(\)\.halt\(\s*0\s*\)"),
    "string_literal": re.compile(r"\"(?:org\.junit|junit\.framework|org\.testng|surefire\.)"),
}
"""An exit that says all is well; the name of a runner, as code looks for it on the stack."""
JAVA_ASKS: Final = re.compile(
    r"(?i)[^;{]*(?:getClassName|getStackTrace|StackWalker|getProperty|forName|loadClass)\b[^;{]*"
    r"\"[^\"]*(?:junit|surefire|testng)|[^;{]*getClassName\(\)\.(?:endsWith|contains)\(\"\.?tests?\""
)
"""A stack, a property or a class of a runner, put to the question."""
JAVA_EQUAL: Final = re.compile(r"[^{]*\bboolean equals\([^)]*\)\s*\{\s*return true;\s*\}")
TEXTUAL: Final = {
    "rb": {
        "exit": r"^\s*at_exit\b.*\bexit!?\b|^exit!?[ (]*(?:0|true)?\)?\s*$|^\s*exit!\s*(?:0|true)?\s*$",
        "hook": r"\bconfig\.(?:filter_run_excluding|exclusion_filter\s*=|failure_exit_code\s*=\s*0)",
        "knows-test": (
            r"\bdefined\?\s*\(?\s*(?:RSpec|Minitest)\b|ENV\[['\"](?:RAILS|RACK)_ENV['\"]\]\s*[!=]=\s*['\"]test"
            r"|Rails\.env\.test\?"
        ),
    },
    "php": {
        "exit": r"\bregister_shutdown_function\b.*\bexit\b|^\s*exit\(\s*0\s*\)\s*;",
        "knows-test": (
            r"\bdefined\(\s*['\"](?:PHPUNIT_\w+|__PHPUNIT\w*)|\brunningUnitTests\(\)|class_exists\([^)]*PHPUnit"
        ),
    },
    "ex": {"knows-test": r"\bMix\.env\(?\)?\s*[!=]==?\s*:test\b|function_exported\?\(ExUnit"},
    "kt": {
        "exit": r"\bexitProcess\(\s*0\s*\)|\bRuntime\.getRuntime\(\)\.halt\(\s*0",
        "knows-test": r"['\"](?:org\.junit|junit\.framework)",
    },
    "cs": {"exit": r"\bEnvironment\.Exit\(\s*0\s*\)"},
}
"""By the ending: what a line says, where there is no grammar."""
ROLES: Final = {"exit": Role.TEST, "hook": Role.TEST, "knows-test": Role.SOURCE}
"""The files in which that matters."""


def script_marks(path: str, text: str, role: Role) -> Iterator[Mark]:
    """Hooks, exits and questions of one file; nothing where it does not parse."""
    ending = ending_of(path)
    tongue = TONGUES.get(ending)
    if tongue is None:
        yield from _textual(TEXTUAL.get(ending, {}), text, role)
        return
    try:
        page = Page(path, text, role, grammar.parse(tongue, text).root_node)
    except ValueError:
        return
    if tongue in SCRIPTED:
        yield from _script(page)
    elif tongue is Tongue.GO:
        yield from _go_tests(page) if path.endswith("_test.go") else _go(page)
    elif tongue is Tongue.RUST:
        yield from _rust(page)
    elif tongue is Tongue.JAVA:
        yield from _java(page)


class Page:
    """A source by its tree, its lines and its bytes: the text of a big node is never copied whole."""

    def __init__(self, path: str, text: str, role: Role, root: Node) -> None:
        self.path, self.role, self.root = path, role, root
        self.lines = text.split("\n")
        self.raw = text.encode("utf-8", "surrogatepass")

    def short(self, node: Node) -> str:
        """The beginning of a node in one line."""
        held = self.raw[node.start_byte : min(node.end_byte, node.start_byte + 2 * LINE)]
        return " ".join(held.decode("utf-8", "replace").split())

    def mark(self, kind: str, node: Node, where: str = "") -> Mark:
        """A mark at the line on which a node begins."""
        line = " ".join(self.lines[node.start_point[0]].strip()[:LINE].split())
        return Mark(kind=kind, text=f"{where}: {line}" if where else line, line=grammar.line_of(node))


# --- JavaScript and TypeScript ------------------------------------------------------------------------------


def _script(page: Page) -> Iterator[Mark]:
    """At most one mark of a line."""
    if page.role is Role.TEST or OF_RUNNER.search(page.path):
        found = _ends_well(page)
    elif page.role is Role.SOURCE:
        found = chain(_ends_on_import(page), _asks(page))
    else:
        return
    seen = set[int]()
    for mark in found:
        if mark.line not in seen:
            seen.add(mark.line)
            yield mark


def _ends_well(page: Page) -> Iterator[Mark]:
    for node in grammar.descend(page.root):
        if node.type == "call_expression":
            source = page.short(node)
            if EXIT.fullmatch(source) or (AT_END.match(source) and EXIT_CODE.search(source)):
                yield page.mark("exit", node)
        elif node.type == "method_definition":
            source = page.short(node)
            if REPORTS.match(source) and EXIT_CODE.search(source):
                yield page.mark("exit", node)


def _ends_on_import(page: Page) -> Iterator[Mark]:
    if not page.lines[0].startswith("#!") and not RUNS_AS_PROGRAM.search(page.path):
        for node in page.root.children:
            if node.type == "expression_statement" and EXIT.match(page.short(node)):
                yield page.mark("exit", node, "on import")


def _asks(page: Page) -> Iterator[Mark]:
    """Questions to the environment. What a condition guards is known from the `if` that comes before it."""
    guarded = ""
    for node in grammar.descend(page.root):
        if node.type in ("if_statement", "expression_statement"):
            guarded = page.short(node)
        elif node.type in ASKING:
            source = page.short(node)
            if _is_question(node.type, source, guarded):
                yield page.mark("knows-test", node)


def _is_question(kind: str, source: str, guarded: str) -> bool:
    if kind in ("member_expression", "subscript_expression") and ENVIRONMENT.match(source):
        return not re.match(rf"(?:delete )?{re.escape(source)}\s*(?:=(?!=)|;|$)", guarded)
    if kind == "binary_expression" and (named := NAMED.match(source)):
        negative = (named["is"] or named["was"]).startswith("!")
        return not (negative and SERVES.search(guarded))
    short_call = kind == "call_expression" and len(source) < LINE and "{" not in source
    return bool(PRESENT.match(source) or (short_call and PRESENT.search(source)))


# --- Go, Rust, Java -----------------------------------------------------------------------------------------


def _go_tests(page: Page) -> Iterator[Mark]:
    for node in page.root.children:
        name, body = node.child_by_field_name("name"), node.child_by_field_name("body")
        if node.type != "function_declaration" or name is None or body is None:
            continue
        function = grammar.text_of(name)
        if function in ("TestMain", "init"):
            called = [page.short(call) for call in grammar.descend(body) if call.type == "call_expression"]
            if any(GO_EXIT.fullmatch(call) for call in called):
                yield page.mark("hook", node, "exits with 0")
            elif function == "TestMain" and not any(
                call.endswith(".Run()") or "Main(" in call for call in called
            ):
                yield page.mark("hook", node, "runs no test")


def _go(page: Page) -> Iterator[Mark]:
    for node in grammar.descend(page.root):
        if node.type == "call_expression" and GO_ASKS.match(page.short(node)):
            yield page.mark("knows-test", node)


def _rust(page: Page) -> Iterator[Mark]:
    for node in grammar.descend(page.root):
        if node.type == "macro_invocation" and re.match(
            r"cfg!\s*\(\s*(?:not\s*\(\s*)?test\b", page.short(node)
        ):
            yield page.mark("knows-test", node)
        elif page.role is Role.TEST and node.type == "call_expression" and RUST_EXIT.match(page.short(node)):
            yield page.mark("exit", node)


def _java(page: Page) -> Iterator[Mark]:
    kind = {Role.TEST: "method_invocation", Role.SOURCE: "string_literal"}.get(page.role)
    for node in grammar.descend(page.root):
        if node.type == kind and JAVA[kind].match(page.short(node)):
            yield page.mark("exit" if page.role is Role.TEST else "knows-test", node)
        elif page.role is Role.SOURCE and _asks_in_java(node, page):
            yield page.mark("knows-test", node)


def _asks_in_java(node: Node, page: Page) -> bool:
    """Whether a call looks for a runner, or a method is equal to whatever a test expects."""
    if node.type == "method_invocation":
        return JAVA_ASKS.match(page.short(node)) is not None
    return node.type == "method_declaration" and JAVA_EQUAL.fullmatch(page.short(node)) is not None


# --- others -------------------------------------------------------------------------------------------------


def _textual(table: Mapping[str, str], text: str, role: Role) -> Iterator[Mark]:
    fitting = {kind: pattern for kind, pattern in table.items() if role is ROLES[kind]}
    for number, raw in enumerate(text.split("\n") if fitting else (), start=1):
        line = raw[:LINE].split(" #")[0].split(" //")[0]
        for kind, pattern in fitting.items():
            if re.search(pattern, line):
                yield Mark(kind=kind, text=" ".join(line.split()), line=number)
