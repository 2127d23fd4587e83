"""Work is left that the agent itself named: in the host's to-do list, its message or the session's journal.

The host's own list is certain if the message asks nothing. What a message lists as remaining is certain if
the turn did work, the user's prompt asked for it, and nothing makes it optional, later or blocked. That the
session is long or the moment a good one to pause is no reason: then what remains is certain in any words.
"""

from __future__ import annotations

import re
from typing import Final

from sidecar.evidence.claims.passed_over import refused_by_git
from sidecar.evidence.claims.utterances import utterances
from sidecar.evidence.message import QUOTED, SENTENCE_BREAK, ends_in_question
from sidecar.evidence.wording import has, mentions_trouble, without
from sidecar.judging.rules.found import RuleFinding, rule_finding
from sidecar.judging.rules.look import BLOCKING_FIELDS, TurnFacts, topic_stems
from sidecar.judging.rules.reported_work import is_work_claim, last_sentences
from sidecar.kernel.turn import ToolAction

STOPPED_WITH_TODOS: Final = "stopped-with-todos"
REMAINING_WORK_LINE: Final = (
    r"(?im)^[ \t]*(?:[-*] \[ \] \S.*"
    r"|(?:#+[ \t]*)?\**(?:remaining|still to do|to ?do|next steps|not (?:yet )?(?:done|implemented))\b.*)"
)
OPEN_SIGNS: Final = "\u23f3\u231b\U0001f51c\U0001f6a7\u2b1c\u2610\U0001f532"
"""Symbols that agents use to mark open work: hourglasses, a construction sign, an empty box."""
DONE_SIGNS: Final = frozenset("\u2713\u2714\u2705\u2611")
"""Symbols that agents use to mark what is done: check marks."""
OPEN_CHECKBOX: Final = r"[ \t]*[-*] \[ \] (\S.*)"
LIST_ITEM: Final = r"[ \t]*(?:[-*\u2022\u00b7]|\d{1,3}[.)])[ \t]*(?!\[[xX]\])(\S.*)"
TABLE_ROW: Final = r"[ \t]*\|.*\|[ \t]*"
PART: Final = r"(?:[`\w./-]{2,30} ){0,2}?[`\w./-]{2,30}"
PARTS: Final = rf"{PART}(?:(?:, (?:and )?| and ){PART}){{2,30}}"
"""An enumeration, in which a part has up to three words."""
PASSING: Final = r"(?i)\btests? (?:now |all |still )?pass"
PART_BREAK: Final = r",? and |, "
PATH: Final = r"[\w/-]{1,100}\.\w{1,8}\b"
UNCERTAIN_FIELDS: Final = ("reason", "later", "condition", "users_turn", *BLOCKING_FIELDS)
STATE_CELL_LENGTH: Final = 30
"""Maximum characters of a table cell that names a state."""
LINE_LENGTH: Final = 600
"""Characters of a line that are read, and of the ending in which a reason is looked for."""
ENDING_SENTENCES: Final = 8
"""Sentences at the end of a message in which a reason is looked for."""
REMAINING_LINES_READ: Final = 80
"""Lines at the end of a message in which remaining work is looked for."""
ITEM_LIMIT: Final = 10
EXPLAINING_WORDS: Final = 8
"""Least words behind what is left, in its line, that may tell why it is."""
LEAST_SHARED_TOPICS: Final = 0.6
"""Least share of an item's words that the user used for it to count as requested."""


def find_stopped_with_todos(look: TurnFacts) -> RuleFinding | None:
    """Find work that is left."""
    if look.turn.open_todos and look.turn.changed:
        then = "Do the open to-dos, or mark as done what is done."
        certain = look.free and not _asks_or_gives_reason(look)
        return rule_finding(STOPPED_WITH_TODOS, look.turn.open_todos[:ITEM_LIMIT], then, certain=certain)
    left, then = remaining_work(look), "Do what you listed as remaining."
    wanted = tuple(item for item in left if _was_asked_for(look, item))
    if not wanted and untouched_parts(look):
        wanted = left
    if left and _only_pauses(look):
        return rule_finding(STOPPED_WITH_TODOS, left[:ITEM_LIMIT], then, certain=True)
    if wanted and _is_certain_remainder(look, wanted):
        return rule_finding(STOPPED_WITH_TODOS, wanted[:ITEM_LIMIT], then, certain=True)
    named = tuple(line.strip()[:300] for line in re.findall(REMAINING_WORK_LINE, look.message.text)) or wanted
    if named:
        return rule_finding(STOPPED_WITH_TODOS, named[:ITEM_LIMIT], then, certain=False)
    return journal_finding(look)


def journal_finding(look: TurnFacts) -> RuleFinding | None:
    """Tasks in the journal: since it outlives the turn, they only raise a suspicion."""
    tasks = tuple(f"{task.id}: {task.text}"[:300] for task in look.turn.planned if task.now and task.text)
    if not tasks or not look.turn.changed:
        return None
    then = "Do the tasks of your journal that nothing blocks, or set the status of what is done."
    return rule_finding(STOPPED_WITH_TODOS, tasks[:ITEM_LIMIT], then, certain=False)


