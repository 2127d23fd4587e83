"""Errors for input that cannot be used and for actions that a rule forbids; failures of model services."""

from __future__ import annotations


class ToolRuleError(Exception):
    """A rule forbids the action, and nothing is done.

    `rule` is the section of rubric/tools.md that says why and what to do instead; `values` fill its
    placeholders.
    """

    def __init__(self, rule: str, /, **values: object) -> None:
        """Name the rule that was broken."""
        super().__init__(rule)
        self.rule = rule
        self.values = {name: str(value) for name, value in values.items()}


class BadInputError(Exception):
    """Input from outside cannot be used. The message says what, where, and what to do."""


class ServiceError(Exception):
    """A model service cannot be used. The text is one line for a person and contains no key."""


class CommandRefusal(Exception):  # noqa: N818 - it is what the person is told, not a fault of ours
    """A typed command cannot be carried out. The message says why and what to type instead."""
