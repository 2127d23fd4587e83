"""What a test file is made of besides what its tests say: whole tests, everything else, and its imports.

By these the policy tells a change that it can explain (a new test, a moved one, another layout) from one that
it cannot (another import, a helper that was replaced, a decorator). Names of tests, comments, docstrings and
layout count for nothing.
"""

from __future__ import annotations

import ast
import re
from typing import TYPE_CHECKING, Final

from sidecar.adapters.grammar import Tongue, text_of
from sidecar.adapters.reading.found import digest
from sidecar.adapters.reading.trees import canonical, parsed
from sidecar.model.inspection import Parts

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from sidecar.adapters.grammar import Node

DEPTH: Final = 20
"""Blocks of tests in one another that are looked into; what is deeper counts as one part."""
SUITE: Final = re.compile(r"[xf]?(?:describe|context|suite)\b")
TEST: Final = re.compile(r"[xf]?(?:it|test|specify)\b")
GO_TEST: Final = re.compile(r"(?:Test|Benchmark|Fuzz|Example)(?![a-z])")
WORD: Final = re.compile(r"[A-Za-z_$][\w$]*")
QUOTED: Final = re.compile(r"(['\"`]).*?\1")
RENAMED: Final = re.compile(r"\bas\b|:")
KEYWORDS: Final = frozenset(
    ("import", "from", "as", "const", "let", "var", "require", "await", "use", "static")
)


UNIT, REST, IMPORT = "unit", "rest", "import"
Part = tuple[str, str]


def parts_of(path: str, text: str) -> Parts | None:
    """Take a test file apart; None where its language has no parser. Raises ValueError as parsers do."""
    ending = path.rpartition(".")[2].lower()
    if ending in ("py", "pyi"):
        return _gathered(_python(text))
    if ending in TONGUES:
        tongue, walk = TONGUES[ending]
        return _gathered(walk(parsed(tongue, text, lenient=False), 0))
    return None


def _gathered(parts: Iterator[Part]) -> Parts:
    found: dict[str, list[str]] = {UNIT: [], REST: [], IMPORT: []}
    for kind, text in parts:
        found[kind].append(text if kind == IMPORT else digest(text))
    return Parts(*(tuple(sorted(found[kind])) for kind in (UNIT, REST, IMPORT)))


# --- Python -------------------------------------------------------------------------------------------------


def _python(text: str) -> Iterator[Part]:
    try:
        module = ast.parse(text)
    except (SyntaxError, RecursionError, MemoryError) as error:
        raise ValueError(f"it does not parse: {error}") from error
    yield from _of_block(_undocumented(module.body))


def _of_block(body: list[ast.stmt]) -> Iterator[Part]:
    names = set[str]()
    for node in body:
        if isinstance(node, ast.Import | ast.ImportFrom):
            yield from _imported(node)
        elif isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and node.name.startswith("test"):
            yield UNIT, _dump(node)
            if node.name in names:  # the first of the two never runs
                yield REST, f"again {node.name}"
            names.add(node.name)
        elif isinstance(node, ast.ClassDef) and _holds_tests(node):
            if header := _header(node):
                yield REST, header
            yield from _of_block(_undocumented(node.body))
        elif not isinstance(node, ast.Pass):
            yield REST, ast.dump(node)


def _imported(node: ast.Import | ast.ImportFrom) -> Iterator[Part]:
    for name in node.names:
        if isinstance(node, ast.Import):
            yield IMPORT, f"{name.asname or name.name.partition('.')[0]}={name.name}"
        else:
            yield IMPORT, f"{name.asname or name.name}={'.' * node.level}{node.module or ''}:{name.name}"


def _holds_tests(node: ast.ClassDef) -> bool:
    return any(
        isinstance(one, ast.FunctionDef | ast.AsyncFunctionDef) and one.name.startswith("test")
        for one in node.body
    )


def _header(node: ast.ClassDef) -> str:
    return " ".join(ast.dump(one) for one in (*node.bases, *node.keywords, *node.decorator_list))


def _dump(node: ast.FunctionDef | ast.AsyncFunctionDef) -> str:
    body = _undocumented(node.body)
    takes = (
        ast.dump(node.args).replace("arg(arg='self')", "").replace("args=[, ", "args=[")
    )  # a method is a test too
    return " ".join((takes, *(ast.dump(one) for one in (*node.decorator_list, *body))))


def _undocumented(body: list[ast.stmt]) -> list[ast.stmt]:
    first = body[0] if body else None
    told = (
        isinstance(first, ast.Expr)
        and isinstance(first.value, ast.Constant)
        and isinstance(first.value.value, str)
    )
    return body[1:] if told else body


# --- languages with a grammar -------------------------------------------------------------------------------


