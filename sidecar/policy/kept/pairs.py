"""What a setting was and what it is, over a whole change set.

A key that is gone from one place and new in another is one setting that moved: from setup.cfg to
pyproject.toml, from one job to a renamed one. They are matched by the last part of the key, best fit first,
so that moving settings says nothing and loosening them on the way does. Order within a list does not count.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator

from msgspec import Struct

from sidecar.model.finding import Change, Finding, Weight
from sidecar.model.inspection import FileReading, Reading, Role, Setting

TEXT = 300
"""Characters of before and after in a finding."""
VALUES = 1_000
"""Values of one key that are compared."""
CANDIDATES = 20
"""New places that are compared for one key that is gone."""
NUMBER = re.compile(r"[-+]?\d{1,12}(?:\.\d{1,12})?")
ITEM = re.compile(r"\[\d+\]")
SHARED = re.compile(r"(?:^|/)(?:pyproject\.toml|setup\.cfg|tox\.ini|package\.json|Cargo\.toml)$")
WORD = re.compile(r"[^\s,;]+")


class Pair(Struct, frozen=True, kw_only=True):
    """All values of one key before and after, a list as many; () where the key is not there.

    `fresh`: nothing of this tool was in the file before, so it is being adopted. `deleted`: the file is gone.
    `file` is where it is now, or was where it is gone.
    """

    file: str
    key: str
    before: tuple[Setting, ...] = ()
    after: tuple[Setting, ...] = ()
    fresh: bool = False
    deleted: bool = False
    weak: bool = False

    @property
    def tail(self) -> str:
        return tail(self.key)

    @property
    def added(self) -> tuple[Setting, ...]:
        return _more(self.after, self.before)

    @property
    def removed(self) -> tuple[Setting, ...]:
        return _more(self.before, self.after)

    @property
    def old(self) -> str:
        """The only value before, "" where there is none or there are several."""
        return self.before[0].value if len(self.before) == 1 else ""

    @property
    def new(self) -> str:
        return self.after[0].value if len(self.after) == 1 else ""

    def finding(
        self, change: Change, weight: Weight, at: Setting | None = None, was: Setting | None = None
    ) -> Finding:
        """A finding at the value `at` that was `was`; by default at what came and what went."""
        at = at or next(iter(self.added or self.after), None)
        was = was or next(iter(self.removed), None)
        where = at or was or next(iter(self.before), None)
        return Finding(
            change=change,
            weight=weight,
            file=self.file,
            line=1 if where is None else where.line,
            before=shown(was),
            after=shown(at),
            weak=self.weak,
        )


def shown(setting: Setting | None) -> str:
    """A setting in one line: its value, with its key where that says something."""
    if setting is None:
        return ""
    key = setting.key
    return (setting.value if base(key) == "line" else f"{key} = {setting.value}")[:TEXT]


def base(key: str) -> str:
    """A key without the numbers of list items."""
    return ITEM.sub("", key)


def tail(key: str) -> str:
    """The last part of a key in lower case with `_`, the same in every format: "fail_under"."""
    last = re.split(r"[.@]", base(key).rstrip("."))[-1] or key
    return last.lower().replace("-", "_")


def tool(file: str, key: str) -> str:
    """Whose settings a key belongs to, in a file that many tools share: "tool.ruff", "coverage", "jest"."""
    if not SHARED.search(file):
        return ""
    parts = base(key).split(".")
    return ".".join(parts[:2]) if parts[0] == "tool" else parts[0].partition(":")[0].partition("-")[0]


def numbers(text: str) -> list[float]:
    """The numbers in a text."""
    return [float(number) for number in NUMBER.findall(text[:TEXT])]


def words(settings: Iterable[Setting]) -> Counter[str]:
    """The items of a list, whether it is written as one text or as many."""
    return Counter(word.strip("\"'") for setting in settings for word in WORD.findall(setting.value))


def is_true(value: str) -> bool:
    """Whether a value switches something on."""
    return value.lower() in ("true", "yes", "on", "1")


def is_false(value: str) -> bool:
    """Whether a value switches something off."""
    return value.lower() in ("false", "no", "off", "0", "none", "never")


def pairs(reading: Reading) -> tuple[Pair, ...]:
    """Every setting that is not as it was. Files that do not parse prove nothing and are left out."""
    found, gone, new = list[Pair](), list[Pair](), defaultdict[str, list[Pair]](list)
    for file in reading.files:
        for pair in _of_file(file):
            if pair.before and pair.after:
                found.append(pair)
            elif pair.before:
                gone.append(pair)
            else:
                new[pair.tail].append(pair)
    gone.sort(key=lambda pair: not any(_is_same(pair, other) for other in new[pair.tail][:CANDIDATES]))
    found += [_moved(pair, new[pair.tail]) for pair in gone]
    found += [pair for rest in new.values() for pair in rest]
    return tuple(pair for pair in found if _differs(pair))


def _of_file(file: FileReading) -> Iterator[Pair]:
    if file.role is not Role.SETTINGS or any(facts and facts.broken for facts in (file.before, file.after)):
        return
    before = _by_key(file.before.settings if file.before else ())
    after = _by_key(file.after.settings if file.after else ())
    before, after = _bounded(before, after)
    tools = {tool(file.path, key) for key in before}
    for key in dict.fromkeys([*before, *after]):
        yield Pair(
            file=file.path,
            key=key,
            before=tuple(before.get(key, ())),
            after=tuple(after.get(key, ())),
            fresh=tool(file.path, key) not in tools,
            deleted=file.after is None,
            weak=file.weak,
        )


def _bounded(*sides: dict[str, list[Setting]]) -> list[dict[str, list[Setting]]]:
    """Of lists that are too long, only what differs."""
    first, last = sides
    for key in first.keys() | last.keys():
        old, new = first.get(key, []), last.get(key, [])
        if len(old) + len(new) > VALUES:
            for side, (mine, others) in ((first, (old, new)), (last, (new, old))):
                if mine:
                    side[key] = (list(_more(tuple(mine), tuple(others))) or mine)[:VALUES]
    return [first, last]


def _by_key(settings: Iterable[Setting]) -> dict[str, list[Setting]]:
    found = defaultdict[str, list[Setting]](list)
    for setting in settings:
        found[base(setting.key)].append(setting)
    return found


def _moved(gone: Pair, new: list[Pair]) -> Pair:
    """The pair of what is gone and the new place that fits best, which is taken out of `new`."""
    near = range(min(len(new), CANDIDATES))
    at = max(near, key=lambda at: _fit(gone, new[at]), default=None)
    if at is None:
        return gone
    best = new.pop(at)
    return Pair(
        file=best.file, key=best.key, before=gone.before, after=best.after, weak=gone.weak or best.weak
    )


def _fit(gone: Pair, new: Pair) -> tuple[bool, int, bool]:
    """How well a new place fits: the same values, the most common parts of the key, the same file."""
    common = 0
    for one, other in zip(reversed(gone.key.split(".")), reversed(new.key.split(".")), strict=False):
        if one != other:
            break
        common += 1
    return (_is_same(gone, new), common, gone.file == new.file)


def _is_same(gone: Pair, new: Pair) -> bool:
    return [setting.value for setting in gone.before] == [setting.value for setting in new.after]


def _differs(pair: Pair) -> bool:
    before, after = ([setting.value for setting in side] for side in (pair.before, pair.after))
    return before != after if pair.key == "line" else sorted(before) != sorted(after)


def _more(many: tuple[Setting, ...], few: tuple[Setting, ...]) -> tuple[Setting, ...]:
    """The settings of `many` whose values are not in `few`, as often as they stand there."""
    left, found = Counter(_loose(setting) for setting in few), list[Setting]()
    for setting in many:
        value = _loose(setting)
        if left[value]:
            left[value] -= 1
        else:
            found.append(setting)
    return tuple(found)


def _loose(setting: Setting) -> str:
    return " ".join(setting.value.split())
