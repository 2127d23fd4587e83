"""Which orders of a prompt a message reports: it speaks of them, and no sentence of it tells of trouble.

However such a report is worded, a fact that contradicts the order contradicts the report. The wording of
orders, and of trouble, stands in data/claims.toml.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import lru_cache
from typing import Final

from msgspec.structs import replace

from sidecar.evidence.claims.listed import listed_files
from sidecar.evidence.claims.utterances import Utterance, utterances
from sidecar.evidence.claims.wording import (
    CLAUSE,
    EMPHASIS,
    HEADING,
    IN_BACKTICKS,
    JOINT,
    LIST_ITEM,
    MESSAGE_LIMIT,
    OrderForm,
    claim_wording,
    compiled,
    join_quoted,
    named_groups,
    order_clauses,
    tells_of_trouble,
)
from sidecar.kernel.evidence import ClaimKind

PARAGRAPH: Final = re.compile(r"\n\s*\n")
TOLD_AS_A_WHOLE: Final = re.compile(r"\||```")
"""A table or a quotation: what its rows are about may stand in another line."""
QUOTED_COMMAND: Final = re.compile(r"`[a-z][^`\s]* [^`\n]*`")
"""What a command does, such as the next one to type, is not what the sentence is about."""
FEW_WORDS: Final = 5
SENTENCE_END: Final = re.compile(r"(?<=[.!?])\s")


def assertions(message: str, prompt: str) -> tuple[Utterance, ...]:
    """Return the claims of a message, the orders that it reports, and the files that it lists."""
    return (*utterances(message, prompt), *reported_orders(message, prompt), *listed_files(message))


def is_ordered(kind: ClaimKind, prompt: str) -> bool:
    """Whether a prompt orders what such a claim tells of; of kinds without wording, anything at all.

    A few words, such as "do it", may order anything that was spoken of before.
    """
    if len(prompt.split()) <= FEW_WORDS and "?" not in prompt:
        return True
    wanted = compiled(claim_wording().wanted.get(kind, ""))
    return any(map(wanted.search, order_clauses(prompt)))


@lru_cache(maxsize=16)
def reported_orders(message: str, prompt: str) -> tuple[Utterance, ...]:
    """Return the orders of a prompt that a message speaks of without a word of trouble, each once."""
    known, units = claim_wording(), message_units(message[-MESSAGE_LIMIT:])
    clauses = order_clauses(prompt)
    ordered = (each for clause in clauses for form in known.orders for each in _orders(form, clause))
    told = (
        replace(order, text=text)
        for order, about in dict(ordered).items()
        if (text := _report(re.compile(about, re.IGNORECASE), units))
    )
    return tuple(told)


def message_units(text: str) -> list[str]:
    """Return the sentences and list items of a message; a table or a quotation stays whole.

    Points below a heading of few words that tells of trouble, such as "Not done:", begin with it.
    """
    units, head = list[str](), ""
    for paragraph in PARAGRAPH.split(IN_BACKTICKS.sub(join_quoted, text)):
        if TOLD_AS_A_WHOLE.search(paragraph):
            units.append(EMPHASIS.sub("", paragraph))
            continue
        for line in paragraph.split("\n"):
            plain, point = EMPHASIS.sub("", line), LIST_ITEM.match(line) is not None
            units.extend(f"{head}{unit}" if point else unit for unit in SENTENCE_END.split(plain))
            if HEADING.match(line):
                short = len(plain.split()) <= FEW_WORDS
                head = f"{plain} " if short and tells_of_trouble(plain) else ""
            elif not (point or line[:1].isspace()):
                head = ""
    return [unit.replace(JOINT, " ") for unit in units]


def _orders(form: OrderForm, clause: str) -> Iterator[tuple[Utterance, str]]:
    """Yield what a clause orders in this form, and the pattern of what a message says about it."""
    subject = claim_wording().subjects[form.about]
    for hit in compiled(form.pattern).finditer(clause):
        groups = named_groups(hit)
        order = replace(
            Utterance(form.kind, "", name=form.name, count=form.count, loose=True, ordered=True), **groups
        )
        names = [each.rpartition("/")[2] for each in groups.values()]
        yield order, "|".join((subject, *map(re.escape, names)))
        if form.each:
            for word in compiled(form.each).findall(clause[hit.start() :]):
                yield replace(order, name=word), f"{subject}|{re.escape(word)}"


def _report(about: re.Pattern[str], units: list[str]) -> str:
    """Return the first clause that reports it, "" where there is none, or where one tells of trouble."""
    known, found = claim_wording(), ""
    for unit in filter(about.search, units):
        if tells_of_trouble(unit):
            if about.search(QUOTED_COMMAND.sub("", unit)):
                return ""
            continue
        clauses = (clause for clause in CLAUSE.split(unit) if about.search(clause))
        none = (compiled(known.withdraws), compiled(known.advises))
        reports = (one for one in clauses if not any(each.search(one) for each in none))
        found = found or next(reports, "").strip()
    return found