def _javascript(block: Node, depth: int) -> Iterator[Part]:
    for node in block.named_children:
        text = canonical(node)
        if node.type == "comment" or not text:
            continue
        if node.type == "import_statement" or re.search(r"\brequire\(", text[:500]):
            yield from _bound(text)
            continue
        called = _called(node)
        if called is None:
            yield REST, text
            continue
        callee, arguments = called
        name = canonical(callee)
        inner = _callback(arguments)
        if SUITE.match(name) and inner is not None and depth < DEPTH:
            yield REST, f"{name} {' '.join(canonical(one) for one in arguments.named_children[1:-1])}"
            yield from _javascript(inner, depth + 1)
        elif TEST.match(name):
            yield UNIT, f"{name} {' '.join(canonical(one) for one in arguments.named_children[1:])}"
        else:
            yield REST, text


def _called(node: Node) -> tuple[Node, Node] | None:
    """What a statement calls, and with what."""
    call = node.named_children[0] if node.type == "expression_statement" and node.named_children else None
    if call is not None and call.type == "await_expression":
        call = call.named_children[0]
    if call is None or call.type != "call_expression":
        return None
    callee, arguments = call.child_by_field_name("function"), call.child_by_field_name("arguments")
    return (callee, arguments) if callee is not None and arguments is not None else None


def _callback(arguments: Node) -> Node | None:
    last = arguments.named_children[-1] if arguments.named_children else None
    body = last.child_by_field_name("body") if last is not None else None
    return body if body is not None and body.type == "statement_block" else None


def _go(root: Node, _depth: int) -> Iterator[Part]:
    for node in root.named_children:
        text = canonical(node)
        if node.type in ("comment", "package_clause"):
            continue
        if node.type == "import_declaration":
            yield from _bound(text, quoted=True)
            continue
        name = node.child_by_field_name("name")
        if node.type == "function_declaration" and name is not None and GO_TEST.match(text_of(name)):
            body = node.child_by_field_name("body")
            yield UNIT, canonical(body) if body is not None else text
        else:
            yield REST, text


def _rust(block: Node, depth: int) -> Iterator[Part]:
    attributes = list[str]()
    for node in block.named_children:
        if node.type in ("line_comment", "block_comment"):
            continue
        if node.type == "attribute_item":
            attributes.append(canonical(node))
            continue
        text, before = canonical(node), " ".join(attributes)
        attributes.clear()
        body = node.child_by_field_name("body")
        if node.type == "use_declaration":
            yield from _bound(text)
        elif node.type == "mod_item" and body is not None and depth < DEPTH:
            yield REST, before
            yield from _rust(body, depth + 1)
        elif node.type == "function_item" and "test" in before and body is not None:
            yield UNIT, f"{before} {canonical(body)}"
        else:
            yield REST, f"{before} {text}"


def _java(block: Node, depth: int) -> Iterator[Part]:
    for node in block.named_children:
        if node.type in ("line_comment", "block_comment", "package_declaration"):
            continue
        text, body = canonical(node), node.child_by_field_name("body")
        modifiers = next((canonical(one) for one in node.children if one.type == "modifiers"), "")
        if node.type == "import_declaration":
            yield from _bound(text)
        elif node.type == "class_declaration" and body is not None and depth < DEPTH:
            heads = (
                one for one in node.children if one.type in ("modifiers", "superclass", "super_interfaces")
            )
            yield REST, " ".join(map(canonical, heads))
            yield from _java(body, depth + 1)
        elif node.type == "method_declaration" and "Test" in modifiers and body is not None:
            yield UNIT, f"{modifiers} {canonical(body)}"
        else:
            yield REST, text


def _bound(text: str, *, quoted: bool = False) -> Iterator[Part]:
    """Each name that an import binds, with the module it comes from; of quoted paths each path.

    Where names are bound anew on the way (`as`, `:`), the whole import counts.
    """
    names = re.findall(r'"([^"]+)"', text) if quoted else WORD.findall(QUOTED.sub(" ", text))
    modules = " ".join(found[0] for found in QUOTED.finditer(text))
    source = text[:500] if RENAMED.search(text) or not modules else modules
    for name in names:
        if name not in KEYWORDS:
            yield IMPORT, f"{name}={name if quoted else source}"


TONGUES: Final[dict[str, tuple[Tongue, Callable[[Node, int], Iterator[Part]]]]] = {
    **dict.fromkeys(("js", "jsx", "mjs", "cjs"), (Tongue.JAVASCRIPT, _javascript)),
    **dict.fromkeys(("ts", "mts", "cts"), (Tongue.TYPESCRIPT, _javascript)),
    "tsx": (Tongue.TSX, _javascript),
    "go": (Tongue.GO, _go),
    "rs": (Tongue.RUST, _rust),
    "java": (Tongue.JAVA, _java),
}
