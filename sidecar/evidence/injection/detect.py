"""Finds text that is addressed to a judge, and takes it out of what a judge is shown (law 9).

Looked at is all that the worker wrote, ran or was shown and that would reach the judge: the last message,
commands and commit messages, their output, names of files and branches, to-dos, the journal, what was edited,
changes to the checks, the output of gates. What is found becomes evidence that speaks against being done; its
lines are left out of the case. Where it is by the worker's own hand no judge's word makes a goal achieved: a
person must look. It is never a reason to send an agent back.

A text is looked at line by line, and up to SPAN lines together; see `steer` for disguises and words.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import lru_cache
from typing import Final

from msgspec import Struct
from msgspec.structs import replace

from sidecar.evidence.injection.disguise import decoded, plain, split_name, words
from sidecar.evidence.injection.signs import active, compiled, forms_in, has_stem, speaks
from sidecar.kernel.changes import FileDiff
from sidecar.kernel.effects import JudgeCase
from sidecar.kernel.events import ProjectState
from sidecar.kernel.evidence import Evidence, EvidenceStrength, Source
from sidecar.kernel.gate import GateRun
from sidecar.kernel.turn import ToolAction, ToolCall, Turn

MARK: Final = "[text addressed to a judge was left out here]"
GONE: Final = " .\n. "
"""What stands for MARK when a text is read again: nothing goes on across it."""
LIMIT: Final = 24_000
"""Characters of one text that are looked at, half from each end; what is between is left out of the case."""
ALL_EDITS: Final = 100_000
"""Characters of edits that are looked at; those after them are not shown."""
SPAN: Final = 3
"""Lines that are read as one: a sentence may be wrapped."""
REACH: Final = 40
"""Characters of the next line that a name of two words may reach into."""
FOUND: Final = 10
"""Places that are named one by one."""
EXCERPT: Final = 8
"""Words of what was found of which the beginning is told: to find it again, not to be obeyed."""


TOPIC: Final = (
    r"\b(?:judg\w{0,6}|verdicts?|evaluators?|graders?|grading|evals?|injections?|jailbreaks?|guardrails?"
    r"|red[ -]?team\w{0,3}|prompts?|llms?|ai|chatbots?|assistants?|agents?"
    r"|rubrics?|moderat\w{1,5}|gutacht\w{0,5}|bewert\w{0,5})\b"
    r"|\u8bc4\u5ba1|\u8bc4\u5206|\u88c1\u5224|\u5be9\u67fb|\u8a55\u4fa1|\uc2ec\uc0ac|\ud3c9\uac00"
    r"|\u043e\u0446\u0435\u043d"
)
"""What a user speaks of whose project is itself about judging, or about texts for models."""
QUOTED: Final = (
    r"```.{0,20000}?(?:```|\Z)|`[^`\n]{1,2000}`|\"[^\"\n]{1,2000}\"|\u201c[^\u201d\n]{1,2000}\u201d"
    r"|(?m:^[ \t]*[>|].*$)"
)
"""What a message only shows: code, quotations and tables."""


BEGUN: Final = 4
"""Letters of a word that is told only by its beginning."""


class Place(Struct, frozen=True):
    """A text that may reach the judge, and where it stands.

    `own`: by the worker's own hand. `said`: the worker says it itself, it is no content of files or outputs.
    """

    where: str
    text: str
    own: bool = True
    name: bool = False
    said: bool = False


def without(text: str) -> str:
    """The text, with a mark in place of the lines that are addressed to a judge."""
    return _read(text)[0]


def without_name(name: str) -> str:
    """A name of a file or a branch, or a mark where it is addressed to a judge."""
    return MARK if _read(split_name(name))[1] else name


def find(
    turn: Turn, calls: Iterable[ToolCall], runs: Iterable[GateRun], project_state: ProjectState
) -> Iterator[Evidence]:
    """A fact for each place where text addressed to a judge stands. `calls` are those that are evidence.

    What the worker plainly says itself weighs as a failed check does. What only stands in a file, a name or
    an output, or only speaks of a judge, weighs less, for a project may be about such things.
    """
    found = dict[str, tuple[str, Place]]()
    for place in _places(turn, calls, runs, project_state):
        text = split_name(place.text) if place.name else place.text
        plainly = place.said and _read(text)[1]
        hit = plainly or _read(text, weak=place.own)[1]
        here = replace(place, said=bool(plainly))
        if hit and (place.where not in found or _rank(here) > _rank(found[place.where][1])):
            found[place.where] = (hit, here)
    ordered = sorted(found.items(), key=lambda one: _rank(one[1][1]), reverse=True)
    for where, (hit, place) in ordered[:FOUND]:
        said = f"text addressed to the judge was found in {where}: {_excerpt(hit)}"
        worth = EvidenceStrength.CHECK if place.said else EvidenceStrength.WORK
        yield Evidence(id="", source=Source.STEERING, fact=said, bad=True, own=place.own, worth=worth)


def _rank(place: Place) -> tuple[bool, bool]:
    return place.own, place.said


def steers(fact: Evidence, case: JudgeCase) -> bool:
    """Whether a fact keeps a judge's word from making a goal achieved.

    Where the user's own words say that the work is about judging, or about texts for models, such texts are
    its content: then only what the worker says itself, and not in quotation marks, is meant for the judge.
    """
    if fact.source is not Source.STEERING or not fact.own or fact.stale:
        return False
    return fact.worth is EvidenceStrength.CHECK or not about_judging((case.condition, *case.prompts))


def about_judging(texts: Iterable[str]) -> bool:
    """Whether the user's own words are about judging, or about texts for models."""
    return any(compiled(TOPIC).search(text[:LIMIT].lower()) or _read(text, weak=True)[1] for text in texts)


