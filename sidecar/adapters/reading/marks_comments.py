"""Comments and attributes that tell a check to look away, by the words of each tool.

A comment is one only where the language's own parser says so; in languages without a grammar here, a line is
searched as text. `text` of a mark is the tool's word, "(whole file)" where it holds for all of it, and the
rules it names in brackets: reasons and layout do not count, so that a moved line is the same mark.
"""

from __future__ import annotations

import io
import re
import tokenize
from typing import TYPE_CHECKING, Final

from sidecar.adapters import grammar
from sidecar.adapters.grammar import Tongue
from sidecar.model.inspection import Mark

if TYPE_CHECKING:
    from collections.abc import Iterator

COMMENT_LIMIT: Final = 400
"""Characters of a comment that are read: a directive stands at its beginning."""
RULES: Final = 300
"""Characters of the rules that a directive names."""
WHOLE: Final = " (whole file)"

HASH: Final[tuple[tuple[str, str, str], ...]] = (
    ("silenced", "noqa (whole file)", r"(?:ruff|flake8)\s*:\s*noqa\b(?:\s*:\s*(?P<codes>[\w, ]+))?"),
    (
        "silenced",
        "noqa",
        r"(?<!ruff: )(?<!flake8: )\bnoqa\b(?:\s*:\s*(?P<codes>[A-Z]+\d+(?:[, ]+[A-Z]+\d+)*))?",
    ),
    ("silenced", "type: ignore", r"\btype:\s*ignore(?:\[(?P<codes>[^\]]*)\])?"),
    ("silenced", "pyright: ignore", r"\bpyright:\s*ignore(?:\[(?P<codes>[^\]]*)\])?"),
    ("silenced", "ty: ignore", r"\bty:\s*ignore(?:\[(?P<codes>[^\]]*)\])?"),
    ("silenced", "pyright", r"\bpyright:\s*(?P<codes>report\w+\s*=\s*(?:false|none|warning))"),
    ("silenced", "pyright (whole file)", r"\bpyright:\s*(?:basic|off)\b"),
    ("silenced", "mypy (whole file)", r"\bmypy:\s*ignore-errors(?:\s*=\s*True)?"),
    (
        "silenced",
        "mypy",
        r"\bmypy:\s*(?P<codes>(?:disable-error-code|allow-[\w-]+|disallow-[\w-]+\s*=\s*False)[^#]*)",
    ),
    ("silenced", "pylint (whole file)", r"\bpylint:\s*(?:skip-file|disable\s*=\s*all)\b"),
    ("silenced", "pylint", r"\bpylint:\s*disable(?:-next)?\s*=\s*(?!all\b)(?P<codes>[\w, -]+)"),
    ("silenced", "nosec", r"\bnosec\b(?:[\s:]+(?P<codes>B\d+(?:[, ]+B\d+)*))?"),
    ("silenced", "nosemgrep", r"\bnosemgrep\b(?::\s*(?P<codes>[\w., -]+))?"),
    ("silenced", "rubocop:disable", r"\brubocop:\s*(?:disable|todo)\s+(?P<codes>[\w/, ]+)"),
    ("silenced", "shellcheck", r"\bshellcheck\s+disable\s*=\s*(?P<codes>[\w,]+)"),
    ("silenced", "credo:disable", r"\bcredo:disable-for-[\w-]+(?:\s+(?P<codes>[\w.]+))?"),
    ("uncovered", "no cover", r"\bpragma:\s*no\s*(?:cover|branch)\b|\bcoverage:\s*ignore\b|:nocov:"),
)
"""What stands behind `#`: kind, the tool's word, pattern."""
SLASH: Final[tuple[tuple[str, str, str], ...]] = (
    ("silenced", "eslint-disable (whole file)", r"^[\s*]*(?:eslint|oxlint)-disable(?!-)\s*(?:--.*)?$"),
    (
        "silenced",
        "eslint-disable",
        r"^[\s*]*(?:eslint|oxlint)-disable(?!-)\s+(?P<codes>(?!--)[^\s].*?)(?:\s--.*)?$",
    ),
    (
        "silenced",
        "eslint-disable",
        r"^[\s*]*(?:eslint|oxlint)-disable-(?:next-)?line\b\s*(?P<codes>(?!--)[\w@/, -]*?)(?:\s*--.*)?$",
    ),
    (
        "silenced",
        "eslint",
        r"^[\s*]*eslint\s+(?P<codes>[\w@/-]+\s*:\s*(?:\[?\s*[\"']?(?:off|warn)|\[?\s*[01]\b).*)",
    ),
    ("silenced", "@ts-nocheck (whole file)", r"^[\s*/]*@ts-nocheck\b"),
    ("silenced", "@ts-ignore", r"^[\s*/]*@ts-ignore\b"),
    ("silenced", "@ts-expect-error", r"^[\s*/]*@ts-expect-error\b"),
    ("silenced", "biome-ignore (whole file)", r"\bbiome-ignore-all\b(?:\s+(?P<codes>[\w/]+))?"),
    ("silenced", "biome-ignore", r"\bbiome-ignore(?!-all)(?:-start)?\b(?:\s+(?P<codes>[\w/]+))?"),
    ("silenced", "deno-lint-ignore (whole file)", r"\bdeno-lint-ignore-file\b(?:\s+(?P<codes>[\w, -]+))?"),
    ("silenced", "deno-lint-ignore", r"\bdeno-lint-ignore(?!-file)\b(?:\s+(?P<codes>[\w, -]+))?"),
    ("silenced", "tslint:disable", r"\btslint:disable(?:-[\w-]+)?(?::(?P<codes>[\w -]+))?"),
    ("silenced", "nolint", r"^\s*nolint\b(?::(?P<codes>[\w,-]+))?"),
    ("silenced", "lint:ignore (whole file)", r"^\s*lint:file-ignore\s+(?P<codes>[\w,*]+)"),
    ("silenced", "lint:ignore", r"^\s*lint:ignore\s+(?P<codes>[\w,*]+)"),
    ("silenced", "nosec", r"#nosec\b(?:\s+(?P<codes>[G\d, ]+))?|\bnosemgrep\b"),
    ("silenced", "NOSONAR", r"\bNOSONAR\b|\bCHECKSTYLE:\s*OFF\b"),
    ("silenced", "NOLINT", r"\bNOLINT(?:NEXTLINE|BEGIN)?\b(?:\((?P<codes>[^)]*)\))?"),
    ("silenced", "phpstan-ignore", r"@phpstan-ignore(?:-\w+)*(?:[ \t]+(?P<codes>[\w.]+))?"),
    ("silenced", "psalm-suppress", r"@psalm-suppress\s+(?P<codes>[\w, ]+)"),
    ("silenced", "phpcs (whole file)", r"\bphpcs:ignoreFile\b|@phpcs:disable\s*$"),
    ("silenced", "phpcs", r"\bphpcs:(?:ignore(?!File)|disable)\b(?:\s+(?P<codes>[\w.]+))?"),
    ("silenced", "swiftlint:disable", r"\bswiftlint:disable(?::\w+)?\s+(?P<codes>[\w ]+)"),
    ("uncovered", "no cover (whole file)", r"\b(?:istanbul|c8|v8|node:coverage)\s+ignore\s+file\b"),
    (
        "uncovered",
        "no cover",
        r"\b(?:istanbul|c8|v8)\s+ignore\s+(?!file)\w+|@codeCoverageIgnore(?!End)|\bnode:coverage disable\b",
    ),
)
"""What stands in `//` and `/* */`."""
PLAIN: Final[tuple[tuple[str, str, str], ...]] = (
    ("silenced", "allow (whole file)", r"^#!\[\s*(?:allow|expect)\s*\((?P<codes>[^)]*)\)"),
    ("silenced", "allow", r"^#\[\s*(?:cfg_attr\s*\(.*,\s*)?(?:allow|expect)\s*\((?P<codes>[^)]*)\)"),
    ("uncovered", "no cover", r"^#!?\[\s*(?:coverage\(off\)|no_coverage|cfg\(not\(tarpaulin_include\)\))"),
    (
        "silenced",
        "@SuppressWarnings",
        r"^\s*@(?:file:)?Suppress(?:Warnings|Lint|FBWarnings)?\s*\((?P<codes>[^)]*)\)",
    ),
    ("silenced", "pragma warning disable", r"^\s*#pragma warning disable\b(?P<codes>[\w, ]*)"),
    ("silenced", "SuppressMessage", r"^\s*\[(?:assembly:\s*)?SuppressMessage\((?P<codes>[^)]*)\)"),
    ("uncovered", "no cover", r"^\s*\[ExcludeFromCodeCoverage\b"),
)
"""Attributes and annotations."""

