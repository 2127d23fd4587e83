"""Rates the agent's own tool calls: evidence strength, whether stale, whether it counts against the agent.

stale    A run is stale if project files were edited after it. An edit is never stale.
bad      The call did not end well, or its summary reports a failure, and nothing later repaired that: the
         same command, a complete run of the same check, a gate of that kind, or an edit of the same file.
neither  A failed command that only prints, reads or lists.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import Final

from msgspec import Struct

from sidecar.evidence.claims.check_runs import CheckRunOutcome, ObservedCheckRun, find_check_runs
from sidecar.evidence.claims.turn_effects import (
    NON_SOURCE_TARGET,
    CallPlace,
    edit_places,
    writes_into_project,
)
from sidecar.evidence.commands.kinds import PYTHON, is_other_target, kinds_of, plain_words
from sidecar.evidence.gates.policy import proven_gate_kinds
from sidecar.kernel.events import ProjectState
from sidecar.kernel.evidence import EvidenceStrength
from sidecar.kernel.gate import GateRun, Kind, Outcome
from sidecar.kernel.turn import CallOutcome, CommandRun, FailureHandling, ToolAction, ToolCall, Turn
from sidecar.platform.shell.commands import command_basename, known_commands, unwrap_command
from sidecar.platform.tools import find_tool

DECISIVE_KINDS: Final = frozenset({Kind.TESTS, Kind.BUILD, Kind.TYPES})
"""Checks whose failure on the current files contradicts that the work is done, as a failed gate does."""
CHECK_KINDS: Final = (*sorted(DECISIVE_KINDS), Kind.LINT, Kind.SECURITY)
STRENGTH_RANK: Final = {worth: rank for rank, worth in enumerate(EvidenceStrength)}


class WeighedCall(Struct, frozen=True):
    """A call that ran or edited something; `at` is its number. `repaired`: it failed, and passed later."""

    at: int
    call: ToolCall
    worth: EvidenceStrength = EvidenceStrength.NOTHING
    stale: bool = False
    bad: bool = False
    repaired: bool = False


class _TurnContext(Struct, frozen=True):
    """What the calls of one turn are compared with. `passed`: kinds of gates that passed on this tree."""

    turn: Turn
    edits: tuple[CallPlace, ...]
    checks: dict[int, list[tuple[Kind, ObservedCheckRun]]]
    whole: dict[Kind, CallPlace]
    commands: dict[str, int]
    written: dict[str, int]
    passed: frozenset[Kind]
    known: frozenset[str]


def weigh_calls(turn: Turn, gates: Iterable[GateRun], project_state: ProjectState) -> tuple[WeighedCall, ...]:
    """Rate every call of the turn that ran or edited something, in order."""
    seen = _turn_context(turn, gates, project_state)
    return tuple(
        _weigh_run(at, call, seen) if call.doing is ToolAction.RUN else _weigh_edit(at, call, seen)
        for at, call in enumerate(turn.calls)
        if call.doing in (ToolAction.RUN, ToolAction.EDIT)
    )


def _turn_context(turn: Turn, gates: Iterable[GateRun], project_state: ProjectState) -> _TurnContext:
    checks: dict[int, list[tuple[Kind, ObservedCheckRun]]] = {}
    whole: dict[Kind, CallPlace] = {}
    for kind in CHECK_KINDS:
        for each in find_check_runs(turn, kind):
            checks.setdefault(each.at[0], []).append((kind, each))
            if each.shown is CheckRunOutcome.PASSED:
                whole[kind] = each.at
    calls = tuple(enumerate(turn.calls))
    passed = (run for run in gates if run.outcome is Outcome.PASSED and run.tree == project_state.tree)
    paths = (*(project_state.changed or ()), *(path for _, call in calls for path in call.paths))
    return _TurnContext(
        turn=turn,
        edits=edit_places(turn),
        checks=checks,
        whole=whole,
        commands={
            _command_key(call): at
            for at, call in calls
            if call.doing is ToolAction.RUN
            and call.outcome is CallOutcome.OK
            and call.exit_code == 0
            and not _failed_checks(checks.get(at, []))
        },
        written={path: at for at, call in calls if call.outcome is CallOutcome.OK for path in call.paths},
        passed=frozenset(
            kind for run in passed if not (run.moved or run.flaky) for kind in proven_gate_kinds(run)
        ),
        known=collect_program_names(turn.prompts, paths),
    )


def _command_key(call: ToolCall) -> str:
    return " ".join(call.command.split())


def _failed_checks(checks: list[tuple[Kind, ObservedCheckRun]]) -> list[tuple[Kind, ObservedCheckRun]]:
    return [(kind, each) for kind, each in checks if each.shown is CheckRunOutcome.FAILED]


def _weigh_run(at: int, call: ToolCall, seen: _TurnContext) -> WeighedCall:
    failed = _failed_checks(seen.checks.get(at, []))
    if call.outcome is CallOutcome.OK and not failed:
        worth, place = _strongest_evidence(at, call, seen)
        stale = worth is not EvidenceStrength.FILES and any(edit > place for edit in seen.edits)
        return WeighedCall(at, call, worth, stale=stale)
    stale = any(edit[0] > at for edit in seen.edits)
    repaired = _is_repaired(at, call, seen)
    decisive = DECISIVE_KINDS.intersection(kind for kind, _ in failed)
    worth = EvidenceStrength.CHECK if decisive else EvidenceStrength.WORK
    if repaired or is_read_only_call(call):
        return WeighedCall(at, call, stale=stale, repaired=repaired)
    return WeighedCall(at, call, worth, stale=stale, bad=seen.turn.current)


def _strongest_evidence(at: int, call: ToolCall, seen: _TurnContext) -> tuple[EvidenceStrength, CallPlace]:
    """Return the greatest strength that a passed line shows, and the place of the command that shows it."""
    last = (at, len(call.runs))
    found = [(EvidenceStrength.NOTHING, last)]
    for number, run in enumerate(call.runs):
        found.append((command_evidence_strength(run, call, seen.known), (at, number)))
    for kind, each in seen.checks.get(at, ()):
        if each.shown in (CheckRunOutcome.PASSED, CheckRunOutcome.PART):
            worth = EvidenceStrength.CHECK if kind in DECISIVE_KINDS else EvidenceStrength.WORK
            found.append((worth, each.at))
    return max(found, key=lambda one: (STRENGTH_RANK[one[0]], one[1]))


def _is_repaired(at: int, call: ToolCall, seen: _TurnContext) -> bool:
    """Whether the same command passed later, or each check that failed in it did."""
    if seen.commands.get(_command_key(call), -1) > at:
        return True
    failed = _failed_checks(seen.checks.get(at, []))
    return bool(failed) and all(
        kind in seen.passed or seen.whole.get(kind, (-1, 0)) > each.at for kind, each in failed
    )


def _weigh_edit(at: int, call: ToolCall, seen: _TurnContext) -> WeighedCall:
    if call.outcome is CallOutcome.OK:
        return WeighedCall(at, call, EvidenceStrength.FILES)
    repaired = bool(call.paths) and all(seen.written.get(path, -1) > at for path in call.paths)
    return WeighedCall(at, call, repaired=repaired, bad=not repaired)


def select_calls_to_show(
    weighed: tuple[WeighedCall, ...], newest: int, failures: int
) -> Iterator[WeighedCall]:
    """Yield the newest calls, and before them earlier failures that still hold, so that they stay visible."""
    split = max(0, len(weighed) - newest)
    held = [one for one in weighed[:split] if one.bad and not one.stale]
    yield from held[-failures:]
    yield from weighed[split:]


# --- the strength of one command ----------------------------------------------------------------------------


OUTSIDE_PROJECT: Final = re.compile(r"/(?:usr|bin|sbin|opt|etc|dev|proc|tmp|var/tmp|private/tmp)/|~")
IMPORT_STATEMENT: Final = re.compile(
    r"\b(?:import|from|require|use|load|source)\b[\s('\"]{1,4}([\w./-]{1,200})"
)
PROGRAM_NAME_WORD: Final = re.compile(r"[\w-]{3,80}")
MAX_PROGRAM_NAMES: Final = 5_000
"""Words of prompts and paths that may be names of the project's programs."""


