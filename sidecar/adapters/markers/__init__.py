"""Stops that arrive as files, from agents that have no hooks."""
