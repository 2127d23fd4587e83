"""Work is left that the agent itself named, on the host's list, in its message or in the session's journal.

The host's own list is certain where nothing is asked. What a message lists as remaining is certain only
where the turn worked, the user's own prompt asked for it, and nothing makes it optional, later or blocked.
"""

from __future__ import annotations

import re
from typing import Final

from sidecar.policy.claims.wording import utterances
from sidecar.policy.lack import Lack
from sidecar.policy.rules.claimed import claims, sentences
from sidecar.policy.rules.found import Finding
from sidecar.policy.rules.look import Look
from sidecar.policy.rules.message import SENTENCE, asks
from sidecar.policy.rules.words.book import without

KIND: Final = "stopped-with-todos"
NAMES_REST: Final = (
    r"(?im)^[ \t]*(?:[-*] \[ \] \S.*"
    r"|(?:#+[ \t]*)?\**(?:remaining|still to do|to ?do|next steps|not (?:yet )?(?:done|implemented))\b.*)"
)
ROW: Final = r"[ \t]*\|.*\|[ \t]*"
OPEN: Final = "\u23f3\u231b\U0001f51c\U0001f6a7\u2b1c\u2610\U0001f532"
"""Signs that agents put where work is open: hourglasses, a building site, an empty box."""
BOX: Final = r"[ \t]*[-*] \[ \] (\S.*)"
ITEM: Final = r"[ \t]*(?:[-*\u2022\u00b7]|\d{1,3}[.)\u3001])[ \t]*(?!\[[xX]\])(\S.*)"
SPOILS: Final = ("later", "hinges", "yours", "rights", "outside", "cannot", "unclear")
CELLS: Final = rf"[|{OPEN}]"
STATE: Final = 30
"""Characters of a cell of a table that names a state."""
END: Final = 600
"""Characters of a message in which a legitimate stop shows."""
LAST: Final = 8
"""Sentences at the end of a message in which it shows."""
READ: Final = 80
"""Lines of a message in which remaining work is looked for, the last ones."""
ITEMS: Final = 10
LEAST: Final = 0.6
"""Share of an item's words that the user used, for it to be what the user asked for."""


def stopped_with_todos(look: Look) -> Finding | None:
    """Stop with work left."""
    if look.turn.open_todos and look.turn.changed:
        certain = look.turn.readable and not _legitimate(look)
        then = "Do the open to-dos, or mark as done what is done."
        return _found(look.turn.open_todos[:ITEMS], then, certain=certain)
    left = remaining(look)
    wanted = tuple(item for item in left if _asked_for(look, item))
    then = "Do what you listed as remaining."
    if wanted and _certain(look, wanted):
        return _found(wanted[:ITEMS], then, certain=True)
    named = tuple(line.strip()[:300] for line in re.findall(NAMES_REST, look.message.text)[:ITEMS])
    if named or wanted:
        return _found(named or wanted[:ITEMS], then, certain=False)
    return _planned(look)


def _planned(look: Look) -> Finding | None:
    """A journal outlives the turn: that it plans more is no reason to send back, but one to look."""
    tasks = tuple(f"{task.id}: {task.text}"[:300] for task in look.turn.planned if task.now and task.text)
    if not tasks or not look.turn.changed:
        return None
    then = "Do the tasks of your journal that nothing blocks, or set the status of what is done."
    return _found(tasks[:ITEMS], then, certain=False)


def remaining(look: Look) -> tuple[str, ...]:
    """What the message says is left: boxes, items under such a heading, and sentences that say so."""
    found: list[str] = []
    listing = False
    for line in look.message.text.split("\n")[-READ:]:
        item = re.match(ITEM, line)
        if box := re.match(BOX, line):
            found.append(box[1])
        elif cell := _open_cell(look, line):
            found.append(cell)
        elif item and listing:
            found.append(item[1])
        elif line.strip():
            listing = look.says(line[:200], "rest") and len(line) < 2 * END
            found.extend(each for each in re.split(SENTENCE, line) if _left(look, each))
    return tuple(each.strip()[:300] for each in found[: 3 * ITEMS])


def _open_cell(look: Look, line: str) -> str:
    """The longest cell of a row of a table, or the item of a list, that is marked as open; "" if none is."""
    if any(sign in line for sign in OPEN):
        return max(re.split(CELLS, line[: 2 * END]), key=len).strip()
    if not re.fullmatch(ROW, line[: 2 * END]):
        return ""
    cells = [cell.strip() for cell in line[: 2 * END].strip(" \t|").split("|")]
    whole = max(cells, key=len)
    short = (cell for cell in cells if cell != whole and len(cell) < STATE)
    return whole if any(look.says(cell, "rest") for cell in short) else ""


def _left(look: Look, sentence: str) -> bool:
    told = not asks(sentence) and look.says(sentence[:END], "rest", "alike")
    return told and not (
        claims(look, sentence, "passes") or utterances(sentence[:END])
    )  # "The remaining tests pass."


def _asked_for(look: Look, item: str) -> bool:
    """Whether the user's prompt asked for this."""
    if look.says(item, "alike"):
        return look.request.every
    told = look.topics(without(item, look.message.spoken, "rest"))
    shared = told & look.request.topics
    return bool(told) and len(shared) >= max(1, LEAST * len(told))


def _certain(look: Look, wanted: tuple[str, ...]) -> bool:
    if not (look.free and look.worked) or "?" in look.message.end:
        return False
    listed = "\n".join(wanted)
    said = "\n".join(each for each in look.message.paragraph.split("\n") if not re.match(r"\s*\|", each))
    if look.adds(listed, *SPOILS) or look.adds(said, "later", "hinges") or look.says(said, "yours"):
        return False
    if look.risks(listed):
        return False
    told = "\n".join(without(item, look.message.spoken, "rest") for item in wanted)
    return look.goal or not look.says(told, "amiss")


def _legitimate(look: Look) -> bool:
    """Whether it asks at its end, or gives a reason that the user did not speak of.

    What only tells of work that is done gives none.
    """
    end = "\n".join(each for each in sentences(look)[-LAST:] if not claims(look, each))[-END:]
    return asks(look.message.last) or look.holds_up(end)


def _found(missing: tuple[str, ...], then: str, *, certain: bool) -> Finding:
    lack = Lack(kind=KIND, missing=missing, next_step=then)
    return Finding(rule=KIND, certain=certain, lack=lack, confidence=0.96 if certain else 0.7)