def collect_program_names(prompts: Iterable[str], paths: Iterable[str]) -> frozenset[str]:
    """Collect lower-case words that may be names of the project's own programs and modules."""
    found: set[str] = set()
    for text in (*prompts, *paths):
        for word in PROGRAM_NAME_WORD.findall(text[:20_000]):
            if len(found) >= MAX_PROGRAM_NAMES:
                return frozenset(found)
            found.add(word.lower())
    return frozenset(found)


def command_evidence_strength(run: CommandRun, call: ToolCall, known: frozenset[str]) -> EvidenceStrength:
    """Rate a command that is not a known check. `known`: see `collect_program_names`."""
    if call.exit_code != 0 or call.outcome is not CallOutcome.OK:
        return EvidenceStrength.NOTHING
    if run.fate is not FailureHandling.DECIDES or not run.implied or run.background:
        return EvidenceStrength.NOTHING
    if _runs_project_program(run, known):
        return EvidenceStrength.WORK
    return EvidenceStrength.FILES if _writes_files(run, call.command) else EvidenceStrength.NOTHING


def is_read_only_call(call: ToolCall) -> bool:
    """Whether a line's commands only print, read or list, so that its failure says nothing about the work."""
    return bool(call.runs) and all(_is_read_only(unwrap_command(run.argv)) for run in call.runs)


