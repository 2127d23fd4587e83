"""Adapters for the programs that run agents: Claude Code, OpenCode, file markers, commands and ACP."""
