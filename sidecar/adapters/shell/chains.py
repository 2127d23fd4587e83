"""Unrolls `a && b > f | c || d`: the grammar nests such a chain otherwise than bash does.

It takes a redirection, and a document (`<<EOF`) with all that stands behind it, to belong to the whole list
before it, and `!` to the first command alone. Unrolled, the chain is read again by the rules of bash: a
redirection belongs to the last command, `|` binds tighter than `&&` and `||`, and these two alike.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from sidecar.adapters.grammar import text_of
from sidecar.adapters.shell.words import CHAINS

if TYPE_CHECKING:
    from sidecar.adapters.grammar import Node

ITEMS: Final = 60
"""Commands of one chain that are followed."""
HELD: Final = frozenset({"heredoc_body", "file_redirect"})
SIGNS: Final = frozenset({"&&", "||", "|", "|&"})


class Item:
    """One command of a chain, with what the grammar put elsewhere. `sign` is what stands before it."""

    def __init__(self, node: Node | None, sign: str, *, negated: bool) -> None:
        self.node = node
        self.sign = sign
        self.negated = negated
        self.redirects: list[Node] = []


def unrolled(chain: Node) -> list[Item] | None:
    """The commands of a chain; None where it is too long, or of no form that we know."""
    items: list[Item] = []
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
        elif part.type in CHAINS:
            waiting.extend(reversed(_parts(part)))
        elif len(items) == ITEMS:
            return None
        else:
            items.append(Item(part, sign, negated=negated))
            sign, negated = "?", False
    return None if any(item.sign not in SIGNS for item in items[1:]) else items


def _parts(node: Node) -> list[Node | str | list[Node]]:
    """Commands, signs, and redirections of the command before them."""
    if node.type == "redirected_statement":
        return _redirected(node)
    return [
        child.type if child.type in SIGNS or child.type == "!" else child
        for child in node.children
        if child.type != "comment"
    ]


def _redirected(node: Node) -> list[Node | str | list[Node]]:
    redirects: list[Node] = []
    behind: list[Node | str | list[Node]] = []
    body = node.child_by_field_name("body")
    for child in node.children:
        if child.type == "heredoc_redirect":
            redirects.extend(
                part for part in child.children if part.type in {"heredoc_body", "file_redirect"}
            )
            behind.extend(_behind(child))
        elif child != body:
            redirects.append(child)
    return [redirects, *behind] if body is None else [body, redirects, *behind]


def _behind(document: Node) -> list[Node | str | list[Node]]:
    """What stands on the line behind `<<EOF`."""
    found: list[Node | str | list[Node]] = []
    for child in document.children:
        if child.type == "pipeline":
            found.extend(_parts(child))
    sign, right = document.child_by_field_name("operator"), document.child_by_field_name("right")
    return [*found, text_of(sign), right] if sign is not None and right is not None else found
