"""Codex CLI: a plugin with hooks, and a rollout file per session."""
