"""What a person orders, and who gave the order (law 9).

Text is parsed once, where it arrives: hosts' codecs call `parse_order`, and the command line builds an Order
of its options. From there on the Order travels, through the socket, to policy and into the log. Of a typed
goal, plain text is the condition; only --check names commands.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from enum import StrEnum
from typing import Final, Literal

from msgspec import Struct

from sidecar.kernel.errors import CommandRefusal
from sidecar.kernel.goal import CONDITION_LIMIT, GoalTerms
from sidecar.kernel.session import MAX_CONTINUATIONS, MIN_CONTINUATIONS

CommandName = Literal["goal", "retry", "rubric", "trust", "accept"]
"""The commands that change what is judged; only a person may give them."""
COMMAND_NAMES: Final[tuple[CommandName, ...]] = ("goal", "retry", "rubric", "trust", "accept")
CLEAR_WORDS: Final = ("clear", "stop", "off", "reset", "none", "cancel")
GOAL_WORDS: Final = {
    **dict.fromkeys(("", "status"), "status"),
    **dict.fromkeys(("help", "--help", "-h"), "help"),
    **dict.fromkeys(CLEAR_WORDS, "clear"),
    **{word: word for word in ("pause", "resume", "unhold")},
}
"""What typed after /supervisor:goal is no condition, and which word it stands for."""
RUBRIC_WORDS: Final = {
    **dict.fromkeys(("", "status", "show"), "show"),
    **dict.fromkeys(("init", "edit"), "edit"),
    "accept": "accept",
}
HOLD: Final = "hold"
"""The word of /supervisor:goal that a reason follows."""
READING_WORDS: Final = frozenset({"", "status", "show", "help"})
"""Words by which nothing changes."""


class Order(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A command that a person typed, parsed.

    `goal` are the terms of a new goal; `word` is what else to do ("pause", "show"), `number` a new budget,
    `gates` are the ids to approve, `reason` is why a finding is taken back. `fault` says why the text is no
    order and what to type instead.
    """

    name: CommandName
    word: str = ""
    goal: GoalTerms | None = None
    number: int | None = None
    gates: tuple[str, ...] = ()
    reason: str = ""
    fault: str = ""

    @property
    def changes(self) -> bool:
        """Whether it is to change anything."""
        return bool(self.goal or self.number or self.gates or self.word not in READING_WORDS)

    @property
    def text(self) -> str:
        """What may be typed after the command's name to give this order, for the log and for people."""
        if self.goal is None:
            word = self.word if self.changes else ""
            return " ".join(filter(None, (word, self.reason, str(self.number or ""), *self.gates)))
        goal = self.goal
        options = [f'--check "{check}"' for check in goal.checks]
        options += [f"--max-minutes {goal.max_seconds / 60:g}"] if goal.max_seconds else []
        options += [f"--max-tokens {goal.max_tokens}"] if goal.max_tokens else []
        return " ".join((goal.condition, *options))


def parse_order(name: CommandName, text: str) -> Order:
    """Parse what was typed after the name of a command."""
    try:
        return _PARSERS[name](text.strip())
    except CommandRefusal as refusal:
        return Order(name=name, fault=str(refusal))


def goal_order(terms: GoalTerms) -> Order:
    """Return the order to set a goal. Raises CommandRefusal for a condition that is none."""
    if not terms.condition:
        raise CommandRefusal("a goal needs a condition, for example: /supervisor:goal all tests pass")
    if len(terms.condition) > CONDITION_LIMIT:
        raise CommandRefusal(
            f"the condition has {len(terms.condition)} characters, {CONDITION_LIMIT} are allowed. "
            "Write the details into a file and name the file in the condition."
        )
    return Order(name="goal", goal=terms)


def _goal_order(text: str) -> Order:
    word, (first, *rest) = GOAL_WORDS.get(text.lower()), text.split(maxsplit=1) or [""]
    if first.lower() == HOLD:
        return hold_order("".join(rest))
    return Order(name="goal", word=word) if word else goal_order(parse_goal(text))


def hold_order(reason: str) -> Order:
    """Return the order to take the last findings back. Raises CommandRefusal without a reason."""
    if not reason.strip():
        raise CommandRefusal(
            "it needs a reason: /supervisor:goal hold REASON. For a goal, begin it otherwise"
        )
    return Order(name="goal", word=HOLD, reason=reason.strip())


def _retry_order(text: str) -> Order:
    if text and not (
        text.isascii() and text.isdigit() and MIN_CONTINUATIONS <= int(text[:12]) <= MAX_CONTINUATIONS
    ):
        raise CommandRefusal(
            f"retry takes a whole number from {MIN_CONTINUATIONS} to {MAX_CONTINUATIONS}, not {text[:40]!r}"
        )
    return Order(name="retry", number=int(text) if text else None)


def _rubric_order(text: str) -> Order:
    word = RUBRIC_WORDS.get(text.lower())
    if word is None:
        raise CommandRefusal(f"rubric takes nothing, `accept` or `edit`, not {text.lower()[:40]!r}")
    return Order(name="rubric", word=word)


_PARSERS: Final[Mapping[CommandName, Callable[[str], Order]]] = {
    "goal": _goal_order,
    "retry": _retry_order,
    "rubric": _rubric_order,
    "trust": lambda text: Order(name="trust", gates=tuple(text.split())),
    "accept": lambda _: Order(name="accept"),
}


