"""Gemini CLI: an extension, its hooks, and the chats that it records."""