TONGUES: Final = {
    "js": Tongue.JAVASCRIPT, "jsx": Tongue.JAVASCRIPT, "mjs": Tongue.JAVASCRIPT, "cjs": Tongue.JAVASCRIPT,
    "ts": Tongue.TYPESCRIPT, "mts": Tongue.TYPESCRIPT, "cts": Tongue.TYPESCRIPT, "tsx": Tongue.TSX,
    "go": Tongue.GO, "rs": Tongue.RUST, "java": Tongue.JAVA,
}  # fmt: skip
"""Languages with a grammar, by the ending of a name."""
HASHED: Final = frozenset(
    {"py", "pyi", "rb", "rake", "sh", "bash", "ex", "exs", "pl", "r", "R", "cr", "nim", "jl"}
)
SLASHED: Final = frozenset(
    {"js", "jsx", "mjs", "cjs", "ts", "mts", "cts", "tsx", "go", "rs", "java", "kt", "kts", "scala", "groovy"}
    | {"php", "cs", "swift", "c", "cc", "cpp", "cxx", "h", "hpp", "dart", "vue", "svelte", "astro"}
)
ORDINARY: Final = re.compile(
    r"TYPE_CHECKING|__name__\s*==|@(?:\w+\.)?abstract|@(?:\w+\.)?overload|NotImplementedError|assert_never"
    r"|\(Protocol\)|^\s*\.\.\."
)
"""Code that never runs, by nature: leaving it out of the coverage is the custom."""

