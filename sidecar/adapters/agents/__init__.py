"""Agents that are started for one errand each."""
