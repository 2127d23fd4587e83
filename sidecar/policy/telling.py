"""What a changed file tells a reader, by its name: which come first, and which no person wrote.

First the sources, for what the user asked for is there; then tests, which show what was expected of it; then
settings, of which the changes to the checks tell besides; then documents; then the rest.
"""

from __future__ import annotations

import re
from typing import Final

LOCK: Final = re.compile(
    r"(?:^|/)(?:package-lock\.json|npm-shrinkwrap\.json|yarn\.lock|pnpm-lock\.yaml|bun\.lockb?|deno\.lock|poetry\.lock"
    r"|uv\.lock|pdm\.lock|Pipfile\.lock|pixi\.lock|Cargo\.lock|go\.sum|go\.work\.sum|composer\.lock|Gemfile\.lock"
    r"|mix\.lock|pubspec\.lock|Podfile\.lock|Package\.resolved|flake\.lock|packages\.lock\.json|gradle\.lockfile)$"
)
GENERATED: Final = re.compile(
    r"\.min\.(?:js|css|mjs)$|\.(?:map|snap)$|(?:_pb2(?:_grpc)?\.pyi?|\.pb\.(?:go|cc|h)|\.g\.dart|\.freezed\.dart"
    r"|\.designer\.cs|_generated\.\w+|\.generated\.\w+)$"
    r"|(?:^|/)(?:node_modules|vendor|third_party|dist|__generated__|generated)/",
    re.IGNORECASE,
)
SAYS_GENERATED: Final = re.compile(
    r"@generated\b|code generated .{0,80}do not edit|automatically generated", re.IGNORECASE
)
CODE: Final = re.compile(
    r"\.(?:py|pyi|ipynb|jsx?|[cm]js|tsx?|[cm]ts|go|rs|java|kts?|scala|groovy|rb|exs?|php|cs|fs|vb|swift|mm?|c|cc|cpp"
    r"|cxx|h|hpp|dart|lua|p[lm]|r|jl|cljs?|hs|elm|erl|ml|nim|zig|cr|sh|bash|ps1|vue|svelte|astro|sql|sol|html?|css|scss"
    r"|less|graphql|proto|tf)$",
    re.IGNORECASE,
)
TEST: Final = re.compile(
    r"(?:^|/)(?:tests?|__tests__|specs?|e2e|cypress|testdata|__snapshots__|fixtures)/|(?:^|/)(?:test_[^/]*|conftest)\.py$"
    r"|(?:[._-](?:test|spec|tests)|Tests?|Spec)\.\w+$"
)
SETTINGS: Final = re.compile(
    r"(?:^|/)(?:\.[^/]+|[^/]+\.(?:toml|ya?ml|cfg|ini|json|jsonc|properties|gradle|mk|xml)|[^/]*\.config\.\w+|Makefile"
    r"|Dockerfile|Jenkinsfile|Procfile|go\.mod|Gemfile|Rakefile|CMakeLists\.txt)$|(?:^|/)\.(?:github|circleci|husky)/"
)
DOCUMENT: Final = re.compile(
    r"\.(?:md|mdx|rst|adoc|txt)$|(?:^|/)docs?/|(?:^|/)(?:LICENSE|NOTICE|AUTHORS)$", re.IGNORECASE
)
HEAD: Final = 1_000
"""Characters in which a file says that it was generated."""


def telling(path: str) -> int:
    """The place of a file in the order: source, test, settings, document, other."""
    if TEST.search(path):
        return 1
    if CODE.search(path):
        return 0
    if DOCUMENT.search(path):
        return 3
    return 2 if SETTINGS.search(path) else 4


def is_code(path: str) -> bool:
    """Whether a person writes such a file line by line."""
    return CODE.search(path) is not None


def unwritten(path: str, text: str) -> str:
    """Why nobody wrote this file by hand, "" where somebody may have."""
    if LOCK.search(path):
        return "a lock file"
    if GENERATED.search(path) or SAYS_GENERATED.search(text[:HEAD]):
        return "a generated file"
    return ""