BEGINS: Final = {"hash": re.compile(r"(?:^|\s)#"), "slash": re.compile(r"//|/\*|^\s*\* ?@")}
"""Where a comment begins, as far as a line can tell."""
COMPILED: Final = {
    name: tuple((kind, word, re.compile(pattern)) for kind, word, pattern in table)
    for name, table in (("hash", HASH), ("slash", SLASH), ("plain", PLAIN))
}


def ending_of(path: str) -> str:
    """The ending of a file's name, without the dot."""
    name = path.rpartition("/")[2]
    return name.rpartition(".")[2] if "." in name else ""


def directives(path: str, text: str) -> Iterator[Mark]:
    """Every directive of a file, in the order of its lines."""
    ending = ending_of(path)
    if ending not in HASHED | SLASHED:
        return
    lines = text.split("\n")
    first = next((at for at, line in enumerate(lines, 1) if line.strip() and not line.startswith("#")), 1)
    for number, comment, table in _comments(ending, text, lines):
        for kind, word, pattern in COMPILED[table]:
            found = pattern.search(comment[:COMMENT_LIMIT])
            if not found or (kind == "uncovered" and ORDINARY.search(lines[number - 1][:COMMENT_LIMIT])):
                continue
            whole = WHOLE if word == "type: ignore" and not found["codes"] and number < first else ""
            yield Mark(kind=kind, text=word + whole + _rules(found), line=number)


def _rules(found: re.Match[str]) -> str:
    named = re.sub(r"[\"'{}]", "", (found.groupdict().get("codes") or "")[:RULES])
    rules = sorted({rule.strip() for rule in re.split(r",|\s{2,}", named)} - {""})
    return f" [{', '.join(rules)}]" if rules else ""


def _comments(ending: str, text: str, lines: list[str]) -> Iterator[tuple[int, str, str]]:
    """Comments and attributes: line, words, and the table that knows them."""
    if ending in ("py", "pyi"):
        yield from ((line, words, "hash") for line, words in python_comments(text))
        return
    try:
        nodes = grammar.descend(grammar.parse(TONGUES[ending], text).root_node) if ending in TONGUES else None
    except ValueError:
        return
    if nodes is None:
        yield from _textual(ending, lines)
        return
    for node in nodes:
        if node.type in ("comment", "line_comment", "block_comment"):
            words = grammar.text_of(node)
            body = words.removeprefix("/*").removeprefix("//").removesuffix("*/").strip()
            yield grammar.line_of(node), body, "hash" if words.startswith("#") else "slash"
        elif node.type in ("attribute_item", "inner_attribute_item", "annotation"):
            yield grammar.line_of(node), grammar.text_of(node), "plain"


def python_comments(text: str) -> Iterator[tuple[int, str]]:
    """Comments with their lines, as far as the source can be read."""
    try:
        for token in tokenize.generate_tokens(io.StringIO(text).readline):
            if token.type == tokenize.COMMENT:
                yield token.start[0], token.string
    except (tokenize.TokenError, SyntaxError, ValueError):
        return


def _textual(ending: str, lines: list[str]) -> Iterator[tuple[int, str, str]]:
    """What stands behind the first sign of a comment on each line."""
    table = "hash" if ending in HASHED else "slash"
    for number, line in enumerate(lines, start=1):
        short = line[: 4 * COMMENT_LIMIT]
        begun = BEGINS[table].search(short)
        if begun:
            yield number, short[begun.start() :].lstrip("/*# ").removesuffix("*/").strip(), table
        if table == "slash":
            yield number, short.strip(), "plain"
