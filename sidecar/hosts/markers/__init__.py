"""Stops reported as files, for agents without hooks (docs/markers.md)."""
