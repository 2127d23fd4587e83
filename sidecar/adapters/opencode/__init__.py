"""Speaks with OpenCode."""
