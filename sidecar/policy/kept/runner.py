"""Settings of test runners: which tests are found, which are left out, and whether a failure counts.

What is adopted anew is judged by what it says, not against a default: naming a folder of tests is no
narrowing, naming one file is.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from sidecar.model.finding import Change, Finding, Weight
from sidecar.model.inspection import Setting
from sidecar.policy.kept import options
from sidecar.policy.kept.options import Option
from sidecar.policy.kept.pairs import Pair, is_false, is_true, numbers, shown, words
from sidecar.policy.kept.places import holds_no_tests, is_never_measured

GRAVE, SHOWN = Weight.GRAVE, Weight.SHOWN


def _weighed(*, grave: str, shown: str) -> dict[str, Weight]:
    """Keys by their weight."""
    return dict.fromkeys(grave.split(), GRAVE) | dict.fromkeys(shown.split(), SHOWN)


ADDOPTS = frozenset({"addopts", "pytest_addopts", "addargs", "pytestargs"})
FOUND = frozenset(
    {
        "testpaths",
        "python_files",
        "python_classes",
        "python_functions",
        "testmatch",
        "testregex",
        "roots",
        "testdir",
    }
    | {"testfiles", "spec", "specs", "specpattern", "test_paths", "start_directory", "directory", "projects"}
)
"""Keys that name the tests to be found."""
USUAL = {"python_files": "test_cart.py", "python_classes": "TestCart", "python_functions": "test_cart"}
"""What must still be found where a pattern is set for the first time."""
LEFT_OUT = frozenset(
    {"norecursedirs", "collect_ignore", "collect_ignore_glob", "testpathignorepatterns", "testignore"}
    | {
        "excludespecpattern",
        "modulepathignorepatterns",
        "deselect",
        "excludedgroups",
        "excludes",
        "grepinvert",
    }
)
"""Keys that name tests to be left out."""
OF_TESTS = re.compile(
    r"(?i)(?:^|/)(?:vitest|jest|mocha|\.?mocharc|playwright|cypress|karma|ava|phpunit|pom)\b|\.mocharc"
    r"|(?:^|\.)(?:test|jest|vitest|mocha|ava|testsuites?)\b"
)
"""A file or key of a test runner, where `include`, `exclude` and `ignore` mean tests."""
OF_COVERAGE = re.compile(r"(?i)coverage|nyc|c8|codecov|jacoco|kover")
UNCOUNTED = frozenset(
    {
        "omit",
        "exclude_lines",
        "exclude_also",
        "exclude_patterns",
        "coveragepathignorepatterns",
        "partial_branches",
    }
)
"""Keys that name code whose coverage does not count."""
MUST_HOLD = _weighed(
    grave=("xfail_strict strict_xfail haltonfailure failonerror failonviolation failbuild autotest"),
    shown=(
        "strict strict_markers strict_config forbidonly failonrisky failonwarning failonempty "
        "failonskipped collectcoverage failiftestsskipped failifnotests stoponfailure"
    ),
)
"""Switches that are looser when off or gone; GRAVE only for the first and where a failure stops counting."""
MUST_NOT_HOLD = _weighed(
    grave=(
        "skiptests maven.test.skip skipits testfailureignore ignorefailures "
        "dangerouslyignoreunhandlederrors skip skiptest maven.test.failure.ignore ignore_errors "
        "onlychanged lastcommit skip_failures ignore_outcome ignore_error allow_failure"
    ),
    shown=("passwithnotests allowonly skip_missing_interpreters "),
)
"""Switches that are looser when on."""
OF_BUILD = re.compile(
    r"(?i)(?:pom\.xml|\.gradle(?:\.kts)?|gradle\.properties|tox\.(?:ini|toml)|\.npmrc|\.csproj|\.props)$"
)
AGAIN = frozenset(
    {"retries", "reruns", "retry", "retry_times", "retrytimes", "runmode", "openmode", "retry_failed_tests"}
)
NARROWING = frozenset(
    {"grep", "testnamepattern", "only", "shard", "testlist", "filter", "includetags", "markexpr", "keyword"}
)
"""Settings that pick tests by their names."""


def findings(pair: Pair) -> Iterator[Finding]:
    """What a pair says of a test runner."""
    if pair.tail in ADDOPTS or (pair.file.endswith(".rspec") and pair.tail == "line"):
        yield from given(pair)
    elif pair.tail == "filterwarnings":
        yield from _warnings(pair)
    elif pair.tail in UNCOUNTED or (pair.tail in ("exclude", "ignore") and OF_COVERAGE.search(_where(pair))):
        if not all(is_never_measured(word) for word in words(pair.added)):
            yield from _grown(pair, Change.RUNNER_LOOSENED, SHOWN)
    elif pair.tail in LEFT_OUT or (pair.tail in ("exclude", "ignore") and OF_TESTS.search(_where(pair))):
        yield from _grown(pair, Change.RUNNER_LOOSENED, GRAVE)
    elif pair.tail in FOUND or (pair.tail == "include" and _is_of_tests(pair)):
        yield from _found(pair)
    elif pair.tail in AGAIN and _is_of_tests(pair):
        if max(_numbers(pair.after), default=0) > max(_numbers(pair.before), default=0):
            yield pair.finding(Change.RUNNER_LOOSENED, SHOWN)
    elif pair.tail in NARROWING and _is_of_tests(pair) and pair.added and pair.new:
        yield pair.finding(Change.RUNNER_LOOSENED, SHOWN if pair.before else GRAVE)
    else:
        yield from _switch(pair)


def _where(pair: Pair) -> str:
    return f"{pair.file} {pair.key}"


def _is_of_tests(pair: Pair) -> bool:
    return bool(OF_TESTS.search(_where(pair))) and not OF_COVERAGE.search(pair.key)


def _numbers(settings: tuple[Setting, ...]) -> list[float]:
    return [number for setting in settings for number in numbers(setting.value)]


# --- options ------------------------------------------------------------------------------------------------


def given(pair: Pair) -> Iterator[Finding]:
    """Options that a settings file hands to pytest or rspec."""
    rules = options.OTHERS if pair.file.endswith(".rspec") else options.PYTEST
    yield from compared(pair, _options(pair.before), _options(pair.after), rules)
    harmless = {argument for setting in pair.before for argument in options.arguments(setting.value.split())}
    for setting in pair.after:
        paths = [word for word in options.arguments(setting.value.split()) if "/" in word or "::" in word]
        if any(word not in harmless and re.search(r"\.py$|::", word) for word in paths):
            yield pair.finding(Change.RUNNER_LOOSENED, GRAVE, at=setting)


def _options(settings: tuple[Setting, ...]) -> list[Option]:
    """A list of options may split one from its value, so that they are read as one line."""
    joined = " ".join(setting.value for setting in settings)
    return list(
        options.options(word.strip("\"'") for word in re.findall(r"(?:[^\s\"']|\"[^\"]*\"|'[^']*')+", joined))
    )


def compared(
    pair: Pair, before: list[Option], after: list[Option], rules: options.Rules
) -> Iterator[Finding]:
    """Options gained, lost, or with another number."""
    had = {option.name: option.value for option in before}
    for option in after:
        if options.FLOORS.fullmatch(option.name) or options.CEILINGS.fullmatch(option.name):
            yield from _number(pair, had.get(option.name, ""), option)
        elif option.name in rules and option not in before and not _is_harmless(option):
            change, weight = rules[option.name]
            listed = option.name in ("--ignore", "--deselect", "--ignore-glob", "--exclude", "--skip")
            known = option.name in had and not listed
            yield pair.finding(change, SHOWN if known else weight, at=_holding(pair.after, option))
        elif option == Option("-W", "ignore") and option not in before:
            yield pair.finding(Change.RUNNER_LOOSENED, SHOWN, at=_holding(pair.after, option))
    have = {option.name for option in after}
    for option in before:
        if option.name in options.LOST and option.name not in have and (pair.after or not pair.deleted):
            change, weight = options.LOST[option.name]
            yield pair.finding(change, weight, was=_holding(pair.before, option))


def _is_harmless(option: Option) -> bool:
    return bool(option.value and option.name.startswith("--") and holds_no_tests(option.value)) or (
        option.name in ("-o", "--override-ini")
        and not re.match(
            r"(?:addopts|xfail_strict|testpaths|python_\w+|norecursedirs|filterwarnings)", option.value
        )
    )


def _number(pair: Pair, old: str, option: Option) -> Iterator[Finding]:
    before, after = numbers(old), numbers(option.value)
    if before and after:
        looser = after[0] < before[0] if options.FLOORS.fullmatch(option.name) else after[0] > before[0]
        if looser or (options.CEILINGS.fullmatch(option.name) and after[0] < 0 <= before[0]):
            yield pair.finding(Change.THRESHOLD_LOWERED, GRAVE, at=_holding(pair.after, option))


def _holding(settings: tuple[Setting, ...], option: Option) -> Setting | None:
    """The setting that an option was read from."""
    needle = option.value or option.name
    held = [setting for setting in settings if option.name in setting.value and needle in setting.value]
    return next(iter(held or [setting for setting in settings if option.name in setting.value]), None)


# --- lists --------------------------------------------------------------------------------------------------


def _warnings(pair: Pair) -> Iterator[Finding]:
    """`error` gone, or everything ignored."""
    before, after = ([setting.value.strip("\"'") for setting in side] for side in (pair.before, pair.after))
    if ("error" in before and "error" not in after) or ("ignore" in after and "ignore" not in before):
        yield pair.finding(Change.RUNNER_LOOSENED, SHOWN)


def _grown(pair: Pair, change: Change, weight: Weight) -> Iterator[Finding]:
    new = words(pair.after) - words(pair.before)
    for setting in pair.added:
        grown = [word for word in words((setting,)) if word in new and not holds_no_tests(word)]
        if grown and not is_false(setting.value):
            yield pair.finding(change, weight, at=setting)
            return


def _found(pair: Pair) -> Iterator[Finding]:
    """Fewer tests are named, or one is named where none was."""
    before, after = set(words(pair.before)), set(words(pair.after))
    if not pair.before:
        yield from _first(pair, after)
    elif not pair.after:
        if not pair.deleted and pair.tail.startswith("python_"):
            yield pair.finding(Change.RUNNER_LOOSENED, SHOWN)
    elif is_narrower(before, after):
        yield pair.finding(Change.RUNNER_LOOSENED, GRAVE)


def _first(pair: Pair, after: set[str]) -> Iterator[Finding]:
    """Tests are named where the runner's default held."""
    usual = USUAL.get(pair.tail)
    files = any(re.search(r"[^*]\.(?:py|[cm]?[jt]sx?)$|::", word) and "*" not in word for word in after)
    if files or (usual and not any(_covers(word, usual) for word in after)):
        yield pair.finding(Change.RUNNER_LOOSENED, GRAVE)
    elif pair.tail == "testpaths" and any("/" in word.strip("./") and "*" not in word for word in after):
        yield pair.finding(Change.RUNNER_LOOSENED, SHOWN)


