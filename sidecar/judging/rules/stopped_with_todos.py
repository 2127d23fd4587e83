"""Work is left that the agent itself named: in the host's to-do list, its message or the session's journal.

The host's own list is certain if the message asks nothing. What a message lists as remaining is certain only
if the turn did work, the user's prompt asked for it, and nothing makes it optional, later or blocked.
"""

from __future__ import annotations

import re
from typing import Final

from sidecar.evidence.claims.wording import utterances
from sidecar.judging.rules.false_complete import is_work_claim, last_sentences
from sidecar.judging.rules.found import RuleFinding
from sidecar.judging.rules.look import TurnFacts
from sidecar.judging.rules.message import SENTENCE_BREAK, ends_in_question
from sidecar.judging.wording.book import without
from sidecar.kernel.evidence import MissingWork

STOPPED_WITH_TODOS: Final = "stopped-with-todos"
REMAINING_WORK_LINE: Final = (
    r"(?im)^[ \t]*(?:[-*] \[ \] \S.*"
    r"|(?:#+[ \t]*)?\**(?:remaining|still to do|to ?do|next steps|not (?:yet )?(?:done|implemented))\b.*)"
)
TABLE_ROW: Final = r"[ \t]*\|.*\|[ \t]*"
OPEN_SIGNS: Final = "\u23f3\u231b\U0001f51c\U0001f6a7\u2b1c\u2610\U0001f532"
"""Symbols that agents use to mark open work: hourglasses, a construction sign, an empty box."""
OPEN_CHECKBOX: Final = r"[ \t]*[-*] \[ \] (\S.*)"
LIST_ITEM: Final = r"[ \t]*(?:[-*\u2022\u00b7]|\d{1,3}[.)\u3001])[ \t]*(?!\[[xX]\])(\S.*)"
BEHAVIOUR: Final = (
    r"^`[^`]+` (?:now |always )?(?!(?:remain|need|lack|i|ha|wa|misse|require|await|doe)s\b)\w+s\b"
)
"""A sentence on what the code does: "`total()` now rounds the remaining amount"."""
UNCERTAIN_FIELDS: Final = ("later", "hinges", "yours", "rights", "outside", "cannot", "unclear")
CELL_BREAK: Final = rf"[|{OPEN_SIGNS}]"
STATE_CELL_LENGTH: Final = 30
"""Maximum characters of a table cell that names a state."""
ENDING_LENGTH: Final = 600
"""Characters at the end of a message in which a sign of a legitimate stop is looked for."""
ENDING_SENTENCES: Final = 8
"""Sentences at the end of a message in which such a sign is looked for."""
REMAINING_LINES_READ: Final = 80
"""Lines at the end of a message in which remaining work is looked for."""
TODO_ITEM_LIMIT: Final = 10
LEAST_SHARED_TOPICS: Final = 0.6
"""Least share of an item's words that the user used for it to count as requested."""


def find_stopped_with_todos(look: TurnFacts) -> RuleFinding | None:
    """Find work that is left."""
    if look.turn.open_todos and look.turn.changed:
        certain = look.turn.readable and not _asks_or_gives_reason(look)
        then = "Do the open to-dos, or mark as done what is done."
        return _todos_finding(look.turn.open_todos[:TODO_ITEM_LIMIT], then, certain=certain)
    left = remaining_work(look)
    wanted = tuple(item for item in left if _was_asked_for(look, item))
    then = "Do what you listed as remaining."
    if wanted and _is_certain_remainder(look, wanted):
        return _todos_finding(wanted[:TODO_ITEM_LIMIT], then, certain=True)
    named = tuple(
        line.strip()[:300] for line in re.findall(REMAINING_WORK_LINE, look.message.text)[:TODO_ITEM_LIMIT]
    )
    if named or wanted:
        return _todos_finding(named or wanted[:TODO_ITEM_LIMIT], then, certain=False)
    return _journal_finding(look)


