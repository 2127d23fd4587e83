"""Supervisor: stands beside a coding agent and finds out what is true before the agent may rest."""

__version__ = "0.3.0"