def is_narrower(before: set[str], after: set[str]) -> bool:
    """Whether `after` names a part of what `before` names, and nothing else."""
    if not after or before == after:
        return False
    return all(any(_covers(wide, narrow) for wide in before) for narrow in after) and not all(
        any(_covers(narrow, wide) for narrow in after) for wide in before
    )


def _covers(wide: str, narrow: str) -> bool:
    """Whether a path or pattern names all that another one names."""
    wide, narrow = wide.removeprefix("./").rstrip("/"), narrow.removeprefix("./").rstrip("/")
    if wide == narrow or wide in ("", ".", "...", "<rootDir>"):
        return True
    if "*" not in wide:
        return narrow.startswith((f"{wide}/", f"{wide}::"))
    if len(wide) > 200 or wide.count("*") > 8:  # noqa: PLR2004 - people's patterns are shorter
        return False
    pattern = re.sub(r"(?:\\\*)+/?", ".*", re.escape(wide)).replace(r"\?", ".")
    return bool(re.fullmatch(pattern, narrow[:200]))


def _switch(pair: Pair) -> Iterator[Finding]:
    own = ".".join(pair.key.lower().split(".")[-3:])
    for name, weight in MUST_NOT_HOLD.items():
        named = own == name or own.endswith(f".{name}") or pair.tail == name
        if named and (name not in ("skip", "ignore_errors") or OF_BUILD.search(pair.file)):
            if is_true(pair.new) and not is_true(pair.old):
                yield pair.finding(Change.RUNNER_LOOSENED, weight)
            return
    weight_off = MUST_HOLD.get(pair.tail)
    of_runner = bool(OF_BUILD.search(pair.file)) or _is_of_tests(pair) or "pytest" in _where(pair)
    if weight_off and of_runner and is_false_or_gone(pair):
        yield pair.finding(Change.RUNNER_LOOSENED, weight_off)
    elif pair.tail == "enabled" and pair.file.endswith((".gradle", ".kts")) and is_false(pair.new):
        yield pair.finding(Change.RUNNER_LOOSENED, GRAVE)


def is_false_or_gone(pair: Pair) -> bool:
    """Whether a switch that was on is off now, or left to its default."""
    if is_true(pair.old):
        return not is_true(pair.new)
    return not pair.before and is_false(pair.new) and bool(shown(pair.after[0]))
