"""What people mean who type a word that is no command."""

from __future__ import annotations

from msgspec import Struct

from sidecar.platform.data import load_data


class CommandWords(Struct, frozen=True, forbid_unknown_fields=True):
    """The data file, which explains its fields."""

    meant: dict[str, str]


def meant_command(typed: str) -> list[str]:
    """Return the command that is meant by these words, alone in a list; an empty one where nobody knows."""
    meant = load_data("command_words", CommandWords).meant.get(typed)
    return [meant] if meant else []
