"""Where the statements of a Python test lead: what leaves a block, and what keeps a failure to itself."""

from __future__ import annotations

import ast
from collections import Counter
from copy import deepcopy
from typing import TYPE_CHECKING, Final

from sidecar.adapters.reading.found import HELPER, LINE, Form, one_line
from sidecar.adapters.reading.python_calls import ENDS, asserted, called_name
from sidecar.adapters.reading.python_values import Values, constant, tail

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

Function = ast.FunctionDef | ast.AsyncFunctionDef
PATCHES: Final = frozenset(("patch", "object", "setattr"))
GIVEN: Final = 40
"""Names of one test whose values are kept."""
SHORT: Final = 30
"""Lines of a helper that is read with its arguments in place of its parameters."""
CATCHES: Final = frozenset(("Exception", "BaseException", "AssertionError"))


def patched_names(body: Iterable[ast.stmt]) -> frozenset[str]:
    """The names of functions that a test replaces by `patch("shop.total")` or `setattr(shop, "total")`."""
    found = set[str]()
    for node in below(body):
        if isinstance(node, ast.Call) and tail(node.func) in PATCHES:
            words = [one.value for one in node.args[:2] if isinstance(one, ast.Constant)]
            found |= {word.rpartition(".")[2] for word in words if isinstance(word, str)}
    return frozenset(found)


def own(body: Iterable[ast.stmt]) -> Iterator[ast.AST]:
    """What stands in the statements, but for functions within."""
    waiting: list[ast.AST] = list(body)
    while waiting:
        node = waiting.pop()
        yield node
        if not isinstance(node, Function | ast.Lambda | ast.ClassDef | ast.GeneratorExp):
            waiting.extend(ast.iter_child_nodes(node))


def settled_values(body: Iterable[ast.stmt], constants: Values) -> Values:
    """The names that are given one value in these statements: a literal, a call or a part of something."""
    written: dict[str, int] = {}
    values: Values = {}
    for node in below(body):
        if isinstance(node, ast.Name) and not isinstance(node.ctx, ast.Load):
            written[node.id] = written.get(node.id, 0) + 1
        elif (
            isinstance(node, ast.Assign) and len(node.targets) == 1 and isinstance(node.targets[0], ast.Name)
        ):
            values[node.targets[0].id] = node.value
        elif isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name) and node.value:
            values[node.target.id] = node.value
        elif isinstance(node, ast.AugAssign | ast.For) and isinstance(node.target, ast.Name):
            written[node.target.id] = 2
    kinds = ast.Call | ast.Await | ast.Attribute | ast.Subscript | ast.Constant | ast.UnaryOp
    kept = {name: value for name, value in values.items() if isinstance(value, kinds) and written[name] == 1}
    hidden = {name: value for name, value in constants.items() if name not in written}
    return hidden | kept


def rewritten(body: list[ast.stmt]) -> frozenset[str]:
    """Names that are given several values, each at the outer level of a test, so that the last one holds."""
    stored = Counter(node.id for node in below(body) if isinstance(node, ast.Name) and _is_stored(node))
    outer = Counter(name for one in body if (name := _assigned(one)))
    return frozenset(name for name, count in outer.items() if count == stored[name] and count > 1)


def anew(statement: ast.stmt, names: frozenset[str], values: Values) -> Values:
    """The values after a statement, which may give one of these names another one."""
    name = _assigned(statement) if names else ""
    if name not in names or not isinstance(statement, ast.Assign):
        return values
    if isinstance(statement.value, ast.Call | ast.Await):
        return {**values, name: statement.value}
    return {known: value for known, value in values.items() if known != name}


def _assigned(node: ast.stmt) -> str:
    alone = isinstance(node, ast.Assign) and len(node.targets) == 1
    target = node.targets[0] if alone and isinstance(node, ast.Assign) else None
    return target.id if isinstance(target, ast.Name) else ""


def given_values(body: list[ast.stmt]) -> tuple[tuple[str, str], ...]:
    """Names that are given one value in a test, and its source; none that may be changed in place."""
    stored, touched, values = Counter[str](), set[str](), dict[str, ast.expr]()
    for node in below(body):
        if isinstance(node, ast.Name) and not isinstance(node.ctx, ast.Load):
            stored[node.id] += 1
        elif isinstance(node, ast.Attribute | ast.Subscript) and isinstance(node.value, ast.Name):
            touched.add(node.value.id)
        elif isinstance(node, ast.AugAssign) and isinstance(node.target, ast.Name):
            touched.add(node.target.id)
        elif isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name):
            values[node.targets[0].id] = node.value
    kept = [name for name in values if stored[name] == 1 and name not in touched]
    found = ((name, ast.unparse(values[name])) for name in kept[:GIVEN])
    return tuple((name, text) for name, text in found if len(text) <= LINE)


