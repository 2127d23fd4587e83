"""What a file is to a project's checks, told by its name alone.

First found wins: a snapshot, a settings file, a test, a file that steers a check from where it stands, a
source. The names are the defaults of the runners and the habits of their users; a folder that a project named
in its own way is a source folder here.
"""

from __future__ import annotations

import re
from typing import Final

from sidecar.adapters.reading.settings import is_settings
from sidecar.model.inspection import Role

CODE: Final = re.compile(
    r"\.(?:py|pyi|js|jsx|mjs|cjs|ts|tsx|mts|cts|go|rs|java|kt|kts|scala|groovy"
    r"|rb|rake|ex|exs|php|cs|fs|vb|swift|m|mm|c|cc|cpp|cxx|h|hpp|dart|"
    r"lua|pl|pm|t|r|jl|clj|cljs|cljc|hs|elm|erl|ml|nim|zig|cr|sh|bash|"
    r"bats|zsh|ps1|psm1|vue|svelte|astro|sql|sol|feature|d)$",
    re.IGNORECASE,
)
"""Endings of files that hold code."""
SNAPSHOT: Final = re.compile(
    r"(^|/)__(?:image_)?snapshots?__/|\.spec\.[jt]sx?-snapshots/|\.(?:snap|storyshot|ambr|golden|approved)$"
    r"|\.(?:approved|verified|golden|snapshot|snap)\.\w+$"
    r"|(^|/)(?:tests?|specs?|testdata|__tests__|(?:__)?fixtures?(?:__)?)/(?:.+/)?(?:goldens?|snapshots)/"
)
"""Jest and vitest, playwright, storybook, syrupy, insta, ApprovalTests, Verify, golden files."""
EXPECTED: Final = re.compile(
    r"(?:^|/)(?:goldens?|snapshots?|expected|expectations|approved|approvals|baselines?)/"
    r"|(?:^|/)(?:tests?|testdata|__tests__|specs?|(?:__)?fixtures?(?:__)?)/(?:.+/)?"
    r"(?:(?:expected|golden)(?:[-_.][^/]*)?|[^/]+[-_.](?:expected|golden)(?:\.\w+)?)$"
)
"""Output as it is expected, kept beside the tests, where it is no code."""
TEST_NAME: Final = re.compile(
    r"^test_.*\.py$|^.+_tests?\.py$|^tests?\.py$|^conftest\.py$"
    r"|\.(?:test|spec|cy|e2e)\.[cm]?[jt]sx?$|^tests?\.[cm]?[jt]sx?$|[-_](?:test|spec)\.[cm]?[jt]sx?$"
    r"|_test\.go$"
    r"|^tests?\.rs$|_tests?\.rs$"
    r"|(?:Tests?|TestCase|IT|Specs?)\.(?:java|kt|kts|scala|groovy|cs|fs|vb|swift|php|mm?)$"
    r"|^Test[A-Z]\w*\.(?:java|kt|scala|groovy|cs)$"
    r"|(?:_spec|_test)\.(?:rb|cr|lua|dart)$|^test_.*\.(?:rb|lua|c|cc|cpp|R|r|sh)$|^test-.*\.[Rr]$"
    r"|_test\.exs?$|_test\.(?:c|cc|cpp|clj|cljs|cljc|sh|ml|nim|zig)$|(?:_SUITE|_tests)\.erl$"
    r"|\.(?:bats|feature|t)$|Tests\.ps1$|\.t\.sol$|Spec\.hs$"
)
TEST_FOLDER: Final = re.compile(
    r"(?:^|/)(?:tests?|__tests?__|specs?|e2e|cypress|androidTest|integration[-_]tests?|unit[-_]tests?)/"
    r"|(?:^|/)[\w.]+\.(?:Unit|Integration)?Tests?/"
)
TEST_DATA: Final = re.compile(
    r"(?:^|/)(?:tests?|__tests?__|e2e|cypress|androidTest|testdata|(?:__)?fixtures?(?:__)?"
    r"|integration[-_]tests?|unit[-_]tests?)/"
    r"|(?:^|/)specs?/(?:.+/)?(?:data|files|support|resources)/"
)
"""Folders in which every file is for tests; a folder of specs may hold documents."""
DOCUMENT: Final = re.compile(
    r"\.(?:md|mdx|rst|adoc)$|(?:^|/)(?:LICENSE|NOTICE|AUTHORS|CODEOWNERS)$", re.IGNORECASE
)