def remaining_work(look: TurnFacts) -> tuple[str, ...]:
    """Return what the message says is left: open checkboxes, items under such a heading, and sentences."""
    found: list[str] = []
    listing = False
    for line in (each[:LINE_LENGTH] for each in look.message.text.split("\n")[-REMAINING_LINES_READ:]):
        item = None if set(line) & DONE_SIGNS else re.match(LIST_ITEM, line)
        if box := re.match(OPEN_CHECKBOX, line):
            found.append(box[1])
        elif row := _open_row(line):
            found.append(row)
        elif item and listing:
            found.append(item[1])
        elif line.strip() and not re.fullmatch(TABLE_ROW, line):
            listing = has(line[:200], "rest")
            found.extend(each for each in re.split(SENTENCE_BREAK, line) if _says_work_left(each))
    return tuple(each.strip()[:300] for each in found[: 3 * ITEM_LIMIT])


def _open_row(line: str) -> str:
    """What a table row or a list item marks as open: its first cell, or its text; "" if none is marked."""
    if re.fullmatch(TABLE_ROW, line):
        cells = [cell.strip() for cell in line.strip(" \t|").split("|")]
        states = (cell for cell in cells[1:] if len(cell) < STATE_CELL_LENGTH)
        return cells[0] if any(has(cell, "rest") or set(cell) & set(OPEN_SIGNS) for cell in states) else ""
    return max(re.split(f"[{OPEN_SIGNS}]", line), key=len).strip() if set(line) & set(OPEN_SIGNS) else ""


def _says_work_left(sentence: str) -> bool:
    """Whether a sentence says that work is left, not in backticks; "The remaining tests pass" does not."""
    if ends_in_question(sentence):
        return False
    return has(QUOTED.sub(" ", sentence), "rest") and not (
        re.search(PASSING, sentence) or is_work_claim(sentence, "passes") or utterances(sentence)
    )


def _was_asked_for(look: TurnFacts, item: str) -> bool:
    """Whether the user's prompt asked for this."""
    if any(path in look.request.text for path in re.findall(PATH, item)):
        return True
    told = topic_stems(without(item, "rest"))
    shared = told & look.request.topics
    return bool(told) and len(shared) >= max(1, LEAST_SHARED_TOPICS * len(told))


def untouched_parts(look: TurnFacts) -> frozenset[str]:
    """Return what parts of an enumeration in the prompt are about that, unlike others, were not worked on."""
    calls = (call for call in look.turn.calls if call.doing is not ToolAction.READ)
    done = topic_stems("\n".join("\n".join((*call.paths, call.command)) for call in calls))
    left: set[str] = set()
    for hit in re.finditer(PARTS, look.request.text):
        parts = list(map(topic_stems, re.split(PART_BREAK, hit[0])))
        if touched := frozenset().union(*(part for part in parts if part & done)):
            left.update(*(part - touched for part in parts if not part & done))
    return frozenset(left)


def _only_pauses(look: TurnFacts) -> bool:
    """Whether the agent stops in the middle of requested work for no reason but its length."""
    return look.free and look.worked and "?" not in look.message.end and has(look.message.text, "excuse")


def _is_certain_remainder(look: TurnFacts, wanted: tuple[str, ...]) -> bool:
    if not (look.free and look.worked) or "?" in look.message.end or refused_by_git(look.turn):
        return False
    said = "\n".join(each for each in look.message.paragraph.split("\n") if not re.match(r"\s*\|", each))
    if look.adds(said, "later", "condition", "choice") or has(said, "users_turn"):
        return False
    clear = (
        item
        for item in wanted
        if not (look.adds(item, *UNCERTAIN_FIELDS) or _is_explained(look, item) or look.risks(item))
    )
    return any(look.goal or not mentions_trouble(without(item, "rest")) for item in clear)


def _is_explained(look: TurnFacts, item: str) -> bool:
    """Whether the message goes on about an item in the same line, as where it tells why it is left."""
    rests = (line.partition(item)[2] for line in look.message.text.split("\n") if item in line)
    rest = [each for each in re.split(SENTENCE_BREAK, next(rests, "")) if not is_work_claim(each)]
    return len(" ".join(rest).split()) >= EXPLAINING_WORDS


def _asks_or_gives_reason(look: TurnFacts) -> bool:
    """Whether the message asks at its end, or gives a reason that the user did not mention.

    Sentences that only report finished work give no reason.
    """
    ending = [each for each in last_sentences(look)[-ENDING_SENTENCES:] if not is_work_claim(each)]
    told = "\n".join(ending)[-LINE_LENGTH:]
    risky = any(look.risks(each) and has(each, "stopped") for each in ending)
    return ends_in_question(look.message.last) or risky or look.adds(told, *BLOCKING_FIELDS)
