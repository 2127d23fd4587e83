"""What the codecs of hosts share that start a process for each event and write its JSON to standard input.

The events have Claude Code's names of fields. A host with others builds HookEventFields from `event_fields`
and `checked_project_folder` of hosts/shared.py; typed commands are the same for all.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final, TypeVar

import msgspec

from sidecar.hosts.shared import TYPED, EventFields, checked_project_folder, decode_event, event_fields
from sidecar.kernel.errors import BadInputError
from sidecar.kernel.events import SessionOrigin
from sidecar.kernel.orders import COMMAND_NAMES, Order, parse_order

if TYPE_CHECKING:
    from sidecar.kernel.session import Environment

T = TypeVar("T")


class HookEventBase(msgspec.Struct, frozen=True, kw_only=True, tag_field="hook_event_name"):
    """The fields that the events of these hosts have in common; a host adds its own."""

    session_id: str
    cwd: str
    transcript_path: str | None = ""
    permission_mode: str | None = None
    agent_id: str | None = None


class HookEventName(msgspec.Struct, frozen=True):
    """The one field that every event has."""

    hook_event_name: str


class HookEventFields(EventFields):
    """The fields that all our events of such a host have."""

    cwd: str
    host_pid: int


NAME_DECODER: Final = msgspec.json.Decoder(HookEventName)


def read_hook_event_name(raw: bytes, host: str) -> str:
    """Decode only the event's name; `host` is the host's title. Raises BadInputError."""
    return decode_event(raw, NAME_DECODER, host).hook_event_name


def read_hook_event(raw: bytes, decoder: msgspec.json.Decoder[T], names: tuple[str, ...], host: str) -> T:
    """Decode an event whose name is one of `names`; `host` is the host's title. Raises BadInputError."""
    name = read_hook_event_name(raw, host)
    if name not in names:
        raise BadInputError(f"unknown hook event {name[:40]!r}; hooks.json may name only: {', '.join(names)}")
    return decode_event(raw, decoder, host)


def hook_event_fields(
    host: str, event: HookEventBase, environment: Environment, host_pid: int, project: str = ""
) -> HookEventFields:
    """Return what all our events hold. `project` is the session's own folder, where the host names one.

    The folder in which the agent is may have moved, as into a worktree. Raises BadInputError.
    """
    common = event_fields(
        host, event.session_id, project or event.cwd, environment, subagent=bool(event.agent_id)
    )
    return HookEventFields(**common, cwd=checked_project_folder(event.cwd), host_pid=host_pid)


def session_origin(source: str) -> SessionOrigin:
    """Return where a session comes from, by the host's word; one that is not known is a start."""
    return SessionOrigin(source) if source in set(SessionOrigin) else SessionOrigin.STARTUP


def command_pattern(before: str) -> re.Pattern[str]:
    """Return how a typed command begins; `before` is the expression for what stands before its name."""
    return re.compile(rf"{before}supervisor:(?P<name>{'|'.join(COMMAND_NAMES)})(?:\s|\Z)")


def typed_order(prompt: str, pattern: re.Pattern[str]) -> Order | None:
    """Return the order that a prompt is, None for another prompt; `pattern` is of command_pattern."""
    typed = pattern.match(prompt)
    return None if typed is None else parse_order(TYPED[typed["name"]], prompt[typed.end() :])