PROGRAMS: Final = (
    r"pytest|py\.test|tox|nox|mypy|pyright|ruff|coverage|jest|vitest|mocha|eslint|tsc|npm|npx|pnpm|yarn|bun|node"
    r"|deno|go|gofmt|cargo|rustc|mvn|gradle|make|just|task|python[\d.]*|pip|uv|java|javac|ruby|php|perl|git"
    r"|(?:ba|da|z|k)?sh|env|timeout|time|nice|xargs|rm|ls|cat|cp|mv|echo|printf|test|true|false|grep|egrep|sed"
    r"|g?awk|head|tail|tee|sort|uniq|wc|tr|cut|find|diff|cmp|mktemp|mkdir|touch|which|sleep|expr|seq|date|cc|gcc|g\+\+"
)
"""Programs that checks start by name: one of the project's own may be found first."""
OF_OTHERS: Final = re.compile(r"(?:^|/)node_modules/(?!\.bin/)")
STEERS_ANYWHERE: Final = re.compile(
    r"(?:^|/)(?:\.npmrc|\.yarnrc(?:\.\w+)*|\.pnpmfile\.c?js|\.env(?:\.[\w.-]+)?|\.envrc|\.gitignore|\.gitattributes"
    r"|\.mocharc[^/]*|\.python-version|\.nvmrc|\.node-version|\.tool-versions|rust-toolchain(?:\.toml)?"
    r"|(?:GNUm|m|M)akefile|[^/]+\.mk|sitecustomize\.py|usercustomize\.py)$"
    r"|^(?:\.git/info/(?:exclude|attributes)|\.supervisor/.+)$"
)
"""Also below a test folder: package managers, shells, git and make read them there."""
STEERS: Final = re.compile(
    r"(?:^|/)(?:Cargo\.toml|build\.rs)$"
    r"|^(?!(?:.*/)?(?:models?|weights|checkpoints)/).+\.pth$"
    r"|(?:^|/)(?:run|test|check|lint|verify|ci)(?:[-_.][^/]*)?\.(?:sh|bash|zsh)$"
    r"|(?:^|/)[^/]+[-_](?:tests?|checks?|lint|ci)\.(?:sh|bash|zsh)$"
    r"|(?:^|/)(?:scripts?|bin|tools|hack|ci|\.ci|\.githooks|\.husky)/(?:.+/)?(?:\.?[^/.]+|[^/]+\.(?:sh|bash|zsh))$"
    r"|(?:^|/)\.?ci/.+$"
    r"|(?:^|/)node_modules/\.bin/[^/]+$|(?:^|/)\.?venv/(?:(?:bin|Scripts)/[^/]+|pyvenv\.cfg)$"
    rf"|(?:^|/)(?:{PROGRAMS})$"
)
"""Scripts and programs that checks run by their names or their folders, and what interpreters read first."""


def role_of(path: str) -> Role:
    """What this file is, `path` relative to the project with `/`."""
    code = CODE.search(path) is not None
    if SNAPSHOT.search(path) or (EXPECTED.search(path) and not code):
        return Role.SNAPSHOT
    if is_settings(path) or (STEERS_ANYWHERE.search(path) and not OF_OTHERS.search(path)):
        return Role.SETTINGS
    if _is_test(path, code=code):
        return Role.TEST
    if STEERS.search(path) and not OF_OTHERS.search(path):
        return Role.SETTINGS
    return Role.SOURCE if code else Role.OTHER


def _is_test(path: str, *, code: bool) -> bool:
    """Whether a file is for tests: by its name, or since it stands among them."""
    if TEST_NAME.search(path.rpartition("/")[2]):
        return True
    if code:
        return TEST_FOLDER.search(path) is not None
    return TEST_DATA.search(path) is not None and not DOCUMENT.search(path)
