"""What the task loop offers: the toolset `loop`."""

from __future__ import annotations

from typing import Final

from sidecar.kernel.offer import SystemOffer

OFFER: Final = SystemOffer(tools=("loop",))