# --- Who gave an order, as the system says ------------------------------------------------------------------


class Process(Struct, frozen=True, kw_only=True):
    """A running process.

    `leader` is the process id of its session's leader; `started` is in seconds since the epoch; `terminal`:
    it has a controlling terminal.
    """

    pid: int
    parent: int = 0
    name: str = ""
    started: float = 0.0
    leader: int = 0
    terminal: bool = False


Ancestry = tuple[Process, ...]
"""A process, its parent, and so on up to the first one that can be seen. Empty: nothing is known."""


class Giver(StrEnum):
    """Who gave an order. UNSURE: nothing shows whether a person did."""

    USER = "user"
    AGENT = "agent"
    UNSURE = "unsure"


class Origin(Struct, frozen=True):
    """Who gave an order, in a few words by which processes, and when (", at 14:03")."""

    giver: Giver
    seen: str
    when: str = ""


# --- The text of a goal -------------------------------------------------------------------------------------


OPTION_PATTERN = re.compile(
    r"""(?:^|(?<=\s))--(?P<name>check|max-minutes|max-tokens)\b(?:=|\s+)?"""
    r"""(?P<value>"(?:[^"\\]|\\.)*"|'[^']*'|(?:[^\s"'-]|-\d)\S*)?"""
)
UNKNOWN_OPTION_PATTERN = re.compile(r"(?:^|(?<=\s))--(?P<name>[a-z][a-z-]*)")
QUOTES = ("'", '"')
TYPO_SIMILARITY = 0.85
"""Minimum difflib ratio at which an unknown option counts as a misspelling of one of ours."""


def parse_goal(text: str) -> GoalTerms:
    """Separate the options from the condition; raises CommandRefusal."""
    checks: list[str] = []
    limits: dict[str, int] = {}
    for found in OPTION_PATTERN.finditer(text):
        name, value = found["name"], _unquote_value(found["value"] or "")
        if not value:
            fault = "has a quote that is not closed" if text[found.end() :][:1] in QUOTES else "needs a value"
            raise CommandRefusal(f"--{name} {fault}. Example: {OPTION_EXAMPLES[name]}")
        if name == "check":
            _refuse_unquoted_words(found, text)
            checks.append(value)
        else:
            limits[name] = _parse_positive_integer(name, value)
    rest = OPTION_PATTERN.sub(" ", text)
    _refuse_typos(rest)
    minutes = limits.get("max-minutes")
    return GoalTerms(
        condition=_strip_outer_quotes(" ".join(rest.split()) if checks or limits else text.strip()),
        checks=tuple(checks),
        max_seconds=None if minutes is None else minutes * 60,
        max_tokens=limits.get("max-tokens"),
    )


OPTION_EXAMPLES = {
    "check": '/supervisor:goal the build is clean --check "make build"',
    "max-minutes": "/supervisor:goal all tests pass --max-minutes 60",
    "max-tokens": "/supervisor:goal all tests pass --max-tokens 200000",
}


BUDGET_OPTIONS = ("retry", "retries", "max-retries", "max-attempts", "max-continuations")
"""What a person may take for the option of the budget, which has none."""


def _refuse_unquoted_words(found: re.Match[str], text: str) -> None:
    """Refuse a command without quotes that words follow: they would become part of the condition."""
    value, words = found["value"] or "", re.split(r"(?:^|\s)--[a-z]", text[found.end() :])[0].strip()
    if words and value[:1] not in QUOTES:
        whole = f"{value} {words}".replace('"', "'")[:200]
        before = text[: found.start()].strip() or "it works"
        raise CommandRefusal(
            f'a command of several words needs quotes: /supervisor:goal {before} --check "{whole}"'
        )


def _refuse_typos(prose: str) -> None:
    """Refuse options that look like misspellings of ours; any others belong to the condition."""
    from difflib import get_close_matches  # noqa: PLC0415 - a typed goal needs it, and no other event

    for found in UNKNOWN_OPTION_PATTERN.finditer(prose):
        if get_close_matches(found["name"], BUDGET_OPTIONS, n=1, cutoff=TYPO_SIMILARITY):
            raise CommandRefusal(
                f"there is no --{found['name']}. How often the agent may be sent back is another command: "
                "/supervisor:goal all tests pass, and then /supervisor:retry 3"
            )
        meant = get_close_matches(found["name"], OPTION_EXAMPLES, n=1, cutoff=TYPO_SIMILARITY)
        if meant:
            raise CommandRefusal(
                f"there is no --{found['name']}. Did you mean --{meant[0]}? {OPTION_EXAMPLES[meant[0]]}"
            )


def _strip_outer_quotes(text: str) -> str:
    """Remove quotes around the whole text."""
    bare = text[1:-1]
    return bare.strip() if len(text) > 1 and text[0] == text[-1] in QUOTES and text[0] not in bare else text


def _unquote_value(value: str) -> str:
    if value[:1] == '"':
        return re.sub(r'\\(["\\])', r"\1", value[1:-1]).strip()
    return value[1:-1].strip() if value[:1] == "'" else value


def _parse_positive_integer(name: str, value: str) -> int:
    if not value.isascii() or not value.isdigit() or not 1 <= int(value[:12]) <= 10**9:
        raise CommandRefusal(
            f"--{name} takes a whole number of at least 1, not {value[:40]!r}. "
            f"Example: {OPTION_EXAMPLES[name]}"
        )
    return int(value)
