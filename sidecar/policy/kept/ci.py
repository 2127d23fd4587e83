"""What a CI does with a check: whether a failure counts, when it runs, and on what.

Only steps and jobs that were there before can be loosened: a new job may end as it likes.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from sidecar.model.finding import Change, Finding, Weight
from sidecar.model.inspection import FileFacts, Reading, Setting
from sidecar.policy.kept.command_pairs import Moves, is_ci
from sidecar.policy.kept.command_words import USES, runs
from sidecar.policy.kept.pairs import Pair, base, is_false, is_true, tail, words

GRAVE, SHOWN, LOOSER = Weight.GRAVE, Weight.SHOWN, Change.CI_LOOSENED

PASSED_OVER = frozenset(
    {
        "continue_on_error",
        "continueonerror",
        "allow_failure",
        "soft_fail",
        "ignore_error",
        "allow_failures",
        "failure",
    }
)
NEVER = re.compile(
    r"(?:\$\{\{\s*)?(?:false|0)(?:\s*\}\})?|never|manual|['\"]false['\"]|1\s*==\s*0|\$\{\{\s*false\s*&&.*"
)
ALWAYS = re.compile(
    r"(?:\$\{\{\s*)?(?:!?\s*(?:always|cancelled|success|failure)\(\)|true)(?:\s*\}\})?|always|on_success"
)
DOING = frozenset({"run", "script", "uses", "command", "commands", "bash", "name"})
LIMITING = re.compile(
    r"^(?:on|workflow|rules|only|except|trigger|pr)(?:\.|$)|\.(?:only|except|rules|branches)(?:\.|$)"
)


def findings(reading: Reading, found: tuple[Pair, ...], moved: Moves) -> Iterator[Finding]:
    """What the CI files say, setting by setting."""
    facts = {file.path: (file.before, file.after) for file in reading.files}
    for pair in found:
        if not is_ci(pair.file):
            continue
        before, after = facts.get(pair.file, (None, None))
        if pair.tail in PASSED_OVER or pair.tail in ("if", "when", "condition"):
            yield from _passed_over(pair, before, after)
        elif pair.tail == "uses":
            yield from _uses(pair, moved)
        elif "matrix" in pair.key.split("."):
            yield from _matrix(pair)
        elif LIMITING.search(pair.key):
            yield from _limits(pair)
        elif pair.tail == "needs" and (pair.after or _is_there(pair, after)):
            yield from _needs(pair)
        elif pair.tail in ("fail_ci_if_error", "exit_code") and is_true(pair.old) and not is_true(pair.new):
            yield pair.finding(LOOSER, SHOWN)
    yield from _triggers(reading)


def _passed_over(pair: Pair, before: FileFacts | None, after: FileFacts | None) -> Iterator[Finding]:
    """A step or job whose failure does not count any more, or that does not run any more."""
    for setting in pair.added:
        weight = _weight(pair.tail, setting.value)
        if weight is None or before is None or after is None:
            continue
        if _was_there(setting, before, after):
            yield pair.finding(LOOSER, weight, at=setting)


def _is_there(pair: Pair, after: FileFacts | None) -> bool:
    """Whether the job that a key belonged to is there still."""
    scope = _scope(pair.key)
    return after is not None and any(setting.key.startswith(scope) for setting in after.settings)


def _weight(key: str, value: str) -> Weight | None:
    if key in PASSED_OVER:
        if is_false(value):
            return None
        return GRAVE if is_true(value.strip("${} ")) else SHOWN
    if NEVER.fullmatch(value):
        return GRAVE
    return None if ALWAYS.fullmatch(value) else SHOWN


def _was_there(setting: Setting, before: FileFacts, after: FileFacts) -> bool:
    """Whether something that the setting stands beside, or above, checked before."""
    scope = _scope(setting.key)
    beside = [
        other.value for other in after.settings if other.key.startswith(scope) and tail(other.key) in DOING
    ]
    known = {other.value for other in before.settings if tail(other.key) in DOING}
    checks = {run for value in beside for run in runs(value)}
    old = {run for value in known for run in runs(value)}
    is_check = bool(checks & old) or any(USES.match(value) and value in known for value in beside)
    return is_check if setting.key.startswith(("jobs", "steps")) or beside else False


def _scope(key: str) -> str:
    """The step, job or rule that a setting belongs to, with the dot at its end."""
    holder = key.rpartition(".")[0]
    holder = (
        re.sub(r"(?:\.rules|\.only|\.except)?(?:\[\d+\])?$", "", holder) if "steps[" not in holder else holder
    )
    return f"{holder}." if holder else ""


def _uses(pair: Pair, moved: Moves) -> Iterator[Finding]:
    """A ready-made step that checks is gone; another version of it is not another step."""
    now = {setting.value.partition("@")[0] for setting in pair.after}
    for setting in pair.removed:
        name = setting.value.partition("@")[0]
        elsewhere = any(line.partition("@")[0] == name for line in moved.lines)
        instead = any(kind in ("lint", "types", "security", "tests") for kind, _ in moved.came)
        if USES.match(name) and name not in now and not elsewhere and not instead:
            yield pair.finding(LOOSER, GRAVE, was=setting)


def _matrix(pair: Pair) -> Iterator[Finding]:
    before, after = words(pair.before), words(pair.after)
    if "exclude" in pair.key.split("."):
        if len(after) > len(before) > 0 or (pair.after and not pair.before and not pair.fresh):
            yield pair.finding(LOOSER, SHOWN)
    elif pair.before and len(pair.after) < len(pair.before) and "include" not in pair.key.split("."):
        yield pair.finding(LOOSER, SHOWN)


def _limits(pair: Pair) -> Iterator[Finding]:
    """On which branches and files it runs."""
    before, after = set(words(pair.before)), set(words(pair.after))
    if pair.tail in ("paths_ignore", "branches_ignore", "except", "exclude", "tags_ignore"):
        if after - before and not pair.fresh:
            yield pair.finding(LOOSER, SHOWN)
    elif pair.tail in ("branches", "paths", "only", "include", "changes"):
        fewer = before > after and after
        first = pair.tail == "paths" and after and not before and not pair.fresh
        if fewer or first:
            yield pair.finding(LOOSER, SHOWN)


def _needs(pair: Pair) -> Iterator[Finding]:
    """A job that waited for the checks does not any more."""
    before, after = set(words(pair.before)), set(words(pair.after))
    gone = any(re.search(r"(?i)test|lint|check|type|build", word) for word in before - after)
    if gone and not after - before:
        yield pair.finding(LOOSER, SHOWN)


def _triggers(reading: Reading) -> Iterator[Finding]:
    """An event that started a workflow and does not any more."""
    for file in reading.files:
        if (
            not is_ci(file.path)
            or not file.before
            or not file.after
            or file.before.broken
            or file.after.broken
        ):
            continue
        before, after = _events(file.before), _events(file.after)
        for event in sorted(before.keys() - after.keys()):
            if event in (
                "push",
                "pull_request",
                "pull_request_target",
                "schedule",
                "merge_group",
            ) and not _same(event, after):
                at = Pair(file=file.path, key="on", before=(before[event],), weak=file.weak)
                yield at.finding(LOOSER, SHOWN)


def _same(event: str, after: dict[str, Setting]) -> bool:
    return event.startswith("pull_request") and any(name.startswith("pull_request") for name in after)


def _events(facts: FileFacts) -> dict[str, Setting]:
    found = dict[str, Setting]()
    for setting in facts.settings:
        parts = base(setting.key).split(".")
        if parts[0] in ("on", "true") and (len(parts) > 1 or setting.value):
            found.setdefault(parts[1] if len(parts) > 1 else setting.value, setting)
    return found
