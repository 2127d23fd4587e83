"""What is known of the commands of a shell: data/commands.toml, which explains each list."""

from __future__ import annotations

from msgspec import Struct

from sidecar.platform.data import load_data


class SteeringCommands(Struct, frozen=True, forbid_unknown_fields=True):
    """Its section `steering`."""

    reads: frozenset[str]
    own_orders: frozenset[str]
    git_reads: frozenset[str]
    git_moves: frozenset[str]
    unpackers: frozenset[str]
    writing: dict[str, str]


class KnownCommands(Struct, frozen=True, forbid_unknown_fields=True):
    """The data file."""

    read_only: frozenset[str]
    printing: frozenset[str]
    incidental: frozenset[str]
    git_read_only: frozenset[str]
    pairs: frozenset[tuple[str, str]]
    git_writing: frozenset[str]
    file_writing: frozenset[str]
    tooling: frozenset[str]
    interpreters: frozenset[str]
    task_runners: frozenset[str]
    inline_code: frozenset[str]
    info: frozenset[str]
    housekeeping: frozenset[str]
    foreign_modules: frozenset[str]
    git_taking_back: frozenset[str]
    git_rewriting: frozenset[str]
    git_harmless: frozenset[str]
    git_making_nothing: frozenset[str]
    git_own: frozenset[str]
    output: frozenset[str]
    naming_what_they_write: frozenset[str]
    editing_in_place: frozenset[str]
    writing_last_word: frozenset[str]
    writing_words: frozenset[str]
    opening_request: str
    blocked: str
    queued: str
    steering: SteeringCommands
    starters: dict[str, frozenset[str]]


def known_commands() -> KnownCommands:
    """Return the data file, read once."""
    return load_data("commands", KnownCommands)
