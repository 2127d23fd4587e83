"""Which checks a project offers, found by the signs in its files."""

from sidecar.adapters.detection.detect import detect
from sidecar.adapters.detection.python import PYTEST

__all__ = ["PYTEST", "detect"]
