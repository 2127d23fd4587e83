"""Settings of linters and type checkers: strictness off, rules off, lists of exceptions longer.

GRAVE where a whole tool or its strictness goes; a single rule is SHOWN. A tool that is adopted just now has
no strictness to lose.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from sidecar.model.finding import Change, Finding, Weight
from sidecar.model.inspection import Reading
from sidecar.policy.kept.pairs import Pair, is_false, is_true, tail, words
from sidecar.policy.kept.places import is_not_linted

GRAVE, SHOWN, LOOSER = Weight.GRAVE, Weight.SHOWN, Change.LINT_LOOSENED

MUST_HOLD = re.compile(
    r"(?:dis)?allow_(?:untyped|incomplete|any|subclassing)\w*|warn_(?!unused_configs)\w+"
    r"|check_untyped_defs|no_implicit_\w+|strict\w*"
    r"|extra_checks|strictnullchecks|noimplicit\w+|nounused\w+|nounchecked\w+|nofallthrough\w+"
    r"|nopropertyaccess\w+"
    r"|exactoptionalpropertytypes|usunknownincatchvariables|useunknownincatchvariables|alwaysstrict"
    r"|checkjs|noemitonerror"
    r"|recommended|reportunuseddisabledirectives|warningsaserrors|treatwarningsaserrors|werror"
    r"|allwarningsaserrors|failonviolation|deny"
)
"""Switches that are looser when off."""
MUST_NOT_HOLD = re.compile(
    r"ignore_missing_imports|skiplibcheck|allowunreachablecode|allowunusedlabels|noresolve|nocheck"
    r"|suppress\w+errors"
    r"|allow_redefinition|allow_untyped_globals|implicit_optional|disabledbydefault|exit_zero|isabled"
)
WHOLE = frozenset({"ignore_errors", "nocheck", "disabledbydefault", "exit_zero"})
IGNORED = frozenset(
    {
        "ignore",
        "extend_ignore",
        "disable",
        "ignores",
        "ignorepatterns",
        "exclude",
        "extend_exclude",
        "exclude_dirs",
        "skips",
    }
    | {
        "disable_error_code",
        "ignoreerrors",
        "lint_ignore",
        "unfixable_none",
        "excluded",
        "extend_per_file_ignores",
        "excludes",
    }
    | {
        "per_file_ignores",
        "disabled_checks",
        "exclude_rules",
        "exclude_files",
        "exclude_dirs_use_default",
        "skip",
        "ignore_paths",
    }
    | {
        "excludefiles",
        "disabled",
        "ignored_modules",
        "ignored_classes",
        "generated_members",
        "disable_checks",
    }
)
"""Lists whose growth leaves something out."""
SELECTED = frozenset(
    {
        "select",
        "extend_select",
        "enable",
        "extends",
        "plugins",
        "presets",
        "files",
        "include",
        "packages",
        "extend_enable",
    }
)
"""Lists whose loss leaves something out."""
LINTS = re.compile(
    r"(?i)mypy|ruff|flake8|pylint|eslint|pyright|tsconfig|jsconfig|biome|golangci|clippy|lints"
    r"|rubocop|phpstan|psalm|bandit|pydocstyle"
    r"|pycodestyle|oxlint|deno|stylelint|detekt|ktlint|checkstyle|credo|pre-commit|semgrep|yamllint"
    r"|deny\.toml|vulture|lint|csproj|Directory\.Build"
)
"""A file or key of a linter or a type checker."""
SEVERITIES = (
    dict.fromkeys(["off", "0", "none", "false", "allow", "ignore", "silent"], 0)
    | dict.fromkeys(["info", "hint", "information", "1", "warn", "warning"], 1)
    | dict.fromkeys(["true", "on", "error", "2", "deny"], 2)
    | {"forbid": 3}
)
MODES = {"off": 0, "basic": 1, "standard": 2, "recommended": 3, "strict": 3, "all": 3}
EVERYTHING = frozenset({"ALL", "all", "*", "**", "**/*", ".", "./", "/", "**/*.*", "src", "src/**", "src/"})


def findings(pair: Pair, strict: frozenset[str]) -> Iterator[Finding]:
    """What a pair says of a linter. `strict`: the files that are strict as a whole now."""
    if not LINTS.search(f"{pair.file} {pair.key}") or (pair.fresh and not pair.before):
        return
    if _is_list(pair):
        yield from _of_list(pair)
    elif pair.tail == "typecheckingmode":
        if _level(pair.old, MODES, 2) > _level(pair.new, MODES, 2):
            yield pair.finding(LOOSER, GRAVE)
    elif pair.tail == "enabled":
        yield from _enabled(pair)
    elif pair.tail in WHOLE or MUST_NOT_HOLD.fullmatch(pair.tail):
        yield from _switched_on(pair)
    elif MUST_HOLD.fullmatch(pair.tail):
        yield from _switched_off(pair, strict)
    elif _is_rule(pair):
        yield from _severity(pair)


def _is_list(pair: Pair) -> bool:
    foundations = not pair.key and "eslint" in pair.file
    return foundations or pair.tail in IGNORED | SELECTED | {"id", "line"} or "per-file-ignores" in pair.key


def _of_list(pair: Pair) -> Iterator[Finding]:
    if pair.tail == "id":
        yield from _hooks(pair) if "pre-commit" in pair.file else ()
    elif pair.tail in IGNORED or pair.file.endswith(".eslintignore") or "per-file-ignores" in pair.key:
        yield from _grown(pair)
    elif pair.tail != "line":
        yield from _shrunk(pair)


def strict_files(reading: Reading) -> frozenset[str]:
    """Files in which a tool is strict as a whole now, so that naming its parts says no more."""
    return frozenset(
        file.path
        for file in reading.files
        for setting in (file.after.settings if file.after else ())
        if tail(setting.key) == "strict" and is_true(setting.value)
    )


def successors(reading: Reading) -> frozenset[str]:
    """Tools that got a new settings file, by the word in its name."""
    new = (file.path for file in reading.files if file.before is None and file.after is not None)
    return frozenset(named[0].lower() for path in new if (named := LINTS.search(path.rpartition("/")[2])))


def is_succeeded(pair: Pair, tools: frozenset[str]) -> bool:
    """Whether a list of foundations went with its file, and the same tool has a new file."""
    named = LINTS.search(pair.file.rpartition("/")[2]) if pair.deleted else None
    return named is not None and named[0].lower() in tools and pair.tail in ("extends", "plugins", "presets")


def _is_rule(pair: Pair) -> bool:
    keys = pair.key.lower().split(".")
    return (
        any(part.startswith("rules") or part in ("lints", "clippy", "diagnostics") for part in keys[:-1])
        or pair.tail.startswith("report")
        or (keys[-1] in ("level", "severity") and len(keys) > 1)
    )


def _level(value: str, scale: dict[str, int], unknown: int) -> int:
    return scale.get(value.lower(), unknown)


def _hooks(pair: Pair) -> Iterator[Finding]:
    """A hook of pre-commit is gone; another one may have taken its place."""
    gone, came = (
        set(words(pair.before)) - set(words(pair.after)),
        set(words(pair.after)) - set(words(pair.before)),
    )
    renamed = all(any(new.startswith(old) for new in came) for old in gone)
    if gone and not renamed:
        yield pair.finding(LOOSER, SHOWN if came else GRAVE)


def _enabled(pair: Pair) -> Iterator[Finding]:
    if is_false(pair.new) and not is_false(pair.old):
        whole = pair.key.lower() in (
            "linter.enabled",
            "formatter.enabled",
            "allcops.enabled",
            "assist.enabled",
        )
        yield pair.finding(LOOSER, GRAVE if whole and "formatter" not in pair.key else SHOWN)


def _switched_on(pair: Pair) -> Iterator[Finding]:
    if not is_true(pair.new) or is_true(pair.old) or _is_override(pair):
        return
    yield pair.finding(LOOSER, GRAVE if pair.tail in WHOLE else SHOWN)


def _is_override(pair: Pair) -> bool:
    """A module of its own, which is often somebody else's: only `ignore_errors` counts there."""
    of_module = "overrides" in pair.key or bool(re.match(r"mypy-", pair.key))
    return of_module and pair.tail not in WHOLE


