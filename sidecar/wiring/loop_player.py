"""Builds the player of `supervisor loop`, which runs in the process of the command line."""

from __future__ import annotations

import dataclasses
from typing import Final

from sidecar.evidence.gates.typed import TypedCatalog
from sidecar.kernel.events import PromptSubmitted
from sidecar.kernel.session import Session
from sidecar.kernel.settings import Settings
from sidecar.platform.paths import user_paths
from sidecar.platform.ports import Configuration
from sidecar.systems.iteration.journals import SessionJournals
from sidecar.systems.supervision.gate_requests import SessionChecks
from sidecar.systems.taskloop.player import LoopPlayer, PlayRequest, Tell
from sidecar.systems.taskloop.service import TaskLoops
from sidecar.wiring.supervision import build_services
from sidecar.wiring.taskloop import build_loop_services
from sidecar.wiring.texts import read_texts
from sidecar.wiring.workers import build_workers

TEXTS: Final = ("tools.md", "loop.md", "loop-shell.md")
"""What workers and people are told."""


class SettingsAsTyped:
    """Implements `Configuration` with the settings of one moment: agents at work do not change them."""

    def __init__(self, configuration: Configuration) -> None:
        self._loaded = configuration.load()

    def load(self) -> tuple[Settings, tuple[str, ...]]:
        return self._loaded


async def build_loop_player(asked: PlayRequest, tell: Tell) -> LoopPlayer:
    """Build it with the real services. Raises OSError, BadInputError."""
    built, session = build_services(), asked.session
    typed = await built.catalog.list(session.project, asked.environment)
    services = dataclasses.replace(
        built,
        catalog=TypedCatalog(built.catalog, typed.gates),
        configuration=SettingsAsTyped(built.configuration),
    )
    if services.store.load(session.key) is None:  # without a folder: it is never "the session seen last here"
        services.store.save(Session(key=session.key))
    checks = SessionChecks(services)
    checks.met(
        PromptSubmitted(
            key=session.key,
            project=session.project,
            environment=asked.environment,
            prompt_id="",
            human=True,
        )
    )
    journals = SessionJournals(services.journals, services.log, services.clock)
    workers = build_workers(user_paths().state, services.spending, services.secrets)
    parts = build_loop_services(user_paths().state, services, checks, journals, workers)
    parts = dataclasses.replace(parts, texts=read_texts(*TEXTS))
    return LoopPlayer(TaskLoops(parts), parts, asked, tell)
