"""Kept stops that go with the process."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from sidecar.model.kept import Recalled

if TYPE_CHECKING:
    from sidecar.model.kept import KeptStop
    from sidecar.model.session import SessionKey

STOPS: Final = 20
"""Stops that are kept of a project, as many as in files."""


class MemoryKeptStops:
    """A KeptStops in memory."""

    def __init__(self) -> None:
        self._stops: dict[str, list[KeptStop]] = {}

    def keep(self, stop: KeptStop) -> None:
        every = sorted([*self._stops.get(stop.project, []), stop], key=lambda one: one.at)
        self._stops[stop.project] = every[-STOPS:]

    def forget(self, project: str, key: SessionKey) -> None:
        others = [one for one in self._stops.get(project, []) if one.inquiry.stop.key != key]
        self._stops[project] = others

    def last(self, project: str, number: int) -> Recalled:
        return Recalled(tuple(self._stops.get(project, [])[-number:] if number > 0 else ()))
