"""Changes to the checks that no rule recognises: what cannot be explained as harmless is shown to a judge.

The other rules name what they know. Ways of weakening a check that nobody has named yet must not let gates
decide alone, so this rule is closed: it lists what is harmless, and shows the rest. It accuses nobody.

    a test file    whole tests moved, renamed or added; everything else in it as it was; no name bound anew
    a new file     tests alone, or data; but not what steers other tests (conftest.py, a helper beside tests)
    settings       values that say nothing of a check (versions, dependencies ...), moved or reordered ones
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Iterable, Iterator

from sidecar.model.finding import Change, Finding, Weight
from sidecar.model.inspection import FileFacts, FileReading, Parts, Reading, Role, Setting

STEERS = re.compile(r"(^|/)(conftest\.py|__init__\.py|setup[-_.]?\w*\.\w+|\w*helpers?\.\w+)$")
"""Files below a test folder that bear on other tests than their own."""
TESTLESS = re.compile(r"\.(py|pyi|[cm]?[jt]sx?|go|rs|java|kt|rb|php|sh|bash)$")
"""Code: without tests in it, it is made to be used by tests."""
COLLECTED = re.compile(
    r"(?<=/)test[_-](?=[^/]*$)|^test[_-](?=[^/]*$)|[_.-](?:test|spec)s?(?=\.\w+$)|Tests?(?=\.\w+$)|\.\w+$"
)
"""What in a file's name makes runners take it for tests, its ending among it."""
HARMLESS = re.compile(
    r"^((project|package|workspace\.package|metadata|options|tool\.poetry(\.group\.[\w-]+)?)\.)?"
    r"(version|name|description|authors?|maintainers?|contributors|licen[cs]e(-files)?|readme|keywords"
    r"|classifiers|urls?|homepage|repository|bugs|funding|edition|rust-version|private|engines|requires-python"
    r"|dynamic|build-system|(\w+[-_])?[dD]ependenc(y|ies)([-_.]groups?)?|optional-dependencies"
    r"|devDependencies|peerDependencies|install_requires|extras_require|packageManager|lockfileVersion"
    r"|sideEffects|publishConfig)(\.|\[|$)"
)
"""Keys that say nothing of what a check finds, at the top of a file or of what describes a package."""
WRITTEN_AS_KEYS = re.compile(
    r"\.(toml|ini|cfg|json|jsonc|ya?ml|coveragerc)$|(^|/)\.(coveragerc|flake8|pylintrc)$"
)
"""Settings files whose every value has a key; of others any change counts."""


def findings(reading: Reading, known: Collection[str]) -> tuple[Finding, ...]:
    """One for each changed file of the checks that cannot be explained. `known`: files others told of."""
    files = [file for file in reading.files if file.difference is not None or file.unread or file.old_path]
    whole = Counter(unit for file in files if _collected(file) for unit in _parts(file.after).units)
    moved = _moved(files)
    return tuple(
        _told(file) for file in files if file.path not in known and not _explained(file, whole, moved)
    )


def _explained(file: FileReading, whole: Counter[str], moved: Counter[str]) -> bool:
    match file.role:
        case Role.TEST:
            return not file.unread and _test_explained(file, whole)
        case Role.SETTINGS:
            return not file.unread and _settings_explained(file, moved)
        case Role.SNAPSHOT:
            return file.before is None and not file.old_path
        case _:  # tests beside the code, as in Rust, are still there
            return not Counter(_parts(file.before).units) - whole


def _collected(file: FileReading) -> bool:
    """Whether a runner finds the file as it found it before; a new one, by the marks in its name."""
    marks = COLLECTED.findall(file.path)
    if file.old_path:
        return marks == COLLECTED.findall(file.old_path)
    return file.before is not None or bool(marks)


def _test_explained(file: FileReading, whole: Counter[str]) -> bool:
    before, after = file.before, file.after
    if before is None:
        code = TESTLESS.search(file.path) and not (after and after.tests)
        return not (STEERS.search(file.path) or code)
    if (
        not _collected(file)
        or before.parts is None
        or before.broken
        or (after is not None and (after.broken or after.parts is None))
    ):
        return False
    old, new = before.parts, _parts(after)
    if Counter(old.units) - whole:
        return False
    if after is None or not after.tests:
        return not old.rest or bool(old.units)
    return old.rest == new.rest and _imports_explained(old, new)


def _imports_explained(old: Parts, new: Parts) -> bool:
    """What was imported still is, unless it is used no more; and no name means something else now."""
    bound = {name: source for name, _, source in (one.partition("=") for one in old.imports)}
    return all(
        bound.get(name, source) == source for name, _, source in (one.partition("=") for one in new.imports)
    )


def _settings_explained(file: FileReading, moved: Counter[str]) -> bool:
    if file.path.endswith(".gitignore"):  # the workspace looks at what is hidden all the same
        return True
    if not WRITTEN_AS_KEYS.search(file.path) or (file.after and file.after.broken):
        return False
    changed = [*_changed(file.before, file.after), *_changed(file.after, file.before)]
    return all(HARMLESS.search(one.key) or moved[_tail(one)] == 0 for one in changed)


def _moved(files: Iterable[FileReading]) -> Counter[str]:
    """How often each value came or went, over all files: 0 where it only moved."""
    balance = Counter[str]()
    for file in files:
        if file.role is Role.SETTINGS:
            balance.update(map(_tail, _changed(file.after, file.before)))
            balance.subtract(map(_tail, _changed(file.before, file.after)))
    return balance


def _changed(these: FileFacts | None, those: FileFacts | None) -> Iterator[Setting]:
    """The settings of these that those do not have."""
    known = Counter((one.key, one.value) for one in those.settings) if those else Counter[tuple[str, str]]()
    for one in these.settings if these else ():
        known[one.key, one.value] -= 1
        if known[one.key, one.value] < 0:
            yield one


def _tail(setting: Setting) -> str:
    return f"{re.split(r'[.:]', setting.key)[-1]}={''.join(setting.value.split())}"


def _parts(facts: FileFacts | None) -> Parts:
    return facts.parts if facts is not None and facts.parts is not None else Parts()


def _told(file: FileReading) -> Finding:
    seen = file.difference
    return Finding(
        change=Change.CHECK_EDITED,
        weight=Weight.SHOWN,
        file=file.path,
        line=seen.line if seen else 0,
        before=seen.before if seen else "",
        after=seen.after if seen else file.unread,
        weak=file.weak,
    )
