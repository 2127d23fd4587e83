"""Endings written by hand, and attempts to steer a judge, from tests/judge/.

Rules of this file:

- Whoever wrote them did not know the rules, so each is `blind`.
- Every one goes through the form of a host and back; its name says through which.
- Nothing is guessed: an unknown field, part or value is an error with its file, block and line.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Final

from judge.blocks import Block, Part, TextError, load
from judge.mix import BY_NAME, ENGLISH, HOSTS, OTHERS
from judge.story import Story, digest
from judge.wrapping import through
from msgspec import Struct

from sidecar.kernel.events import BackgroundActivity
from sidecar.kernel.gate import Outcome
from sidecar.kernel.stop_history import GroundTruth, LabelledStop

TESTS: Final = Path(__file__).resolve().parents[2] / "tests" / "judge"
ENDINGS: Final = TESTS / "by_hand"
INJECTIONS: Final = TESTS / "injections"
FIELDS: Final = frozenset(
    (
        *("truth", "family", "language", "why", "goal", "complete"),
        *("fabricated", "headless", "background", "vector", "demands"),
    )
)
DEMANDED: Final = re.compile(r"E[0-9]{1,4}")
ANSWER: Final = "Yes"
"""What the user is said to have answered; the text form has no place for it."""


class Attempt(Struct, frozen=True):
    """An attempt to steer a judge.

    `vector` says by what. `demands` are the evidence ids that it tells the judge to cite: ("all",) for all
    there are, () for none.
    """

    item: LabelledStop
    vector: str
    demands: tuple[str, ...]


def endings(folder: Path = ENDINGS) -> tuple[LabelledStop, ...]:
    """All endings of the folder, in the order of the files. Raises TextError."""
    return tuple(_labelled(block) for block in load(*sorted(folder.glob("*.txt"))))


def attempts(*names: str, folder: Path = INJECTIONS) -> tuple[Attempt, ...]:
    """The attempts in these files, "attempts-*.txt" for example; in all where none is named."""
    paths = sorted({path for name in names or ("*.txt",) for path in folder.glob(name)})
    return tuple(_attempt(block) for block in load(*paths))


def _attempt(block: Block) -> Attempt:
    demands = tuple(word.strip() for word in block.get("demands", "none").split(",") if word.strip())
    strange = [word for word in demands if word not in ("all", "none") and not DEMANDED.fullmatch(word)]
    if strange or (len(demands) > 1 and {"all", "none"} & {*demands}):
        raise block.wrong(f"'demands' is {block.get('demands')!r}, not evidence ids, all or none")
    return Attempt(_labelled(block), block.get("vector"), () if demands == ("none",) else demands)


def _labelled(block: Block) -> LabelledStop:
    _check(block)
    story = told(block)
    host = HOSTS[int(digest(block.name, size=8), 16) % len(HOSTS)]
    goal = block.get("goal")
    return LabelledStop(
        id=block.name,
        family=block.get("family"),
        truth=GroundTruth(block.get("truth")),
        origin="by-hand",
        turn=through(story.turn(), host, block.name),
        blind=True,
        fabricated=block.truthy("fabricated"),
        language=_language(block),
        host=host,
        goal=goal,
        complete=block.truthy("complete") if goal else None,
        seen=story.seen(),
        runs=story.runs(),
        background=tuple(
            BackgroundActivity(f"b{number}", text)
            for number, text in enumerate(block.fields.get("background", ()), 1)
        ),
        headless=block.truthy("headless"),
    )


def told(block: Block) -> Story:
    """The story that the parts of a block tell. Raises TextError."""
    story = Story(block.name)
    for part in block.parts:
        tell(story, part, block)
    if not story.prompts or not story.message:
        raise block.wrong("a prompt and a message are needed")
    return story


def _check(block: Block) -> None:
    """Raise TextError where the fields are not what they may be, or contradict each other."""
    unknown = sorted(block.fields.keys() - FIELDS)
    if unknown:
        raise block.wrong(f"unknown fields: {', '.join(unknown)}")
    family = BY_NAME.get(block.get("family"))
    if family is None:
        raise block.wrong(f"'family' is {block.get('family')!r}, which MIX.md does not have")
    if block.get("truth") != family.truth:
        raise block.wrong(f"'truth' is {block.get('truth')!r}, but {family.name} is {family.truth}")
    goal, complete = block.get("goal"), block.get("complete")
    if bool(goal) != bool(complete):
        raise block.wrong("'goal' and 'complete' go together")
    if complete == "yes" and family.truth is GroundTruth.PREMATURE:
        raise block.wrong("a goal that holds, and yet the stop is premature")


def _language(block: Block) -> str:
    """Attempts come in any language, endings in those of the mix."""
    if block.get("vector"):
        return block.get("language", ENGLISH)
    return block.one_of("language", (ENGLISH, *OTHERS))


def tell(story: Story, part: Part, block: Block) -> None:
    """Tell one part of a block. Raises TextError."""
    match part.kind:
        case "prompt":
            story.prompt(part.text)
        case "message":
            story.message = part.text
        case "edited":
            story.edit(_needed(part, block), _changes(part, block))
        case "read":
            story.read(_needed(part, block), part.text)
        case "delegated":
            story.delegate(_needed(part, block), part.text or "Done.")
        case kind if kind in OTHERS_BY_KIND:
            OTHERS_BY_KIND[kind](story, part, block)
        case _:
            raise block.wrong(f"unknown part {part.kind!r}", part.line)


def _call(story: Story, part: Part, block: Block) -> None:
    code, _, command = part.rest.partition(" ")
    if not code.isdigit() or not command:
        raise block.wrong(f"a call is EXIT COMMAND, not {part.rest!r}", part.line)
    story.run(command, part.text, int(code))


def _asked(story: Story, part: Part, block: Block) -> None:
    state, _, question = part.rest.partition(" ")
    if state not in ("OPEN", "ANSWERED") or not question:
        raise block.wrong(f"a question is OPEN or ANSWERED and its text, not {part.rest!r}", part.line)
    story.ask(question, None if state == "OPEN" else part.text or ANSWER)


def _needed(part: Part, block: Block) -> str:
    if not part.rest:
        raise block.wrong(f"'{part.kind}' says nothing", part.line)
    return part.rest


def _changes(part: Part, block: Block) -> tuple[str, ...]:
    """The lines of a change, `+ added` or `- removed`; the blank after the sign is the form's own."""
    lines = [line for line in part.lines if line.strip()]
    strange = [line for line in lines if line[0] not in "+- "]
    if strange:
        raise block.wrong(f"a line of a change begins with + or -, not so: {strange[0]!r}", part.line)
    return tuple(line[0] + line[1:].removeprefix(" ") for line in lines)


def _todo(story: Story, part: Part, block: Block) -> None:
    state, _, text = part.rest.partition(" ")
    if state not in ("open", "done") or not text:
        raise block.wrong(f"a todo is open or done and its text, not {part.rest!r}", part.line)
    story.list((text, state == "done"), more=True)


def _gate(story: Story, part: Part, block: Block) -> None:
    outcome, _, rest = part.rest.partition(" ")
    weight, _, command = rest.partition(" ")
    if outcome not in {*Outcome} or weight not in ("required", "advisory") or not command:
        what = "passed, failed or could-not-run, then required or advisory, then a command"
        raise block.wrong(f"a gate is {what}, not {part.rest!r}", part.line)
    failing = tuple(line for line in part.lines if line.strip())
    story.gate(command, Outcome(outcome), required=weight == "required", failing=failing)


OTHERS_BY_KIND: Final[dict[str, Callable[[Story, Part, Block], None]]] = {
    "call": _call,
    "asked": _asked,
    "todo": _todo,
    "gate": _gate,
}
"""Parts whose line has more than one word to it."""

__all__ = ["Attempt", "TextError", "attempts", "endings", "tell", "told"]
