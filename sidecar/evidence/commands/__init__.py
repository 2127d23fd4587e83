"""Which checks a command is, by the tools that are known by their names. Pure."""
