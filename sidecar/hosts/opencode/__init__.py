"""OpenCode: the events of our plugin, its messages, and its configuration folder."""
