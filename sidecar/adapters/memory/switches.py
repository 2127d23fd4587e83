"""Switches that are on again with the next process."""

from __future__ import annotations

from pathlib import PurePosixPath


class MemorySwitches:
    """Switches by path alone: no disk is asked. The nearest folder that was switched decides."""

    def __init__(self) -> None:
        self._user_off = False
        self._off: dict[PurePosixPath, bool] = {}

    def off(self, project: str) -> str:
        if self._user_off:
            return "off for you"
        place = PurePosixPath(project)
        nearest = next(
            (self._off[folder] for folder in (place, *place.parents) if folder in self._off), False
        )
        return "off for this project" if nearest else ""

    def turn(self, *, on: bool, project: str | None) -> None:
        if project is None:
            self._user_off = not on
        else:
            self._off[PurePosixPath(project)] = not on