def cleaned(case: JudgeCase) -> JudgeCase:
    """The case without text that is addressed to a judge. What the user wrote stays as it is."""
    return replace(
        case,
        suspicion=without(case.suspicion),
        last_message=without(case.last_message),
        edits=tuple(_clean_edits(case.edits)),
        edits_unseen=without(case.edits_unseen),
    )


def _clean_edits(edits: tuple[FileDiff, ...]) -> Iterator[FileDiff]:
    left = ALL_EDITS
    for edit in edits:
        left -= len(edit.hunks)
        shown = without(edit.hunks) if left >= 0 else ""
        told = edit.told if left >= 0 or edit.told else "too much was changed"
        path, old = without_name(edit.path), without_name(edit.old_path)
        yield replace(edit, path=path, old_path=old, hunks=shown, told=without(told))


def _places(
    turn: Turn, calls: Iterable[ToolCall], runs: Iterable[GateRun], project_state: ProjectState
) -> Iterator[Place]:
    bare = compiled(QUOTED).sub(" ", turn.last_message[-LIMIT:])
    yield Place("the last message", bare, said=True)
    yield Place("the last message", turn.last_message)
    for call in calls:
        yield from _of_call(call)
    yield from (Place("the agent's own list of to-dos", todo.text, said=True) for todo in turn.todos)
    noted = (*(task.text for task in turn.planned), *turn.stuck)
    yield from (Place("the agent's journal", text, said=True) for text in noted)
    left = ALL_EDITS
    for edit in project_state.edits:
        left -= len(edit.hunks)
        if left >= 0:
            yield from _of_edit(edit)
    for finding in project_state.findings:
        yield Place("the name of a changed file", finding.file, name=True)
        yield Place("a change to the checks", finding.after)
        yield Place("a change to the checks", finding.before, own=False)
    if project_state.repository is not None:
        yield Place("the name of a branch", project_state.repository.branch, name=True)
        yield Place("the name of a branch", project_state.repository.upstream, name=True)
    for run in runs:
        yield Place("the output of a gate", "\n".join((*run.failures, run.output, run.reason)), own=False)


def _of_call(call: ToolCall) -> Iterator[Place]:
    if call.doing is ToolAction.RUN:
        commits = "git commit" in call.command or "git tag" in call.command
        yield Place("a commit message" if commits else "a command", call.command, said=commits)
        yield Place("the output of the agent's own run", call.output)
    yield from (Place("the name of a changed file", path, name=True) for path in call.paths)


def _of_edit(edit: FileDiff) -> Iterator[Place]:
    """What was added is the worker's; what was there before, or was taken away, need not be."""
    yield Place("the name of a changed file", edit.path, name=True)
    yield Place("the name of a changed file", edit.old_path, own=False, name=True)
    lines = edit.hunks.splitlines()
    where = f"an edit of {without_name(edit.path)[:120]}"
    yield Place(where, "\n".join(line[1:] for line in lines if line.startswith("+")))
    yield Place(where, "\n".join(line[1:] for line in lines if line.startswith((" ", "-"))), own=False)


def _excerpt(hit: str) -> str:
    """How the first words of what was found begin: no more of them, so that they order nothing."""
    said = words(plain(hit[:LIMIT])).replace("|", " ").split()[:EXCERPT]
    return " ".join(word if len(word) < BEGUN else f"{word[: BEGUN - 1]}\u2026" for word in said)


@lru_cache(maxsize=512)
def _read(text: str, *, weak: bool = False) -> tuple[str, str]:
    """The text without what is addressed to a judge, and the first of that, "" where there is none."""
    if len(text) > LIMIT:
        half = LIMIT // 2
        text = f"{text[:half]}\n[... {len(text) - 2 * half} characters left out ...]\n{text[-half:]}"
    if not text or text.isspace():
        return text, ""
    lines = text.splitlines()
    hits = _hits(lines, weak=weak) | _encoded(lines)
    if not hits:
        return text, ""
    kept: list[str] = []
    for at, line in enumerate(lines):
        if at not in hits:
            kept.append(line)
        elif at - 1 not in hits:
            kept.append(MARK)
    return "\n".join(kept), "\n".join(lines[at] for at in sorted(hits))[:2_000]


def _hits(lines: list[str], *, weak: bool) -> set[int]:
    """The lines that speak to a judge, alone or with those that follow."""
    read = [GONE if line == MARK else plain(line) for line in lines]
    whole = " ".join(read)
    wanted, forms = active(whole, weak=weak), forms_in(whole)
    hits, known = set[int](), dict[str, bool]()
    if not wanted and not forms:
        return hits
    worth = [
        bool(forms) or has_stem(f"{line} {after[:REACH]}", wanted)
        for line, after in zip(read, (*read[1:], ""), strict=True)
    ]
    for count in range(1, SPAN + 1):
        for start in range(len(lines) - count + 1):
            window = range(start, start + count)
            if not any(worth[start : start + count]) or not hits.isdisjoint(window):
                continue
            said = " ".join(read[start : start + count])
            if said not in known:
                known[said] = speaks(said, wanted, forms)
            if known[said]:
                hits.update(window)
    return hits


def _encoded(lines: list[str]) -> set[int]:
    """The lines with a run that, decoded, speaks to a judge."""
    hits: set[int] = set()
    text = "\n".join(lines)
    for start, end, said in decoded(text):
        if _hits(said.splitlines(), weak=True):
            first = text.count("\n", 0, start)
            hits.update(range(first, first + text.count("\n", start, end) + 1))
    return hits
