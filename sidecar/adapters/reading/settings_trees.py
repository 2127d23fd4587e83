"""Settings of languages that nest, TOML, YAML, JSON, JavaScript and TypeScript, flattened from a syntax tree.

Each language says in one function what a node holds: named parts, or a value. Keys are joined by dots, the
items of a list are numbered. Lines of a text that spans several become items of their own, so that each
keeps its line.
"""

from __future__ import annotations

import re
from collections import Counter, deque
from typing import TYPE_CHECKING, Final

from sidecar.adapters import grammar
from sidecar.adapters.grammar import Tongue
from sidecar.adapters.reading.settings_values import DEPTH, SETTINGS_LIMIT, many_lines, setting
from sidecar.model.inspection import Setting

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from sidecar.adapters.grammar import Node

    Part = tuple[str, Node | None, int]
    """A key (".name" or "[0]"), what stands under it, and its line."""
    Unfold = Callable[[Node], list[Part] | None]
    """The parts of a node; None where it is a value."""

HELD: Final = frozenset({"object", "array"})


def toml_settings(text: str) -> tuple[Setting, ...]:
    """Every value of a TOML file; raises ValueError where it does not parse."""
    return _flatten(_root(Tongue.TOML, text), _toml)


def yaml_settings(text: str) -> tuple[Setting, ...]:
    """Every value of a YAML file; raises ValueError where it does not parse. Aliases are not resolved."""
    return _flatten(_root(Tongue.YAML, text), _yaml)


def json_settings(text: str) -> tuple[Setting, ...]:
    """Every value of a JSON file, comments allowed; raises ValueError where it does not parse."""
    return _flatten(_root(Tongue.JAVASCRIPT, f"({text}\n)"), _script)


def script_settings(text: str, *, typed: bool) -> tuple[Setting, ...]:
    """The literal objects of a settings file that is a program; raises ValueError where it does not parse."""
    return _flatten(_root(Tongue.TYPESCRIPT if typed else Tongue.JAVASCRIPT, text), _script)


def _root(tongue: Tongue, text: str) -> Node:
    root = grammar.parse(tongue, text.removeprefix("\ufeff")).root_node
    if root.has_error:
        raise ValueError("it does not parse")
    return root


def _flatten(root: Node, unfold: Unfold) -> tuple[Setting, ...]:
    """Depth first, in the order of the source. Raises ValueError where it nests too deep or is too long."""
    found = list[Setting]()
    waiting: deque[tuple[str, Node | None, int, int]] = deque([("", root, grammar.line_of(root), 0)])
    while waiting:
        key, node, line, depth = waiting.pop()
        if depth > DEPTH or len(found) > SETTINGS_LIMIT:
            raise ValueError("it nests too deep, or holds too many values")
        if node is None:
            found.append(setting(key, "", line))
            continue
        parts = unfold(node)
        if parts is None:
            found.extend(_value(key, node, line))
        else:
            below = ((_join(key, part), child, at, depth + 1) for part, child, at in parts)
            waiting.extend(reversed(list(below)))
    return tuple(found)


def _join(key: str, part: str) -> str:
    return key + part if key else part.removeprefix(".")


def _value(key: str, node: Node, line: int) -> Iterator[Setting]:
    """One value; a text of several lines is a list of them."""
    raw = grammar.text_of(node)
    if node.type == "array":  # a list in a list is a command by its words, as tox has it
        words = [_plain(grammar.text_of(word)) for word in _named(node) if word.type == "string"]
        yield setting(key, " ".join(words), line)
    elif node.type == "block_scalar":
        yield from many_lines(key, raw.split("\n")[1:], grammar.line_of(node) + 1)
    elif raw.startswith(('"""', "'''", "`")) and "\n" in raw:
        yield from many_lines(key, raw.strip("\"'`").split("\n"), grammar.line_of(node))
    else:
        yield setting(key, _plain(raw), line)


def _plain(raw: str) -> str:
    """A string without its quotes; anything else as it is written."""
    for quote in ('"""', "'''", '"', "'", "`"):
        if len(raw) >= 2 * len(quote) and raw.startswith(quote) and raw.endswith(quote):
            inner = raw[len(quote) : -len(quote)]
            return re.sub(r"\\(.)", r"\1", inner) if quote in ('"', '"""', "`") else inner
    return raw


def _named(node: Node) -> list[Node]:
    return [child for child in node.named_children if child.type != "comment"]


def _items(node: Node) -> list[Part]:
    return [(f"[{at}]", item, grammar.line_of(item)) for at, item in enumerate(_named(node))]


def _empty(line: int) -> list[Part]:
    """A list or a table that holds nothing is a value too."""
    return [("", None, line)]


