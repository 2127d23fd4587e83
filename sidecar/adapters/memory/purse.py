"""A purse that forgets with the process, and secrets that are known by their value alone."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sidecar.model.spending import Spending, added
from sidecar.policy.masking import masker

if TYPE_CHECKING:
    from sidecar.ports import Environment, Mask


class MemoryPurse:
    """A Purse for which it is always the same day."""

    def __init__(self, spent: Spending | None = None) -> None:
        self._spent = spent or Spending(day="2026-11-22")

    def today(self) -> Spending:
        return self._spent

    def add(self, tokens: int, cents: float | None, calls: int) -> None:
        self._spent = added(self._spent, tokens, cents, calls)


class ValueSecrets:
    """Secrets of the session's environment alone."""

    def masker(self, environment: Environment) -> Mask:
        return masker(environment)
