"""Reads endings written by hand; their format is told in tests/endings/by_hand/README.md."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Final

from endings.ending import Ending, Label, Step
from msgspec import Struct, field

ENDINGS: Final = Path(__file__).resolve().parents[2] / "tests" / "endings"
FOLDER: Final = ENDINGS / "by_hand"
WORTH: Final = tuple(ENDINGS / "worth" / name for name in ("faked", "honest", "surroundings"))
"""Written blind when it was settled what a pass is worth."""
BLIND: Final = (ENDINGS / "blind" / "faked", ENDINGS / "blind" / "honest", *WORTH)
"""Written later, by others, without a look at the product or at the other endings."""
SIGNS: Final = {
    "pyproject.toml": "python",
    "pytest.ini": "python",
    "package.json": "node",
    "Makefile": "make",
    "go.mod": "go",
    "Cargo.toml": "rust",
    "pom.xml": "java",
    "run-tests.sh": "shell",
}
"""The ecosystem by a file of the project, the first that is there."""


class Part(Struct):
    """One `@@` part: its kind, what stands behind the kind, and the lines below."""

    kind: str
    rest: str
    lines: list[str] = field(default_factory=list)

    @property
    def text(self) -> str:
        """The lines without the empty ones at the end; a last line ends with a line break."""
        kept = list(self.lines)
        while kept and not kept[-1].strip():
            kept.pop()
        return "".join(f"{line}\n" for line in kept)


class Block(Struct):
    """One `@@@@` block: project, change or ending, with its fields and parts."""

    kind: str
    name: str
    fields: dict[str, list[str]] = field(default_factory=dict)
    parts: list[Part] = field(default_factory=list)

    def get(self, key: str, default: str = "") -> str:
        """The one value of a field."""
        return self.fields.get(key, [default])[-1]


def load(folder: Path = FOLDER) -> tuple[Ending, ...]:
    """All endings of the folder, in the order of the files. Raises ValueError where one is not well made."""
    texts = [path.read_text("utf-8") for path in sorted(folder.glob("*.txt"))]
    blocks = [block for text in texts for block in _blocks(text)]
    known = {(block.kind, block.name): block for block in blocks}
    if len(known) != len(blocks):
        raise ValueError("two blocks have the same name")
    return tuple(_ending(block, known) for block in blocks if block.kind == "ending")


def _blocks(text: str) -> Iterator[Block]:
    block: Block | None = None
    for line in text.splitlines():
        if line.startswith("@@@@ "):
            if block:
                yield block
            kind, _, name = line.removeprefix("@@@@ ").partition(" ")
            block = Block(kind, name)
        elif block and line.startswith("@@ "):
            kind, _, rest = line.removeprefix("@@ ").partition(" ")
            block.parts.append(Part(kind, rest))
        elif block and block.parts:
            block.parts[-1].lines.append(line)
        elif block and line.strip():
            key, _, value = line.partition(":")
            block.fields.setdefault(key, []).append(value.strip())
    if block:
        yield block


def _ending(block: Block, known: dict[tuple[str, str], Block]) -> Ending:
    project = known["project", block.get("project")]
    before = {part.rest: part.text for part in project.parts if part.kind == "file"}
    after = dict(before)
    sources = [known["change", name] for name in block.get("with").split()]
    try:
        for source in (*sources, block):
            for part in source.parts:
                _apply(part, after)
    except (KeyError, ValueError) as error:
        raise ValueError(f"{block.name}: {error}") from error
    label = Label(block.get("label"))
    proof = block.get("proof", project.get("proof"))
    return Ending(
        name=block.name,
        label=label,
        way=block.get("way"),
        ecosystem=next((what for sign, what in SIGNS.items() if sign in before), "python"),
        before=before,
        after=after,
        message=_joined(block, "message"),
        steps=_steps(block, before, after),
        goal=block.get("goal", "all tests pass"),
        checks=tuple(block.fields.get("check", ())),
        set_up=_joined(project, "sh"),
        wrap_up=_joined(block, "sh"),
        proof=proof,
        green=block.get("green", "no" if label is Label.HONEST_FAILURE else "yes") == "yes",
        ran=int(block.get("ran", "1")),
        not_ran=int(block.get("not_ran", "0")),
        gap=block.get("gap"),
    )


def _joined(block: Block, kind: str) -> str:
    return "".join(part.text for part in block.parts if part.kind == kind)


def _apply(part: Part, files: dict[str, str]) -> None:
    """Change the files as one part says."""
    match part.kind:
        case "file":
            files[part.rest] = part.text
        case "gone":
            del files[part.rest]
        case "move":
            old, new = part.rest.split()
            files[new] = files.pop(old)
        case "edit":
            files[part.rest] = _edited(files[part.rest], part.text)
        case _:
            pass


def _edited(text: str, edit: str) -> str:
    """The text with every place of an edit replaced; each must be there exactly once."""
    for place in edit.split("~~\n"):
        lines = [line or " " for line in place.splitlines()]
        old = "".join(f"{line[1:]}\n" for line in lines if line[0] in " -")
        new = "".join(f"{line[1:]}\n" for line in lines if line[0] in " +")
        if text.count(old) != 1 or not lines:
            raise ValueError(f"there {text.count(old)} times: {old!r}")
        text = text.replace(old, new)
    return text


def _steps(block: Block, before: dict[str, str], after: dict[str, str]) -> tuple[Step, ...]:
    steps: list[Step] = []
    for part in block.parts:
        if part.kind == "call":
            code, _, line = part.rest.partition(" ")
            steps.append(Step(line=line, exit_code=int(code), output=part.text))
        elif part.kind == "edited":
            steps.append(Step(paths=(part.rest,)))
    if any(step.paths for step in steps):
        return tuple(steps)
    names = sorted({*before, *after})
    edits = (Step(paths=(name,)) for name in names if before.get(name) != after.get(name))
    return (*edits, *steps)
