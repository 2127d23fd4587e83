"""Claude Code: its hooks, its transcript, its plugin."""
