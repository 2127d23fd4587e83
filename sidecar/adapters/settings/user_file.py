"""The user's config.toml. All its errors at once, each with its field and line; a wrong value falls back."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from msgspec.structs import replace

from sidecar.adapters.settings.gate_words import GateWords, sound, words_of
from sidecar.adapters.settings.toml_fields import Wrong, fit
from sidecar.adapters.settings.toml_file import TomlFile, UnusableError, read_toml
from sidecar.model.settings import Settings

if TYPE_CHECKING:
    from sidecar.ports import Environment


def user_folder(environment: Environment) -> Path | None:
    """Where the user's configuration lives, None where the environment names no home."""
    for variable, below in (("XDG_CONFIG_HOME", ()), ("HOME", (".config",))):
        place = Path(environment.get(variable, ""))
        if place.is_absolute():
            return place.joinpath(*below, "supervisor")
    return None


class ConfigurationFile:
    """The Configuration in the user's folder. A file that is not there says nothing."""

    def __init__(self, environment: Environment) -> None:
        folder = user_folder(environment)
        self._path = folder / "config.toml" if folder else None

    def load(self) -> tuple[Settings, tuple[str, ...]]:
        settings, words = self.read()
        return settings, words.problems

    def read(self) -> tuple[Settings, GateWords]:
        """The settings in force, and what the file itself says of gates."""
        name = str(self._path)
        try:
            file = read_toml(self._path, follow=True) if self._path else TomlFile(name)
        except UnusableError as error:
            problem = f"{name}: {error}; the defaults are in force"
            return Settings(), GateWords(file=TomlFile(name), problems=(problem,))
        settings, wrongs = fit(Settings, file.table)
        gate, more = sound(settings.gate)
        settings = replace(settings, gate=gate)
        wrongs += more
        if too_long := _too_long(settings):
            wrongs.append(too_long)
            settings = replace(settings, stop_seconds=Settings().stop_seconds)
        return settings, words_of(file, settings.gates, gate, wrongs)


def _too_long(settings: Settings) -> Wrong | None:
    """Every wait is shorter than the one around it: judging holds each gate and each model call."""
    held = {
        "gates.seconds": settings.gates.seconds,
        "gates.advisory_seconds": settings.gates.advisory_seconds,
        "judge.seconds": settings.judge.seconds,
        **{f"gate.{name}.seconds": gate.seconds or 0 for name, gate in settings.gate.items()},
    }
    longest = max(held, key=lambda name: held[name])
    if settings.stop_seconds > held[longest]:
        return None
    default = Settings().stop_seconds
    said = f"must be greater than {longest}, {held[longest]}; the default {default} is in force"
    return Wrong(("stop_seconds",), said)