# --- TOML ---------------------------------------------------------------------------------------------------


def _toml(node: Node) -> list[Part] | None:
    line = grammar.line_of(node)
    match node.type:
        case "document":
            return _toml_document(node)
        case "table" | "table_array_element":
            return [part for child in _named(node) if child.type == "pair" for part in _toml_pair(child)]
        case "inline_table":
            return [part for child in _named(node) for part in _toml_pair(child)] or _empty(line)
        case "array":
            is_line = node.parent is not None and node.parent.type == "array"
            return None if is_line else _items(node) or _empty(line)
        case _:
            return None


def _toml_document(node: Node) -> list[Part]:
    parts, seen = list[tuple[str, "Node | None", int]](), Counter[str]()
    for child in _named(node):
        if child.type == "pair":
            parts += _toml_pair(child)
            continue
        key = _toml_key(child.named_children[0])
        number = f"[{seen[key]}]" if child.type == "table_array_element" else ""
        seen[key] += 1
        parts.append((f".{key}{number}", child, grammar.line_of(child)))
    return parts


def _toml_pair(pair: Node) -> list[Part]:
    named = _named(pair)
    return [(f".{_toml_key(named[0])}", named[-1], grammar.line_of(pair))] if len(named) > 1 else []


def _toml_key(node: Node) -> str:
    keys = [part for part in grammar.descend(node) if part.type in ("bare_key", "quoted_key")]
    return ".".join(_plain(grammar.text_of(key)) for key in keys)


# --- YAML ---------------------------------------------------------------------------------------------------


def _yaml(node: Node) -> list[Part] | None:
    line = grammar.line_of(node)
    match node.type:
        case "stream":
            return [("", child, grammar.line_of(child)) for child in _named(node) if child.type == "document"]
        case "document" | "block_node" | "flow_node" | "block_sequence_item":
            held = [child for child in _named(node) if child.type not in ("tag", "anchor")]
            return [("", held[-1] if held else None, line)]
        case "block_mapping" | "flow_mapping":
            return [_yaml_pair(pair) for pair in _named(node)] or _empty(line)
        case "flow_pair":
            return [_yaml_pair(node)]
        case "block_sequence" | "flow_sequence":
            return _items(node) or _empty(line)
        case _:
            return None


def _yaml_pair(pair: Node) -> Part:
    key = pair.child_by_field_name("key")
    value = pair.child_by_field_name("value")
    if pair.type not in ("block_mapping_pair", "flow_pair"):  # a bare word of a flow mapping
        return (f".{_plain(grammar.text_of(pair))}", None, grammar.line_of(pair))
    name = "" if key is None else _plain(grammar.text_of(key))
    return (f".{name}", value, grammar.line_of(pair))


# --- JSON, JavaScript, TypeScript ---------------------------------------------------------------------------


def _script(node: Node) -> list[Part] | None:
    line = grammar.line_of(node)
    match node.type:
        case "object":
            return [part for child in _named(node) for part in _script_pair(child)] or _empty(line)
        case "array":
            return _items(node) or _empty(line)
        case "assignment_expression":
            return _script_assignment(node)
        case _:
            held = _held(node)
            is_code = node.type == "program" or node.type.endswith(("_statement", "_declaration"))
            return [("", child, grammar.line_of(child)) for child in held] if held or is_code else None


def _script_pair(pair: Node) -> list[Part]:
    key, value = pair.child_by_field_name("key"), pair.child_by_field_name("value")
    if pair.type == "pair" and key is not None:
        return [(f".{_plain(grammar.text_of(key))}", value, grammar.line_of(pair))]
    if pair.type == "shorthand_property_identifier":
        return [(f".{grammar.text_of(pair)}", pair, grammar.line_of(pair))]
    return [("", child, grammar.line_of(child)) for child in _held(pair)]


def _script_assignment(node: Node) -> list[Part]:
    """`config.rules.x = "off"` sets what an object of that shape would."""
    left, right = node.child_by_field_name("left"), node.child_by_field_name("right")
    words = [] if left is None else re.findall(r"[\w$-]+", grammar.text_of(left))
    kept = words[2:] if words[:2] == ["module", "exports"] else words[1:]
    return [("".join(f".{word}" for word in kept), right, grammar.line_of(node))]


def _held(node: Node) -> list[Node]:
    """The outermost objects, lists and assignments below, such as an argument of `defineConfig`."""
    found, waiting = list["Node"](), list(reversed(node.named_children))
    while waiting:
        child = waiting.pop()
        if child.type in HELD or child.type == "assignment_expression":
            found.append(child)
        elif child.type not in ("object_pattern", "array_pattern"):
            waiting.extend(reversed(child.named_children))
    return found
