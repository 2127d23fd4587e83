"""A stop of which the truth is known, to measure judges by."""

from __future__ import annotations

from enum import StrEnum
from typing import Literal

from msgspec import Struct

from sidecar.model.events import Background, Surveyed
from sidecar.model.gate import GateRun
from sidecar.model.inquiry import UNSEEN
from sidecar.model.turn import Turn


class Truth(StrEnum):
    """Whether the agent should have gone on. PREMATURE: to send it back is right."""

    PREMATURE = "premature"
    LEGITIMATE = "legitimate"


class Labelled(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One stop as it was, what Supervisor would see of it, and the truth.

    `family` says what kind of ending it is ("permission-seeking", "question-answered"). `origin`: written by
    hand, drawn by a generator, or with its checks really executed. `blind`: written by somebody who did not
    know the rules. `fabricated`: evidence in it is made up. `complete`: whether the goal holds, None
    without one. `seen` is what a survey finds (its rubric is replaced by the measured one), `runs` how
    the gates end that are asked for; one that is not among them could not run.
    """

    id: str
    family: str
    truth: Truth
    origin: Literal["by-hand", "generated", "executed"]
    turn: Turn
    blind: bool = False
    fabricated: bool = False
    language: str = "en"
    host: str = "claude-code"
    goal: str = ""
    complete: bool | None = None
    seen: Surveyed = UNSEEN
    runs: tuple[GateRun, ...] = ()
    background: tuple[Background, ...] = ()
    headless: bool = False