def _switched_off(pair: Pair, strict: frozenset[str]) -> Iterator[Finding]:
    whole = (
        pair.tail in ("strict", "recommended")
        and "overrides" not in pair.key
        and not pair.key.startswith("mypy-")
    )
    if pair.before and any(is_true(setting.value) for setting in pair.before):
        lost = not pair.after or all(is_false(setting.value) for setting in pair.after)
        if lost and not (pair.file in strict and not pair.after):
            yield pair.finding(LOOSER, GRAVE if whole else SHOWN)
    elif pair.after and not pair.before and is_false(pair.new) and not pair.tail.startswith("allow"):
        yield pair.finding(LOOSER, GRAVE if whole else SHOWN)
    elif pair.before and pair.after and _level(pair.new, SEVERITIES, 2) < _level(pair.old, SEVERITIES, 2):
        yield pair.finding(LOOSER, SHOWN)


def _severity(pair: Pair) -> Iterator[Finding]:
    before = _level(pair.before[0].value, SEVERITIES, -1) if pair.before else -1
    after = _level(pair.after[0].value, SEVERITIES, -1) if pair.after else -1
    if pair.before and pair.after and max(before, after) >= 0:
        if 0 <= after < before:
            yield pair.finding(LOOSER, SHOWN)
    elif (pair.after and after == 0) or (
        pair.before and not pair.after and before >= SEVERITIES["error"] and not pair.deleted
    ):
        yield pair.finding(LOOSER, SHOWN)


def _grown(pair: Pair) -> Iterator[Finding]:
    new = words(pair.after) - words(pair.before)
    for setting in pair.added:
        grown = [word for word in words((setting,)) if word in new and not is_not_linted(word)]
        if not grown or is_true(setting.value) or is_false(setting.value):
            continue
        whole = any(word.split(":")[-1] in EVERYTHING for word in grown)
        yield pair.finding(LOOSER, GRAVE if whole else SHOWN, at=setting)


def _shrunk(pair: Pair) -> Iterator[Finding]:
    """A selection is smaller where something went and nothing wider came."""
    before, after = set(words(pair.before)), set(words(pair.after))
    if pair.tail in ("files", "include", "packages", "plugins", "presets") and not after:
        return
    gone = {word for word in before - after if not any(_covers(wide, word) for wide in after)}
    if not gone:
        return
    if pair.tail in ("extends", "plugins", "presets", "files", "include", "packages") and after - before:
        return
    whole = (pair.tail in ("select", "") and pair.after and not after) or "ALL" in gone
    yield pair.finding(LOOSER, GRAVE if whole else SHOWN)


def _covers(wide: str, narrow: str) -> bool:
    return wide in ("ALL", "all", ".", "*") or narrow.startswith(wide)
