"""What was found out at a session's last stop, and why it ended as it did."""

from __future__ import annotations

from sidecar.app.house import House


class Explainer:
    """Reads what the record and the kept stops say of a session."""

    def __init__(self, house: House) -> None:
        """Live in `house`."""
        self._house = house
