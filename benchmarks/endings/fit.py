"""What was drawn may not fit together."""

from __future__ import annotations


class UnfitError(Exception):
    """This way of faking does not suit this project."""


def need(*, holds: bool) -> None:
    """Raise UnfitError where it does not hold."""
    if not holds:
        raise UnfitError