def _is_read_only(argv: tuple[str, ...]) -> bool:
    if not argv:
        return True
    if "/" in argv[0] and not OUTSIDE_PROJECT.match(argv[0]):
        return False
    if command_basename(argv[0]) == "git":
        return next(iter(plain_words(argv[1:])), "") in known_commands().git_read_only
    return command_basename(argv[0]) in (known_commands().read_only | known_commands().printing)


def _writes_files(run: CommandRun, line: str) -> bool:
    argv = unwrap_command(run.argv)
    name = command_basename(argv[0]) if argv else ""
    if name == "git":
        return (
            next(iter(plain_words(argv[1:])), "") in known_commands().git_writing and "--dry-run" not in argv
        )
    return name in known_commands().file_writing or writes_into_project(run, line)


def _runs_project_program(run: CommandRun, known: frozenset[str]) -> bool:
    argv = unwrap_command(run.argv)
    if not argv or _is_read_only(argv) or kinds_of(run) or known_commands().info.intersection(argv[1:]):
        return False
    name, words = command_basename(argv[0]), argv[1:]
    if PYTHON.fullmatch(name) or name in known_commands().interpreters:
        return _interprets_project_code(words, known)
    if (starts := known_commands().starters.get(name)) is not None:
        return not starts or _starts_program(words, starts)
    if (tool := find_tool(name)) and tool.kinds_from == "targets":
        return not any(map(_is_beside_the_program, plain_words(words)))
    return _is_project_command(argv[0], name, known)


def _is_project_command(word: str, name: str, known: frozenset[str]) -> bool:
    """Whether a command that is in no table belongs to the project."""
    if name == "git" or name in known_commands().tooling | known_commands().file_writing:
        return False
    return OUTSIDE_PROJECT.match(word) is None if "/" in word else name.lower() in known


def _starts_program(words: tuple[str, ...], by: frozenset[str]) -> bool:
    plain = plain_words(words)
    named = plain[1] if len(plain) > 1 else ""
    return plain[:1] != () and plain[0] in by and not _is_beside_the_program(named)


def _is_beside_the_program(target: str) -> bool:
    return is_other_target(target) or target in known_commands().housekeeping


def _interprets_project_code(words: tuple[str, ...], known: frozenset[str]) -> bool:
    """Whether an interpreter runs a project file or module, or inline code that loads named project code."""
    for at, word in enumerate(words):
        following = words[at + 1] if at + 1 < len(words) else ""
        if word in known_commands().inline_code:
            return _loads_project_code(following, known)
        if word == "-m":
            return following not in known_commands().foreign_modules
        if word in {"-jar", "-cp", "-classpath"}:
            return bool(following)
        if word == "-":
            return False
        if not word.startswith("-"):
            return not OUTSIDE_PROJECT.match(word) and not NON_SOURCE_TARGET.match(word)
    return False


def _loads_project_code(code: str, known: frozenset[str]) -> bool:
    """Whether inline code loads a module that the prompts or the changed files name."""
    loaded = {
        part.lower() for path in IMPORT_STATEMENT.findall(code[:4_000]) for part in re.split(r"[./]", path)
    }
    return bool(loaded & known)
