"""Which files steer a project's checks, and what they say: every value with its key and its line.

By the path alone: the table of readers below is the list of what is known. Scripts count when their name or
their folder says that they check something; so does a file that stands where a check's own program would be
found first.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from sidecar.adapters.reading.settings_lines import (
    ini_settings,
    line_settings,
    program_settings,
    recipe_settings,
    worded_settings,
    xml_settings,
)
from sidecar.adapters.reading.settings_trees import (
    json_settings,
    script_settings,
    toml_settings,
    yaml_settings,
)

if TYPE_CHECKING:
    from collections.abc import Callable

    from sidecar.model.inspection import Setting

    Reader = Callable[[str], tuple[Setting, ...]]

PATH_LIMIT: Final = 4_096
"""Characters of a path, as systems have it."""

TOOLS: Final = (
    r"pytest|py\.test|tox|nox|mypy|pyright|ruff|flake8|pylint|coverage|jest|vitest|mocha|eslint|tsc|biome"
    r"|playwright|cypress|npm|npx|pnpm|yarn|bun|node|deno|go|gofmt|golangci-lint|cargo|rustc|rspec"
    r"|rake|rubocop"
    r"|phpunit|phpstan|mvn|gradle|make|just|task|python|python3|sh|bash|git"
)
"""Programs that checks start by name."""
MODULES: Final = (
    r"pytest|_pytest|pluggy|unittest|coverage|mypy|pyright|ruff|flake8|pylint|tox|nox|sitecustomize"
    r"|usercustomize|hypothesis|pytest_cov|xdist"
)
"""Python modules that checks import by name."""

SHADOWS: Final = re.compile(
    rf"(?:.*/)?(?:bin|\.bin|scripts|tools|Scripts)/(?:{TOOLS})"
    rf"|(?:{MODULES})(?:\.py|/__init__\.py)|(?:{TOOLS})"
    r"|(?:.*/)?(?:sitecustomize|usercustomize)\.py|(?:src|tests?|lib)/(?:_?pytest|pluggy"
    r"|unittest)(?:\.py|/__init__\.py)"
)
CHECKING: Final = (
    r"(?:^|[^a-z])(?:tests?|specs?|checks?|ci|lint|types?|typecheck|cov(?:erage)?|verify|validate"
    r"|gates?|build|e2e"
    r"|unit|integration|qa|audit|precommit|pre-commit|pre-push)(?:[^a-z]|$)"
)
SCRIPT: Final = re.compile(
    r"(?:.*/)?(?:scripts?|bin|tools|hack|ci|\.ci|build|\.githooks|\.husky|\.buildkite"
    r"|dev)/(?:[^/]+/)?[^/.]+"
    r"|(?:.*/)?[^/]+\.(?:sh|bash|zsh)|(?:run|do|dev)?[-_]?(?:tests?|checks?|lint|ci)"
)
HOME: Final = re.compile(r"(?:.*/)?(?:\.?ci|\.githooks|\.husky|\.buildkite)/|(?:.*/)?tests?/run[^/]*$")
"""Folders whose scripts are there to check."""
IGNORED: Final = re.compile(
    r"(?:.*/)?node_modules/(?!\.bin/)|(?:.*/)?\.git/|(?:.*/)?(?:__fixtures__|fixtures?|testdata)/"
    r"|(?:.*/)?(?:tests?|testing|specs?|__tests__)/(?:.*/)?(?:resources|data|samples|projects|cases)/"
)
"""Files of others, and files that tests only look at."""

SCRIPTED: Final = (
    r"(?:jest|vitest|vite|eslint|playwright|cypress|karma|ava|nyc|stryker|wdio|babel|lint-?staged"
    r"|web-test-runner)"
    r"(?:\.[\w-]+)*\.(?:config|conf|workspace|projects)|\.(?:eslintrc|mocharc|nycrc|lintstagedrc"
    r"|c8rc)|stryker\.conf"
)


def _typed(text: str) -> tuple[Setting, ...]:
    return script_settings(text, typed=True)


def _untyped(text: str) -> tuple[Setting, ...]:
    return script_settings(text, typed=False)


def _json_or_yaml(text: str) -> tuple[Setting, ...]:
    return json_settings(text) if text.lstrip().startswith(("{", "/")) else yaml_settings(text)


READERS: Final[tuple[tuple[str, Reader], ...]] = (
    (
        (
            r"(?:.*/)?(?:pyproject|\.?pytest|tox|\.?ruff|\.?pylintrc|\.coveragerc|\.?mypy|Cargo"
            r"|\.?clippy|deny|tarpaulin"
            r"|nextest|bunfig|\.golangci|mise|\.mise|pixi|Makefile)\.toml|(?:.*/)?\.supervisor/config\.toml"
            r"|(?:.*/)?\.cargo/config(?:\.toml)?"
        ),
        toml_settings,
    ),
    (
        (
            r"(?:.*/)?(?:\.?pytest|tox|\.?mypy)\.ini|(?:.*/)?setup\.cfg|(?:.*/)?(?:\.coveragerc|\.flake8"
            r"|\.?pylintrc"
            r"|\.pycodestyle|\.pydocstyle|\.isort\.cfg|\.bandit|\.npmrc|nose\.cfg|\.noserc|unittest\.cfg"
            r"|\.importlinter)"
            r"|(?:.*/)?(?:sonar-project|gradle)\.properties"
        ),
        ini_settings,
    ),
    (
        (
            r"(?:.*/)?(?:package|composer|[jt]sconfig(?:[.-][\w.-]+)?|biome|deno|pyrightconfig|turbo|nx"
            r"|project|lerna|cypress"
            r"|karma|(?:jest|vitest|stryker|nyc|c8|eslint)\.(?:config|conf)|\.oxlintrc|\.swcrc|rush"
            r"|infection)\.jsonc?5?"
            r"|(?:.*/)?\.(?:eslintrc|mocharc|nycrc|c8rc|lintstagedrc|stylelintrc)\.jsonc?"
            r"|(?:.*/)?\.golangci\.json"
        ),
        json_settings,
    ),
    (r"(?:.*/)?\.(?:eslintrc|nycrc|c8rc|lintstagedrc|mocharc|stylelintrc)", _json_or_yaml),
    (rf"(?:.*/)?(?:{SCRIPTED})\.[cm]?js", _untyped),
    (rf"(?:.*/)?(?:{SCRIPTED})\.[cm]?ts", _typed),
    (
        (
            r"(?:.*/)?\.(?:github|gitea|forgejo)/(?:workflows|actions)/.*\.ya?ml|(?:.*/)?action\.ya?ml"
            r"|(?:.*/)?\.gitlab-ci(?:[.-][\w.-]+)?\.ya?ml|(?:.*/)?\.gitlab/.*\.ya?ml"
            r"|(?:.*/)?\.circleci/.*\.ya?ml"
            r"|(?:.*/)?azure-pipelines(?:[.-][\w.-]+)?\.ya?ml|(?:.*/)?\.?(?:travis|appveyor|drone|cirrus"
            r"|codecov"
            r"|woodpecker|golangci|bandit|rubocop(?:_todo)?|pre-commit-config|lefthook|mocharc|eslintrc"
            r"|nycrc|semaphore"
            r"|overcommit|coveralls|codeclimate|lintstagedrc|stylelintrc|yamllint)\.ya?ml"
            r"|(?:.*/)?bitbucket-pipelines\.ya?ml|(?:.*/)?\.(?:buildkite|woodpecker|semaphore)/.*\.ya?ml"
            r"|(?:.*/)?cloudbuild\.ya?ml|(?:.*/)?[Tt]askfile(?:\.dist)?\.ya?ml|(?:.*/)?\.yamllint"
        ),
        yaml_settings,
    ),
    (
        r"(?:.*/)?(?:GNU)?[Mm]akefile|(?:.*/)?[^/]+\.mk|(?:.*/)?\.?[Jj]ustfile|(?:.*/)?[^/]+\.just",
        recipe_settings,
    ),
    (
        (
            r"(?:.*/)?(?:pom|phpunit(?:\.dist)?|psalm(?:\.dist)?|checkstyle|spotbugs-exclude"
            r"|detekt-baseline|lint|phpcs)\.xml"
            r"|(?:.*/)?(?:phpunit|psalm|phpcs)\.xml\.dist|(?:.*/)?[^/]+\.(?:csproj|runsettings)"
            r"|(?:.*/)?Directory\.Build\.(?:props|targets)"
        ),
        xml_settings,
    ),
    (
        (
            r"(?:.*/)?(?:build|settings)\.gradle(?:\.kts)?|(?:.*/)?Jenkinsfile(?:\.[\w-]+)?"
            r"|(?:.*/)?phpstan(?:[.-]\w+)*"
            r"\.neon(?:\.dist)?|(?:.*/)?\.simplecov|(?:.*/)?mix\.exs|(?:.*/)?\.credo\.exs"
            r"|(?:.*/)?build\.sbt"
        ),
        worded_settings,
    ),
    (r"(?:.*/)?(?:noxfile\.py|Rakefile|Earthfile)", program_settings),
    (r"(?:.*/)?\.(?:eslintignore|rspec|semgrepignore|bandit-baseline|trivyignore)", line_settings),
)
"""By the whole path, the first that fits."""
COMPILED: Final = tuple((re.compile(pattern), reader) for pattern, reader in READERS)

TEXTUAL: Final = frozenset({program_settings, worded_settings, xml_settings})


def is_settings(path: str) -> bool:
    """Whether a file steers a check, or stands where one is looked for."""
    return _reader(path) is not None


def is_textual(path: str) -> bool:
    """Whether a settings file is read by its words alone, which is weak evidence."""
    return _reader(path) in TEXTUAL


def settings_of(path: str, text: str) -> tuple[Setting, ...]:
    """Every value of a settings file, in the order of the file; () where it is none.

    Raises ValueError where it does not parse, nests too deep or is too big.
    """
    reader = _reader(path)
    return () if reader is None else reader(text)


def _reader(path: str) -> Reader | None:
    if len(path) > PATH_LIMIT or IGNORED.match(path):
        return None
    known = next((reader for pattern, reader in COMPILED if pattern.fullmatch(path)), None)
    return known or (line_settings if _is_script(path) else None)


def _is_script(path: str) -> bool:
    if SHADOWS.fullmatch(path):
        return True
    name = path.rpartition("/")[2].lower()
    return bool(SCRIPT.fullmatch(path)) and bool(HOME.match(path) or re.search(CHECKING, name))
