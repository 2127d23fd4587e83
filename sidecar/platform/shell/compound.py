"""Reads the compound forms of a shell line (conditions, loops, cases, groups) and unrolls its chains."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, Final

from sidecar.platform.grammar import node_text, walk_nodes
from sidecar.platform.shell.forms import (
    CaseClause,
    ConditionTest,
    IfClause,
    LoopClause,
    Negation,
    ShellForm,
    UnknownForm,
)
from sidecar.platform.shell.words import (
    CHAIN_NODES,
    COMMAND_TEXT_LIMIT,
    CommandContext,
    CommandListing,
    case_item_statements,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from sidecar.platform.grammar import Node


DEPTH_LIMIT: Final = 24
"""Maximum nesting of forms that is followed."""


class CompoundReader(CommandListing, ABC):
    """Reads forms that contain other forms."""

    @abstractmethod
    def form(self, node: Node, at: CommandContext) -> ShellForm:
        """Read one form."""

    @abstractmethod
    def sequence(self, nodes: Iterable[Node], at: CommandContext) -> ShellForm:
        """Read statements one after another."""

    @abstractmethod
    def inside(self, node: Node, at: CommandContext) -> tuple[ShellForm, ...]:
        """Read the substitutions of a word in order, without nested ones."""

    @abstractmethod
    def lost(self, node: Node, at: CommandContext) -> ShellForm:
        """List the commands of a form that is not followed."""

    def read_compound(self, node: Node, at: CommandContext) -> ShellForm:
        if node.children and node.children[0].type == "((":
            return self.read_test(node, at)
        return self.sequence(node.children, at)

    def read_if(self, nodes: Sequence[Node], at: CommandContext) -> ShellForm:
        then = next((n for n, node in enumerate(nodes) if node.type == "then"), None)
        if then is None:
            return UnknownForm()
        tail = [n for n, node in enumerate(nodes) if node.type in {"elif_clause", "else_clause", "fi"}]
        end = tail[0] if tail else len(nodes)
        condition = self.sequence(nodes[1:then], at)
        body = self.sequence(nodes[then + 1 : end], at.maybe())
        return IfClause(condition, body, self._else(nodes[end:], at.maybe()))

    def _else(self, clauses: Sequence[Node], at: CommandContext) -> ShellForm | None:
        if not clauses or clauses[0].type == "fi":
            return None
        if clauses[0].type == "else_clause":
            return self.sequence(clauses[0].children[1:], at)
        deeper = at._replace(depth=at.depth + 1)
        return (
            self.read_if([*clauses[0].children, *clauses[1:]], deeper)
            if at.depth < DEPTH_LIMIT
            else UnknownForm()
        )

    def read_while(self, node: Node, at: CommandContext) -> ShellForm:
        body = node.child_by_field_name("body")
        if body is None:
            return UnknownForm()
        until = next(n for n, child in enumerate(node.children) if child == body)
        condition = self.sequence(node.children[1:until], at)
        negated = node.children[0].type == "until"
        return LoopClause(self.form(body, at.maybe()), Negation(condition) if negated else condition)

    def read_for(self, node: Node, at: CommandContext) -> ShellForm:
        body = node.child_by_field_name("body")
        if body is None:
            return UnknownForm()
        name = node.child_by_field_name("variable")
        inside = tuple(
            form for child in node.named_children if child != body for form in self.inside(child, at)
        )
        label = "*" if name is None else node_text(name)
        return LoopClause(self.form(body, at.maybe()), None, label, inside)

    def read_case(self, node: Node, at: CommandContext) -> ShellForm:
        if any(part.type in {";&", ";;&"} for part in walk_nodes(node)):
            return self.lost(node, at)
        items = [child for child in node.named_children if child.type == "case_item"]
        bodies = tuple(self.sequence(case_item_statements(item), at.maybe()) for item in items)
        value = node.child_by_field_name("value")
        return CaseClause(bodies, () if value is None else self.inside(value, at))

    def read_test(self, node: Node, at: CommandContext) -> ShellForm:
        return ConditionTest(node_text(node)[:COMMAND_TEXT_LIMIT], self.inside(node, at))


# --- Chains such as `a && b > f | c || d`, unrolled because the grammar nests them unlike bash --------------
# The grammar attaches a redirection, and a heredoc (`<<EOF`) with everything that follows it, to the whole
# list before it, and `!` to the first command alone. The unrolled chain is read by the rules of bash: a
# redirection belongs to the last command, `|` binds tighter than `&&` and `||`, and these two bind equally.


CHAIN_LIMIT: Final = 60
"""Maximum commands of one chain that are followed."""
CHAIN_OPERATORS: Final = frozenset({"&&", "||", "|", "|&"})


class ChainItem:
    """One command of a chain, with its redirections. `sign` is the operator before it."""

    def __init__(self, node: Node | None, sign: str, *, negated: bool) -> None:
        self.node = node
        self.sign = sign
        self.negated = negated
        self.redirects: list[Node] = []


def unroll_chain(chain: Node) -> list[ChainItem] | None:
    """The commands of a chain; None if it is too long or has an unknown form."""
    items: list[ChainItem] = []
    waiting: list[Node | str | list[Node]] = [chain]
    sign, negated = "", False
    while waiting:
        part = waiting.pop()
        if isinstance(part, list):
            if not items:
                return None
            items[-1].redirects.extend(part)
        elif isinstance(part, str):
            sign, negated = (sign, True) if part == "!" else (part, False)
        elif part.type in CHAIN_NODES:
            waiting.extend(reversed(_chain_parts(part)))
        elif len(items) == CHAIN_LIMIT:
            return None
        else:
            items.append(ChainItem(part, sign, negated=negated))
            sign, negated = "?", False
    return None if any(item.sign not in CHAIN_OPERATORS for item in items[1:]) else items


def _chain_parts(node: Node) -> list[Node | str | list[Node]]:
    """Commands, operators, and the redirections of the command before them."""
    if node.type == "redirected_statement":
        return _redirected_parts(node)
    return [
        child.type if child.type in CHAIN_OPERATORS or child.type == "!" else child
        for child in node.children
        if child.type != "comment"
    ]


def _redirected_parts(node: Node) -> list[Node | str | list[Node]]:
    redirects: list[Node] = []
    behind: list[Node | str | list[Node]] = []
    body = node.child_by_field_name("body")
    for child in node.children:
        if child.type == "heredoc_redirect":
            redirects.extend(
                part for part in child.children if part.type in {"heredoc_body", "file_redirect"}
            )
            behind.extend(_parts_behind_document(child))
        elif child != body:
            redirects.append(child)
    return [redirects, *behind] if body is None else [body, redirects, *behind]


def _parts_behind_document(document: Node) -> list[Node | str | list[Node]]:
    """What follows `<<EOF` on its line."""
    found: list[Node | str | list[Node]] = []
    for child in document.children:
        if child.type == "pipeline":
            found.extend(_chain_parts(child))
    sign, right = document.child_by_field_name("operator"), document.child_by_field_name("right")
    return [*found, node_text(sign), right] if sign is not None and right is not None else found
