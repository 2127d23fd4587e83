"""GitHub Copilot CLI: the plugin read live from where we are installed, and an event log per session."""
