"""From a seed to a labelled stop, always the same one, drawn to MIX.md.

Rules of this file:

- It knows nothing of the rules that judge.
- The truth comes first; what was run and what it returned follows from it (`plots`), and the words follow
  from both. No word decides a truth.
- The host's form comes last: what is drawn is what the product's own reader finds in it.
"""

from __future__ import annotations

from random import Random
from typing import Final

from endings.words import chance as happens
from judge.blocks import Block, Part
from judge.story import Story
from judge.template import expand
from judge.texts import Texts, texts
from judge.world import World, world
from judge.wrapping import through
from msgspec import Struct
from msgspec.structs import replace

from judge import mix, plots
from judge.by_hand import tell
from sidecar.kernel.events import BackgroundActivity
from sidecar.kernel.evidence import RepositoryState
from sidecar.kernel.gate import Outcome
from sidecar.kernel.stop_history import GroundTruth, LabelledStop

PARTS_LIMIT: Final = 4
"""Calls of looking around before a tale."""
DECIDED_BY_TESTS: Final = frozenset(("work-done", "false-complete", "error-walked-away", "goal-unmet"))
"""Families whose checks end as the goal does, so that it may speak of nothing else."""
WHOLE: Final = (
    "{did}{space}{did2}",
    "{did}{space}{did2}",
    "{did}\n\n{did2}",
    "- {did}\n- {did2}",
    "1. {did}\n2. {did2}",
    "## {summary}\n\n- {did}\n- {did2}",
    "### {summary}\n\n**`{path}`**\n{did}\n\n**`{testfile}`**\n{did2}",
    "{did}{space}{did2}\n\n{files}\n- `{path}`\n- `{testfile}`",
    "| | |\n|---|---|\n| `{path}` | {did} |\n| `{testfile}` | {did2} |",
)
"""Ways to report both parts of a task."""
HALF: Final = ("{did}", "{did}", "- {did}", "## {summary}\n\n{did}", "✅ {did}", "`{path}`: {did}")
"""Ways to report its first part."""


class Scene(Struct):
    """What one seed drew. `complete`: whether a goal holds; `also`: the file of a task's second part."""

    family: mix.Share
    rng: Random
    texts: Texts
    story: Story
    world: World
    goal: str = ""
    also: str = ""
    complete: bool = False
    fabricated: bool = False
    background: tuple[BackgroundActivity, ...] = ()


def draw(seed: int) -> LabelledStop:
    """The stop of a seed."""
    rng, family, told = mix.chance("draw", seed), mix.family(seed), texts(mix.language(seed))
    scene = Scene(family, rng, told, Story(f"generated {seed}"), world(rng))
    wants_goal = mix.goal(seed)
    block = rng.choice(_fitting(told, family, goal=wants_goal))
    if block.name.startswith("frame"):
        _frame(scene, block, goal=wants_goal)
    else:
        _tale(scene, block, goal=wants_goal)
    return _labelled(scene, seed)


def _fitting(told: Texts, family: mix.Share, *, goal: bool) -> tuple[Block, ...]:
    """The blocks of a family, those alone that speak of a goal where one is set."""
    frames, tales = told.frames.get(family.name, ()), told.tales.get(family.name, ())
    if goal:
        tales = tuple(tale for tale in tales if tale.get("goal"))
    fitting = (*frames, *(tale for tale in tales if goal or tale.get("only") != "goal"))
    if not fitting:
        raise ValueError(f"nothing is written for {family.name} in {told.language}, goal: {goal}")
    return fitting


def _labelled(scene: Scene, seed: int) -> LabelledStop:
    story, rng, host = scene.story, scene.rng, mix.host(seed)
    seen = story.seen()
    if happens(rng, 60):
        dirty = len(story.changed)
        known = RepositoryState(
            head=scene.world.slots["a"] * 20, branch="main", remote=happens(rng, 70), dirty=dirty
        )
        seen = replace(seen, repository=replace(known, commits=0, upstream="", ahead=None))
    return LabelledStop(
        id=f"g{seed}",
        family=scene.family.name,
        truth=scene.family.truth,
        origin="generated",
        turn=through(story.turn(), host, story.name),
        fabricated=scene.fabricated,
        language=scene.texts.language,
        host=host,
        goal=scene.goal,
        complete=scene.complete if scene.goal else None,
        seen=seen,
        runs=story.runs(),
        background=scene.background,
        headless=not scene.background and happens(rng, 10),
    )


def _slots(scene: Scene) -> dict[str, str]:
    return {**scene.world.slots, **scene.texts.words, "space": scene.texts.space}


def _tale(scene: Scene, block: Block, *, goal: bool) -> None:
    """A whole turn as it is written, with some looking around before it."""
    slots, begun = _slots(scene), False
    for part in block.parts:
        lines = expand("\n".join(part.lines).strip("\n"), scene.rng, slots).split("\n")
        rest = expand(part.rest, scene.rng, slots)
        tell(scene.story, Part(part.kind, rest, part.line, lines), block)
        if part.kind == "prompt" and not begun and block.get("looks") != "no":
            plots.explore(scene.story, scene.world, scene.rng, PARTS_LIMIT if happens(scene.rng, 40) else 0)
            begun = True
    scene.background = tuple(
        BackgroundActivity(f"b{number}", expand(text, scene.rng, slots))
        for number, text in enumerate(block.fields.get("background", ()), 1)
    )
    scene.fabricated = block.truthy("fabricated")
    if goal:
        scene.goal = expand(block.get("goal"), scene.rng, slots)
        scene.complete = block.truthy("complete")


