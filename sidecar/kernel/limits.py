"""A rate or usage limit of a model service."""

from __future__ import annotations

from msgspec import Struct


class ServiceLimit(Struct, frozen=True, kw_only=True, omit_defaults=True, tag="service-limit"):
    """A model service answers no request of this account for now; in the log, agents wait for it.

    `account` names who is limited: the program, and a digest of what its credentials are. `until`: seconds
    since the epoch, 0.0 where the service does not say. `said` is what the service or the program says.
    `met`: how often in a row agents of the account met a limit.
    """

    account: str
    until: float
    said: str
    met: int = 0
