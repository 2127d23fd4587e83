"""How messages are worded, language by language. Pure."""
