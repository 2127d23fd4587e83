"""Options of check commands that make them find less, and those that make them find more and must stay.

Each runner has its own letters; a wrapper (npm, make, tox) is read by the long names alone and those behind
`--`.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from msgspec import Struct

from sidecar.model.finding import Change, Weight

RUNNER, LINT, FLOOR = Change.RUNNER_LOOSENED, Change.LINT_LOOSENED, Change.THRESHOLD_LOWERED
GRAVE, SHOWN = Weight.GRAVE, Weight.SHOWN


class Option(Struct, frozen=True):
    """One option as given: its name as in the tables below, its value, "" where it has none."""

    name: str
    value: str = ""


Rules = dict[str, tuple[Change, Weight]]


def _rules(change: Change, grave: str = "", shown: str = "") -> Rules:
    """A table from the names of options."""
    return dict.fromkeys(grave.split(), (change, GRAVE)) | dict.fromkeys(shown.split(), (change, SHOWN))


PYTEST = _rules(
    RUNNER,
    grave=(
        "-O -k -m --deselect --ignore --ignore-glob --co --collect-only --lf --last-failed "
        "--setup-only --setup-plan --fixtures --version --help -h --suppress-no-test-exit-code "
        "--suppress-tests-failed-exit-code --only --snapshot-update --dry-run"
    ),
    shown=(
        "--sw --stepwise --maxfail --noconftest --reruns --testmon --picked -c --force-flaky "
        "--confcutdir --override-ini -o --pdb --skip-slow --doctest-ignore-import-errors"
    ),
) | _rules(FLOOR, shown=("--no-cov"))
SCRIPTED = _rules(
    RUNNER,
    grave=(
        "-t --testNamePattern --testPathPattern --testPathPatterns --testPathIgnorePatterns "
        "--exclude -o --onlyChanged --changed --lastCommit --onlyFailures -f --findRelatedTests "
        "--listTests --list --updateSnapshot -u --update --update-snapshots --grep -g --fgrep "
        "--invert --grep-invert --ignore --dry-run --showConfig "
        "--dangerouslyIgnoreUnhandledErrors --selectProjects --ignoreProjects --test-name-pattern "
        "--test-skip-pattern --test-only --last-failed --spec --version --help --match"
    ),
    shown=("--passWithNoTests --pass-with-no-tests --shard --retry --retries --allowOnly --project"),
) | _rules(FLOOR, shown=("--coverage.enabled"))
GO = _rules(RUNNER, grave=("-run -skip -list -c -n -exec -count=0"), shown=("-short -vet -tags"))
CARGO = _rules(
    RUNNER,
    grave=("--no-run --skip --ignored --list --exclude -E --filter-expr --test"),
    shown=("--lib --doc --bins --retries"),
)
JVM = (
    _rules(
        RUNNER,
        grave=(
            "-DskipTests -Dmaven.test.skip -Dmaven.test.failure.ignore -DskipITs -Dtest -fn "
            "--fail-never -x --exclude-task --tests --dry-run -m"
        ),
        shown=("-DfailIfNoTests -pl"),
    )
    | _rules(LINT, grave=("-Dcheckstyle.skip -Dspotbugs.skip"))
    | _rules(FLOOR, grave=("-Djacoco.skip"))
)
OTHERS = _rules(
    RUNNER,
    grave=(
        "--tag -e --example --failure-exit-code --dry-run --filter --exclude-group --group --only "
        "--exclude --testsuite --only-failures --exclude-pattern -k --exclude-tag --list-tests -R "
        "-LE -N"
    ),
    shown=("--stale --no-build"),
)
LINTERS = _rules(
    LINT,
    grave=(
        "--exit-zero --no-eslintrc --no-config-lookup --issues-exit-code --disable-all "
        "--ignore-errors --noCheck --help --version --showConfig --exit0 --cap-lints --warn-only "
        "--assume-valid"
    ),
    shown=(
        "--ignore --extend-ignore --exclude --extend-exclude --disable --quiet --rule "
        "--ignore-pattern --no-inline-config --new --new-from-rev --errors-only -E --isolated "
        "--skip -A --ignore-missing-imports --follow-imports --disable-error-code --skipLibCheck "
        "--write --diagnostic-level --fail-level --except --audit-level "
        "--no-error-on-unmatched-pattern --pass-on-no-patterns --ignore-vuln"
    ),
)
WRAPPERS = _rules(Change.COMMAND_CHANGED, grave=("-i --ignore-errors")) | _rules(
    RUNNER, grave=("-n --dry-run --just-print --question -t --touch"), shown=("-q")
)

WRAPPED: Rules = {
    name: meant
    for name, meant in {**JVM, **SCRIPTED, **PYTEST}.items()
    if name.startswith("--") or name in ("-k", "-m", "-DskipTests")
}
"""A wrapper's own letters mean something else (`tox -e`), those that are passed on mostly do not."""

