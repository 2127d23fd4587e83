"""Settings that were given."""

from __future__ import annotations

from sidecar.model.settings import Settings


class FixedConfiguration:
    """A Configuration that always says the same."""

    def __init__(self, settings: Settings | None = None, errors: tuple[str, ...] = ()) -> None:
        self._settings = settings or Settings()
        self._errors = errors

    def load(self) -> tuple[Settings, tuple[str, ...]]:
        return self._settings, self._errors
