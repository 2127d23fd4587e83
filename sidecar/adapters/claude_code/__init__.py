"""Claude Code as a host: the words of its hooks, and the transcript it keeps of a session."""