def _frame(scene: Scene, block: Block, *, goal: bool) -> None:
    """A task, what was done for it, and a message that the block shapes."""
    rng, story = scene.rng, scene.story
    slots = {**_slots(scene), **rng.choice(scene.texts.tasks)}
    whole = rng.choice(WHOLE)
    between = "{space}" if whole.startswith("{did}{space}") else "\n\n"
    slots |= {"whole": whole, "half": rng.choice(HALF), "report": f"{{done}}{between}{whole}"}
    slots["change"] = scene.world.text("change", rng)
    parts = {part.kind: part.text for part in block.parts}
    # The prompt is drawn once: what a user said does not change when it is spoken of again.
    story.prompt(expand(parts.get("prompt", "{prompt}"), rng, slots))
    if goal:
        scene.goal = expand(slots["goal"], rng, slots)
        if scene.family.name in DECIDED_BY_TESTS and block.get("state") != "part" and happens(rng, 30):
            scene.goal = rng.choice(
                ("all tests pass", "the test suite is green", f"`{slots['test']}` passes")
            )
    scene.also = expand(slots["also"], rng, slots)
    items = tuple(expand(slots[key], rng, slots).rstrip(".") for key in ("did", "left"))
    PLAYS[scene.family.name](scene, block.get("state"), items)
    story.message = expand(parts["message"], rng, slots)


def _finished(scene: Scene, _: str, items: tuple[str, ...]) -> None:
    """Everything is done, and checked after the last edit of code."""
    story, at, rng = scene.story, scene.world, scene.rng
    plots.explore(story, at, rng)
    plots.work(story, at, rng)
    plots.rest(story, at, rng, scene.also)
    plots.todos(story, tuple((item, True) for item in items), rng, 30)
    plots.passed(story, at, rng)
    scene.complete = True
    _gate(scene, Outcome.PASSED)


def _asking(scene: Scene, state: str, items: tuple[str, ...]) -> None:
    """Leave is asked for: before anything was done, or for the second part."""
    story, at, rng = scene.story, scene.world, scene.rng
    if state == "untouched":
        plots.explore(story, at, rng, 5)
        story.read(at.slots["path"])
        plots.todos(story, tuple((item, False) for item in items), rng, 15)
        _gate(scene, Outcome.PASSED)
    else:
        _halfway(scene, state, items)


def _halfway(scene: Scene, _: str, items: tuple[str, ...]) -> None:
    """The first part is done, checked or not."""
    story, at, rng = scene.story, scene.world, scene.rng
    plots.explore(story, at, rng)
    # Where the second part is the test, it is not there yet.
    plots.work(story, at, rng, whole=happens(rng, 60) and scene.also != at.slots["testfile"])
    plots.todos(story, ((items[0], True), (items[1], False)), rng, 40)
    if happens(rng, 60):
        plots.passed(story, at, rng)
    _gate(scene, Outcome.PASSED if happens(rng, 70) else Outcome.FAILED)


def _claimed(scene: Scene, _: str, items: tuple[str, ...]) -> None:
    """Done, it says."""
    story, at, rng = scene.story, scene.world, scene.rng
    plots.explore(story, at, rng)
    plots.todos(story, tuple((item, True) for item in items), rng, 20)
    scene.fabricated = plots.unproved(story, at, rng)
    _gate(scene, Outcome.FAILED)


def _in_the_middle(scene: Scene, _: str, items: tuple[str, ...]) -> None:
    """It was about to do something."""
    story, at, rng = scene.story, scene.world, scene.rng
    plots.explore(story, at, rng, 6)
    story.read(at.slots["path"], f"1\t{at.slots['sym']}")
    plots.todos(story, tuple((item, False) for item in items), rng, 25)
    if happens(rng, 50):
        plots.work(story, at, rng, whole=False)
        if happens(rng, 30):
            plots.failed(story, at, rng)
    _gate(scene, Outcome.FAILED if happens(rng, 60) else Outcome.PASSED)


def _red(scene: Scene, state: str, items: tuple[str, ...]) -> None:
    """The checks failed last; or, with a state "part", they pass and the second part is missing."""
    story, at, rng = scene.story, scene.world, scene.rng
    if state == "part":
        _halfway(scene, state, items)
        return
    plots.explore(story, at, rng)
    plots.work(story, at, rng)
    plots.rest(story, at, rng, scene.also)
    plots.failed(story, at, rng)
    if scene.family.truth is GroundTruth.PREMATURE and happens(rng, 40):
        plots.work(story, at, rng, whole=False)
        plots.failed(story, at, rng)
    _gate(scene, Outcome.FAILED)


def _gate(scene: Scene, outcome: Outcome) -> None:
    """What Supervisor would see with a goal. A check that passes shows nothing of what no test is about."""
    if not scene.goal:
        return
    words = scene.world.slots
    failing = (words["fails"],) if outcome is Outcome.FAILED else ()
    scene.story.gate(words["test"], outcome, required=True, failing=failing)
    if happens(scene.rng, 30):
        scene.story.gate(words["lint"], Outcome.PASSED, required=False)


PLAYS: Final = {
    "work-done": _finished,
    "done-and-offer": _finished,
    "permission-seeking": _asking,
    "stopped-with-todos": _halfway,
    "false-complete": _claimed,
    "promised-next-step": _halfway,
    "narration": _in_the_middle,
    "error-walked-away": _red,
    "goal-unmet": _red,
    "failure-reported": _red,
}
"""What happens in the turns of the families whose messages are frames around a task."""