def below(body: Iterable[ast.stmt]) -> Iterator[ast.AST]:
    """All nodes in some statements."""
    for statement in body:
        yield from ast.walk(statement)


def arguments(helper: Function, call: ast.Call) -> Values:
    """What the parameters of a helper stand for in one call."""
    names = [one.arg for one in (*helper.args.posonlyargs, *helper.args.args)]
    if names[:1] in (["self"], ["cls"]):
        names = names[1:]
    given = dict(zip(names, call.args, strict=False))
    return given | {word.arg: word.value for word in call.keywords if word.arg}


class _Put(ast.NodeTransformer):
    """Puts arguments in the place of parameters, `**options` as keywords of their own."""

    def __init__(self, values: Values, options: str, extra: list[ast.keyword]) -> None:
        self._values, self._options, self._extra = values, options, extra

    def visit_Name(self, node: ast.Name) -> ast.expr:
        return self._values.get(node.id, node) if isinstance(node.ctx, ast.Load) else node

    def visit_Call(self, node: ast.Call) -> ast.AST:
        spread = [word for word in node.keywords if word.arg is None and tail(word.value) == self._options]
        if self._options and spread:
            node.keywords = [word for word in node.keywords if word not in spread] + self._extra
        return self.generic_visit(node)


def with_arguments(helper: Function, call: ast.Call) -> list[ast.stmt]:
    """The statements of a short helper as they are in one call; as they stand where it is too long."""
    if (helper.end_lineno or 0) - helper.lineno > SHORT:
        return helper.body
    stored = {node.id for node in below(helper.body) if isinstance(node, ast.Name) and _is_stored(node)}
    parameters = {one.arg for one in (*helper.args.posonlyargs, *helper.args.args, *helper.args.kwonlyargs)}
    given = {name: node for name, node in arguments(helper, call).items() if name in parameters - stored}
    options = helper.args.kwarg.arg if helper.args.kwarg else ""
    extra = [word for word in call.keywords if word.arg and word.arg not in parameters]
    put = _Put(given, options, extra)
    return [put.visit(deepcopy(statement)) for statement in helper.body]


def _is_stored(node: ast.Name) -> bool:
    return not isinstance(node.ctx, ast.Load)


def leaves(node: ast.stmt) -> bool:
    """Whether nothing after this statement of the same block runs."""
    if isinstance(node, ast.Return | ast.Raise | ast.Continue | ast.Break):
        return True
    if isinstance(node, ast.Expr) and isinstance(node.value, ast.Call):
        return called_name(node.value) in ENDS
    if isinstance(node, ast.If):
        always = constant(node.test)
        taken = node.body if always else node.orelse
        if always is not None:
            return any(leaves(one) for one in taken)
        return bool(node.orelse) and all(any(map(leaves, part)) for part in (node.body, node.orelse))
    return isinstance(node, ast.With) and not node.items and any(map(leaves, node.body))


def only_fails(body: list[ast.stmt]) -> bool:
    """Whether a block does nothing but fail the test."""
    last = body[-1]
    if isinstance(last, ast.Raise):
        return len(body) == 1 and last.exc is not None and tail(last.exc) == "AssertionError"
    if isinstance(last, ast.Assert):
        return len(body) == 1 and constant(last.test) is False
    return (
        len(body) == 1
        and isinstance(last, ast.Expr)
        and isinstance(last.value, ast.Call)
        and called_name(last.value) in ("pytest.fail", "self.fail")
    )


def swallows(handler: ast.ExceptHandler) -> bool:
    """Whether a failed expectation ends in this handler."""
    caught = [handler.type] if handler.type else []
    if isinstance(handler.type, ast.Tuple):
        caught = handler.type.elts
    if caught and not any(tail(one) in CATCHES for one in caught):
        return False
    for node in below(handler.body):
        if isinstance(node, ast.Raise | ast.Assert):
            return False
        if isinstance(node, ast.Call) and (called_name(node) in ENDS or HELPER.match(tail(node.func))):
            return False
    return True


def suppresses(call: ast.Call) -> bool:
    """Whether `contextlib.suppress` takes the failure of an expectation."""
    return tail(call.func) == "suppress" and any(tail(one) in CATCHES for one in call.args)


def manager(node: ast.expr, body: list[ast.stmt], values: Values) -> Form | None:
    """What a `with` expects of its body."""
    if not isinstance(node, ast.Call):
        return None
    known = asserted(node, values)
    if not known or known[0].name not in ("raises", "warns"):
        return None
    return known[0]._replace(subject=one_line("; ".join(ast.unparse(one) for one in body)))