def _journal_finding(look: TurnFacts) -> RuleFinding | None:
    """Tasks in the journal: since it outlives the turn, they only raise a suspicion."""
    tasks = tuple(f"{task.id}: {task.text}"[:300] for task in look.turn.planned if task.now and task.text)
    if not tasks or not look.turn.changed:
        return None
    then = "Do the tasks of your journal that nothing blocks, or set the status of what is done."
    return _todos_finding(tasks[:TODO_ITEM_LIMIT], then, certain=False)


def remaining_work(look: TurnFacts) -> tuple[str, ...]:
    """Return what the message says is left: open checkboxes, items under such a heading, and sentences."""
    found: list[str] = []
    listing = False
    for line in look.message.text.split("\n")[-REMAINING_LINES_READ:]:
        item = re.match(LIST_ITEM, line)
        if box := re.match(OPEN_CHECKBOX, line):
            found.append(box[1])
        elif cell := _open_cell(look, line):
            found.append(cell)
        elif item and listing:
            found.append(item[1])
        elif line.strip():
            listing = look.says(line[:200], "rest") and len(line) < 2 * ENDING_LENGTH
            found.extend(each for each in re.split(SENTENCE_BREAK, line) if _says_work_left(look, each))
    return tuple(each.strip()[:300] for each in found[: 3 * TODO_ITEM_LIMIT])


def _open_cell(look: TurnFacts, line: str) -> str:
    """The longest cell of a table row, or the list item, that is marked as open; "" if none is."""
    if any(sign in line for sign in OPEN_SIGNS):
        return max(re.split(CELL_BREAK, line[: 2 * ENDING_LENGTH]), key=len).strip()
    if not re.fullmatch(TABLE_ROW, line[: 2 * ENDING_LENGTH]):
        return ""
    cells = [cell.strip() for cell in line[: 2 * ENDING_LENGTH].strip(" \t|").split("|")]
    whole = max(cells, key=len)
    short = (cell for cell in cells if cell != whole and len(cell) < STATE_CELL_LENGTH)
    return whole if any(look.says(cell, "rest") for cell in short) else ""


def _says_work_left(look: TurnFacts, sentence: str) -> bool:
    if re.match(BEHAVIOUR, sentence.strip()):
        return False
    told = not ends_in_question(sentence) and look.says(sentence[:ENDING_LENGTH], "rest", "alike")
    return told and not (
        is_work_claim(look, sentence, "passes") or utterances(sentence[:ENDING_LENGTH])
    )  # "The remaining tests pass."


def _was_asked_for(look: TurnFacts, item: str) -> bool:
    """Whether the user's prompt asked for this."""
    if look.says(item, "alike"):
        return look.request.every
    told = look.topics(without(item, look.message.spoken, "rest"))
    shared = told & look.request.topics
    return bool(told) and len(shared) >= max(1, LEAST_SHARED_TOPICS * len(told))


def _is_certain_remainder(look: TurnFacts, wanted: tuple[str, ...]) -> bool:
    if not (look.free and look.worked) or "?" in look.message.end:
        return False
    listed = "\n".join(wanted)
    said = "\n".join(each for each in look.message.paragraph.split("\n") if not re.match(r"\s*\|", each))
    if look.adds(listed, *UNCERTAIN_FIELDS) or look.adds(said, "later", "hinges") or look.says(said, "yours"):
        return False
    if look.risks(listed):
        return False
    told = "\n".join(without(item, look.message.spoken, "rest") for item in wanted)
    return look.goal or not look.says(told, "amiss")


def _asks_or_gives_reason(look: TurnFacts) -> bool:
    """Whether the message asks at its end, or gives a reason that the user did not mention.

    Sentences that only report finished work give no reason.
    """
    end = "\n".join(
        each for each in last_sentences(look)[-ENDING_SENTENCES:] if not is_work_claim(look, each)
    )[-ENDING_LENGTH:]
    return ends_in_question(look.message.last) or look.holds_up(end)


def _todos_finding(missing: tuple[str, ...], then: str, *, certain: bool) -> RuleFinding:
    lack = MissingWork(kind=STOPPED_WITH_TODOS, missing=missing, next_step=then)
    return RuleFinding(
        rule=STOPPED_WITH_TODOS, certain=certain, lack=lack, confidence=0.96 if certain else 0.7
    )
