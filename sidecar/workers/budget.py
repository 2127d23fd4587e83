"""What the agents of a session may take: reserved before one is started, settled when it has ended.

- The next agent is taken to need as much as the greatest before it: a mean is passed by every second agent.
- While no agent has ended nothing is known of them, so under a limit the first one works alone.
- A reservation is an agent at work. It ends with the process, so one that is killed leaves none behind.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from itertools import chain
from math import inf

from msgspec import Struct

from sidecar.kernel.log import WorkerRan
from sidecar.kernel.session import Limit, daily_limits, format_number
from sidecar.kernel.settings import Settings
from sidecar.platform.limits import ServiceLimits
from sidecar.platform.log_readings import DailySpending


class Obstacle(Struct, frozen=True):
    """Why no further agent is started. `way`: the options, each with its value, with which it goes on.

    `waits`: it passes without this user, because a team's machines share the limit.
    """

    text: str
    way: tuple[tuple[str, str], ...]
    waits: bool = False


@dataclass
class Budget:
    """What the agents of one session take, also before this process; `cents` is None while none were told.

    `tell` is given each limit of which four fifths are used, `warn` a sentence; each once. `limits`: of
    the services that the agents use, None where a limited service ends a worker. `others`: how many agents
    of other loops with this budget are at work.
    """

    spending: DailySpending
    tell: Callable[[Limit], None] = lambda _: None
    warn: Callable[[str], None] = lambda _: None
    max_tokens: int | None = None
    max_cents: float | None = None
    tokens: int = 0
    cents: float | None = None
    limits: ServiceLimits | None = None
    others: Callable[[], int] = lambda: 0
    _greatest: dict[str, float] = field(default_factory=dict)
    _told: set[str] = field(default_factory=set)

    def obstacle(self, at_work: int, settings: Settings) -> Obstacle | None:
        """Return the limit into which another agent does not fit beside those at work, None where it fits."""
        if refused := self.spending.today().refused:
            return Obstacle(refused, (), waits=True)
        at_work += self.others()
        for limit in self._limits(settings):
            likely, unknown = self._greatest.get(limit.unit, 0.0), at_work and not self._greatest
            if unknown or limit.used >= limit.most or limit.used + likely * (at_work + 1) > limit.most:
                way = () if limit.scope else ((f"--max-{limit.unit}", format_number(2 * limit.most)),)
                one = f", and an agent took up to {format_number(likely)}" if limit.used < limit.most else ""
                more = " ".join(chain(*way)) or "raise the limit in the settings, or go on tomorrow"
                return Obstacle(f"{limit.text} are taken{one}. To go on: {more}", way)
        return None

    def settle(self, ran: WorkerRan, settings: Settings) -> None:
        """Count what an agent took that has ended, in the day of its user, too."""
        with suppress(OSError):  # a log that cannot be written ends nothing
            self.spending.add_worker(ran)
        if not ran.calls:
            return
        self.count(ran.tokens, ran.cents)
        for limit in self._limits(settings):
            self.note(limit)
            told = ran.tokens if limit.unit == "tokens" else ran.cents
            if not told and (silent := f"no {limit.unit}") not in self._told:
                self._told.add(silent)
                self.warn(f"an agent told {silent}, so that no limit in {limit.unit} holds it")

    def count(self, tokens: int, cents: float | None) -> None:
        """Count what one agent took."""
        self.tokens += tokens
        self.cents = self.cents if cents is None else (self.cents or 0.0) + cents
        for unit, took in (("tokens", tokens), ("cents", cents or 0.0)):
            self._greatest[unit] = max(took, self._greatest.get(unit, 0.0))

    def note(self, limit: Limit) -> None:
        """Tell, once, that four fifths of a limit are used."""
        if limit.used >= 0.8 * limit.most and (name := limit.unit + limit.scope) not in self._told:
            self._told.add(name)
            self.tell(limit)

    def _limits(self, settings: Settings) -> list[Limit]:
        tokens = Limit(self.tokens, self.max_tokens or inf, "tokens")
        cents = Limit(self.cents or 0.0, self.max_cents or inf, "cents")
        daily = daily_limits(self.spending.today(), settings)
        return [limit for limit in (tokens, cents, *daily) if limit.most < inf]
