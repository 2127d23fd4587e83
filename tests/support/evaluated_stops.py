"""Stops as a corpus run evaluates them, by what they should and did end as."""

from __future__ import annotations

from typing import Any

from sidecar.kernel.stop_history import EvaluatedStop, GroundTruth

PREMATURE, LEGITIMATE = GroundTruth.PREMATURE, GroundTruth.LEGITIMATE


def outcome(number: str, truth: GroundTruth, ended: str, **fields: Any) -> EvaluatedStop:
    usual: dict[str, Any] = {"family": "f", "origin": "generated", "language": "en", "host": "opencode"}
    return EvaluatedStop(id=number, truth=truth, ended=ended, **usual | {"stage": "rules"} | fields)


def back(number: str, truth: GroundTruth, **fields: Any) -> EvaluatedStop:
    return outcome(number, truth, "continue", **fields)


def rest(number: str, truth: GroundTruth, **fields: Any) -> EvaluatedStop:
    return outcome(number, truth, "nothing-suspicious", **fields)