MEASURES = _rules(RUNNER, shown="--exclude -x --omit --skip-full") | _rules(
    FLOOR, grave="--no-check-coverage"
)
FAMILIES: tuple[tuple[str, Rules], ...] = (
    (r"pytest|py\.test|unittest|nose", PYTEST),
    (
        r"jest|vitest|mocha|ava|jasmine|karma|cypress|playwright|node --test|bun test|deno test",
        SCRIPTED,
    ),
    (r"go test|gotestsum|ginkgo", GO),
    (r"cargo (?:nextest|test|llvm-cov|tarpaulin)", CARGO),
    (r"(?:\./)?(?:mvnw?|gradlew?)", JVM),
    (r"g?make", WRAPPERS),
    (r"rspec|minitest|phpunit|pest|mix test|dotnet test|ctest|bats|swift", OTHERS),
)
LOST = (
    _rules(
        RUNNER,
        shown=(
            "--strict-markers --strict-config --doctest-modules --forbid-only --forbidOnly -race "
            "--workspace --all-features"
        ),
    )
    | _rules(FLOOR, grave=("--cov-fail-under --fail-under --max-warnings --check-coverage"))
    | _rules(
        LINT,
        grave=("--strict -D"),
        shown=("--check --error-on-warnings --report-unused-disable-directives --all-targets --all-files"),
    )
)
"""Options without which a check finds less."""
FLOORS = re.compile(
    r"--(?:cov-)?fail-under(?:-lines?)?|--(?:lines|branches|functions|statements)|--min-coverage"
    r"|--coverage\.thresholds\.\w+"
)
CEILINGS = re.compile(r"--max-(?:warnings|complexity|line-length|doc-length)|--max-cognitive-complexity")
VALUED = re.compile(
    r"-[kmtgoeExcRADFsN]|-run|-skip|-tags|-exec|-count|-vet|--(?:deselect|ignore(?:-glob|-pattern"
    r"|-vuln)?|maxfail|reruns|shard|spec|tests?|skip"
    r"|testNamePattern|testPathPatterns?|testPathIgnorePatterns|exclude(?:-group|-tag|-task)?"
    r"|f?grep(?:-invert)?|retr(?:y|ies)|tag|example|filter"
    r"|group|rule|disable(?:-error-code)?|(?:cov-)?fail-under|max-\w[\w-]*|lines|branches|functions"
    r"|statements|failure-exit-code|follow-imports"
    r"|extend-(?:ignore|exclude)|select|extend-select|config|cov|cov-report|junitxml|rootdir"
    r"|override-ini|timeout|numprocesses|dist|ext"
    r"|project|reporter|match|issues-exit-code|new-from-rev|audit-level|cap-lints|coverage\.\S+"
    r"|format|output(?:-format|-file)?|env|only)|-[npWrjv]|-pl"
)
"""Options that take the next word as their value."""


def family(name: str) -> Rules:
    """The table of a check by the name it was started with."""
    return next((rules for pattern, rules in FAMILIES if re.match(rf"(?:{pattern})(?![\w-])", name)), {})


def rules_of(category: str, name: str) -> Rules:
    """What a gained option of this check means."""
    own = family(name)
    if own:
        return own
    if category == "coverage":
        return MEASURES
    return LINTERS if category in ("lint", "types", "security") else WRAPPED


def options(argv: Iterable[str]) -> Iterator[Option]:
    """The options among words, with their values: "--maxfail=1", "-k slow", "-kslow"."""
    waiting = ""
    for word in argv:
        if waiting:
            takes = not word.startswith("-") or word[1:2].isdigit()
            yield Option(waiting, word if takes else "")
            waiting = ""
            if takes:
                continue
        if not word.startswith("-") or word in ("-", "--"):
            continue
        name, equals, value = word.partition("=")
        if equals:
            yield from (Option(name, value), *([Option(word)] if word == "-count=0" else []))
        elif VALUED.fullmatch(name):
            waiting = name
        elif re.fullmatch(r"-[km].+", word) and not word.startswith("--"):
            yield Option(word[:2], word[2:])
        else:
            yield Option(name)
    if waiting:
        yield Option(waiting)


def arguments(argv: Iterable[str]) -> tuple[str, ...]:
    """The words that are no options and no values of options: files, folders, names of tests."""
    found, skip = list[str](), False
    for word in argv:
        if skip and not word.startswith("-"):
            skip = False
        elif word.startswith("-"):
            skip = bool(VALUED.fullmatch(word))
        elif not re.match(r"[$<>{]|\d*>", word):
            found.append(word)
    return tuple(found)
