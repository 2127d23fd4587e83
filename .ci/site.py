"""What MkDocs does not do by itself: the README as the first page, files outside of docs/, and all messages.

A hook of mkdocs.yml. It writes nothing into the tree.
"""

from __future__ import annotations

import ast
import re
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterator

    from mkdocs.config.defaults import MkDocsConfig
    from mkdocs.structure.files import Files
    from mkdocs.structure.pages import Page

ROOT: Final = Path(__file__).resolve().parents[1]
LINK: Final = re.compile(r"\]\((?!https?:|#)([^)#\s]+)")
OUTSIDE: Final = "files"
"""The folder of the site with what lies outside of docs/."""
ERRORS: Final = ("Error", "Exception", "Refusal", "BadParameter", "_finding")
"""How the names of calls end whose first argument a person may read."""


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Add the README, the files that pages link to, and the list of messages."""
    from mkdocs.structure.files import File  # noqa: PLC0415 - the rest is used without MkDocs

    texts = {"index.md": ROOT / "README.md"}
    pages = [ROOT / "README.md", *(ROOT / "docs").rglob("*.md")]
    while pages:
        page = pages.pop()
        for target in LINK.findall(page.read_text(encoding="utf-8")):
            place = _resolve(page, target)
            if place.startswith(f"{OUTSIDE}/") and place not in texts:
                texts[place] = (page.parent / target).resolve()
                pages += [texts[place]] if place.endswith(".md") else []
    for place, path in texts.items():
        files.append(File.generated(config, place, content=path.read_text(encoding="utf-8")))
    table = messages_page(config.extra["message_pages"])
    files.append(File.generated(config, "messages.md", content=table))
    return files


def on_page_markdown(markdown: str, page: Page, **_: object) -> str:
    """Let links lead to where the files are in the site."""
    source = page.file.src_uri
    path = ROOT / "README.md" if source == "index.md" else ROOT / "docs" / source
    if source.startswith(f"{OUTSIDE}/"):
        path = ROOT / source.removeprefix(f"{OUTSIDE}/")
    up = "../" * (len(PurePosixPath(source).parts) - 1)
    return LINK.sub(lambda found: f"]({up}{_resolve(path, found[1])}", markdown)


def _resolve(page: Path, target: str) -> str:
    """Return the place in the site of what a page links to by this path."""
    path = (page.parent / target).resolve().relative_to(ROOT).as_posix()
    if path == "README.md":
        return "index.md"
    return path.removeprefix("docs/") if path.startswith("docs/") else f"{OUTSIDE}/{path}"


def messages_page(pages: dict[str, str]) -> str:
    """Return the list of messages. `pages`: the page about what is said in the files below a path."""
    rows = sorted(
        {(text, max((key for key in pages if path.startswith(key)), key=len)) for text, path in messages()},
        key=lambda row: (row[0].lstrip("-.`/ ").casefold(), row[1]),
    )
    lines = (f"| {text} | [{pages[key].removesuffix('.md')}]({pages[key]}) |" for text, key in rows)
    head = "# All messages\n\nThe words as they stand in the program; `...` stands for what differs.\n"
    return "\n".join((head, "| message | about it |", "|---|---|", *lines, ""))


def messages() -> Iterator[tuple[str, str]]:
    """Yield the texts of errors, findings of the doctor and notes, each with its file below sidecar/."""
    for path in sorted((ROOT / "sidecar").rglob("*.py")):
        place = path.relative_to(ROOT / "sidecar").as_posix()
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            text = _literal(node)
            if isinstance(node, ast.Call) and ast.unparse(node.func).endswith(ERRORS) and node.args:
                text = _literal(node.args[0])
            elif not text.startswith(("Supervisor: ", "Supervisor is ")):
                continue
            shown = " ".join(text.removeprefix("Supervisor: ").split())
            if len(re.findall(r"[a-z]{2,}", shown)) > 1:
                yield re.sub(r"([|<>*_\[\]`\\])", r"\\\1", shown), place


def _literal(node: ast.AST) -> str:
    """Return the text of a string, with "..." for what is filled in."""
    if isinstance(node, ast.Constant):
        return node.value if isinstance(node.value, str) else "..."
    if isinstance(node, ast.JoinedStr):
        return "".join(map(_literal, node.values))
    if isinstance(node, ast.BinOp):
        return _literal(node.left) + _literal(node.right)
    return "..."
