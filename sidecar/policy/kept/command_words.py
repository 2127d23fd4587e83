"""Which checks a shell line starts, with which options, and whether it hides their failure.

By its words: quotes are respected, variables and functions are not followed. A line that only installs,
prints or names a runner does not start it.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from functools import lru_cache

from msgspec import Struct

LINE = 1_000
"""Characters of a line that are read."""
PARTS = 30
"""Commands of a line that are told apart."""

PIECE = re.compile(r"\"(?:[^\"\\]|\\.)*\"|'[^']*'|&&|\|\||[;|&\n]|[^\"'&|;\n]+|[\"']")
WORD = re.compile(r"(?:[^\s\"']|\"[^\"]*\"|'[^']*')+")
EXPRESSION = re.compile(r"\$\{\{.*?\}\}")
"""What a CI fills in before a shell sees the line."""
ASSIGNED = re.compile(r"[A-Za-z_]\w*=")

SCRIPT_RUNNER = (
    r"(?:npm|pnpm|yarn|bun|npx|deno)(?: --?[\w-]+(?:=[\w./-]+| (?!-|run\b)[\w./-]+)?)*"
    r"(?: run(?:-script)?| task)?"
)
TASK_RUNNER = (
    r"(?:make|gmake|just|task|rake|invoke|inv|poe|pdm run|hatch run|hatch|nx(?: run)?|turbo"
    r"(?: run)?|lerna run|composer(?: run)?)"
)

CATEGORIES: dict[str, str] = {
    "tests": (
        r"pytest|py\.test|unittest|nose2?|tox|nox|jest|vitest|mocha|ava|jasmine|karma|cypress run"
        r"|playwright test"
        r"|node --test|bun test|deno test|go test|gotestsum|ginkgo|cargo (?:nextest|test)|rspec"
        r"|minitest|phpunit|pest"
        r"|mix test|dotnet test|ctest|bats|swift test|sbt test|lein test|hatch test|manage\.py test"
        r"|runtests\.py"
        r"|(?:\./)?mvnw?\b[^&|;]{0,200}?\b(?:test|verify|install|package|integration-test)"
        r"|(?:\./)?gradlew?\b[^&|;]{0,200}?\b(?:test|check|build)\w*"
        rf"|{SCRIPT_RUNNER} (?:t|test[\w:.-]*|[\w-]+:test[\w:-]*)"
        rf"|{TASK_RUNNER} (?:-\S+ )*[\w:.-]*(?:test|check|spec|verify)[\w:.-]*"
        r"|[\w./-]*(?:run|do)?[-_]?tests?(?:\.sh|\.bash|\.py)"
    ),
    "lint": (
        r"ruff|flake8|pylint|pycodestyle|pydocstyle|black|isort|eslint|biome|oxlint|prettier"
        r"|stylelint|standard|xo|tslint"
        r"|golangci-lint|go vet|staticcheck|revive|gofmt|gofumpt|cargo clippy|cargo fmt|rubocop"
        r"|standardrb|phpcs|php-cs-fixer"
        r"|mix credo|mix format|ktlint|detekt|checkstyle|spotbugs|shellcheck|hadolint|yamllint"
        r"|(?:pre-commit|prek) run|vulture|lint-imports"
        rf"|{SCRIPT_RUNNER} [\w:.-]*(?:lint|format:check|fmt)[\w:.-]*|{TASK_RUNNER} [\w:.-]*(?:lint"
        rf"|fmt-check|format-check)[\w:.-]*"
    ),
    "types": (
        r"mypy|pyright|basedpyright|tsc|vue-tsc|svelte-check|phpstan|psalm|mix dialyzer|srb tc"
        r"|ty check|pyre|flow check"
        rf"|{SCRIPT_RUNNER} [\w:.-]*(?:types?|typecheck|check-types|tsc)[\w:.-]*"
        rf"|{TASK_RUNNER} [\w:.-]*(?:types?|typecheck|mypy)[\w:.-]*"
    ),
    "coverage": r"coverage (?:run|report)|c8|nyc|diff-cover|cargo (?:llvm-cov|tarpaulin)"
    rf"|{SCRIPT_RUNNER} [\w:.-]*coverage[\w:.-]*|{TASK_RUNNER} [\w:.-]*cov(?:erage)?[\w:.-]*",
    "security": r"bandit|pip-audit|safety|npm audit|yarn audit|pnpm audit|cargo (?:audit|deny)"
    "|govulncheck|gosec|trivy|semgrep"
    r"|snyk|brakeman|bundler?-audit|gitleaks",
    "build": rf"cargo (?:build|check)|go build|{SCRIPT_RUNNER} [\w:.-]*build[\w:.-]*"
    r"|{TASK_RUNNER} build[\w:.-]*|python -m build",
}
"""What starts a check, by what it checks."""
BEFORE_NAME = r"(?:^|[\s/\"'(`=])"
CHECKS = tuple(
    (category, re.compile(rf"{BEFORE_NAME}({pattern})(?![\w.-])")) for category, pattern in CATEGORIES.items()
)
JVM = re.compile(r"(?:\./)?(?:mvn|gradle)w?\b")
"""Runners whose options may stand before what they run."""
USES = re.compile(
    r"(?i)^(?:[\w-]+/)?[\w./-]*(?:golangci-lint|pre-commit/|ruff-action|super-linter"
    r"|codeql-action/analyze|reviewdog|eslint"
    r"|pyright|mypy|trivy|bandit|semgrep|cypress-io|clippy|actions-rs/cargo|shellcheck|hadolint"
    r"|detekt|ktlint)[\w./-]*@?"
)
"""Ready-made CI steps that check."""

NO_RUN = re.compile(
    r"^(?:sudo\s+)?(?:(?:python3? -m )?pip3?|uv (?:pip|add|sync|tool install)|pipx install"
    r"|poetry (?:add|install)|conda|mamba|apt(?:-get)?"
    r"|apk|brew|npm (?:i|install|ci|uninstall)\b|pnpm (?:i|install|add)\b|yarn (?:add|install)\b"
    r"|bun (?:i|install|add)\b|gem|bundle install"
    r"|go install|go get|cargo install|rustup|echo|printf|which|type|command -v|cat|grep|rm|mkdir"
    r"|touch|cp|mv|git|ls|cd|export|chmod|docker build)\b"
)
CLEANS_UP = re.compile(
    r"^@?(?:sudo\s+)?(?:rm|mkdir|docker|docker-compose|podman|kill|pkill|killall|cp|mv|ln|git|which"
    r"|command|type|createdb|dropdb|psql|unset"
    r"|deactivate|source|\.|grep|test"
    r"|\[|\[\[|find|chmod|touch|brew|apt|apt-get|pip3?|curl|wget|systemctl|service|cd|export|sleep|wait"
    r"|umount|mount|helm|kubectl|aws|gcloud|codecov|coveralls|bash <\(curl|ls|cat|echo|diff|shutdown"
    r"|stop|pnpm store|npm config)\b"
)
"""Commands whose failure is rightly let pass."""
TRIVIAL = re.compile(
    r"^@?-?(?:true|:|exit(?:\s+0)?|echo\b.*|printf\b.*|sleep\b.*|/bin/true|/usr/bin/true|set \S+"
    r"|cd \S+|\s*|node -e ['\"]{2}|return 0)$"
)
"""Commands that find nothing."""
FAILS = re.compile(
    r"\b(?:exit|return)\s+(?:[1-9]|\"?\$)|\bfalse\b|\$\?|\bexit\s+\"?\$|^(?:do|then)\b.*\bbreak\b"
)
"""What makes a line fail after all."""
LEAVES = re.compile(r"(?:exit|return)(?:\s+0)?$|false$")
"""Nothing behind it runs."""
DELEGATES = re.compile(
    rf"{BEFORE_NAME}(?:(?:\./|scripts?/|bin/|tools?/)[\w./-]+|{SCRIPT_RUNNER} [\w:.-]+"
    rf"|{TASK_RUNNER} [\w:.-]+|python3? (?:-m )?(?!-)[\w./-]+"
    r"|node (?!-)[\w./-]+|(?:ba)?sh (?!-)[\w./-]+|docker(?:-compose| compose)?|uv run|poetry run"
    r"|bundle exec|concurrently|run-[sp])"
)


class Part(Struct, frozen=True):
    """One command of a line, with the operators around it ("" at the ends)."""

    text: str
    before: str = ""
    after: str = ""


@lru_cache(1024)
def parts(line: str) -> tuple[Part, ...]:
    """The commands of a line."""
    texts, operators = [""], list[str]()
    for piece in PIECE.findall(EXPRESSION.sub("$X", line[:LINE])):
        if piece in ("&&", "||", ";", "|", "\n") or (
            piece == "&" and not texts[-1].rstrip().endswith((">", "<"))
        ):
            operators.append(piece)
            texts.append("")
        else:
            texts[-1] += piece
    around = ["", *operators, ""]
    return tuple(
        Part(text.strip(), around[at], around[at + 1])
        for at, text in enumerate(texts[:PARTS])
        if text.strip()
    )


@lru_cache(1024)
def runs(text: str) -> frozenset[tuple[str, str]]:
    """The checks that one command or line starts: what it checks, and the name by which it was started."""
    found = set[tuple[str, str]]()
    for part in parts(text):
        if not NO_RUN.match(part.text.lstrip("@-")):
            found |= _of_part(part.text)
    return frozenset(found)


def _of_part(text: str) -> set[tuple[str, str]]:
    found = set[tuple[str, str]]()
    for category, pattern in CHECKS:
        for match in pattern.finditer(text[:LINE]):
            words = match[1].split()
            jvm = len(words) > 1 and JVM.match(words[0])
            found.add((category, f"{words[0]} {words[-1]}" if jvm else " ".join(words)))
    return found


def all_runs(lines: Iterable[str]) -> frozenset[tuple[str, str]]:
    """The checks of all lines."""
    return frozenset(run for line in lines for run in runs(line))


def is_trivial(line: str) -> bool:
    """Whether a line does nothing that could fail."""
    return all(TRIVIAL.match(part.text) for part in parts(line)) and not re.search(r"exit\s+[1-9]", line)


def delegates(line: str) -> bool:
    """Whether a line hands over to something that may well check."""
    return any(DELEGATES.search(part.text) and not TRIVIAL.match(part.text) for part in parts(line))


class Shell(Struct, frozen=True):
    """How a line is run: whether it goes on after a failure before `;`, and after one before `|`."""

    goes_on: bool = True
    pipes: bool = True


def swallows(line: str, shell: Shell, *, in_check: bool) -> bool:
    """Whether a failing check of this line is let pass. `in_check`: whatever it runs counts as a check."""
    commands = parts(line)
    for at, part in enumerate(commands):
        if not _is_hidden(commands, at, shell) or TRIVIAL.match(part.text):
            continue
        if runs(part.text) or (in_check and not CLEANS_UP.match(part.text.lstrip("(@-"))):
            return True
    return False


def _is_hidden(commands: tuple[Part, ...], at: int, shell: Shell) -> bool:
    """Whether the failure, or the run, of a command does not reach the end of its line."""
    part, rest = commands[at], commands[at + 1 :]
    if FAILS.search(" ".join(other.text for other in rest)):
        return False
    if part.after == "&" or re.match(r"(?:if|while|until|!)\s", part.text):
        return not any(other.text.startswith("wait") for other in rest)
    left = any(LEAVES.match(other.text.lstrip("@")) for other in commands[:at] if other.after != "||")
    return left or part.before == "||" or (part.after == "|" and shell.pipes) or _is_outlived(rest, shell)


def _is_outlived(rest: tuple[Part, ...], shell: Shell) -> bool:
    """Whether the end of the line is decided by what stands behind `||` or `;`."""
    follows = next((other for other in rest if other.before not in ("&&", "|")), None)
    if follows is None or follows.before == "||":
        return follows is not None
    last = rest[-1]
    return last.before in (";", "\n") and (shell.goes_on or bool(TRIVIAL.match(last.text)))


def argv(text: str) -> list[str]:
    """The words of one command without assignments before it, unquoted."""
    found = [word.replace('"', "").replace("'", "") for word in WORD.findall(text[:LINE])]
    while found and ASSIGNED.match(found[0]):
        del found[0]
    return found


def check_parts(lines: Iterable[str]) -> Iterator[tuple[str, str, tuple[str, ...]]]:
    """Every check command: what it checks, its name, and the words behind that name."""
    for line in lines:
        for part in parts(line):
            for category, name in sorted(runs(part.text)):
                known = name if name in part.text and not JVM.match(name) else name.partition(" ")[0]
                behind = part.text.partition(known)[2]
                yield category, name, (*argv(behind), *_from_outside(part.text))


def _from_outside(text: str) -> list[str]:
    """Options that a variable or the interpreter brings."""
    held = re.search(r"PYTEST_ADDOPTS=(?:\"([^\"]*)\"|'([^']*)'|(\S+))", text)
    blind = re.search(r"\bpython[\d.]*\s+(?:-\w+\s+)*-[A-Za-z]*O|\bPYTHONOPTIMIZE=[1-9]", text)
    return [*argv(next(filter(None, held.groups()), "") if held else ""), *(["-O"] if blind else [])]
