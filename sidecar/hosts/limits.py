"""Reads in what a failed program printed whether its service is limited or refuses it; waits for a service.

What a host reports in fields decides, see `AgentStream`; words are read where none does: data/limits.toml.
"""

from __future__ import annotations

import hashlib
import re
import time
from collections.abc import Callable
from contextlib import nullcontext
from dataclasses import dataclass
from pathlib import PurePath
from typing import TYPE_CHECKING, Final

from msgspec import Struct
from msgspec.structs import replace

from sidecar.kernel.limits import ServiceLimit
from sidecar.kernel.text import clean_line
from sidecar.platform.data import load_data
from sidecar.platform.limits import WORKED_TRIES

if TYPE_CHECKING:
    from sidecar.hosts.ports import AgentResult, AgentRunner, AgentTask
    from sidecar.kernel.session import Environment
    from sidecar.platform.limits import ServiceLimits

DAY_S: Final = 86_400.0
JUST_S: Final = 600.0
"""Seconds for which a time of day that has passed is today's, and not tomorrow's."""
LINES_READ: Final = 40
"""Last lines of an output that are read: Gemini prints a stack of calls below the line that tells."""
SAID_LENGTH: Final = 160
"""Characters kept of what a service says."""


class LimitData(Struct, frozen=True, forbid_unknown_fields=True):
    """The data file, which explains each field."""

    statuses: tuple[int, ...]
    limited: tuple[str, ...]
    until: str
    refused: tuple[str, ...]
    credentials: tuple[str, ...]
    logins: dict[str, str]


def limit_data() -> LimitData:
    """Return what is known of limits and refusals."""
    return load_data("limits", LimitData)


def account_name(command: str, environment: Environment) -> str:
    """Return who is limited where this program is: its name, and a digest of what its credentials are."""
    values = "\0".join(environment.get(name, "") for name in limit_data().credentials)
    return f"{PurePath(command).name} {hashlib.sha256(values.encode()).hexdigest()[:8]}"


def told_limit(status: int | None, said: str, until: float = 0.0) -> ServiceLimit | None:
    """Return the limit that an answer of a service with this status tells, without its account."""
    if status not in limit_data().statuses:
        return None
    return ServiceLimit(account="", until=until, said=clean_line(said, SAID_LENGTH))


def read_failure(text: str, now: float) -> tuple[ServiceLimit | None, str]:
    """Return the limit that ended a program that printed this, or why its service refuses it, "" if not."""
    known, lines = limit_data(), text.splitlines()[-LINES_READ:]
    found = [
        next((line for line in lines if re.search("|".join(words), line, re.IGNORECASE)), "")
        for words in (known.limited, known.refused)
    ]
    limit = told_limit(known.statuses[0], found[0], _told_time(found[0], now)) if found[0] else None
    return limit, "" if limit else clean_line(found[1], SAID_LENGTH)


def _told_time(line: str, now: float) -> float:
    """Return the time of day that a line names, in seconds since the epoch, 0.0 for none."""
    if not (told := re.search(limit_data().until, line, re.IGNORECASE)):
        return 0.0
    hour = int(told["hour"]) % 12 + 12 * (told["half"] in "pP")
    moment = time.mktime((*time.localtime(now)[:3], hour, int(told["minute"] or 0), 0, 0, 0, -1))
    return moment if moment > now else 0.0 if now - moment < JUST_S else moment + DAY_S


def explain_failure(rest: AgentResult, command: str, limit: ServiceLimit | None, refused: str) -> AgentResult:
    """Return how an agent failed whose service is limited, or refuses it: with what to type to log in."""
    if limit or not refused:
        return replace(rest, limit=limit)
    login = limit_data().logins.get(PurePath(command).name, "")
    trouble = f"{refused}{login and f'. To log in, type: {login}'}"
    return replace(rest, trouble=trouble, unusable=True)


@dataclass(frozen=True)
class PatientAgent:
    """Implements ports.AgentRunner: waits while its service is limited, and then starts the agent again.

    `command`: the program's name, by which its account is known.
    """

    agent: AgentRunner
    command: str
    limits: ServiceLimits | None

    async def run(self, task: AgentTask, hear: Callable[[str], None]) -> AgentResult:
        """Run until no limit ended it, or WORKED_TRIES that had worked. What all spent counts."""
        account, waited, tokens = account_name(self.command, task.environment), 0.0, 0
        cents: float | None = None
        worked = 0
        while True:
            async with self.limits.turn(account) if self.limits else nullcontext(0.0) as pause:
                rest = await self.agent.run(task, hear)
            waited += pause
            tokens += rest.tokens
            cents = cents if rest.cents is None else (cents or 0.0) + rest.cents
            worked += rest.tokens > 0
            if rest.limit is None or self.limits is None or worked == WORKED_TRIES:
                return replace(rest, tokens=tokens, cents=cents, waited=waited)
            self.limits.meet(account, rest.limit)
