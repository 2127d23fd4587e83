"""What a person is told of a rubric or a configuration file at once when it was saved.

- What changed, and whether it counts: while an agent is at work, that is decided at its stop.
- A file that reads the same as before is not told of.
- What stands in a file is quoted in one line, and bounded.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final

from msgspec import Struct

from sidecar.model.rubric import Rubric
from sidecar.model.saved import Configured
from sidecar.policy.rubrics import plain, summary

NAMED: Final = 5
"""Settings that a line names, and lines about one file."""
LINE: Final = 400
"""Characters of a line."""
TRUST: Final = "a command of the project runs only once you approved it: supervisor trust"

_COMMAND = re.compile(r"gate\..+\.command")


class Seen(Struct, frozen=True):
    """What was seen of a project's rubrics. `order`: where they may be, the first by precedence first.

    `before` and `now` are what the files say, whoever wrote them; `force` is what counts. `at_rest`: no agent
    was at work, so what was saved is decided.
    """

    project: str
    order: tuple[str, ...]
    before: Rubric
    now: Rubric
    force: Rubric
    at_rest: bool


def rubric_lines(seen: Seen) -> tuple[str, ...]:
    """Lines for the user, none where there is nothing new."""
    if broken := [line for line in seen.now.rejected if line not in seen.before.rejected]:
        rest = _instead(seen)
        return tuple(_line(seen.project, "rubric saved", _cannot(line), rest) for line in broken[:NAMED])
    differs = _said(seen.before) != _said(seen.now)
    path = blamed(seen.order, seen.before, seen.now)
    change = f"{path}: {summary(seen.before, seen.now)}"
    what = "rubric saved" if path == seen.now.origin else "rubric removed"
    if not seen.at_rest:
        rest = ". Whether it counts is told at the next stop"
        return (_line(seen.project, what, change, rest),) if differs else ()
    if seen.force.changed:
        change = seen.force.changed
    elif not differs or _said(seen.force) != _said(seen.now):
        return ()
    return (_line(seen.project, what, change, ". It counts from the next stop"),)


def blamed(order: Sequence[str], before: Rubric, now: Rubric) -> str:
    """The file by which other criteria would serve: new, changed, or gone."""
    origins = (before.origin, now.origin)
    return min(origins, key=lambda path: order.index(path) if path in order else len(order))


def settings_lines(project: str, before: Sequence[Configured], now: Sequence[Configured]) -> tuple[str, ...]:
    """Lines for the user about configuration files, none where there is nothing new."""
    return tuple(line for old, new in zip(before, now, strict=True) for line in _settings(project, old, new))


def _settings(project: str, before: Configured, now: Configured) -> list[str]:
    wrong = [line for line in now.problems if line not in before.problems]
    names = before.values.keys() | now.values.keys()
    changed = sorted(name for name in names if before.values.get(name) != now.values.get(name))
    lines = [_line(project, "settings saved", line, "") for line in wrong[:NAMED]]
    if changed:
        shown = ", ".join(changed[:NAMED]) + (", ..." if len(changed) > NAMED else "")
        own = now.path.startswith(f"{project}/") and any(_COMMAND.fullmatch(name) for name in changed)
        lines.append(
            _line(project, "settings changed", f"{shown} in {now.path}", f"; {TRUST}" if own else "")
        )
    return lines


def _line(project: str, what: str, text: str, rest: str) -> str:
    """One line; paths of the project are shown from there."""
    text, rest = _short(text, project), _short(rest, project)[: LINE // 2]
    room = LINE - len(rest)
    return f"Supervisor: {what}: {text if len(text) <= room else text[: room - 3] + '...'}{rest}"


def _short(text: str, project: str) -> str:
    inside = project.rstrip("/")
    return plain(text.replace(f"{inside}/", "") if inside else text)


def _cannot(rejected: str) -> str:
    path, _, why = rejected.partition(": ")
    return f"{path} cannot serve: {why}"


def _instead(seen: Seen) -> str:
    """What counts where a file cannot serve."""
    if not seen.at_rest and seen.now.origin != seen.force.origin:
        return "; what was in force stays, at least until the next stop"
    return f"; in force: {seen.force.origin}"


def _said(rubric: Rubric) -> tuple[object, ...]:
    return (rubric.patterns, rubric.antipatterns, rubric.legitimate, rubric.origin)
